"""The server's half of MCP without I/O: what it says of itself, and for a request of either era an answer, an error or work to do.

Owns which revision a request speaks, and what its client can be asked. `initialize` selects one of the four old revisions for the whole
process, with what the client declares then; a request that carries its version in `_meta` is served by that alone, whatever came before, as
2026-07-28 asks. Both may be mixed. What is offered is a `Service` (`order_tool.py` has ours); a call is only read here: `calls.py` runs it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

import msgspec
from msgspec import Raw

from openclaw.errors import UsageError
from openclaw.mcp_server.order import List, Scalar, Value, is_object
from openclaw.protocol.eras import DISCOVER, INITIALIZE, LEGACY, MODERN, UNSUPPORTED_VERSION
from openclaw.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Notification,
    Request,
    RequestId,
)
from openclaw.protocol.strict_lines import ErrorAnswer, known_id, unreadable
from openclaw.trace_context import carried

BATCHES = "2025-03-26"
CANCELLED = "notifications/cancelled"
# The first revision in which a client can be asked something by its person, and the first in which it can be sent to an address.
_ELICITATION_SINCE = "2025-06-18"
_ADDRESSES_SINCE = "2025-11-25"
# Lists never change while this process lives: an hour, the longest that caches are asked to trust anything.
LIST_TTL_MS: Final = 3_600_000

_NOTHING = Raw()
# Method names that a client made up are repeated in errors, up to this many characters.
_SHOWN = 100


W = TypeVar("W")
# What a client may have declared that it can be asked: `elicitation` has two ways.
Ability = Literal["form", "url", "sampling", "roots"]


class Service(msgspec.Struct, Generic[W], frozen=True):
    """What a server offers. `lists` are the results of methods that answer the same to everybody.

    `calls` are the requests that take time, by method: each reads what is to be done out of the name and the arguments, as they were
    written. Raises LookupError with a sentence for a name that nobody knows, UsageError for arguments that are wrong, and msgspec's errors
    and UnicodeDecodeError for what is not JSON. `pieces` tells works apart: two with the same pieces are the same.
    """

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str
    lists: Mapping[str, Mapping[str, Any]]
    calls: Mapping[str, Callable[[Any, Raw], W]]
    pieces: Callable[[W], Iterable[bytes]]

    def result(self, told: Mapping[str, Any], version: str, *, cached: bool = False) -> dict[str, Any]:
        """A result as the revision wants it: from 2026-07-28 on it says that it is complete, if it says nothing else, who gave it, and how
        long it may be kept."""
        if version not in MODERN:
            return dict(told)
        keeping = {"ttlMs": LIST_TTL_MS, "cacheScope": "public"} if cached else {}
        return {"resultType": "complete", **told, **keeping, "_meta": {"io.modelcontextprotocol/serverInfo": self.info}}


class ResultAnswer(msgspec.Struct, frozen=True):
    id: RequestId
    result: Any


class Unsupported(msgspec.Struct, frozen=True):
    """A version we do not speak: the only error that carries data."""

    id: RequestId
    requested: str

    @property
    def error(self) -> dict[str, Any]:
        data = {"supported": [*MODERN, *LEGACY], "requested": self.requested}
        return {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}


class Placed(msgspec.Struct, Generic[W], frozen=True):
    """Work to do. `fault` is set instead of `work` when its arguments are wrong: that is a result, not an error of the protocol.

    `token` is the caller's progress token as it was written; empty when it wants no progress. `declared` is what the client can be asked.
    `state` and `responses` are what a client sends with a request that it makes again, after it was asked; empty otherwise. `caller` is the
    trace that it is part of (`trace_context.py`).
    """

    id: RequestId
    version: str
    work: W | None
    fault: str = ""
    token: Raw = _NOTHING
    declared: frozenset[Ability] = frozenset()
    state: str = ""
    responses: Raw = _NOTHING
    caller: Mapping[str, str] = {}


class Cancel(msgspec.Struct, frozen=True):
    id: RequestId


Outcome = ResultAnswer | ErrorAnswer | Unsupported | Placed[W] | Cancel | None


class _Elicitation(TypedDict, total=False):
    form: Value
    url: Value


class _Capabilities(TypedDict, total=False):
    elicitation: Scalar | _Elicitation | List
    sampling: Value
    roots: Value


_GivenCapabilities = Scalar | _Capabilities | List


class _Meta(msgspec.Struct):
    progress_token: Raw = msgspec.field(default=_NOTHING, name="progressToken")
    version: Value = msgspec.field(default=None, name="io.modelcontextprotocol/protocolVersion")
    capabilities: _GivenCapabilities = msgspec.field(default=None, name="io.modelcontextprotocol/clientCapabilities")
    traceparent: Value = None
    tracestate: Value = None


class _Params(msgspec.Struct):
    meta: _Meta | None = msgspec.field(default=None, name="_meta")
    name: Value = None
    arguments: Raw = _NOTHING
    cursor: Value = None
    version: Value = msgspec.field(default=None, name="protocolVersion")
    request: Value = msgspec.field(default=None, name="requestId")
    capabilities: _GivenCapabilities = None
    state: Value = msgspec.field(default=None, name="requestState")
    responses: Raw = msgspec.field(default=_NOTHING, name="inputResponses")


_params = msgspec.json.Decoder(_Params)


class Dialogue(Generic[W]):
    """`version` is what `initialize` agreed on; empty before."""

    def __init__(self, service: Service[W]) -> None:
        self.version = ""
        self._service = service
        self._declared: frozenset[Ability] = frozenset()

    def receive(self, message: Request | Notification) -> Outcome[W]:
        """What to do about a message; None when there is nothing to be said."""
        try:
            params = _params.decode(message.params) if _is_given(message.params) else _Params()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if isinstance(message, Notification):
                return None
            if isinstance(error, msgspec.ValidationError):
                return ErrorAnswer(message.id, INVALID_PARAMS, f"Invalid params: {error}.")
            return unreadable(message.id)
        if isinstance(message, Notification):
            return self._notified(message.method, params)
        return self._asked(message, params)

    def _notified(self, method: str, params: _Params) -> Outcome[W]:
        id = known_id(params.request)
        return Cancel(id) if method == CANCELLED and id is not None else None

    def _asked(self, request: Request, params: _Params) -> Outcome[W]:
        if request.method == INITIALIZE:
            return self._initialize(request.id, params)
        meta = params.meta or _Meta()
        version = meta.version
        if version is not None or request.method == DISCOVER:
            if not isinstance(version, str) or not is_object(meta.capabilities):
                return ErrorAnswer(request.id, INVALID_PARAMS, _MISSING_META)
            if version not in MODERN:
                return Unsupported(request.id, version[:_SHOWN])
            return self._serve(request, params, version, declared(meta.capabilities, version))
        if request.method == "ping":
            return ResultAnswer(request.id, {})
        if not self.version:
            return ErrorAnswer(request.id, INVALID_PARAMS, _MISSING_META)
        return self._serve(request, params, self.version, self._declared)

    def _initialize(self, id: RequestId, params: _Params) -> Outcome[W]:
        if not isinstance(params.version, str):
            return ErrorAnswer(id, INVALID_PARAMS, "Invalid params: protocolVersion must be a string.")
        self.version = params.version if params.version in LEGACY else LEGACY[0]
        self._declared = declared(params.capabilities, self.version)
        told = {"protocolVersion": self.version, **self._introduction()}
        return ResultAnswer(id, told)

    def _introduction(self) -> dict[str, Any]:
        service = self._service
        return {
            "capabilities": service.capabilities,
            "serverInfo": service.info,
            "instructions": service.instructions,
        }

    def _serve(self, request: Request, params: _Params, version: str, can: frozenset[Ability]) -> Outcome[W]:
        method, service = request.method, self._service
        if method in service.lists:
            if params.cursor is not None:
                return ErrorAnswer(request.id, INVALID_PARAMS, "Invalid params: there is no page behind this cursor.")
            return ResultAnswer(request.id, service.result(service.lists[method], version, cached=True))
        if method in service.calls:
            return self._call(request, params, version, can)
        if method == DISCOVER:
            told = {"supportedVersions": [*MODERN, *LEGACY], **self._introduction()}
            return ResultAnswer(request.id, service.result(told, version, cached=True))
        return ErrorAnswer(request.id, METHOD_NOT_FOUND, f"Method not found: {method[:_SHOWN]}")

    def _call(self, request: Request, params: _Params, version: str, can: frozenset[Ability]) -> Outcome[W]:
        id = request.id
        state, responses = (params.state, params.responses) if version in MODERN else (None, _NOTHING)
        if not isinstance(state, str | None) or state == "":
            return ErrorAnswer(id, INVALID_PARAMS, "Invalid params: requestState must be a string that we gave.")
        token = params.meta.progress_token if params.meta else _NOTHING
        # A token is a string or a number; anything else asks for nothing. Copied: a view would keep the whole line alive.
        token = token.copy() if bytes(memoryview(token)[:1]) in _TOKEN_STARTS else _NOTHING
        work, fault = None, ""
        try:
            work = self._service.calls[request.method](params.name, params.arguments)
        except LookupError as error:
            return ErrorAnswer(id, INVALID_PARAMS, error.args[0])
        except UsageError as error:
            fault = str(error)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return unreadable(id)
        meta = params.meta or _Meta()
        caller = carried({"traceparent": meta.traceparent, "tracestate": meta.tracestate})
        return Placed(id, version, work, fault, token, can, state or "", responses, caller)

    def refuse_batch(self) -> ErrorAnswer | None:
        """Batches exist in one revision only."""
        if self.version == BATCHES:
            return None
        return ErrorAnswer(None, INVALID_REQUEST, f"Invalid request: batches are part of MCP {BATCHES} alone.")


def declared(capabilities: Any, version: str) -> frozenset[Ability]:
    """What a client that declares these capabilities can be asked. `elicitation` that names no way means forms alone."""
    found: set[Ability] = set()
    given: dict[str, Any] = capabilities if is_object(capabilities) else {}
    elicitation: Any = given.get("elicitation")
    if is_object(elicitation) and version >= _ELICITATION_SINCE:
        if "form" in elicitation or "url" not in elicitation:
            found.add("form")
        if "url" in elicitation and version >= _ADDRESSES_SINCE:
            found.add("url")
    if is_object(given.get("sampling")):
        found.add("sampling")
    if is_object(given.get("roots")):
        found.add("roots")
    return frozenset(found)


def failure(sentence: str) -> dict[str, Any]:
    """An error as tools report it."""
    return {"content": [{"type": "text", "text": f"Error: {sentence}"}], "isError": True}


def _is_given(raw: Raw) -> bool:
    """Whether there are parameters. Some clients write null for none."""
    return bytes(memoryview(raw)[:5]) not in (b"", b"null")


_MISSING_META = (
    "Invalid params: send initialize first, or name io.modelcontextprotocol/protocolVersion and "
    "io.modelcontextprotocol/clientCapabilities in _meta of every request."
)


_TOKEN_STARTS = frozenset((b'"', b"-", *(b"%d" % digit for digit in range(10))))
