"""Both HTTP transports against a server of the official Python SDK, in its newest and an older revision."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.net.client import ClientOptions
from openclaw.protocol import eras
from openclaw.protocol.eras import Agreement
from openclaw.security.egress import OPERATOR
from openclaw.transport.base import Transport
from openclaw.transport.connection import Connection
from openclaw.transport.endpoint import Destination
from openclaw.transport.handshake import shake_hands
from openclaw.transport.http import HttpTransport
from openclaw.transport.legacy_sse import LegacySseTransport

PROGRAM = Path(__file__).parent.parent / "parts" / "sdk_shop.py"
LOCAL = ClientOptions(rules=OPERATOR)


@asynccontextmanager
async def sdk_server(kind: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), kind, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


@pytest.mark.requirement("000-15-e2e")
@pytest.mark.requirement("002-7-http")
@pytest.mark.parametrize(
    ("kind", "known", "agreed"),
    [
        ("streamable-http", "", "2026-07-28"),
        ("streamable-http", "2025-11-25", "2025-11-25"),
        ("sse", "", "2025-11-25"),
    ],
)
async def test_the_official_sdk_understands_us(kind: str, known: str, agreed: str) -> None:
    async with sdk_server(kind) as port:
        transport: Transport = (
            LegacySseTransport(Destination(f"http://127.0.0.1:{port}/sse", options=LOCAL))
            if kind == "sse"
            else HttpTransport(Destination(f"http://127.0.0.1:{port}/mcp", options=LOCAL))
        )
        progress: list[float] = []
        async with Connection(transport) as connection:
            agreement = await shake_hands(connection, eras.negotiate(transport.facts, known=known), timeout=30)
            assert isinstance(agreement, Agreement)

            async def call(tool: str, **arguments: Any) -> str:
                result = await connection.request(
                    "tools/call",
                    {"name": tool, "arguments": arguments},
                    timeout=30,
                    name=tool,
                    on_progress=lambda done, total, message: progress.append(done),
                )
                text: str = msgspec.json.decode(result)["content"][0]["text"]
                return text

            echoed = await asyncio.gather(*(call("echo", text=str(number)) for number in range(10)))
            counted = await call("count", n=3)
    assert (agreement.version, echoed, counted) == (agreed, [str(number) for number in range(10)], "counted")
    assert progress == [1.0, 2.0, 3.0]
