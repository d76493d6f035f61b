"""What the programs of this folder share: a page that is opened in a browser, what its scripts say, and what the gateway holds."""

import os
from pathlib import Path
from typing import Any

from openclaw.control import wire
from openclaw.control.socket_client import ask
from parts.chromium import Chromium
from parts.gateways import Home


async def evaluated(browser: Chromium, expression: str) -> Any:
    answer = await browser.devtools("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
    return answer["result"]["value"]


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def opened(place: Home, browser: Chromium) -> None:
    answer = await ask(place.paths.control_socket, wire.TICKET)
    assert answer is not None
    await browser.go(f"{answer['url']}#ticket={answer['ticket']}")
    await browser.text("textarea#message")
