"""Asks a running gateway, over its control socket, for something of its own: how it is, to stop or drain, a ticket for its page.

Commands go another way: remote.py, mcp_server/forward.py.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from openclaw.control import wire
from openclaw.control.remote import address


async def ask(place: Path, kind: bytes, *words: str) -> dict[str, Any] | None:
    """The answer to anything but RUN; None when no gateway of ours answers at that address. `words` are for DRAIN."""
    try:
        async with asyncio.timeout(wire.ANSWER_TIMEOUT):
            return await _ask(place, kind, words)
    except (OSError, EOFError, ValueError, TimeoutError):
        return None


async def _ask(place: Path, kind: bytes, words: Sequence[str]) -> dict[str, Any]:
    reader, writer, token = await connect(place)
    try:
        writer.write(wire.frame(kind, wire.request(token, words=[word.encode() for word in words])))
        _, payload = await read_frame(reader)
        return msgspec.json.decode(payload, type=dict[str, Any])
    finally:
        writer.close()


async def connect(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """A connection to the gateway at that address, and the token to show there. Raises OSError, ValueError."""
    port, token = address(str(place))
    if port is not None:
        return *await asyncio.open_connection("127.0.0.1", port), token
    if sys.platform == "win32":
        raise ValueError("no port")
    return *await asyncio.open_unix_connection(place), token


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Raises EOFError, OSError or ValueError."""
    head = await reader.readexactly(wire.HEAD_BYTES)
    return head[:1], await reader.readexactly(wire.length_of(head))
