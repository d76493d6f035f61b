"""The gateway's page in a real browser that is signed in to it: how a test begins, and what a person does there."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from openclaw.control import wire
from openclaw.control.socket_client import ask
from parts.chromium import Chromium
from parts.gateways import Home, Running, home, running, stdio_server
from parts.processes import HANG_GUARD

# Nobody is asked about calls.
FREE = {"tools": {"approval": {"mode": "off"}}}
# Counts what the policy refused, from now on.
WATCH = "window.refused = window.refused || (addEventListener('securitypolicyviolation', e => window.refused.push(e.blockedURI)), [])"


async def ticket(place: Home) -> str:
    """The address that `openclaw ui` opens."""
    answer = await ask(place.paths.control_socket, wire.TICKET)
    assert answer is not None
    return f"{answer['url']}#ticket={answer['ticket']}"


async def open_page(browser: Chromium, place: Home) -> None:
    await browser.go(await ticket(place))
    await browser.text("textarea#message")
    await browser.run(WATCH)


@asynccontextmanager
async def page(
    folder: Path, *turns: Mapping[str, Any], servers: Mapping[str, Any] | None = None, **config: Any
) -> AsyncIterator[tuple[Running, Chromium]]:
    """A gateway whose model plays these turns, and a browser that is signed in to it."""
    with home(folder) as place:
        entries = {"part": stdio_server()} if servers is None else dict(servers)
        place.save({"mcp": {"servers": entries}, **place.script(*turns), **config})
        async with running(place) as gateway, Chromium(folder) as browser:
            await gateway.ready(*entries)
            await open_page(browser, place)
            yield gateway, browser


async def until(browser: Chromium, script: str, what: str) -> Any:
    """Until a script of the page returns something that counts."""
    found: Any = None
    try:
        async with asyncio.timeout(HANG_GUARD):
            while not (found := await browser.run(f"return {script}")):
                await asyncio.sleep(0.05)
    except TimeoutError:
        seen = str(await browser.run("return document.body.innerText"))
        raise AssertionError(f"{what} did not come. The page says:\n{seen[-2000:]}") from None
    return found


async def shown(browser: Chromium, text: str) -> None:
    await until(browser, f"document.body.innerText.includes({json.dumps(text)})", text)


async def say(browser: Chromium, words: str) -> None:
    await browser.type("textarea#message", words)
    await browser.click(".composer button[type=submit]")


async def says_yes(browser: Chromium) -> None:
    """To the question above the view, once it can be answered."""
    await until(browser, "document.querySelector('.question button.main:not(:disabled)')", "a question")
    await browser.click(".question button.main")


async def view(browser: Chromium, hash: str) -> None:
    await browser.run(f"location.hash = {json.dumps(hash)}")
