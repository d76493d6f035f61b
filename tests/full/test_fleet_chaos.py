"""Gateways killed, frozen, cut off and failed over under load keep every promise of a fleet, and a fence that is missing is noticed.

`make chaos-fleet` does the same for longer.
"""

from pathlib import Path

import pytest

from parts import fleet_chaos

# Eight gateways and two databases take the whole machine for themselves.
pytestmark = [pytest.mark.full, pytest.mark.alone, pytest.mark.timeout(1800)]


async def test_no_promise_is_broken_in_a_minute_and_a_half_of_blows_and_every_conversation_goes_on(
    tmp_path: Path,
) -> None:
    outcome = await fleet_chaos.run(tmp_path, seconds=90.0, seed=1, failovers=1)
    print(outcome)
    assert (outcome.broken, outcome.stuck, outcome.caught) == ([], (), None), str(outcome)
    # Otherwise nothing was tried.
    assert outcome.reasons["done"] > fleet_chaos.SESSIONS
    assert outcome.history.taken


async def test_a_fence_that_was_taken_away_is_noticed_within_a_minute(tmp_path: Path) -> None:
    """The run ends when it is noticed: the first gateway wakes some twenty seconds after the first blow, and writes on."""
    outcome = await fleet_chaos.run(
        tmp_path, seconds=30.0, seed=4, failovers=0, only=("pause",), prepare=fleet_chaos.break_fence
    )
    print(outcome)
    assert "fenced" in {fault.kind for fault in outcome.broken}, str(outcome)
    assert outcome.caught is not None, str(outcome)
    assert outcome.caught <= fleet_chaos.CAUGHT_WITHIN, str(outcome)
