"""Many servers, each opened by a task of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from bench.contenders.each import Each


@asynccontextmanager
async def opening(name: str, closed: list[str]) -> AsyncIterator[str]:
    if name == "bad":
        raise OSError("no such program")
    if name == "hanging":
        await asyncio.Event().wait()
    yield name
    closed.append(name)


async def test_nobody_waits_for_one_that_hangs_and_who_fails_is_told_to_who_asks() -> None:
    closed: list[str] = []
    each: Each[str] = Each()
    for name in ("hanging", "a", "bad", "b"):
        each.open(name, opening(name, closed))
    assert [await each.get("a"), await each.get("b")] == ["a", "b"]
    with pytest.raises(OSError, match="no such program"):
        await each.get("bad")
    await each.close()
    assert sorted(closed) == ["a", "b"]
