"""Ten minutes of kills and cuts under load: as the half minute, and memory stays flat."""

import resource
from pathlib import Path

import pytest

from parts import chaos

pytestmark = pytest.mark.full
# What a run may keep for good: caches, compiled checks, the allocator's own slack.
SLACK_KIB = 64 * 1024


async def test_ten_minutes_of_chaos_leave_nothing_behind(tmp_path: Path) -> None:
    await chaos.run(tmp_path / "warm", seconds=10.0, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await chaos.run(tmp_path / "soak", seconds=600.0, seed=2)
    assert len(outcome.answered) + len(outcome.failed) == outcome.asked
    assert (outcome.doubled, outcome.lost, outcome.leftover) == ([], [], [])
    assert outcome.descriptors == 0
    # The test's own record of a million calls is the larger part of this.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < SLACK_KIB + outcome.asked // 2
