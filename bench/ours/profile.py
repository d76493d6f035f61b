"""Where the processor time of our calls, or of a turn, goes: printed beside a figure that was missed.

    python -m bench.ours.profile stdio|modern|json|events IN_FLIGHT
    python -m bench.ours.profile turn

The profiler makes everything slower, small functions most: its table says what to look at, not what it costs.
"""

import asyncio
import cProfile
import io
import pstats
import sys
from collections.abc import Awaitable, Callable

from bench.contenders.driver import TEXT
from bench.drivers import HttpServer, stdio_server
from bench.ours.driver import run
from bench.ours.engine import Ours
from bench.ours.turns import Sessions, opened_app

WARM, CALLS = 2_000, 10_000
MESSAGES, TURNS = 10_000, 100
# Functions that are shown.
SHOWN = 15
# Characters of a line.
WIDTH = 130


def top(profile: cProfile.Profile) -> str:
    """The functions with most time of their own, a line each."""
    text = io.StringIO()
    pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(SHOWN)
    lines = [line for line in text.getvalue().splitlines() if line.strip()]
    start = next(number for number, line in enumerate(lines) if "ncalls" in line)
    return "\n".join(line[:WIDTH].rstrip() for line in lines[start:])


async def profiled(work: Callable[[], Awaitable[None]]) -> str:
    await work()
    profile = cProfile.Profile()
    profile.enable()
    await work()
    profile.disable()
    return top(profile)


async def of_calls(kind: str, in_flight: int) -> str:
    with HttpServer() as http:
        targets = {
            "stdio": stdio_server(),
            "modern": stdio_server("--modern"),
            "json": http.target("json/mcp"),
            "events": http.target("events/mcp"),
        }
        ours = Ours()
        await ours.open({"server": targets[kind]})

        async def some(count: int) -> None:
            for _ in range(count):
                await ours.call("server", "echo", {"text": TEXT})

        async def work() -> None:
            await asyncio.gather(*(some(CALLS // in_flight) for _ in range(in_flight)))

        await some(WARM)
        found = await profiled(work)
        await ours.close()
        return found


async def of_a_turn() -> str:
    async with opened_app() as app:
        sessions = Sessions(app)
        key = await sessions.of(MESSAGES)

        async def work() -> None:
            for _ in range(TURNS):
                await sessions.turn(key)

        return await profiled(work)


async def main() -> None:
    kind = sys.argv[1]
    print(await (of_a_turn() if kind == "turn" else of_calls(kind, int(sys.argv[2]))))


if __name__ == "__main__":
    run(main())
