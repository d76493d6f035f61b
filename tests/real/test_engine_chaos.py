"""Half a minute of kills, cuts and stalls under load: no call lost, doubled or hung, and nothing left over."""

from pathlib import Path

import pytest

from parts import chaos

pytestmark = pytest.mark.real
# Started for the first child and kept for the rest of the process.
GUARDIAN_DESCRIPTORS = 1
# What a run may keep: caches, and the allocator's own slack.
SLACK_KIB = 16 * 1024


async def test_every_call_ends_once_whatever_happens_to_its_server(tmp_path: Path) -> None:
    outcome = await chaos.run(tmp_path, seconds=30.0, seed=20260728)
    assert (outcome.unended, outcome.doubled, outcome.lost, outcome.leftover) == ([], [], [], [])
    assert sum(outcome.disturbed.values()) > 50
    assert outcome.answered > outcome.asked * 0.9, outcome.sentences
    assert len(outcome.descriptors) <= GUARDIAN_DESCRIPTORS, outcome.descriptors
    before, after = outcome.resident
    assert after - before < SLACK_KIB
