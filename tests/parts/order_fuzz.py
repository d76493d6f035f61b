"""Feed lines to an order server and look at everything that comes back."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parts.order_process import OPENCLAW, environment

PING = b'{"jsonrpc":"2.0","id":"the last one","method":"ping"}\n'
PONG = {"jsonrpc": "2.0", "id": "the last one", "result": {}}


@dataclass(frozen=True)
class Fed:
    """`odd` are lines of output that are no answers; `peak` is the most memory the process had, in bytes."""

    odd: list[Any]
    answers: int
    last: Any
    code: int
    stderr: bytes
    peak: int


async def feed(home: Path, lines: Iterable[bytes]) -> Fed:
    """Send the lines, then a ping, then the end of input."""
    process = await asyncio.create_subprocess_exec(
        *OPENCLAW,
        "mcp-server",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home),
        cwd=home,
        limit=1 << 26,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    sending = asyncio.create_task(_send(process.stdin, lines))
    odd: list[Any] = []
    answers = 0
    message: Any = None
    while message != PONG and (line := await process.stdout.readline()):
        message = json.loads(line)
        answers += 1
        if not all(_is_answer(one) for one in (message if isinstance(message, list) else [message])):
            odd.append(message)
    await sending
    peak = peak_memory(process.pid)
    process.stdin.close()
    code = await process.wait()
    fed = Fed(odd, answers, message, code, await errors, peak)
    process._transport.close()  # type: ignore[attr-defined]
    return fed


def _is_answer(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and (
            ("id" in message and ("result" in message) != ("error" in message))
            or message.get("method") == "notifications/progress"
        )
    )


async def _send(stdin: asyncio.StreamWriter, lines: Iterable[bytes]) -> None:
    for line in lines:
        stdin.write(line + b"\n")
        await stdin.drain()
    stdin.write(PING)
    await stdin.drain()


def peak_memory(pid: int) -> int:
    """The most memory a process has had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
