"""Sessions cut at every single byte, over every transport and in both directions."""

from pathlib import Path

import pytest

from parts.chaos_bytes import WAYS, Way, run

pytestmark = pytest.mark.full


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_session_may_be_cut_at_every_byte_and_the_next_call_works(way: Way, tmp_path: Path) -> None:
    assert await run(way, tmp_path / "sessions", step=1) > 500
