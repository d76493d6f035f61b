"""The engine with so many servers and tools: seconds until all are known, to list them, for a call to one of them; and memory. Prints JSON.

python -m bench.ours.growth SERVERS TOOLS_EACH
"""

import json
import os
import sys
import time

from bench.contenders.driver import TEXT
from bench.drivers import stdio_server, whole_memory
from bench.ours.driver import run
from bench.ours.engine import Ours
from bench.placement import place_client
from bench.processes import descendants

WARM, CALLS = 200, 1_000


async def main() -> None:
    servers, tools = int(sys.argv[1]), int(sys.argv[2])
    ours = Ours()
    started = time.perf_counter()
    await ours.start({f"s{number}": stdio_server("--tools", str(tools)) for number in range(servers)})
    await ours.manager.readiness.started(ours.agent)
    known = time.perf_counter() - started
    started = time.perf_counter()
    offered = ours.manager.tools(ours.agent)
    listed = time.perf_counter() - started
    if len(offered) != servers * tools:
        states = (ours.manager.server(f"s{number}", ours.agent).status() for number in range(servers))
        bad = [f"{status.name} is {status.state}: {status.reason}" for status in states if status.state != "ready"]
        sys.exit(f"{len(offered)} of {servers * tools} tools are known; {'; '.join(bad)}")
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
    print(json.dumps({"known": known, "listed": listed, "call": sorted(took)[CALLS // 2], "rss": rss}))
    await ours.close()


if __name__ == "__main__":
    run(main())
