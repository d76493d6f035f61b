"""The HTTP port: sockets, the door every request passes, and one shape for every error.

Owns what all routes share: guard.py is asked before anything else, bodies and waits are bounded, a failure becomes one JSON sentence, and
nobody keeps what a revoked token gave them. What the routes do is in *_routes.py. aiohttp's server is loaded with this module, which the
gateway does after it has begun to start its servers.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Annotated, Any, Final, Protocol, TypeVar

import msgspec
from aiohttp import web

from openclaw.config.sections import GatewaySection
from openclaw.content import to_json
from openclaw.control.port import listen
from openclaw.errors import (
    AuthError,
    ConfigError,
    MediaError,
    ModelError,
    OpenClawError,
    SessionBusyError,
    StoreError,
    TransportError,
    UsageError,
)
from openclaw.gateway.bodies import refuse_very_many
from openclaw.gateway.completions import ParameterError, UnknownModelError, error_json
from openclaw.gateway.guard import (
    FLEET_FOLDER,
    NO_TOKEN,
    GuardRefusal,
    GuardRules,
    RequestHead,
    bearer,
    cors_headers,
    is_preflight,
    presented,
    refusal,
    too_many,
)
from openclaw.gateway.meters import Counter, Histogram
from openclaw.gateway.page_tokens import Pages
from openclaw.gateway.route import Route
from openclaw.gateway.throttle import Throttle
from openclaw.log import one_line
from openclaw.protocol.transports import NOT_HERE
from openclaw.redact import redact
from openclaw.trace_context import carried

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Ten pictures of a camera fit; what is larger goes in by a file.
MAX_BODY = 32 * 1024 * 1024
# A whole body has to arrive in this time, and the head of a request too: who sends a byte now and then is cut off.
BODY_TIMEOUT = 60.0
HEAD_TIMEOUT = 20.0
# Who streams an answer says after so many seconds of silence that it still lives: proxies and clients give up after half a minute or so.
KEEP_ALIVE = 15.0
# Numbers in a query: more than anything has, and small enough for every store.
MOST_NUMBER = 1_000_000_000_000
# A refused caller gets this long to finish sending what nobody will read.
_LINGER = 2.0
# What is still open when all is over is closed, not waited for.
_CLOSE_TIMEOUT = 1.0
# Connections that wait to be taken.
_BACKLOG = 128
# What every answer carries.
_HEADERS = {"Server": "openclaw", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# What each kind of failure is called on the wire; the first that fits counts.
_STATUS: tuple[tuple[type[OpenClawError], int, str], ...] = (
    (UnknownModelError, 404, "model_not_found"),
    (UsageError, 400, "invalid_request"),
    (MediaError, 400, "invalid_media"),
    (ModelError, 502, "model_failed"),
    (AuthError, 502, "sign_in_needed"),
    (TransportError, 502, "server_unavailable"),
    (SessionBusyError, 409, "session_busy"),
    (StoreError, 500, "store_failed"),
    (ConfigError, 500, "config_invalid"),
    (OpenClawError, 500, "failed"),
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Served(Protocol):
    """A request that is traced while it is served."""

    def status(self, code: int) -> None: ...


# Is told of a request: its method, its route, and what trace its caller is part of.
Serving = Callable[[str, str, Mapping[str, str]], AbstractContextManager[Served | None]]


# Whether what somebody shows is another gateway's. Raises StoreError.
IsGateway = Callable[[str], Awaitable[bool]]


def _untraced(method: str, route: str, caller: Mapping[str, str]) -> AbstractContextManager[None]:
    return nullcontext()


class HttpServer:
    """`routes` are served under `rules`, which may be replaced while it runs, sockets too. `pages` knows who signed in from the page.
    `serving` is told of every request that has something done. `is_gateway` knows other gateways of a fleet, by what they show."""

    def __init__(
        self,
        routes: Sequence[Route],
        rules: GuardRules,
        pages: Pages,
        serving: Serving = _untraced,
        is_gateway: IsGateway | None = None,
    ) -> None:
        self.requests = Counter("openclaw_http_requests_total", "HTTP requests by route and status.", "route", "status")
        self.seconds = Histogram("openclaw_http_request_seconds", "Time to answer an HTTP request.", "route")
        self.routes = tuple(routes)
        self._rules = rules
        self._pages = pages
        self._serving = serving
        self._is_gateway = is_gateway
        self._throttle = Throttle()
        # Connections that serve a request now, and the token it came with.
        self._live: dict[asyncio.Task[Any], str] = {}
        # Those of them whose route begins work, and which routes do.
        self._at_work: set[asyncio.Task[Any]] = set()
        self._begin_work = frozenset((route.method, route.path) for route in routes if route.begins)
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_stopping = False
        self._is_draining = False
        self._begins_nothing = False
        application = web.Application(middlewares=[self._door], client_max_size=MAX_BODY)
        application.add_routes([route.served() for route in routes])
        self._runner = web.AppRunner(
            application,
            access_log=None,
            keepalive_timeout=HEAD_TIMEOUT,
            lingering_time=_LINGER,
            handler_cancellation=True,
            shutdown_timeout=_CLOSE_TIMEOUT,
        )
        self._servers: list[asyncio.Server] = []
        # Where the config wants it, when it listens there; None while it listens nowhere.
        self._place: tuple[str, int] | None = None
        self.port = 0

    async def start(self, section: GatewaySection, sockets: "Sequence[socket.socket]") -> None:
        """Serve on sockets that were opened for `section` (port.py)."""
        self._place = (section.bind, section.port)
        await self._runner.setup()
        await self._serve(sockets)

    async def move(self, section: GatewaySection) -> None:
        """Listen where the config says now. Raises OpenClawError when that is not possible, and says where it listens instead."""
        before, wanted = self._place, (section.bind, section.port)
        if wanted == before:
            return
        await self.leave()
        self._place = None
        try:
            # Finding out who is in the way of a port takes a look at every process.
            sockets = await asyncio.to_thread(listen, *wanted)
        except OpenClawError as error:
            raise OpenClawError(f"{error.message} {await self._go_back(before)}", hint=error.hint) from error
        await self._serve(sockets)
        self._place = wanted

    async def _go_back(self, before: tuple[str, int] | None) -> str:
        """Listen where it was, if that is still free. What came of it, in words."""
        if before is not None:
            try:
                sockets = await asyncio.to_thread(listen, before[0], self.port)
            except OpenClawError as error:
                self.port = 0
                return f"The old port was taken meanwhile, so nothing listens: {error}"
            await self._serve(sockets)
            self._place = before
            return "The old port stays."
        return "Nothing listens."

    async def _serve(self, sockets: "Sequence[socket.socket]") -> None:
        server = self._runner.server
        assert server is not None  # set up by `start`
        loop = asyncio.get_running_loop()
        self._servers = [await loop.create_server(server, sock=one, backlog=_BACKLOG) for one in sockets]
        self.port = int(sockets[0].getsockname()[1])

    async def leave(self) -> None:
        """Take no more connections; requests that run go on."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()

    async def finish(self, patience: float) -> None:
        """Wait for the requests that run, then end those that still do."""
        self._is_stopping = True
        try:
            async with asyncio.timeout(patience):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("%d requests did not end in time; they are cut off.", len(self._live))
        late = tuple(self._live)
        for task in late:
            task.cancel()
        await self._runner.cleanup()
        if late:
            await asyncio.wait(late, timeout=_CLOSE_TIMEOUT)

    def change(self, rules: GuardRules) -> None:
        """Other rules, at once: who came with a token that is no longer good is cut off."""
        self._rules = rules
        self.cut_off()

    def cut_off(self) -> None:
        """End what is served to those whose token is no longer good."""
        for task, token in tuple(self._live.items()):
            if token and not presented(self._rules, [f"Bearer {token}"]) and not self._pages.is_good(token):
                task.cancel()

    @property
    def busy(self) -> int:
        return len(self._live)

    @property
    def at_work(self) -> int:
        """Requests that began a turn or a call, and wait for it."""
        return len(self._at_work)

    def begin_draining(self) -> None:
        """Connections are closed with their answers from now on."""
        self._is_draining = True

    def begin_no_more(self) -> None:
        """Turns and calls are begun no more; what runs can be looked at, answered and ended."""
        self._begins_nothing = True

    @web.middleware
    async def _door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.monotonic()
        task = asyncio.current_task()
        assert task is not None
        head = _head_of(request)
        token = presented(self._rules, head.authorizations)
        given = bearer(head.authorizations)
        try:
            is_page = not token and bool(given) and await self._admits(head, given)
            refused = refusal(self._rules, head, is_page=is_page)
        except StoreError as error:
            # Nobody can say whether it is good: the page asks again, and is not signed out.
            is_page, refused = False, GuardRefusal(503, "store_failed", str(error), {"Retry-After": "1"})
        if refused is not None:
            refused = self._throttled(request, head, refused, started)
        # Nobody who is turned away learns which routes there are, not even from the metrics.
        route = "refused" if refused else _route(request)
        response: web.StreamResponse
        try:
            if refused is not None:
                response = failure(refused.status, refused.code, refused.message)
                response.headers.update(refused.headers)
            elif is_preflight(head):
                response = web.Response(status=204)
            elif self._is_stopping:
                # Other gateways are told what no proxy says of itself: that nothing was done.
                status = NOT_HERE if head.path.startswith(FLEET_FOLDER) else 503
                response = failure(status, "stopping", "The gateway is stopping.")
                response.force_close()
            elif self._begins_nothing and (request.method, route) in self._begin_work:
                # Surely not begun: whoever asks may ask another gateway.
                response = failure(503, "draining", "The gateway finishes what it has begun, and takes nothing new.")
                response.headers["Retry-After"] = "1"
            else:
                is_member = head.path.startswith(FLEET_FOLDER)
                self._begin(task, token or (given if is_page and not is_member else ""))
                if (request.method, route) in self._begin_work:
                    self._at_work.add(task)
                response = await self._answered(request, handler, route)
        finally:
            self._end(task)
        if not response.prepared:
            if self._is_draining:
                # The next request of this client should find another gateway.
                response.force_close()
            response.headers.update(cors_headers(self._rules, head.origins))
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        self.requests.add(route, str(response.status))
        self.seconds.observe(route, seconds=time.monotonic() - started)
        return response

    async def _admits(self, head: RequestHead, given: str) -> bool:
        """Whether this is no token of the gateway's, and still good for what is asked."""
        if head.path.startswith(FLEET_FOLDER):
            return self._is_gateway is not None and await self._is_gateway(given)
        return await self._pages.admits(given)

    async def _answered(self, request: web.Request, handler: Handler, route: str) -> web.StreamResponse:
        """Looking at something is not worth a trace."""
        if request.method != "POST":
            return await _answered(request, handler)
        with self._serving(request.method, route, carried(request.headers)) as served:
            response = await _answered(request, handler)
            if served is not None:
                served.status(response.status)
            return response

    def _begin(self, task: "asyncio.Task[Any]", token: str) -> None:
        self._live[task] = token
        self._idle.clear()

    def _end(self, task: "asyncio.Task[Any]") -> None:
        self._live.pop(task, None)
        self._at_work.discard(task)
        if not self._live:
            self._idle.set()

    def _throttled(self, request: web.Request, head: RequestHead, refused: GuardRefusal, now: float) -> GuardRefusal:
        """What is said to a refused request: something else to who tried too many tokens."""
        if refused is not NO_TOKEN or not head.authorizations:
            return refused
        address = request.remote or ""
        wait = self._throttle.wrong(address, now)
        if wait is None:
            return refused
        if wait.is_new:
            _log.warning(
                "Too many wrong tokens from %s: for %.0f s each further one is answered with 429.",
                one_line(address),
                wait.seconds,
            )
        return too_many(wait.seconds)

    def is_token(self, token: str) -> bool:
        """Whether it is the gateway's own."""
        return bool(presented(self._rules, [f"Bearer {token}"]))

    def wrong_token(self, request: web.Request) -> web.Response:
        """The answer to somebody who showed a ticket or token that is not good; counted like every wrong token."""
        head = _head_of(request)
        shown = RequestHead(head.method, head.path, head.hosts, head.origins, ("Bearer -",), head.arrived_at)
        refused = self._throttled(request, shown, NO_TOKEN, time.monotonic())
        if refused is NO_TOKEN:
            return failure(401, "not_signed_in", "This is no longer good. Open the page again: openclaw ui")
        response = failure(refused.status, refused.code, refused.message)
        response.headers.update(refused.headers)
        return response

    def stream_headers(self, request: web.Request) -> Mapping[str, str]:
        """What a route has to send that begins its answer itself."""
        return {**_HEADERS, **cors_headers(self._rules, request.headers.getall("Origin", ()))}


def _head_of(request: web.Request) -> RequestHead:
    sockname = request.transport.get_extra_info("sockname") if request.transport else None
    return RequestHead(
        method=request.method,
        path=request.path,
        hosts=_hosts(request),
        origins=request.headers.getall("Origin", ()),
        authorizations=request.headers.getall("Authorization", ()),
        arrived_at=str(sockname[0]) if sockname else "",
    )


def _hosts(request: web.Request) -> Sequence[str]:
    """Whom a request is meant for: the Host header, and the host of a target that is a whole address, when that is another."""
    named = request.headers.getall("Host", ())
    _, mark, rest = request.raw_path.partition("://")
    target = rest.partition("/")[0] if mark and not request.raw_path.startswith("/") else ""
    return (*named, target) if target and target not in named else named


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "unknown"


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The answer of a route, or of its failure."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        nothing = _NO_MCP if request.path in ("/mcp", "/sse") else "There is nothing here."
        words = {404: nothing, 405: "This route does not take that method.", 413: _TOO_LARGE}
        return failure(error.status, error.reason.lower().replace(" ", "_"), words.get(error.status, error.reason))
    except (ConnectionError, asyncio.CancelledError):
        raise
    except OpenClawError as error:
        return failed(error)
    except Exception as error:
        # A fault of ours: the traceback is for the log.
        _log.error("The gateway's own fault at %s: %s", _route(request), type(error).__name__)
        _log.debug("the route failed", exc_info=error)
        return failure(500, "internal", f"An internal error ({type(error).__name__}); the gateway's log says more.")


# Where a client of MCP looks for a server (decision 20).
_NO_MCP = (
    "The gateway is no MCP server: `openclaw mcp-server` is one, on standard input and output, and sends what it is asked to this "
    "gateway. Over HTTP an agent is asked at /v1/chat/completions, /v1/responses or /v1/runs."
)
_TOO_LARGE = f"The request is larger than {MAX_BODY:,} bytes."


# The request itself is wrong, as a command line can be.
_WRONG = frozenset({400, 404, 405, 413, 422})


def failure(
    status: int, code: str, message: str, parameter: str | None = None, *, exit_code: int | None = None
) -> web.Response:
    kind = "server_error" if status >= 500 else "authentication_error" if status in (401, 403) else None
    if exit_code is None:
        exit_code = UsageError.exit_code if status in _WRONG else OpenClawError.exit_code
    told = error_json(redact(message), code, kind or "invalid_request_error", parameter, exit_code=exit_code)
    return json_response(told, status=status)


def failed(error: OpenClawError) -> web.Response:
    if isinstance(error, ParameterError):
        return failure(400, error.code, str(error), error.parameter, exit_code=error.exit_code)
    status, code = next((status, code) for kind, status, code in _STATUS if isinstance(error, kind))
    return failure(status, code, str(error), exit_code=error.exit_code)


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=to_json(value),
        status=status,
        content_type="application/json",
        headers=headers,
    )


async def read_body(request: web.Request) -> bytes:
    """Raises UsageError when it does not arrive in time, or is not what the headers say of it."""
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            return await request.read()
    except TimeoutError:
        raise UsageError(f"The body did not arrive within {BODY_TIMEOUT:.0f} s.") from None
    except web.RequestPayloadError:
        raise UsageError("The body is not encoded as the headers say.") from None


async def read_object(request: web.Request, type: type[Any]) -> Any:
    """The JSON body as a struct. Raises UsageError."""
    return await beside(partial(object_of, decoder=_decoder(type)), await read_body(request))


class OfAgent(msgspec.Struct):
    """What every question about an agent's tools and servers may say."""

    agent: Annotated[str, msgspec.Meta(description="another agent than the default one")] = ""


def read_query(request: web.Request, type: type[_T]) -> _T:
    """The query as a struct; a name that it does not have is passed over. Raises UsageError."""
    try:
        return msgspec.convert(dict(request.query), type, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"The query is not what this route takes: {error}.") from None


# Made in the event loop: a type that two threads use first at the same moment could end the process (config/typed.py).
_decoders: "dict[Any, msgspec.json.Decoder[Any]]" = {}


def _decoder(kind: Any) -> "msgspec.json.Decoder[Any]":
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]


# Reading more than this takes longer than anybody else should wait: pictures come as megabytes of Base64.
SMALL_BODY: Final = 256 * 1024


async def beside(read: Callable[[bytes], _T], body: bytes) -> _T:
    """What `read` makes of a body, in a thread when that takes a while."""
    return read(body) if len(body) <= SMALL_BODY else await asyncio.to_thread(read, body)


def object_of(body: bytes, decoder: "msgspec.json.Decoder[Any]") -> Any:
    """A JSON body as a struct. An empty one is an empty object. Raises UsageError."""
    refuse_very_many(body)
    try:
        return decoder.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"The body is not what this route takes: {error}.") from None
