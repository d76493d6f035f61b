"""The gateway's page in a real browser, signed in: what tests of it begin with, and what they wait for."""

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
# Counts what the policy refused, from the first script on.
WATCH = (
    "window.refused = window.refused ||"
    " (addEventListener('securitypolicyviolation', e => window.refused.push(e.blockedURI)), [])"
)


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
            await sign_in(place, browser)
            yield gateway, browser


async def sign_in(place: Home, browser: Chromium) -> None:
    """Open the page in the tab that is looked at, as `openclaw ui` does."""
    answer = await ask(place.paths.control_socket, wire.TICKET)
    assert answer is not None
    await browser.go(f"{answer['url']}#ticket={answer['ticket']}")
    await browser.text("textarea#message")
    await browser.run(WATCH)


async def until(browser: Chromium, script: str, what: str) -> Any:
    """Until a script of the page returns something that counts."""
    async with asyncio.timeout(HANG_GUARD):
        while not (found := await browser.run(f"return {script}")):
            await asyncio.sleep(0.05)
    assert found, what
    return found


async def shown(browser: Chromium, text: str) -> None:
    await until(browser, f"document.body.innerText.includes({json.dumps(text)})", text)


async def say(browser: Chromium, words: str) -> None:
    await browser.type("textarea#message", words)
    await browser.click(".composer button[type=submit]")


async def view(browser: Chromium, hash: str) -> None:
    await browser.run(f"location.hash = {json.dumps(hash)}")
