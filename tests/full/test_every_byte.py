"""Sessions cut at every single byte, over every transport and in both directions."""

from pathlib import Path

import pytest

from parts.chaos_bytes import WAYS, Way, run

pytestmark = [pytest.mark.full, pytest.mark.minutes(2)]
# Only the clock tells a server that went deaf from one that thinks.
BY_THE_CLOCK = pytest.mark.minutes(10)


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=BY_THE_CLOCK) if way.how == "deaf" else way for way in WAYS], ids=str
)
async def test_a_session_may_be_cut_at_every_byte_and_the_next_call_works(way: Way, tmp_path: Path) -> None:
    assert await run(way, tmp_path / "sessions", step=1) > 500
