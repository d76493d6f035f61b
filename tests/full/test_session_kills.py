"""The long form of the session store's promise about processes that die."""

from pathlib import Path

import pytest

from parts.session_kills import kill_writers, lost_or_doubled


@pytest.mark.full
@pytest.mark.minutes(1)
@pytest.mark.timeout(1800)
async def test_two_hundred_killed_writers_lose_no_acknowledged_turn_and_leave_a_readable_store(tmp_path: Path) -> None:
    outcome = await kill_writers(tmp_path / "s", kills=200, seed=2)

    assert lost_or_doubled(outcome) == {}
    assert outcome.sound
    assert all(outcome.acknowledged.values())
