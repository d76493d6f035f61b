"""What happens when a server is killed: until callers in mid-call have their error, and until its tools are back. Prints JSON.

    python -m bench.ours.recovery SERVERS

Each server is killed once, so that every backoff is the first one.
"""

import asyncio
import json
import os
import signal
import sys
import time

from bench.drivers import stdio_server
from bench.ours.driver import run
from bench.ours.engine import Ours

CALLERS = 16


async def main() -> None:
    names = [f"s{number}" for number in range(int(sys.argv[1]))]
    ours = Ours()
    await ours.open({name: stdio_server() for name in names})
    errors, backs = [], []
    for name in names:
        error, back = await kill(ours, name)
        errors.append(error)
        backs.append(back)
    print(json.dumps({"errors": errors, "backs": backs}))
    await ours.close()


async def kill(ours: Ours, name: str) -> tuple[float, float]:
    """Seconds to the last caller's error, and to a server that answers again, less the wait before the first attempt."""
    callers = [asyncio.ensure_future(ours.call(name, "never", {})) for _ in range(CALLERS)]
    server = ours.manager.server(name, ours.agent)
    while server.status().in_flight < CALLERS:
        await asyncio.sleep(0)
    # Answered after they have arrived: a call that surely never did would be sent again, to a server that never answers it.
    await ours.call(name, "echo", {"text": "behind them"})
    pid = server.status().pid
    assert pid is not None
    killed = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    ended = await asyncio.gather(*callers, return_exceptions=True)
    error = time.perf_counter() - killed
    assert all(isinstance(one, RuntimeError) for one in ended), ended
    while (wait := server.status().next_attempt) is None:
        await asyncio.sleep(0)
    wait += time.perf_counter() - killed
    while server.status().state != "ready":
        await asyncio.sleep(0.001)
    back = time.perf_counter() - killed
    await ours.call(name, "echo", {"text": "again"})
    return error, back - wait


if __name__ == "__main__":
    run(main())
