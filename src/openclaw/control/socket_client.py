"""Asks a running gateway, over its control socket, how it is or to stop. Commands go another way: remote.py, mcp_server/forward.py."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from openclaw.control import wire

# A healthy gateway answers within milliseconds.
ANSWER_TIMEOUT = 5.0


async def ask(place: Path, kind: bytes) -> dict[str, Any] | None:
    """The answer to STATUS or STOP; None when no gateway of ours answers at that address."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            return await _ask(place, kind)
    except (OSError, EOFError, ValueError, TimeoutError):
        return None


async def _ask(place: Path, kind: bytes) -> dict[str, Any]:
    reader, writer, token = await connect(place)
    try:
        writer.write(wire.frame(kind, wire.request(token)))
        _, payload = await read_frame(reader)
        return msgspec.json.decode(payload, type=dict[str, Any])
    finally:
        writer.close()


async def connect(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """A connection to the gateway at that address, and the token to show there. Raises OSError, ValueError."""
    port, token = _address(place)
    if port is None:
        return *await asyncio.open_unix_connection(place), token
    return *await asyncio.open_connection("127.0.0.1", port), token


def _address(place: Path) -> tuple[int | None, bytes]:
    """The port and the token that stand in a file where there are no Unix sockets; no port for a socket. Raises OSError, ValueError."""
    found = os.lstat(place)
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise ValueError("not our socket")
    if stat.S_ISSOCK(found.st_mode):
        return None, b""
    port, _, token = place.read_bytes().strip().partition(b" ")
    return int(port), token


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Raises EOFError, OSError or ValueError."""
    head = await reader.readexactly(wire.HEAD_BYTES)
    return head[:1], await reader.readexactly(wire.length_of(head))
