"""A hundred servers killed at once, over every transport: the next call works, and nothing is done twice."""

from pathlib import Path

import pytest

from parts import chaos_kills

pytestmark = pytest.mark.real
COUNT = 100


async def test_a_hundred_servers_killed_while_idle_answer_the_next_call(tmp_path: Path) -> None:
    await chaos_kills.idle(tmp_path, COUNT)


async def test_calls_of_a_hundred_servers_killed_in_mid_call_run_at_most_once_and_end(tmp_path: Path) -> None:
    await chaos_kills.in_mid_call(tmp_path, COUNT)
