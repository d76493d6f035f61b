"""`make bench-page`: the gateway's page with 100 conversations, 1,000 tools and 10,000 lines of the audit trail.

Prints how long each view takes from the click to the picture, what the first load transfers and when something is seen, and how much the
gateway grows while a page is open. Needs Chromium and its driver (scripts/full_parts). Judges nothing; figures of a quiet machine are in
docs/how-to/use-the-page.md.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.page.measuring import evaluated, opened, resident
from openclaw.content import AssistantMessage, Text, UserMessage
from openclaw.sessions.sqlite import SqliteStore
from parts.chromium import Chromium
from parts.gateways import GatewayProcess, Home, home

CONVERSATIONS, TOOLS, LINES = 100, 1_000, 10_000
MESSAGES = 40
ROUNDS = 7
MANY_TOOLS = Path(__file__).parents[2] / "tests" / "parts" / "many_tools.py"
# Each view: the address, and what is there when it can be used.
VIEWS = {
    "Talk": ("talk", f"document.querySelectorAll('.sessions li').length === {CONVERSATIONS}"),
    "a conversation": ("talk/{id}", f"document.querySelectorAll('.answer').length >= {MESSAGES // 2}"),
    "Questions": ("questions", "document.querySelector('main h1')?.innerText === 'Questions'"),
    "Servers": ("servers", "document.querySelector('a.card')"),
    "a server's tools": ("servers/many/tools", "document.querySelectorAll('details.card').length >= 100"),
    "Why": ("why", "document.querySelectorAll('datalist option').length >= 500"),
    "Activity": ("activity", "document.querySelectorAll('tbody tr').length >= 200"),
    "Config": ("config", "document.querySelector('textarea.source')"),
    "Status": ("status", "document.querySelector('pre.whole')"),
}
# Milliseconds from the click on a link to the frame after everything is there.
CLICK = """(async () => {
  const link = document.createElement("a");
  link.href = "#%s";
  document.body.append(link);
  const began = performance.now();
  link.click();
  while (!(%s)) await new Promise((go) => setTimeout(go, 1));
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  const took = performance.now() - began;
  link.remove();
  return took;
})()"""
LOAD = """(async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted()) await new Promise((go) => setTimeout(go, 10));
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const files = all.filter((one) => !one.name.includes("/v1/"));
  return { bytes: files.reduce((sum, one) => sum + one.transferSize, 0), paint: painted().startTime };
})()"""


async def fill(place: Home) -> str:
    """Conversations and an audit trail as a year of use leaves them; the id of one conversation."""
    store = SqliteStore(place.paths.sessions_file)
    for number in range(CONVERSATIONS):
        async with store.turn(f"agent:main:talk-{number}", "main") as turn:
            for said in range(0, MESSAGES, 2):
                answer = f"Here is **answer {said}**:\n\n- one\n- two\n\n```python\nprint({said})\n```"
                turn.append(UserMessage((Text(f"question {said} of {number}"),)), AssistantMessage((Text(answer),)))
    found = await store.list()
    await store.close()
    place.paths.audit_dir.mkdir(parents=True, exist_ok=True)
    record = {"event": "outcome", "agent": "main", "session": "0a1b2c3d", "kind": "mcp", "origin": "many"}
    with (place.paths.audit_dir / "calls.jsonl").open("w") as file:
        for number in range(LINES):
            when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - LINES + number))
            more = {"time": f"{when}.000Z", "call": str(number), "tool": f"many__tool_{number % TOOLS}"}
            file.write(json.dumps({**record, **more, "outcome": "ok", "durationMs": 1.5}, separators=(",", ":")) + "\n")
    return found[0].id


async def measure(folder: Path, idle: float) -> None:
    servers = {"many": {"command": sys.executable, "args": [str(MANY_TOOLS), str(TOOLS)]}}
    with home(folder, {"mcp": {"servers": servers}}) as place:
        id = await fill(place)
        gateway = GatewayProcess(place)
        try:
            gateway.wait_until("The gateway is up")
            await asyncio.sleep(3)
            before = resident(gateway.process.pid)
            async with Chromium(folder) as browser:
                await opened(place, browser)
                loads = [await evaluated(browser, LOAD)]
                for _ in range(ROUNDS):
                    await browser.devtools("Page.reload", ignoreCache=True)
                    await browser.text("textarea#message")
                    loads.append(await evaluated(browser, LOAD))
                paints = [load["paint"] for load in loads]
                print(f"first load: {loads[0]['bytes'] / 1000:.1f} kB over the wire")
                print(
                    f"first paint: {paints[0]:.0f} ms in a new browser, then {median(paints):.0f} ms, {max(paints):.0f} ms at worst"
                )
                for name, (address, there) in VIEWS.items():
                    took = []
                    for _ in range(ROUNDS):
                        await evaluated(browser, CLICK % ("questions", "document.querySelector('main h1')"))
                        await asyncio.sleep(0.1)
                        took.append(await evaluated(browser, CLICK % (address.format(id=id), there)))
                    print(f"{name}: {median(took):.0f} ms, {max(took):.0f} ms at worst")
                await evaluated(browser, CLICK % ("activity", "document.querySelector('table')"))
                settled = resident(gateway.process.pid)
                await asyncio.sleep(idle)
                after = resident(gateway.process.pid)
            print(
                f"gateway: {before:.0f} MB without a page, {settled:.0f} MB after every view, {after:.0f} MB after {idle:.0f} s more"
            )
        finally:
            gateway.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.page")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds that a page is left open")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), parser.parse_args().idle))


if __name__ == "__main__":
    main()
