"""The tokens of a day, in a file that is read, changed and replaced under a lock."""

import asyncio
import json
from pathlib import Path

import pytest

from openclaw.asking.token_budget import TokenBudget
from openclaw.errors import RpcError


async def test_no_more_is_spent_than_the_day_has(tmp_path: Path) -> None:
    budget = TokenBudget(tmp_path / "tokens.json", lambda: "2026-11-19")
    await budget.spend("a", 60, 100)
    with pytest.raises(RpcError, match=r"The 100 tokens of this day are used up\."):
        await budget.spend("a", 60, 100)
    await budget.spend("b", 60, 100)


async def test_what_somebody_used_who_waits_no_longer_is_counted_before_others_count(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    budget = TokenBudget(file, lambda: "2026-11-19")
    for _ in range(20):
        leaving = asyncio.create_task(budget.add("a", 1))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await budget.add("b", 1)
    assert json.loads(file.read_bytes())["tokens"] == {"a": 20, "b": 20}
