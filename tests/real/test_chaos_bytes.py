"""Sessions cut at a byte here and there, over every transport and in both directions. All bytes: tests/full/test_every_byte.py."""

from pathlib import Path

import pytest

from parts.chaos_bytes import WAYS, Way, run

pytestmark = pytest.mark.real
# Comes to every part of a session: no message of one is that long, and it has no factor in common with their lengths.
STEP = 211


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_session_may_be_cut_at_any_byte_and_the_next_call_works(way: Way, tmp_path: Path) -> None:
    assert await run(way, tmp_path / "sessions", STEP) > 2
