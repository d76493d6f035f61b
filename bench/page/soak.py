"""`python -m bench.page.soak --minutes N`: ten pages stay open in two browsers while turns are made all the time.

Each page notes every run and every line of the audit trail that it hears of. At the end all of them must have heard of all, once. Ends
with 1 when one did not, or when the gateway grew by more than it may. Needs Chromium (scripts/full_parts).
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from bench.page.measuring import evaluated, opened, resident
from parts.chromium import Chromium
from parts.gateways import GatewayProcess, Home, home, stdio_server

BROWSERS, TABS = 2, 5
# Conversations that are continued in turn, and how many are under way at a time.
CONVERSATIONS, AT_ONCE = 20, 3
# Turns a second: a person with several conversations makes less.
PACE = 2.0
# Megabytes by which the gateway may grow while it works: it keeps what happened in runs for ten minutes after their end.
MOST_GROWTH = 40.0
VIEWS = ("talk", "activity", "servers", "status", "questions")
# The page's own connection, which all views listen to.
LISTEN = """import("/page/live.js").then(({ onEvent }) => {
  window.heard = { run: [], call: [], dropped: 0 };
  onEvent((kind, data) => {
    if (kind === "run") window.heard.run.push(`${data.run} ${data.state}`);
    else if (kind === "call") window.heard.call.push(`${data.call} ${data.event}`);
    else if (kind === "dropped") window.heard.dropped += data.events;
  });
  return true;
})"""


class Pages:
    """Every page that is open, each with its browser and its tab."""

    def __init__(self) -> None:
        self._all: list[tuple[Chromium, str]] = []

    async def open(self, place: Home, browser: Chromium, *, first: bool) -> None:
        tab = await browser.tab() if first else await browser.new_tab()
        await opened(place, browser)
        view = VIEWS[len(self._all) % len(VIEWS)]
        await evaluated(browser, f"location.hash = '#{view}'")
        await evaluated(browser, LISTEN)
        while await evaluated(browser, "document.querySelector('.line').className") != "line live":
            await asyncio.sleep(0.05)
        self._all.append((browser, tab))

    async def heard(self) -> list[dict[str, Any]]:
        found = []
        for browser, tab in self._all:
            await browser.look_at(tab)
            found.append(await evaluated(browser, "window.heard"))
        return found


async def talk(client: aiohttp.ClientSession, seconds: float, made: list[str]) -> None:
    """Turns until the time is over, in one conversation after the other."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        number = len(made)
        made.append("")
        body = {"message": f"part__echo text=turn-{number}", "sessionKey": f"soak-{number % CONVERSATIONS}"}
        async with client.post("/v1/runs", json=body) as response:
            assert response.status == 202, await response.text()
            run = (await response.json())["run"]
        async with client.get(f"/v1/runs/{run}/events") as stream:
            await stream.read()
        made[number] = run
        await asyncio.sleep(max(began + AT_ONCE / PACE - time.monotonic(), 0))


def faults(made: list[str], calls: list[str], pages: list[dict[str, Any]]) -> list[str]:
    """What a page lost, or heard of twice."""
    runs = sorted(f"{run} {state}" for run in made for state in ("running", "over"))
    found = []
    for number, heard in enumerate(pages):
        for kind, wanted in (("run", runs), ("call", sorted(calls))):
            if (got := sorted(heard[kind])) != wanted:
                lost, more = set(wanted) - set(got), len(got) - len(set(got))
                found.append(f"page {number}: {len(lost)} of {len(wanted)} {kind} events lost, {more} heard twice")
        if heard["dropped"]:
            found.append(f"page {number}: {heard['dropped']} events dropped")
    return found


async def soak(folder: Path, minutes: float) -> int:
    with home(folder) as place:
        approval = {"approval": {"mode": "off", "taint": "off"}}
        # The built-in model calls the tool that is named, and remembers nothing: what grows is the gateway.
        agents = {"defaults": {"model": "builtin/offline"}}
        place.save({"mcp": {"servers": {"part": stdio_server()}}, "tools": approval, "agents": agents})
        gateway = GatewayProcess(place)
        try:
            gateway.wait_until("'part' is ready")
            async with AsyncExitStack() as stack:
                pages = Pages()
                for number in range(BROWSERS):
                    scratch = folder / f"browser-{number}"
                    scratch.mkdir()
                    browser = await stack.enter_async_context(Chromium(scratch))
                    for tab in range(TABS):
                        await pages.open(place, browser, first=tab == 0)
                base = f"http://127.0.0.1:{gateway.port}"
                headers = {"Authorization": f"Bearer {place.token}"}
                client = await stack.enter_async_context(aiohttp.ClientSession(base, headers=headers))
                before = resident(gateway.process.pid)
                made: list[str] = []
                await asyncio.gather(*(talk(client, minutes * 60, made) for _ in range(AT_ONCE)))
                # The last events are on their way.
                await asyncio.sleep(2)
                async with client.get("/v1/audit?limit=10000") as response:
                    trail = (await response.json())["records"]
                calls = [f"{one['call']} {one['event']}" for one in trail]
                heard = await pages.heard()
                after = resident(gateway.process.pid)
        finally:
            gateway.end()
    found = faults(made, calls, heard)
    if after - before > MOST_GROWTH:
        found.append(f"the gateway grew by {after - before:.0f} MB")
    print(f"{len(made)} turns, {len(calls)} lines of the audit trail, {len(heard)} pages in {BROWSERS} browsers")
    print(f"gateway: {before:.0f} MB with the pages open, {after:.0f} MB after {minutes:g} minutes of turns")
    print("\n".join(found) or "no event was lost, and none came twice")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.page.soak")
    parser.add_argument("--minutes", type=float, default=10.0)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(soak(Path(folder), parser.parse_args().minutes))


if __name__ == "__main__":
    raise SystemExit(main())
