"""The one HTTP client: every outgoing request of the product goes through `HttpClient`, and so through the egress check.

Owns reuse of connections, redirects, deadlines and cookies. A client belongs to one server or provider: its cookies, certificates and
connections are shared with nobody. An exchange has no time limit of its own, since streams live long: callers give `timeout`.

    async with HttpClient(ClientOptions(rules=OPERATOR)) as client:
        async with client.stream("POST", url, headers={...}, body=b"...") as response:
            async for piece in response.chunks(): ...

Raises AddressError (refused), ConnectError (never sent), LinkLostError (`maybe_sent`), DeadlineError, ProtocolError (not HTTP, too large).
No message names more of a URL than its origin. `dial.py` makes connections, `http1.py` reads the wire, `redirect.py` decides hops.
"""

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

import msgspec

from openclaw.errors import ConnectError, DeadlineError, LinkLostError
from openclaw.net.connection_pool import MAX_IDLE, Pool
from openclaw.net.cookies import CookieJar
from openclaw.net.dial import dial
from openclaw.net.dns import Lookup, system_lookup
from openclaw.net.http1 import ResponseParser, encode_fields, encode_head, encode_request, encode_start
from openclaw.net.http_connection import NOTHING, Exchange, HttpConnection
from openclaw.net.proxy import Proxy, ProxyRules
from openclaw.net.redirect import STATUSES, HttpRequest, redirected
from openclaw.net.response import Fetched, Response
from openclaw.net.tls import TlsOptions, make_context
from openclaw.security.egress import Rules, Target, check_dial, check_url

# The default bound of `fetch`: metadata documents and token answers are far smaller.
DEFAULT_LIMIT: Final = 256 * 1024
# A body larger than this is not joined to its head, and is written as the peer takes it.
LARGE_BODY: Final = 1024 * 1024
# Sets of header lines remembered in encoded form; a client has a handful of them.
MAX_REMEMBERED_HEADERS: Final = 64

# Safe to send twice: a stale connection costs one more attempt instead of an error.
_REPEATABLE = frozenset(("GET", "HEAD", "DELETE", "OPTIONS"))
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


class ClientOptions(msgspec.Struct, frozen=True):
    rules: Rules = Rules()
    tls: TlsOptions = TlsOptions()
    # None by default; `ProxyRules.from_environment(os.environ)` takes those of the environment.
    proxies: ProxyRules = ProxyRules()
    # Seconds for name, connection, proxy and TLS together.
    connect_timeout: float = 10.0
    # Remember cookies per origin, as load balancers with sticky sessions need.
    cookies: bool = False
    user_agent: str = "openclaw"
    # False where a body is itself a credential: a redirect is then an answer like any other.
    follow_redirects: bool = True
    lookup: Lookup = system_lookup
    # Seconds after which an idle connection is closed instead of used again.
    max_idle: float = MAX_IDLE


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A POST to one resource, encoded up to what is said of its body: for those that differ in nothing else (`HttpClient.ask`)."""

    target: Target
    headers: Mapping[str, str]
    start: bytes
    keep: Callable[[HttpConnection], None]
    # Names of the header lines in `start`, lower case.
    names: frozenset[str]


class Begun(msgspec.Struct, frozen=True, eq=False):
    """An exchange that `ask` began and whose answer is not of the usual kind: for `open`, which goes on with it."""

    connection: HttpConnection
    parser: ResponseParser


class HttpClient:
    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self._pool = Pool(self.options.max_idle)
        self._context: ssl.SSLContext | None = None
        self._jar = CookieJar() if self.options.cookies else None
        self._defaults = {"User-Agent": self.options.user_agent, "Accept-Encoding": "gzip, deflate"}
        self._encoded: dict[tuple[tuple[str, str], ...], bytes] = {}

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

    def prepare(self, url: str, headers: Mapping[str, str]) -> Prepared:
        """What is the same in every POST with these headers. Raises AddressError, ConnectError (proxy), TransportError (headers)."""
        target = check_url(url, self.options.rules)
        start = self._start("POST", target, headers, self.options.proxies.choose(target))
        names = frozenset(name.lower() for name in (*self._defaults, *headers))
        return Prepared(target, headers, start, partial(self._pool.put, target.origin), names)

    def ask(
        self, prepared: Prepared, body: bytes, exchange: Exchange, headers: Mapping[str, str]
    ) -> HttpConnection | None:
        """Send a POST over a connection that is kept from before; `exchange` hears of its answer, which no coroutine waits for. None when
        that cannot be done: `open` can. `headers` are those that `prepared` has not.

        Aborting the connection ends the exchange.
        """
        if len(body) > LARGE_BODY:
            return None
        target, start = prepared.target, prepared.start
        if (jar := self._jar) is not None and not jar.is_empty:
            # Those of now: also when the server has taken back what it had set when this was prepared.
            start = self._start("POST", target, prepared.headers, self.options.proxies.choose(target))
        request = encode_request(start, body, encode_fields(headers) if headers else b"")
        connection = self._pool.take(target.origin)
        if connection is not None:
            connection.ask(request, exchange, prepared.keep)
        return connection

    def leave(self, prepared: Prepared, connection: HttpConnection, patience: float) -> None:
        """Nothing more is wanted of an exchange that `ask` began: its end may take `patience` seconds, and nobody waits for it."""
        self._pool.linger(prepared.target.origin, connection, patience)

    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        begun: Begun | None = None,
    ) -> Coroutine[Any, Any, Response]:
        """Send a request and wait for the head of its answer; the caller must `close()` the response.

        `timeout` is in seconds for the whole exchange, body included. Redirects have been followed. `begun` is this very request, which
        was sent already.
        """
        rules = self.options.rules
        if body is None and method in _WITH_BODY:
            body = b""
        request = HttpRequest(method, check_url(url, rules), headers or {}, body, rules)
        return self._follow(request, None, begun) if timeout is None else self._in_time(request, timeout, begun)

    async def _in_time(self, request: HttpRequest, timeout: float, begun: Begun | None) -> Response:
        ends = asyncio.get_running_loop().time() + timeout
        try:
            async with asyncio.timeout_at(ends):
                return await self._follow(request, ends, begun)
        except TimeoutError:
            raise DeadlineError(f"{request.target.origin} did not answer within {timeout:g} s.") from None

    async def _follow(self, request: HttpRequest, ends: float | None, begun: Begun | None) -> Response:
        """One exchange after the other, until one is not redirected."""
        while True:
            target = request.target
            if begun is not None:
                connection, parser = begun.connection, begun.parser
            else:
                proxy = self.options.proxies.choose(target)
                encoded = self._encode(request, proxy)
                connection = self._pool.take(target.origin) or await self._dial(request, proxy)
                parser = ResponseParser(request.method)
            try:
                if begun is None:
                    if request.hops and connection.peer:
                        # A kept connection was allowed for who opened it; a redirect may be allowed less.
                        check_dial(target, connection.peer, request.rules)
                    await connection.start(parser, *encoded)
                begun = None
                head = parser.head or await connection.head(parser)
            except BaseException as error:
                connection.abort()
                # A connection kept from before may have died meanwhile: that is no verdict about the server.
                stale = isinstance(error, LinkLostError) and connection.used and not parser.started
                if stale and request.method in _REPEATABLE:
                    continue
                raise
            if self._jar is not None and head.cookies:
                self._jar.store(target, head.cookies)
            expiry = _expire_at(ends, connection) if ends is not None else None
            response = Response(head, target, connection, parser, self._pool, expiry)
            location = head.fields.get("location") if head.status in STATUSES else None
            if location is None or not self.options.follow_redirects:
                return response
            response.close()
            request = redirected(request, head.status, location, connection.peer)

    async def _dial(self, request: HttpRequest, proxy: Proxy | None) -> HttpConnection:
        target = request.target
        patience = self.options.connect_timeout
        try:
            async with asyncio.timeout(patience):
                context = await self._tls() if target.scheme == "https" else None
                return await dial(target, request.rules, proxy=proxy, context=context, lookup=self.options.lookup)
        except TimeoutError:
            raise ConnectError(f"{target.origin} did not accept a connection within {patience:g} s.") from None

    async def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            # In a thread: loading the system's certificates takes long enough to be felt by others.
            self._context = await asyncio.to_thread(make_context, self.options.tls)
        return self._context

    def _encode(self, request: HttpRequest, proxy: Proxy | None) -> tuple[bytes, memoryview]:
        """The request to send at once, and the body that follows it when that is large."""
        start = self._start(request.method, request.target, request.headers, proxy)
        body = request.body
        if body is not None and len(body) > LARGE_BODY:
            return encode_head(start, len(body)), memoryview(body)
        return encode_request(start, body), NOTHING

    def _start(self, method: str, target: Target, headers: Mapping[str, str], proxy: Proxy | None) -> bytes:
        absolute = proxy is not None and target.scheme == "http"
        extra: dict[str, str] = {}
        if self._jar is not None and (cookie := self._jar.header(target)):
            extra["Cookie"] = cookie
        if absolute and proxy is not None and proxy.authorization:
            extra["Proxy-Authorization"] = proxy.authorization
        fields = self._fields({**extra, **headers} if extra else headers)
        return encode_start(method, target.url if absolute else target.path, target.authority, fields)

    def _fields(self, headers: Mapping[str, str]) -> bytes:
        """Header lines with our defaults, remembered: most requests of a client carry the same ones."""
        key = tuple(headers.items())
        encoded = self._encoded.get(key)
        if encoded is None:
            given = {name.lower() for name in headers}
            missing = {name: value for name, value in self._defaults.items() if name.lower() not in given}
            encoded = encode_fields({**missing, **headers})
            if len(self._encoded) >= MAX_REMEMBERED_HEADERS:
                self._encoded.clear()
            self._encoded[key] = encoded
        return encoded


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


def _expire_at(ends: float, connection: HttpConnection) -> asyncio.TimerHandle:
    error = DeadlineError(f"{connection.label} did not finish its answer in time.")
    return asyncio.get_running_loop().call_at(ends, connection.abort, error)
