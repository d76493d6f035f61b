"""From a spec to a client: secrets resolved, transport opened, revision agreed.

Owns which transport a spec means, the fall back between the two HTTP ones, and that connecting as a whole ends in time. Knows no secret
store and no sign-in: both are callables given from outside. What it opens is put on the caller's exit stack. server/connection.py decides
when to connect and when to close.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, assert_never

import msgspec
from msgspec.structs import replace

from openclaw.config.server_credentials import credentials_of, stated_credentials
from openclaw.config.servers import ServerSpec, map_secrets
from openclaw.errors import ConnectError, HttpStatusError, LinkLostError, ProcessError, SecretError, UsageError
from openclaw.mcp.client import Client
from openclaw.mcp.fetching import FETCH_SECONDS
from openclaw.mcp.handlers import ELICIT, Handlers, OnLog
from openclaw.mcp.placing import Place, SessionHomes
from openclaw.mcp.rounds import VISITED, VisitedPages
from openclaw.mcp.status import auth_of
from openclaw.mcp.wording import MAX_LABEL, NOT_FOUND_BY_GATEWAY
from openclaw.process.environment import child_environment, say_refused
from openclaw.process.find_program import NOT_FOUND
from openclaw.protocol.authorizer import Authorizer, StaticAuthorizer
from openclaw.protocol.eras import Agreement, Plan, Reopen, negotiate, other_transport
from openclaw.protocol.jsonrpc import Request, parse
from openclaw.protocol.transports import TRANSPORTS, TransportFacts
from openclaw.redact import SECRET_SCHEME, remember, remember_guess
from openclaw.security.external import clean_label
from openclaw.tool import note
from openclaw.transport.base import Transport
from openclaw.transport.connection import Asked, Connection, OnNotification, Report, RequestTrace
from openclaw.transport.handshake import shake_hands
from openclaw.transport.stdio import StdioTransport

if TYPE_CHECKING:
    from openclaw.transport.endpoint import Destination

_log = logging.getLogger(__name__)

_LOG_LEVEL = "io.modelcontextprotocol/logLevel"

# A configured value with every secret reference in it replaced. Raises SecretError.
Resolve = Callable[[str], Awaitable[str]]
# Who holds the credentials of a server that may want a sign-in; None when nobody does.
Authorize = Callable[[ServerSpec], Authorizer | None]
# Returns when somebody has signed in to a server after a moment (seconds since the epoch), in whichever process. Raises OpenClawError.
SignedIn = Callable[[ServerSpec, float], Awaitable[None]]
# A transport of the embedding program's own for a spec; None leaves the choice to us.
MakeTransport = Callable[[ServerSpec], Transport | None]


async def no_secrets(value: str) -> str:
    raise SecretError(
        "A secret:// reference cannot be resolved here.",
        hint="Give Dependencies a resolve, or the config to Manager.from_config.",
    )


# The setting for a server that needs longer.
TIMEOUT_KEY = "connectionTimeoutMs"


class Dependencies(msgspec.Struct, frozen=True):
    """What connecting needs from the program around it."""

    resolve: Resolve = no_secrets
    authorize: Authorize = lambda spec: None
    # Without it a server that needs a sign-in waits for a person to start it again.
    signed_in: SignedIn | None = None
    make_transport: MakeTransport = lambda spec: None
    # Who says where a server runs that has `placement: "one"`; without it, here.
    place: Place | None = None
    # Who says whether servers that a session has for itself run here; without it, they do.
    homes: SessionHomes | None = None
    handlers: Handlers = msgspec.field(default_factory=Handlers)
    # In place of `handlers`, where what is answered depends on the server.
    handlers_of: Callable[[ServerSpec], Handlers] | None = None
    # Told of every log message of every server, beside our own log. Called in the event loop.
    on_log: OnLog | None = None
    # A launcher that is still fetching its server when this program leaves goes on for a while, to fill its cache.
    lets_fetch: bool = False
    # Programs are looked for on the search path of a gateway, which may be another than that of whoever reads what is said of them.
    is_gateway: bool = False
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    # Told when tools are others than before, or are described otherwise: who keeps something of what they were forgets it. Called in the
    # event loop.
    tools_differ: Callable[[], None] = lambda: None
    # Who traces the requests of a connection to a server.
    trace: Callable[[ServerSpec], RequestTrace] | None = None


class Listener(msgspec.Struct, frozen=True):
    """Who hears what a server says unasked, what of it was dropped, what it writes to standard error, and that a new MCP session was begun
    on the same link."""

    on_notification: OnNotification
    report: Report
    on_stderr: Callable[[str], None]
    on_renewed: Callable[[], None] = lambda: None


async def connect(
    stack: AsyncExitStack,
    spec: ServerSpec,
    dependencies: Dependencies,
    listener: Listener,
    *,
    revision: str = "",
    transport: str = "",
    fetches: bool = False,
    leaves: bool = False,
    through: Transport | None = None,
) -> Client:
    """A negotiated client, which lives until `stack` is closed. `revision` and `transport` are what worked the last time. `through` leads
    to a server that runs elsewhere, whatever its spec says.

    Raises ConnectError, ProcessError, HttpStatusError, AuthError, SecretError, UsageError or ProtocolError when there is none to be had
    within the spec's connect timeout, or the time to fetch it when it `fetches`; what was opened on the way is closed with the stack as
    well, but for a launcher that is still fetching when it is closed, with `leaves`.
    """
    patience = max(FETCH_SECONDS, spec.connect_timeout) if fetches else spec.connect_timeout
    attempt = _Attempt(spec, dependencies, listener, patience, leaves=leaves, through=through)
    opened = await stack.enter_async_context(AsyncExitStack())
    try:
        async with asyncio.timeout(patience):
            return await attempt.establish(opened, revision, transport)
    except TimeoutError:
        raise ConnectError(
            f"The server did not come up within {patience:g} s.",
            hint=f"A slow starter needs a larger `{TIMEOUT_KEY}`.",
        ) from None


class _Attempt:
    def __init__(
        self,
        spec: ServerSpec,
        dependencies: Dependencies,
        listener: Listener,
        patience: float,
        *,
        leaves: bool,
        through: Transport | None,
    ) -> None:
        self._patience = patience
        self._through = through
        self._fetch_seconds = patience if leaves else 0.0
        self._spec = spec
        self._dependencies = dependencies
        self._listener = listener
        handlers_of = dependencies.handlers_of
        self._handlers = dependencies.handlers if handlers_of is None else handlers_of(spec)
        self._visited = VisitedPages()
        self._trace = None if dependencies.trace is None else dependencies.trace(spec)

    async def establish(self, stack: AsyncExitStack, revision: str, known: str) -> Client:
        given = self._spec
        # Whoever signs in looks its own values up when it needs them: one that was rotated meanwhile is seen without connecting anew.
        # One that runs elsewhere is given its values there.
        found = given
        if self._through is None:
            found = await resolved(given, self._dependencies.resolve, self._dependencies.environ)
        self._spec = spec = replace(found, auth=given.auth)
        transport = self._transport(_first(spec, known))
        plan = self._plan(transport.facts, revision)
        may_switch = True
        while True:
            try:
                connection = await self._open(stack, transport)
            except HttpStatusError as error:
                # HTTP+SSE finds out while it opens that this is no such server.
                other = other_transport(transport.facts, error) if may_switch else None
                if other is None:
                    raise
                transport, plan, may_switch = self._transport(other), self._plan(other, ""), False
                continue
            outcome = await shake_hands(connection, plan, timeout=self._patience)
            if isinstance(outcome, Agreement):
                return self._client(connection, outcome)
            await stack.aclose()
            transport, may_switch = self._transport(outcome.transport), False

    def _plan(self, facts: TransportFacts, revision: str) -> Plan:
        handlers = self._handlers
        return negotiate(
            facts,
            known=revision,
            capabilities=handlers.capabilities(),
            request_capabilities=handlers.declared(handlers.modes_for(None)),
        )

    def _transport(self, facts: TransportFacts) -> Transport:
        given = self._through or self._dependencies.make_transport(self._spec)
        if given is not None:
            return given
        match facts.name:
            case "stdio":
                return _stdio(self._spec, self._dependencies, self._listener, self._fetch_seconds)
            case "streamable-http":
                from openclaw.transport.http import HttpTransport

                return HttpTransport(_destination(self._spec, self._dependencies))
            case "sse":
                from openclaw.transport.legacy_sse import LegacySseTransport

                return LegacySseTransport(_destination(self._spec, self._dependencies))
            case "memory":
                raise UsageError(
                    "The memory transport connects to a server in this program, and the program gave none.",
                    hint="Give Dependencies a make_transport that returns one for this spec.",
                )
            case "gateway":
                raise UsageError("This server runs at another gateway, and nobody said where.")
            case unknown:
                assert_never(unknown)

    async def _open(self, stack: AsyncExitStack, transport: Transport) -> Connection:
        connection = Connection(
            transport,
            handler=self._answer,
            on_notification=self._heard,
            report=self._listener.report,
            trace=self._trace,
        )
        await stack.enter_async_context(connection)
        return connection

    def _heard(self, method: str, params: msgspec.Raw) -> None:
        if method == VISITED:
            self._visited.note(params)
        else:
            self._listener.on_notification(method, params)

    async def _answer(self, request: Request, asked: Asked) -> Mapping[str, Any]:
        params = parse(request.params, dict[str, Any]) if bytes(request.params) else {}
        name = self._spec.name
        if request.method == ELICIT and self._handlers.elicitation and asked.owner is None and asked.calls:
            # Whom to ask cannot be known, and nobody is shown what another's call is about.
            asker = clean_label(name, MAX_LABEL)
            sentence = (
                f"{asker} asked a question while calls of several conversations were under way, so nobody was asked. "
                'With `isolation: "session"` each conversation has a connection of its own.'
            )
            _log.warning("%s", sentence)
            for call in asked.calls:
                note(call, sentence)
            return {"action": "cancel"}
        return await self._handlers.answer(name, request.method, params, asked.owner)

    def _client(self, connection: Connection, agreement: Agreement) -> Client:
        spec = self._spec
        if self._trace is not None:
            self._trace.agreed(agreement.version)
        is_heard = self._dependencies.on_log is not None
        if agreement.modern and (is_heard or "logging" in agreement.capabilities):
            connection.use_meta({**connection.meta, _LOG_LEVEL: "debug" if is_heard else "info"})

        async def renew() -> Agreement:
            plan = self._plan(connection.link.facts, agreement.version)
            outcome = await shake_hands(connection, plan, timeout=spec.connect_timeout)
            if isinstance(outcome, Reopen):
                raise LinkLostError("The server no longer speaks the way it did.", maybe_sent=False)
            # A server that forgot us was probably started anew, perhaps with other tools.
            self._listener.on_renewed()
            return outcome

        return Client(
            spec.name,
            connection,
            agreement,
            renew=renew,
            handlers=self._handlers,
            timeout=spec.connect_timeout,
            visited=self._visited,
        )


def _first(spec: ServerSpec, known: str) -> TransportFacts:
    """The transport to try first: the one that worked, where the spec leaves a choice, else the one it names."""
    named = spec.facts
    return TRANSPORTS[named.alternative] if named.alternative and known == named.alternative else named


async def resolved(spec: ServerSpec, resolve: Resolve, environ: Mapping[str, str] = {}) -> ServerSpec:
    """The spec with its secret references replaced, all looked up in parallel. Never kept, logged or compared: it holds the values.

    From here on they are masked, and so is every other credential that the server is given: it may repeat them.
    """
    references: dict[str, str] = {}

    def collect(text: str) -> str:
        if SECRET_SCHEME in text:
            references[text] = ""
        return text

    map_secrets(spec, collect)
    # All come to an end before the first failure is raised, so that no look-up is left behind.
    outcomes = await asyncio.gather(*(resolve(text) for text in references), return_exceptions=True)
    for text, outcome in zip(references, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            raise outcome
        references[text] = outcome
        remember(outcome)
    spec = map_secrets(spec, lambda text: references.get(text, text))
    for value in stated_credentials(spec):
        remember(value)
    for value in credentials_of(spec, environ):
        remember_guess(value)
    return spec


def _stdio(spec: ServerSpec, dependencies: Dependencies, listener: Listener, fetch_seconds: float) -> Transport:
    child = child_environment(
        dict(spec.env), pass_env=spec.pass_env, allowed=spec.allow_env, parent=dependencies.environ
    )
    if child.refused:
        sentence, hint = say_refused(child.refused)
        raise ProcessError(sentence, hint=hint)
    return StdioTransport(
        [spec.command, *spec.args],
        env=child.variables,
        cwd=os.path.expanduser(spec.cwd) if spec.cwd else None,
        max_message_bytes=spec.max_message_bytes,
        on_stderr=listener.on_stderr,
        report=listener.report,
        fetch_seconds=fetch_seconds,
        # A path of the server's own is everybody's.
        not_found=NOT_FOUND_BY_GATEWAY if dependencies.is_gateway and "PATH" not in dict(spec.env) else NOT_FOUND,
    )


def _destination(spec: ServerSpec, dependencies: Dependencies) -> "Destination":
    # Loaded when first needed: who runs stdio servers only does not pay for an HTTP client.
    from openclaw.net.client import ClientOptions
    from openclaw.net.proxy import ProxyRules
    from openclaw.net.tls import TlsOptions
    from openclaw.security.egress import OPERATOR
    from openclaw.transport.endpoint import Destination

    options = ClientOptions(
        rules=OPERATOR,
        tls=TlsOptions(spec.ssl_verify, spec.ca_cert, spec.client_cert, spec.client_key),
        proxies=ProxyRules.from_environment(dependencies.environ),
        connect_timeout=spec.connect_timeout,
        cookies=True,
    )
    return Destination(spec.url, options, dict(spec.headers), _authorizer(spec, dependencies), spec.max_message_bytes)


def _authorizer(spec: ServerSpec, dependencies: Dependencies) -> Authorizer | None:
    """A credential in the spec is used as it is; only a server without one may be signed in to."""
    if spec.api_key:
        return StaticAuthorizer(spec.api_key)
    return None if auth_of(spec) == "headers" else dependencies.authorize(spec)
