"""What runs in the process of the sandbox: code of models, one run after the other, in a worker of `pydantic_monty`.

A program of its own, never imported by us: what is wrong with the library, or is printed by it, stays in here. Reads lines of JSON on
its standard input and writes them on its standard output; `sandbox.py` has the other end and every decision about calls.

    in    {"run": {"code", "names", "seconds", "memory", "recursion", "suspensions", "output", "arguments"}}
          {"answer": NUMBER, "json": TEXT} or {"answer": NUMBER, "error": TEXT}
    out   {"call": NUMBER, "name", "arguments"}, {"signature": NUMBER, "name"}
          {"end": {"head", "tail", "leftOut", "why"}}

`head` and `tail` are what came of it, without `leftOut` characters between them: what was printed, then the value of the last
expression or what went wrong. `why` is empty, or `error` (the code's own), `time`, `memory`, `crash`.
"""

import asyncio
import contextlib
import datetime
import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pydantic_monty as monty

# It has no such limits on memory and files.
assert sys.platform != "win32"

# Beyond the sandbox's own limit of time its worker is ended by force, which only arithmetic with endless numbers makes necessary.
GRACE = 1.0
# Of this process and of the worker, whatever the sandbox counts: address space, open files.
ADDRESS_SPACE = 2 << 30
OPEN_FILES = 128
# What code catches when a call fails. The sandbox has no exceptions of one's own.
PRELUDE = "ToolError = RuntimeError"
# Of a text that is a value of code and no JSON.
DEEPEST = 60


class Output:
    """What came of code: the beginning and the end of it, within a bound."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head: list[str] = []
        self._room = self._half
        self._tail = ""
        self.length = 0

    def line(self, text: str) -> None:
        """Behind what was printed, on a line of its own."""
        last = self._tail or (self._head[-1] if self._head else "")
        self.take("", text if last.endswith("\n") or not last else f"\n{text}")

    def take(self, stream: str, text: str) -> None:
        self.length += len(text)
        if self._room > 0:
            self._head.append(text[: self._room])
            text = text[self._room :]
            self._room -= len(self._head[-1])
        if text:
            self._tail = (self._tail + text)[-self._half :]

    def parts(self) -> tuple[str, str, int]:
        """The beginning, the end, and how many characters are missing between them."""
        head = "".join(self._head)
        return head, self._tail, self.length - len(head) - len(self._tail)


class Program:
    def __init__(self, pool: monty.AsyncMonty) -> None:
        self._pool = pool
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._runs: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def heard(self, line: bytes) -> None:
        """A line of the other end; an empty one is its end."""
        message = json.loads(line) if line else None
        if message is None or "run" in message:
            self._runs.put_nowait(message and message["run"])
        elif (waiting := self._waiting.pop(message["answer"], None)) is not None and not waiting.done():
            waiting.set_result(message)

    async def serve(self) -> None:
        while (request := await self._runs.get()) is not None:
            say({"end": await self.run(request)})

    async def ask(self, message: dict[str, Any]) -> Any:
        """What the other end answers. Raises what code sees as a ToolError."""
        self._number += 1
        number = self._number
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        kind = next(iter(message))
        say({**message, kind: number})
        answer = await waiting
        if "error" in answer:
            raise RuntimeError(answer["error"])
        try:
            return json.loads(answer["json"])
        except RecursionError:
            raise RuntimeError("The answer is nested too deeply.") from None

    async def run(self, request: dict[str, Any]) -> dict[str, Any]:
        output = Output(request["output"])
        limits: monty.ResourceLimits = {
            "max_feed_duration_secs": request["seconds"],
            "max_memory": request["memory"],
            "max_recursion_depth": request["recursion"],
            "max_suspensions": request["suspensions"],
            "max_total_sleep_secs": request["seconds"],
        }
        # No clock and no chance in here: what it is, and what is drawn, is the same all through a run.
        policy: monty.OSPolicy = {"datetime": datetime.datetime.now(datetime.UTC), "random_start": {"seed": 0}}
        why = ""
        try:
            async with self._pool.checkout(script_name="code.py", limits=limits, os_policy=policy) as session:
                await session.feed_run(PRELUDE, print_callback=output.take)
                value = await session.feed_run(
                    request["code"], external_lookup=self.names(request), print_callback=output.take
                )
                if value is not None:
                    output.line(written(value))
        except monty.MontyCrashedError as fault:
            why = "time" if fault.timed_out else "crash"
        except monty.MontyError as fault:
            error, why = told(fault)
            output.line(error)
        except Exception as fault:
            # What cannot be taken out of the sandbox, such as a number of a million digits.
            output.line(f"{type(fault).__name__}: {fault}")
            why = "error"
        head, tail, left_out = output.parts()
        return {"head": head, "tail": tail, "leftOut": left_out, "why": why}

    def names(self, request: dict[str, Any]) -> dict[str, Any]:
        """What code finds under names that it did not define: `call`, `signature`, and each tool whose name Python can write."""

        async def call(name: object, arguments: object = None, /, **more: object) -> Any:
            if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
                raise TypeError('call takes a name and a dict: await call("NAME", {…})')
            given = {**(arguments or {}), **more}
            text = json.dumps(given, allow_nan=False, ensure_ascii=False)
            if len(text) > request["arguments"]:
                raise ValueError(f"The arguments of one call may have {request['arguments']:,} characters.")
            return await self.ask({"call": 0, "name": name, "arguments": given})

        async def signature(name: object) -> Any:
            return await self.ask({"signature": 0, "name": str(name)})

        def named(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
            async def tool(arguments: object = None, /, **more: object) -> Any:
                return await call(name, arguments, **more)

            return tool

        return {**{name: named(name) for name in request["names"]}, "call": call, "signature": signature}


def told(fault: monty.MontyError) -> tuple[str, str]:
    """What went wrong in code, and of which kind it was."""
    inner = fault.exception()
    if isinstance(fault, monty.MontyRuntimeError):
        if isinstance(inner, TimeoutError) and "limit exceeded" in str(fault):
            return "", "time"
        if isinstance(inner, MemoryError):
            return "", "memory"
    display = getattr(fault, "display", None)
    return (display() if display is not None else str(fault)), "error"


def written(value: Any) -> str:
    """A value of code as text: a text as it is, what JSON can say as JSON, and the rest as Python writes it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(plain(value), ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def plain(value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth + 1) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return repr(value)


def say(message: dict[str, Any]) -> None:
    # What is half a character is none that can be sent.
    line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def listen(loop: asyncio.AbstractEventLoop, heard: Callable[[bytes], None]) -> None:
    for line in sys.stdin.buffer:
        loop.call_soon_threadsafe(heard, line)
    loop.call_soon_threadsafe(heard, b"")


async def main() -> None:
    # Each run has a worker of its own, with nothing in it of the one before.
    async with monty.AsyncMonty(max_processes=1, max_checkouts_per_worker=1, feed_duration_limit_grace=GRACE) as pool:
        program = Program(pool)
        threading.Thread(target=listen, args=(asyncio.get_running_loop(), program.heard), daemon=True).start()
        await program.serve()


if __name__ == "__main__":
    for kind, most in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # A container may allow less already.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    asyncio.run(main())
    sys.stdout.flush()
    # The thread that listens still waits for a line; nothing is left to clean up.
    os._exit(0)
