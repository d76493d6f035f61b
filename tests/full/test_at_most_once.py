"""Ten thousand calls that are refused, cut off and challenged in every way a server may: none runs twice."""

import pytest

from parts.refusing_server import survive

pytestmark = [pytest.mark.full, pytest.mark.minutes(2)]


@pytest.mark.parametrize("seed", range(100, 110))
async def test_a_call_refused_in_any_way_runs_at_most_once(seed: int) -> None:
    await survive(seed, 1_000)
