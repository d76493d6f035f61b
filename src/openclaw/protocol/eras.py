"""Which revision of MCP to speak with a server, and how to find out: a plan that yields steps and is told what came of them.

Owns the five revisions, the order of attempts (`server/discover` first, `initialize` when that is not understood, HTTP+SSE when
HTTP refuses both), and what each answer means. Opens nothing and waits for nothing: `transport/handshake.py` carries the steps out.

The probe and the fallback overlap. When the probe is not answered in time `initialize` is sent as well, and whichever is
answered first decides: a silent old server costs one short wait, and a modern one that is slow to start is still met as modern.
"""

from collections.abc import Generator, Mapping
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from openclaw.errors import ConnectError, HttpStatusError, ProtocolError, RpcError, TransportError
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND, parse
from openclaw.protocol.transports import TRANSPORTS, TransportFacts
from openclaw.version import __version__

MODERN = ("2026-07-28",)
# Newest first: the first is what we offer.
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
_MODERN_ERRORS = frozenset((HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION))

# A server that is up answers at once; one that is still starting is not lost by asking it two questions.
PROBE_PATIENCE = 2.0
# A server that was modern the last time deserves time to start before it is asked in the old way; and over HTTP silence is rare, for
# every question has its answer or its status.
LONG_PATIENCE = 10.0
# A modern server may name another version than the first one offered; twice is a server that cannot make up its mind.
_MAX_PROBES = 2

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_WITHOUT_PARTS = frozenset({"elicitation", "sampling"})

DISCOVER = "server/discover"
INITIALIZE = "initialize"


def is_modern(version: str) -> bool:
    """Revisions are dates and compare as text."""
    return version >= MODERN[0]


def client_info() -> dict[str, str]:
    return {"name": "openclaw-mcp", "version": __version__}


def request_meta(version: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """What every request of a modern conversation carries in `_meta`."""
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        _CAPABILITIES: dict(capabilities),
    }


class Agreement(msgspec.Struct, frozen=True):
    """What was agreed, and what the server said of itself (untrusted). `meta` goes into every later request."""

    version: str
    capabilities: Mapping[str, Any] = msgspec.field(default_factory=dict)
    server_info: Mapping[str, Any] = msgspec.field(default_factory=dict)
    instructions: str = ""
    meta: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def modern(self) -> bool:
        return is_modern(self.version)


# Steps: what to do next.


class Ask(msgspec.Struct, frozen=True):
    """Send this request and go on; its outcome comes with a later Listen. `headers` are for HTTP."""

    method: str
    params: Mapping[str, Any]
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class Listen(msgspec.Struct, frozen=True):
    """Wait for the next outcome; Silence after `seconds`. None: as long as connecting may take."""

    seconds: float | None = None


class Confirm(msgspec.Struct, frozen=True):
    """The version is agreed: tell the link, then send `notifications/initialized`."""

    version: str


class Reopen(msgspec.Struct, frozen=True):
    """Close this connection, open one over this transport, and go on with the plan there."""

    transport: TransportFacts
    reason: str


Step = Ask | Listen | Confirm | Reopen

# Outcomes: what came of it.


class MethodReply(msgspec.Struct, frozen=True):
    method: str
    result: Raw


class MethodRefusal(msgspec.Struct, frozen=True):
    """The server answered with an error, or with something unreadable. `http` is set when it was an HTTP status."""

    method: str
    error: ProtocolError | None
    http: HttpStatusError | None = None

    @property
    def code(self) -> int:
        return self.error.code if isinstance(self.error, RpcError) else 0

    @property
    def supported(self) -> list[str]:
        """The versions the refusal names, if it does."""
        data = self.error.data if isinstance(self.error, RpcError) else None
        versions = data.get("supported") if isinstance(data, dict) else None
        return [v for v in versions if isinstance(v, str)] if isinstance(versions, list) else []

    def raised(self) -> Exception:
        """The error to give up with."""
        if self.http is not None:
            return self.http
        return ProtocolError(f"The server refused {self.method}: {self.error}")


class Silence(msgspec.Struct, frozen=True):
    pass


class Loss(msgspec.Struct, frozen=True):
    """The link broke: a stdio server exited."""

    error: TransportError


Outcome = MethodReply | MethodRefusal | Silence | Loss
Plan = Generator[Step, Outcome | None, Agreement]


def other_transport(
    transport: TransportFacts, error: HttpStatusError, *, modern_body: bool = False
) -> TransportFacts | None:
    """Which HTTP transport to try instead, after this refusal. Never after 401, 403, 429 or 5xx."""
    if error.status not in (400, 404, 405) or modern_body or transport.alternative is None:
        return None
    return TRANSPORTS[transport.alternative]


def negotiate(
    transport: TransportFacts,
    *,
    known: str = "",
    capabilities: Mapping[str, Any] | None = None,
    request_capabilities: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan for one server. `known` is the version agreed with the same spec before; it is tried first.

    `capabilities` are declared in a handshake, once; `request_capabilities`, if they are others, by every modern request that names none of
    its own. Raises ProtocolError, ConnectError or HttpStatusError when there is no agreement.
    """
    declared = capabilities or {}
    each = declared if request_capabilities is None else request_capabilities
    return _Negotiation(transport, declared, each).plan(known)


def capabilities_meta(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of a modern request that declares capabilities of its own."""
    return {_CAPABILITIES: capabilities}


def _of_version(capabilities: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Before 2025-11-25 a capability to be asked had no parts: forms were all there was, and sampling knew no tools."""
    if version >= LEGACY[0]:
        return dict(capabilities)
    return {name: {} if name in _WITHOUT_PARTS else value for name, value in capabilities.items()}


class _Negotiation:
    def __init__(
        self, transport: TransportFacts, capabilities: Mapping[str, Any], request_capabilities: Mapping[str, Any]
    ) -> None:
        self._transport = transport
        self._capabilities = capabilities
        self._request_capabilities = request_capabilities
        self._probes = 0
        # Questions that may still be answered.
        self._probing = False
        self._initializing = False
        self._offered: set[str] = set()
        self._reopened = False

    def plan(self, known: str) -> Plan:
        if self._transport.is_legacy or (known and not is_modern(known)):
            return (yield from self._legacy_first())
        yield self._probe(known if known in MODERN else MODERN[0])
        is_patient = known or self._transport.always_answers
        return (yield from self._converse(LONG_PATIENCE if is_patient else PROBE_PATIENCE))

    def _legacy_first(self) -> Plan:
        """HTTP+SSE is older than the probe; and a server that was old the last time is asked the old way."""
        yield self._initialize()
        return (yield from self._converse(None))

    def _converse(self, patience: float | None) -> Plan:
        while True:
            outcome = yield Listen(patience)
            patience = None
            match outcome:
                case MethodReply(method, result) if method == DISCOVER:
                    self._probing = False
                    agreement = self._discovered(result)
                    if agreement is not None:
                        return agreement
                    if not self._initializing:
                        yield self._initialize()
                case MethodReply(_, result):
                    agreement = self._initialized(result)
                    yield Confirm(agreement.version)
                    return agreement
                case MethodRefusal(method) if method == DISCOVER:
                    self._probing = False
                    yield from self._probe_refused(outcome)
                case MethodRefusal():
                    self._initializing = False
                    yield from self._initialize_refused(outcome)
                case Silence():
                    if not self._initializing:
                        yield self._initialize()
                case Loss():
                    yield from self._lost(outcome)
                case None:
                    raise AssertionError("a plan that listens is told what it heard")
                case _:
                    assert_never(outcome)

    def _probe(self, version: str) -> Ask:
        self._probes += 1
        self._probing = True
        meta = request_meta(version, self._request_capabilities)
        return Ask(DISCOVER, {"_meta": meta}, {"MCP-Protocol-Version": version, "Mcp-Method": DISCOVER})

    def _initialize(self, version: str = LEGACY[0]) -> Ask:
        self._initializing = True
        self._offered.add(version)
        params = {
            "protocolVersion": version,
            "capabilities": _of_version(self._capabilities, version),
            "clientInfo": client_info(),
        }
        return Ask(INITIALIZE, params)

    def _discovered(self, result: Raw) -> Agreement | None:
        """None when the server names no modern version that we know, but an old one, or answers what it has not understood."""
        try:
            told = parse(result, _Discovered)
        except ProtocolError:
            return None
        version = next((v for v in MODERN if v in told.supportedVersions), "")
        if not version:
            if any(v in LEGACY for v in told.supportedVersions):
                return None
            raise _no_common_version(told.supportedVersions)
        meta = request_meta(version, self._request_capabilities)
        return Agreement(version, told.capabilities, told.serverInfo, told.instructions or "", meta)

    def _initialized(self, result: Raw) -> Agreement:
        told = parse(result, _Initialized)
        if told.protocolVersion not in LEGACY:
            raise _no_common_version([told.protocolVersion])
        return Agreement(told.protocolVersion, told.capabilities, told.serverInfo, told.instructions or "")

    def _probe_refused(self, refusal: MethodRefusal) -> Generator[Step, Outcome | None, None]:
        modern = [v for v in MODERN if v in refusal.supported]
        if refusal.code == UNSUPPORTED_VERSION and modern:
            if self._probes >= _MAX_PROBES:
                raise refusal.raised()
            yield self._probe(modern[0])
        elif refusal.code == UNSUPPORTED_VERSION and refusal.supported:
            legacy = next((v for v in LEGACY if v in refusal.supported), "")
            if not legacy:
                raise _no_common_version(refusal.supported)
            if not self._initializing:
                yield self._initialize(legacy)
        elif refusal.code in _MODERN_ERRORS or _is_no_verdict(refusal):
            raise refusal.raised()
        elif not self._initializing:
            yield self._initialize()

    def _initialize_refused(self, refusal: MethodRefusal) -> Generator[Step, Outcome | None, None]:
        legacy = next((v for v in LEGACY if v in refusal.supported and v not in self._offered), "")
        if legacy:
            yield self._initialize(legacy)
        elif self._probing:
            # A modern server that was slow to start: the answer to the probe is on its way.
            return
        elif self._probes == 0 and not self._transport.is_legacy and (refusal.http is None or _is_modern_body(refusal)):
            # The server was old the last time we met.
            yield self._probe(MODERN[0])
        elif refusal.http is not None and not self._reopened:
            other = other_transport(self._transport, refusal.http, modern_body=_is_modern_body(refusal))
            if other is None:
                raise refusal.raised()
            yield from self._reopen(other, f"HTTP {refusal.http.status} to initialize")
        else:
            raise refusal.raised()

    def _lost(self, loss: Loss) -> Generator[Step, Outcome | None, None]:
        """Some servers exit on the probe. They get a second life, in which they are asked the old way only."""
        if self._probes == 0 or self._reopened:
            raise ConnectError(loss.error.message, hint=loss.error.hint)
        yield from self._reopen(self._transport, "the server exited when it was asked for its version")

    def _reopen(self, transport: TransportFacts, reason: str) -> Generator[Step, Outcome | None, None]:
        self._reopened = True
        self._transport = transport
        self._probing = self._initializing = False
        self._offered.clear()
        yield Reopen(transport, reason)
        yield self._initialize()


class _Discovered(msgspec.Struct):
    supportedVersions: list[str]
    capabilities: dict[str, Any] = {}
    serverInfo: dict[str, Any] = {}
    instructions: str | None = None


class _Initialized(msgspec.Struct):
    protocolVersion: str
    capabilities: dict[str, Any] = {}
    serverInfo: dict[str, Any] = {}
    instructions: str | None = None


def _is_no_verdict(refusal: MethodRefusal) -> bool:
    """A status that says nothing about the era: not signed in, not allowed, too often, or not there right now."""
    status = refusal.http.status if refusal.http is not None else 0
    return status in (401, 403, 429, 502, 503, 504)


def _is_modern_body(refusal: MethodRefusal) -> bool:
    """Whether the body of an HTTP refusal can only come from a server that speaks a modern revision."""
    unknown_method = refusal.http is not None and refusal.http.status == 404 and refusal.code == METHOD_NOT_FOUND
    return unknown_method or refusal.code in _MODERN_ERRORS


def _no_common_version(offered: list[str]) -> ProtocolError:
    return ProtocolError(
        f"The server speaks MCP {', '.join(offered[:10]) or 'of no version'}, and we speak {', '.join(MODERN + LEGACY)}.",
        hint="Update OpenClaw or the server.",
    )
