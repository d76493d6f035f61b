"""An HTTP answer as callers see it: status, headers, and a body that is read whole within a bound or piece by piece.

Owns giving the connection back. `client.py` makes responses.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec

from openclaw.errors import ProtocolError, TransportError
from openclaw.net.body import Inflater, coding_of
from openclaw.net.connection_pool import Pool
from openclaw.net.http1 import Head, Headers, ResponseParser
from openclaw.net.http_connection import HttpConnection
from openclaw.net.redirect import is_same_resource
from openclaw.net.share import Share
from openclaw.protocol.gathered import Gathered
from openclaw.security.egress import Target


class Fetched(msgspec.Struct, frozen=True):
    """A response read whole."""

    status: int
    headers: Headers
    url: str
    body: bytes


class Response:
    """An answer whose body may still be coming. It must be closed; `HttpClient.stream` does that."""

    __slots__ = ("_connection", "_expiry", "_fields", "_parser", "_pool", "_target", "media_type", "status")

    def __init__(
        self,
        head: Head,
        target: Target,
        connection: HttpConnection,
        parser: ResponseParser,
        pool: Pool,
        expiry: asyncio.TimerHandle | None,
    ) -> None:
        self.status = head.status
        # The content type without parameters, lower case; empty when the server named none.
        self.media_type = head.media_type
        self._fields = head.fields
        self._target = target
        self._connection: HttpConnection | None = connection
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

    def is_from(self, target: Target) -> bool:
        """Whether the resource that was asked for answered itself, and not one that it redirects to."""
        return is_same_resource(self._target, target)

    @property
    def is_delimited(self) -> bool:
        """Whether the answer says where it ends. One that runs until the connection closes may have been cut off at any byte."""
        return self._parser.is_delimited

    async def read(self, limit: int) -> bytes:
        """The whole body, decompressed. Raises ProtocolError beyond `limit` bytes, LinkLostError when it is cut off."""
        parser = self._parser
        if parser.finished and len(parser.pieces) == 1 and "content-encoding" not in self._fields:
            # Here already, in one piece and in plain, as small answers are.
            whole = parser.pieces[0]
            if len(whole) > limit:
                raise self._too_large(limit)
            return whole
        body, share = Gathered(), Share()
        async for piece in self.chunks():
            if body.size + len(piece) > limit:
                raise self._too_large(limit)
            body.add(piece)
            await share.rest()
        return body.take()

    def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, decompressed, as it arrives. Raises LinkLostError when it is cut off."""
        if self._connection is None:
            raise TransportError("The response was closed before it was read.")
        coding = coding_of(self._fields.get("content-encoding"))
        pieces = _Pieces(self._connection, self._parser)
        return _Inflated(pieces, Inflater(coding)) if coding else pieces

    def close(self) -> None:
        """Give the connection back when the whole body has arrived, read or not; else close it. Harmless when repeated."""
        connection = self._detach()
        if connection is not None:
            self._pool.give_back(self._target.origin, connection)

    def release(self, patience: float) -> None:
        """`close` for a stream that is not needed any more: its end may take `patience` seconds to arrive, and nobody waits for it."""
        connection = self._detach()
        if connection is not None:
            self._pool.linger(self._target.origin, connection, patience)

    def _detach(self) -> HttpConnection | None:
        connection, self._connection = self._connection, None
        if self._expiry is not None:
            self._expiry.cancel()
        return connection

    def _too_large(self, limit: int) -> ProtocolError:
        return ProtocolError(f"The answer of {self.origin} is larger than {limit} bytes.")


class _Pieces:
    """A body as it is on the wire. Not a generator: one that is left half read would need a task of its own to be closed."""

    __slots__ = ("_connection", "_parser")

    def __init__(self, connection: HttpConnection, parser: ResponseParser) -> None:
        self._connection = connection
        self._parser = parser

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        piece = await self._connection.piece(self._parser)
        if piece is None:
            raise StopAsyncIteration
        return piece


class _Inflated:
    """A body with its content coding undone."""

    __slots__ = ("_inflater", "_pending", "_pieces")

    def __init__(self, pieces: _Pieces, inflater: Inflater) -> None:
        self._pieces = pieces
        self._inflater = inflater
        self._pending: Iterator[bytes] = iter(())

    def __aiter__(self) -> "_Inflated":
        return self

    async def __anext__(self) -> bytes:
        while True:
            for part in self._pending:
                return part
            try:
                piece = await anext(self._pieces)
            except StopAsyncIteration:
                self._inflater.finish()
                raise
            self._pending = self._inflater.feed(piece)
