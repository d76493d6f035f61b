"""Half a minute of kills and cuts under load: no call lost, doubled or hung, and nothing left over."""

from pathlib import Path

import pytest

from parts import chaos

pytestmark = pytest.mark.real
# Started for the first child and kept for the rest of the process.
GUARDIAN_DESCRIPTORS = 1


async def test_every_call_ends_once_whatever_happens_to_its_server(tmp_path: Path) -> None:
    outcome = await chaos.run(tmp_path, seconds=30.0, seed=20260728)
    assert len(outcome.answered) + len(outcome.failed) == outcome.asked
    assert (outcome.doubled, outcome.lost, outcome.leftover) == ([], [], [])
    assert outcome.disturbed > 50
    assert len(outcome.answered) > outcome.asked * 0.9
    assert outcome.descriptors <= GUARDIAN_DESCRIPTORS
