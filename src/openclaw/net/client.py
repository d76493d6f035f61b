"""The one HTTP client: every outgoing request of the product goes through `HttpClient`, and so through the egress check.

Owns redirects (each hop checked again, credentials and custom headers dropped when the origin changes, never from https to http),
reuse of connections, deadlines and bounds on what is read. A client belongs to one server or provider: its cookies, certificates and
connections are shared with nobody. There is no default time limit on an exchange, since streams live long: callers give `timeout`.

    async with HttpClient(ClientOptions(rules=OPERATOR)) as client:
        async with client.stream("POST", url, headers={...}, body=b"...") as response:
            async for piece in response.chunks(): ...

Errors: AddressError (refused), ConnectError (never sent), LinkLostError (`maybe_sent`), DeadlineError, ProtocolError (not HTTP, too large).
`dial.py` makes connections, `http1.py` reads the wire. No error names more of a URL than its origin.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from openclaw.errors import AddressError, ConnectError, DeadlineError, LinkLostError, ProtocolError, TransportError
from openclaw.net.body import Inflater, coding_of
from openclaw.net.connection import Connection
from openclaw.net.cookies import CookieJar
from openclaw.net.dial import dial
from openclaw.net.http1 import Head, Headers, ResponseParser, encode_head
from openclaw.net.pool import Pool
from openclaw.net.proxy import Proxy, ProxyRules
from openclaw.net.tls import TlsOptions, make_context
from openclaw.security.egress import Rules, Target, check_dial, check_url, narrowed, parse_url

MAX_REDIRECTS: Final = 3
# The default bound of `fetch`: metadata documents and token answers are far smaller.
DEFAULT_LIMIT: Final = 256 * 1024

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Safe to send twice: a stale connection costs one more attempt instead of an error.
_REPEATABLE = frozenset(("GET", "HEAD", "DELETE", "OPTIONS"))
# All that may follow a redirect to another origin: what describes the message, nothing that says who we are.
_PUBLIC_HEADERS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


@dataclass(frozen=True, slots=True)
class ClientOptions:
    rules: Rules = Rules()
    tls: TlsOptions = TlsOptions()
    proxies: ProxyRules = ProxyRules()
    # Seconds for name, connection, proxy and TLS together.
    connect_timeout: float = 10.0
    # Remember cookies per origin, as load balancers with sticky sessions need.
    cookies: bool = False
    user_agent: str = "openclaw"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response read whole."""

    status: int
    headers: Headers
    url: str
    body: bytes


class Response:
    """An answer whose body may still be coming. `url` is where it came from, after redirects."""

    __slots__ = ("_connection", "_deadline", "_parser", "_pool", "_target", "headers", "status", "url")

    def __init__(
        self,
        head: Head,
        target: Target,
        connection: Connection,
        parser: ResponseParser,
        pool: Pool,
        deadline: asyncio.TimerHandle | None,
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self.url = target.url
        self._target = target
        self._connection: Connection | None = connection
        self._parser = parser
        self._pool = pool
        self._deadline = deadline

    @property
    def origin(self) -> str:
        return self._target.origin

    async def read(self, limit: int) -> bytes:
        """The whole body, decompressed. Raises ProtocolError beyond `limit` bytes."""
        parser = self._parser
        if parser.finished and len(parser.pieces) == 1 and "content-encoding" not in self.headers:
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
        """The body piece by piece, decompressed, as it arrives. Ends at its end; raises LinkLostError when it is cut off."""
        connection = self._connection
        if connection is None:
            raise TransportError("The response was closed before it was read.")
        coding = coding_of(self.headers.get("content-encoding"))
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
        if self._deadline is not None:
            self._deadline.cancel()
        if connection.end():
            self._pool.put(self._target.origin, connection)

    def _too_large(self, limit: int) -> ProtocolError:
        return ProtocolError(f"The answer of {self.origin} is larger than {limit} bytes.")


@dataclass(slots=True)
class _Request:
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes | None
    rules: Rules
    hops: int = 0


class HttpClient:
    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self._pool = Pool()
        self._context: ssl.SSLContext | None = None
        self._jar = CookieJar() if self.options.cookies else None
        self._defaults = {"User-Agent": self.options.user_agent, "Accept-Encoding": "gzip, deflate"}

    async def __aenter__(self) -> "HttpClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections; those in use close with their exchange."""
        self._pool.close()

    def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        """`async with client.stream(...) as response`: `open` with the closing done for you."""
        return _Stream(self, (method, url, headers or {}, body, timeout))

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> Fetched:
        """One exchange with its body read whole. Raises ProtocolError when the body is larger than `limit`."""
        response = await self.open(method, url, headers=headers, body=body, timeout=timeout)
        try:
            return Fetched(response.status, response.headers, response.url, await response.read(limit))
        finally:
            response.close()

    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Send a request and wait for the head of its answer; the caller must `close()` the response.

        `timeout` is in seconds for the whole exchange, body included. Redirects have been followed.
        """
        rules = self.options.rules
        request = _Request(method, check_url(url, rules), headers or {}, body, rules)
        if timeout is None:
            return await self._follow(request, None)
        ends = asyncio.get_running_loop().time() + timeout
        try:
            async with asyncio.timeout_at(ends):
                return await self._follow(request, ends)
        except TimeoutError:
            raise DeadlineError(f"{request.target.origin} did not answer within {timeout:g} s.") from None

    async def _follow(self, request: _Request, ends: float | None) -> Response:
        while True:
            response, peer = await self._exchange(request, ends)
            if response.status not in _REDIRECTS:
                return response
            location = response.headers.get("location")
            if location is None:
                return response
            response.close()
            request = _redirected(request, response.status, location, peer)

    async def _exchange(self, request: _Request, ends: float | None) -> tuple[Response, str]:
        """One request and the head of its answer, redirects not followed; and the address that answered."""
        target = request.target
        proxy = self.options.proxies.choose(target)
        head = self._encode(request, proxy)
        while True:
            connection = await self._connect(request, proxy)
            parser = ResponseParser(request.method)
            try:
                connection.start(parser, head, request.body)
                answer = await connection.head(parser)
            except BaseException as error:
                connection.abort()
                # A connection kept from before may have died meanwhile: that is no verdict about the server.
                stale = isinstance(error, LinkLostError) and connection.used and not parser.started
                if stale and request.method in _REPEATABLE:
                    continue
                raise
            if self._jar is not None:
                self._jar.store(target, answer.headers.cookies)
            expiry = _expire_at(ends, connection) if ends is not None else None
            return Response(answer, target, connection, parser, self._pool, expiry), connection.peer

    async def _connect(self, request: _Request, proxy: Proxy | None) -> Connection:
        target = request.target
        while (connection := self._pool.take(target.origin)) is not None:
            if not connection.quiet():
                # Something has arrived, perhaps the end of the stream: let the event loop read it, then look again.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if connection.alive:
                if request.hops and connection.peer:
                    check_dial(target, connection.peer, request.rules)
                return connection
        patience = self.options.connect_timeout
        try:
            async with asyncio.timeout(patience):
                context = await self._tls() if target.scheme == "https" else None
                return await dial(target, request.rules, proxy=proxy, context=context)
        except TimeoutError:
            raise ConnectError(f"{target.origin} did not accept a connection within {patience:g} s.") from None

    async def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            # In a thread: loading the system's certificates takes long enough to be felt by others.
            self._context = await asyncio.to_thread(make_context, self.options.tls)
        return self._context

    def _encode(self, request: _Request, proxy: Proxy | None) -> bytes:
        target, body = request.target, request.body
        given = {name.lower() for name in request.headers}
        headers = {name: value for name, value in self._defaults.items() if name.lower() not in given}
        headers.update(request.headers)
        if self._jar is not None and "cookie" not in given and (cookie := self._jar.header(target)):
            headers["Cookie"] = cookie
        path = target.path
        if proxy is not None and target.scheme == "http":
            path = target.url
            if proxy.authorization:
                headers["Proxy-Authorization"] = proxy.authorization
        length = len(body) if body is not None else (0 if request.method in ("POST", "PUT", "PATCH") else None)
        return encode_head(request.method, path, target.authority, headers, length)


class _Stream:
    """What `HttpClient.stream` returns."""

    __slots__ = ("_arguments", "_client", "_response")

    def __init__(
        self, client: HttpClient, arguments: tuple[str, str, Mapping[str, str], bytes | None, float | None]
    ) -> None:
        self._client = client
        self._arguments = arguments
        self._response: Response | None = None

    async def __aenter__(self) -> Response:
        method, url, headers, body, timeout = self._arguments
        self._response = await self._client.open(method, url, headers=headers, body=body, timeout=timeout)
        return self._response

    async def __aexit__(self, *_: object) -> None:
        if self._response is not None:
            self._response.close()


def _redirected(request: _Request, status: int, location: str, peer: str) -> _Request:
    """The request for the next hop, or the reason why there is none."""
    origin = request.target.origin
    if request.hops >= MAX_REDIRECTS:
        raise ProtocolError(f"{origin} redirects more than {MAX_REDIRECTS} times.", hint="Check the URL.")
    target = parse_url(urljoin(request.target.url, location))
    if request.target.scheme == "https" and target.scheme == "http":
        raise AddressError(f"{origin} redirects to an unencrypted URL, which is not followed.")
    rules, headers = request.rules, request.headers
    if target.origin != origin:
        rules = narrowed(rules, peer or None)
        headers = {name: value for name, value in headers.items() if name.lower() in _PUBLIC_HEADERS}
    check_url(target.url, rules)
    method, body = request.method, request.body
    if status == 303 and method != "HEAD":
        method, body = "GET", None
    return _Request(method, target, headers, body, rules, request.hops + 1)


def _expire_at(ends: float, connection: Connection) -> asyncio.TimerHandle:
    error = DeadlineError(f"{connection.label} did not finish its answer in time.")
    return asyncio.get_running_loop().call_at(ends, connection.abort, error)
