"""An HTTP answer as callers see it: status, headers, and a body that is read whole within a bound or piece by piece.

Owns giving the connection back. `client.py` makes responses.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from openclaw.errors import ProtocolError, TransportError
from openclaw.net.body import Inflater, coding_of
from openclaw.net.connection import Connection
from openclaw.net.http1 import Head, Headers, ResponseParser
from openclaw.net.pool import Pool
from openclaw.security.egress import Target


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response read whole."""

    status: int
    headers: Headers
    url: str
    body: bytes


class Response:
    """An answer whose body may still be coming. It must be closed; `HttpClient.stream` does that."""

    __slots__ = ("_connection", "_expiry", "_fields", "_parser", "_pool", "_target", "status")

    def __init__(
        self,
        head: Head,
        target: Target,
        connection: Connection,
        parser: ResponseParser,
        pool: Pool,
        expiry: asyncio.TimerHandle | None,
    ) -> None:
        self.status = head.status
        self._fields = head.fields
        self._target = target
        self._connection: Connection | None = connection
        self._parser = parser
        self._pool = pool
        self._expiry = expiry

    @property
    def headers(self) -> Headers:
        return Headers(self._fields)

    @property
    def url(self) -> str:
        """Where the answer came from, after redirects. May hold secrets in its path or query."""
        return self._target.url

    @property
    def origin(self) -> str:
        return self._target.origin

    @property
    def media_type(self) -> str:
        """The content type without parameters, lower case; empty when the server named none."""
        return self._fields.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, limit: int) -> bytes:
        """The whole body, decompressed. Raises ProtocolError beyond `limit` bytes, LinkLostError when it is cut off."""
        parser = self._parser
        if parser.finished and len(parser.pieces) == 1 and "content-encoding" not in self._fields:
            # The usual small answer came in one piece with its head.
            piece = parser.pieces.popleft()
            if len(piece) > limit:
                raise self._too_large(limit)
            return piece
        pieces: list[bytes] = []
        size = 0
        async for piece in self.chunks():
            size += len(piece)
            if size > limit:
                raise self._too_large(limit)
            pieces.append(piece)
        return b"".join(pieces)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, decompressed, as it arrives. Raises LinkLostError when it is cut off."""
        connection = self._connection
        if connection is None:
            raise TransportError("The response was closed before it was read.")
        coding = coding_of(self._fields.get("content-encoding"))
        inflater = Inflater(coding) if coding else None
        while (piece := await connection.piece(self._parser)) is not None:
            if inflater is None:
                yield piece
            else:
                for part in inflater.feed(piece):
                    yield part
        if inflater is not None:
            inflater.finish()

    def close(self) -> None:
        """Give the connection back when the whole body has arrived, read or not; else close it. Harmless when repeated."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._expiry is not None:
            self._expiry.cancel()
        if connection.end():
            self._pool.put(self._target.origin, connection)

    def _too_large(self, limit: int) -> ProtocolError:
        return ProtocolError(f"The answer of {self.origin} is larger than {limit} bytes.")
