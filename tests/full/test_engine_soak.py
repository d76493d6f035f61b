"""Ten minutes of kills, cuts and stalls under load: no call lost, doubled or hung, nothing left over, and memory stays flat."""

from pathlib import Path

import pytest

from parts import chaos

pytestmark = [pytest.mark.full, pytest.mark.minutes(10)]
# Started for the first child and kept for the rest of the process.
GUARDIAN_DESCRIPTORS = 1
# What two thirds of the run may keep: the test's own two bytes a call, caches, and the allocator's own slack.
SLACK_KIB = 32 * 1024


async def test_ten_minutes_of_chaos_leave_nothing_behind(tmp_path: Path) -> None:
    outcome = await chaos.run(tmp_path, seconds=600.0, seed=2)
    assert (outcome.unended, outcome.doubled, outcome.lost, outcome.leftover) == ([], [], [], [])
    assert outcome.answered > outcome.asked * 0.9, outcome.sentences
    assert len(outcome.descriptors) <= GUARDIAN_DESCRIPTORS, outcome.descriptors
    before, after = outcome.resident
    assert after - before < SLACK_KIB
