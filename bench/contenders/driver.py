"""The frame around every Python client that is measured: takes commands on standard input, answers on standard output, one JSON a line.

Imports the standard library alone, since it runs in each contender's environment. A contender opens servers and calls tools; what is
counted and timed is the same for all of them. The harness's side is ../drivers.py; driver.mjs is the same frame for Node.
"""

import ast
import asyncio
import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypedDict

# What a call carries unless it is told otherwise: as many characters as an ordinary short answer.
TEXT = "0123456789" * 10
# Of a result told to the harness: enough to find the echo in its frame.
MOST_TEXT = 4_000


class Target(TypedDict, total=False):
    """A server to open: `command` and its arguments, or a `url`. `modern` tells those who do not find out by themselves, the plain clients
    and the TypeScript SDK, to speak 2026-07-28."""

    command: list[str]
    url: str
    modern: bool


class Contender(Protocol):
    async def open(self, servers: dict[str, Target]) -> None:
        """Connect to all of these, each known by its name from now on, and know their tools.

        There may also be `open_many`, which begins to connect to all at once while a call waits for its own server alone, and
        `open_list`, the library's own call for a whole list of servers. Who lacks one is asked to `open`.
        """

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        """The text of the result, as whoever asked the model to call a tool gets it. Raises on failure."""

    async def close(self) -> None: ...


def serve(make: Callable[[], Contender], run: Callable[..., Any] = asyncio.run) -> None:
    """Obey commands until there are no more. `--once TARGET` is a script that calls one tool of one server and ends."""
    if sys.argv[1:2] == ["--once"]:
        run(_once(make(), json.loads(sys.argv[2])))
        return
    # What a library prints must not get between our answers.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    async def main() -> None:
        contender = make()
        while command := await _command():
            try:
                answer = await asyncio.wait_for(_obey(contender, command), command.get("limit"))
            except BaseException as error:
                # A contender's task group may be gone with whatever it raised: tell it, and let the harness decide.
                late = isinstance(error, TimeoutError) and not str(error)
                why = f"no answer within {command.get('limit')} s" if late else _root(error)
                answer = {"error": why if late else f"{type(error).__name__}: {why}"}
            out.write(json.dumps(answer) + "\n")
            if command["do"] == "close":
                os._exit(0)

    with contextlib.suppress(KeyboardInterrupt):
        run(main())
    os._exit(0)


async def _once(contender: Contender, target: Target) -> None:
    await contender.open({"echo": target})
    print(await contender.call("echo", "echo", {"text": TEXT}))
    await contender.close()


def _root(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)[:300]


async def _command() -> dict[str, Any]:
    """The next command; empty at the end. The loop stays awake meanwhile, as in a real host."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(0, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(0)
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(0, 1 << 16)):
        line += piece
    return json.loads(line) if line else {}


async def _obey(contender: Contender, command: dict[str, Any]) -> dict[str, Any]:
    do = command["do"]
    started = time.perf_counter()
    if do == "open":
        await _opening(contender, command.get("way", "open"), command["servers"])
    elif do == "calls":
        return await _calls(contender, **command["how"])
    elif do == "call":
        text = await contender.call(command["server"], command["tool"], command["arguments"])
        return {"seconds": time.perf_counter() - started, "length": len(text), "text": text[:MOST_TEXT]}
    elif do == "reach":
        return await _reach(contender, **command["how"])
    elif do == "close":
        await contender.close()
    return {"seconds": time.perf_counter() - started}


def _opening(contender: Contender, way: str, servers: dict[str, Target]) -> Awaitable[None]:
    opening: Awaitable[None] = getattr(contender, way, contender.open)(servers)
    return opening


async def _reach(
    contender: Contender, servers: dict[str, Target], wanted: list[str], patience: float, way: str = "open_many"
) -> dict[str, Any]:
    """Open all of the servers and call each of those wanted: how many answered, and when the last of them did."""
    started = time.perf_counter()
    answered: list[float] = []
    failure = ""

    async def first(server: str) -> None:
        await contender.call(server, "echo", {"text": TEXT})
        answered.append(time.perf_counter() - started)

    try:
        await asyncio.wait_for(_opening(contender, way, servers), patience)
    except BaseException as error:
        failure = f"{type(error).__name__}: {_root(error)}"
    left = max(1.0, patience - (time.perf_counter() - started))
    with contextlib.suppress(BaseException):
        await asyncio.wait_for(asyncio.gather(*map(first, wanted), return_exceptions=True), left)
    return {"answered": len(answered), "seconds": max(answered, default=0.0), "failure": failure}


async def _calls(
    contender: Contender,
    servers: list[str],
    in_flight: int,
    count: int,
    seconds: float,
    tool: str = "echo",
    argument: str = "text",
    text: str = TEXT,
) -> dict[str, Any]:
    """Call until `count` calls are made or the time is up, `in_flight` at a time on each server."""
    arguments = {argument: text}
    echo = await contender.call(servers[0], tool, arguments)
    assert is_echo(text, echo), f"not an echo: {echo[:200]}"
    took: list[float] = []
    clock = time.perf_counter
    end = clock() + seconds

    async def work(server: str, share: int) -> None:
        call = contender.call
        for _ in range(share):
            started = clock()
            await call(server, tool, arguments)
            now = clock()
            took.append(now - started)
            if now > end:
                return

    share = max(1, count // (in_flight * len(servers)))
    used = _cpu()
    started = clock()
    if in_flight == 1 and len(servers) == 1:
        await work(servers[0], share)
    else:
        await asyncio.gather(*(work(server, share) for server in servers for _ in range(in_flight)))
    passed, used = clock() - started, _cpu() - used
    took.sort()
    return {
        "calls": len(took),
        "seconds": passed,
        "p50": took[len(took) // 2],
        "p99": took[int(len(took) * 0.99)],
        "cpu": used / len(took),
    }


def is_echo(text: str, result: str) -> bool:
    """Whether a result has the text in it; of a library that reads what looks like JSON, its value as Python writes it."""
    if text in result:
        return True
    try:
        return bool(json.loads(text) == ast.literal_eval(result))
    except (ValueError, SyntaxError):
        return False


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
