"""Calls of a real server that need an approval, asked about over HTTP: approved, remembered, taken back, declined, left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parts.asking import Watcher, watching
from parts.gateways import Running, home, running, stdio_server
from parts.processes import HANG_GUARD


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Running]:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as one:
            await one.ready("part")
            yield one


def call(gateway: Running, text: str = "hello") -> "asyncio.Task[tuple[int, Any]]":
    body = {"tool": "part__echo", "arguments": {"text": text}, "sessionKey": "one"}
    return asyncio.create_task(gateway.post("/v1/tools/invoke", body))


async def answer(gateway: Running, watcher: Watcher, choice: str, **more: str) -> dict[str, Any]:
    """Answer the next question; what it was."""
    path = f"/v1/approvals/{(await watcher.next())['id']}"
    _, one = await gateway.get(path)
    status, ended = await gateway.post(path, {"digest": one["digest"], "choice": choice, **more})
    assert (status, (await watcher.next())["state"]) == (200, ended["state"])
    asked: dict[str, Any] = one
    return asked


def said(result: tuple[int, Any]) -> str:
    return "\n".join(block["text"] for block in result[1]["content"])


async def test_a_call_is_approved_for_good_and_asked_about_again_when_that_is_taken_back(gateway: Running) -> None:
    async with watching(gateway.url, gateway.home.token, "?answers=approval") as watcher:
        first = call(gateway)
        asked = await answer(gateway, watcher, "any")
        assert "hello" in said(await first)
        assert "again" in said(await call(gateway, "again"))
        (grant,) = (await gateway.get("/v1/approvals/grants"))[1]["grants"]
        assert (await gateway.send("DELETE", f"/v1/approvals/grants/{grant['id']}"))[0] == 200
        second = call(gateway, "third")
        await answer(gateway, watcher, "deny", note="Enough.")
        declined = said(await second)
    assert (asked["approval"]["tool"], asked["approval"]["arguments"]) == ("part__echo", {"text": "hello"})
    assert (grant["tool"], grant["by"]) == ("echo", "http")
    assert declined == "part__echo was not called: the person declined. They said: Enough."


async def test_a_call_whose_question_goes_is_not_made(gateway: Running) -> None:
    async with watching(gateway.url, gateway.home.token, "?answers=approval") as watcher:
        asked = call(gateway)
        await watcher.next()
        gateway.stop.set()
        result = await asyncio.wait_for(asked, HANG_GUARD)
    assert said(result) == "part__echo was not called: the question was taken back before anybody answered it."


async def test_while_nobody_watches_the_fallback_decides(gateway: Running) -> None:
    assert "hello" in said(await call(gateway))
