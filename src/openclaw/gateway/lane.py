"""The short way for the one request that programs make again and again: a tool call that arrives whole, in plain HTTP.

Owns connections that bring nothing but plain `POST /v1/tools/invoke`: each request is read, answered and written here, in a quarter of the
time that aiohttp's server takes for it. Refuses to know anything else: at the first request that is not of this form, byte for byte, or
that is not welcome, the connection goes to aiohttp and stays there. Who is welcome and what is answered, http.py says.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol, cast

import msgspec

INVOKE = "/v1/tools/invoke"
_START = f"POST {INVOKE} HTTP/1.1\r\n".encode()
# A field of printable ASCII, on one line.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?)[ \t]*")
# Fields that change nothing about how a request is read, or about whether it may be made. With any other it is not plain.
_HARMLESS = frozenset({b"accept", b"accept-encoding", b"accept-language", b"content-type", b"user-agent"})
_READ = frozenset({b"host", b"authorization", b"content-length", b"connection"})
# No body that arrives in one piece is larger by far.
_LONGEST_LENGTH = 9


class Plain(msgspec.Struct, frozen=True):
    """A plain request: all that counts about it."""

    host: str
    authorization: str
    body: bytes

    def __repr__(self) -> str:
        return f"Plain({self.host!r})"


def read_plain(data: bytes) -> Plain | None:
    """The request in `data` when it is a plain one, whole, and nothing else."""
    if not data.startswith(_START):
        return None
    head, end, body = data[len(_START) :].partition(b"\r\n\r\n")
    if not end:
        return None
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name = field[1].lower()
        if name in _READ:
            if name in fields:
                return None
            fields[name] = field[2]
        elif name not in _HARMLESS:
            return None
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > _LONGEST_LENGTH or int(length) != len(body):
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    if b"host" not in fields or b"authorization" not in fields:
        return None
    return Plain(fields[b"host"].decode("ascii"), fields[b"authorization"].decode("ascii"), body)


class House(Protocol):
    """Whose connections these are (http.py)."""

    def welcomes(self, request: Plain, arrived_at: str) -> str:
        """The token of a request that may be made now; empty when it is to go the long way."""
        ...

    def answer(self, token: str, body: bytes) -> Awaitable[tuple[int, bytes]]:
        """The status and the JSON of the answer. Raises CancelledError when the caller is to be cut off, and nothing else."""
        ...

    def opened(self, lane: "Lane") -> None: ...

    def closed(self, lane: "Lane") -> None: ...


class Lane(asyncio.Protocol):
    """One connection. `otherwise` makes the protocol that takes it over; `patience` is how many seconds it may be quiet."""

    def __init__(self, house: House, otherwise: Callable[[], asyncio.Protocol], patience: float) -> None:
        self._house = house
        self._otherwise = otherwise
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle
        self._arrived_at = ""
        self._quiet_since = self._loop.time()
        self._answering: asyncio.Task[None] | None = None
        # What came while an answer was under way, and whether the caller is too slow to take one.
        self._behind = b""
        self._is_choked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sockname = transport.get_extra_info("sockname")
        self._arrived_at = str(sockname[0]) if sockname else ""
        self._timer = self._loop.call_later(self._patience, self._look)
        self._house.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._leave()
        if self._answering is not None:
            # Nobody waits for the answer any more.
            self._answering.cancel()

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._answering is not None or self._is_choked:
            if not self._behind:
                self._transport.pause_reading()
            self._behind += data
            return
        plain = read_plain(data)
        token = self._house.welcomes(plain, self._arrived_at) if plain is not None else ""
        if plain is None or not token:
            self._hand_over(data)
        else:
            self._answering = self._loop.create_task(self._answer(token, plain.body))

    def pause_writing(self) -> None:
        self._is_choked = True

    def resume_writing(self) -> None:
        self._is_choked = False
        if self._answering is None:
            self._go_on()

    async def _answer(self, token: str, body: bytes) -> None:
        try:
            status, data = await self._house.answer(token, body)
        except asyncio.CancelledError:
            self._transport.abort()
            raise
        self._answering = None
        self._quiet_since = self._loop.time()
        if not self._transport.is_closing():
            self._transport.write(_head(status, len(data)) + data)
            if not self._is_choked:
                self._go_on()

    def _go_on(self) -> None:
        if self._behind and not self._transport.is_closing():
            data, self._behind = self._behind, b""
            self._transport.resume_reading()
            self.data_received(data)

    def _hand_over(self, data: bytes) -> None:
        self._leave()
        other = self._otherwise()
        self._transport.set_protocol(other)
        other.connection_made(self._transport)
        other.data_received(data)

    def _leave(self) -> None:
        self._timer.cancel()
        self._house.closed(self)

    def _look(self) -> None:
        """Close a connection on which nothing happens."""
        rest = self._patience
        if self._answering is None:
            rest += self._quiet_since - self._loop.time()
        if rest <= 0:
            self._transport.close()
        else:
            self._timer = self._loop.call_later(rest, self._look)


# What every answer of the HTTP port carries, whichever way it was made.
HEADERS = {"Server": "openclaw", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_FIELDS = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
# The second of the last answer, and its date.
_now: tuple[int, str] = (0, "")


def _head(status: int, length: int) -> bytes:
    global _now
    second = int(time.time())
    if second != _now[0]:
        _now = (second, formatdate(second, usegmt=True))
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
        f"Date: {_now[1]}\r\n{_FIELDS}\r\n"
    ).encode()
