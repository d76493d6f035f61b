"""OpenClaw with so many servers and tools: seconds until all are known, to list them, for the first turn of an agent and for the next
(with a model that answers at once), for a call to one of them; and memory. Prints JSON.

    python -m bench.ours.growth SERVERS TOOLS_EACH
"""

import asyncio
import json
import os
import sys
import time

from bench.contenders.driver import TEXT
from bench.drivers import stdio_server, whole_memory
from bench.ours.driver import run
from bench.ours.engine import Ours, config_of
from bench.ours.turns import SMALLEST, Sessions, opened_app
from bench.placement import place_client
from bench.processes import descendants
from openclaw.app import App

WARM, CALLS = 200, 1_000
TURNS = 6
# A hundred thousand tools take their time to be read.
CONNECT_MS = 300_000
PATIENCE = 100.0
LOOK_EVERY = 0.05


async def main() -> None:
    servers, tools = int(sys.argv[1]), int(sys.argv[2])
    named = {f"s{number}": stdio_server("--tools", str(tools)) for number in range(servers)}
    async with opened_app(config_of(named, connectTimeoutMs=CONNECT_MS)) as app:
        print(json.dumps(await grown(app, servers, tools)))


async def grown(app: App, servers: int, tools: int) -> dict[str, float]:
    ours = Ours()
    started = time.perf_counter()
    await ours.adopt(app.engine)
    await ours.manager.readiness.started(ours.agent)
    # Of very many tools a server that is up is taken over in steps.
    while len(ours.manager.entries(ours.agent)) < servers * tools and time.perf_counter() - started < PATIENCE:
        await asyncio.sleep(LOOK_EVERY)
    known = time.perf_counter() - started
    started = time.perf_counter()
    offered = ours.manager.tools(ours.agent)
    listed = time.perf_counter() - started
    if len(offered) != servers * tools:
        states = (ours.manager.server(f"s{number}", ours.agent).status() for number in range(servers))
        bad = [f"{status.name} is {status.state}: {status.reason}" for status in states if status.state != "ready"]
        sys.exit(f"{len(offered)} of {servers * tools} tools are known; {'; '.join(bad)}")
    sessions = Sessions(app)
    key = await sessions.of(SMALLEST)
    turns = []
    for _ in range(TURNS):
        started = time.perf_counter()
        await sessions.turn(key)
        turns.append(time.perf_counter() - started)
    first, *later = turns
    ours.offer()
    # As for all calls one at a time: client and servers on one core; threads of ours inherit it there.
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    for task in (*threads, *descendants(os.getpid())):
        place_client(task)
    for _ in range(WARM):
        await ours.call("s0", "echo", {"text": TEXT})
    took = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await ours.call("s0", "echo", {"text": TEXT})
        took.append(time.perf_counter() - begun)
    rss = whole_memory(os.getpid())
    call = sorted(took)[CALLS // 2]
    return {"known": known, "listed": listed, "first": first, "next": min(later), "call": call, "rss": rss}


if __name__ == "__main__":
    run(main())
