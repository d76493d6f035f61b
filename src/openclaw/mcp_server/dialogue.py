"""The server's half of MCP without I/O: what it says of itself, and for a request of either era an answer, an error or an order.

Owns which revision a request speaks. `initialize` selects one of the four old revisions for the whole process; a request that carries its
version in `_meta` is served by that alone, whatever came before, as 2026-07-28 asks. Both may be mixed. An order is only read here:
`server.py` runs it. The tool's description and schema are part of the product's documentation and stay as they are written there; nothing
of them is computed, because clients cache tool lists, and models' prompts are cached with them.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from openclaw.errors import UsageError
from openclaw.mcp_server.order import Order, Value, is_object, read_order
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
from openclaw.version import __version__

TOOL_NAME: Final = "order_openclaw"
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}}
SERVER_INFO: Final[dict[str, Any]] = {"name": "openclaw", "title": "OpenClaw", "version": __version__}
INSTRUCTIONS: Final = (
    "order_openclaw hands a task to OpenClaw, a personal assistant with tools and servers of its own, and returns its whole answer. "
    "Pass the same sessionKey again to go on with a conversation; without one every call starts anew."
)
# The list never changes while this process lives: an hour, the longest that caches are asked to trust anything.
LIST_TTL_MS: Final = 3_600_000


def _attachments(what: str, example: str, most: int) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Optional base64-encoded {what}s (max {most}, 15MB each)",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {what} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
            },
            "required": ["data", "mimeType"],
        },
    }


TOOL: Final[dict[str, Any]] = {
    "name": TOOL_NAME,
    "description": (
        "Send a message to OpenClaw and receive a response. The message will be processed as if typed by a user. Supports sending "
        "images, files (PDF, text, markdown, CSV, JSON), audio, video, and archives (ZIP, TAR.GZ) via base64 encoding."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The message to send to OpenClaw"},
            "sessionKey": {"type": "string", "description": "Optional session key for conversation continuity"},
            "images": _attachments("image", "image/png", 10),
            "files": _attachments("file", "application/pdf", 5),
        },
        "required": ["message"],
    },
}


BATCHES = "2025-03-26"
CANCELLED = "notifications/cancelled"

_NOTHING = Raw()
# Method names that a client made up are repeated in errors, up to this many characters.
_SHOWN = 100


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


class Placed(msgspec.Struct, frozen=True):
    """An order to run. `fault` is set instead of `order` when its arguments are wrong: that is a result, not an error of the protocol.

    `token` is the caller's progress token as it was written; empty when it wants no progress.
    """

    id: RequestId
    version: str
    order: Order | None
    fault: str = ""
    token: Raw = _NOTHING


class Cancel(msgspec.Struct, frozen=True):
    id: RequestId


Outcome = ResultAnswer | ErrorAnswer | Unsupported | Placed | Cancel | None


class _Meta(msgspec.Struct):
    progress_token: Raw = msgspec.field(default=_NOTHING, name="progressToken")
    version: Value = msgspec.field(default=None, name="io.modelcontextprotocol/protocolVersion")
    capabilities: Value = msgspec.field(default=None, name="io.modelcontextprotocol/clientCapabilities")


class _Params(msgspec.Struct):
    meta: _Meta | None = msgspec.field(default=None, name="_meta")
    name: Value = None
    arguments: Raw = _NOTHING
    cursor: Value = None
    version: Value = msgspec.field(default=None, name="protocolVersion")
    request: Value = msgspec.field(default=None, name="requestId")


_params = msgspec.json.Decoder(_Params)


class Dialogue:
    """`version` is what `initialize` agreed on; empty before."""

    def __init__(self) -> None:
        self.version = ""

    def receive(self, message: Request | Notification) -> Outcome:
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

    def _notified(self, method: str, params: _Params) -> Outcome:
        id = known_id(params.request)
        return Cancel(id) if method == CANCELLED and id is not None else None

    def _asked(self, request: Request, params: _Params) -> Outcome:
        if request.method == INITIALIZE:
            return self._initialize(request.id, params)
        meta = params.meta or _Meta()
        version = meta.version
        if version is not None or request.method == DISCOVER:
            if not isinstance(version, str) or not is_object(meta.capabilities):
                return ErrorAnswer(request.id, INVALID_PARAMS, _MISSING_META)
            if version not in MODERN:
                return Unsupported(request.id, version[:_SHOWN])
            return self._serve(request, params, version)
        if request.method == "ping":
            return ResultAnswer(request.id, {})
        if not self.version:
            return ErrorAnswer(request.id, INVALID_PARAMS, _MISSING_META)
        return self._serve(request, params, self.version)

    def _initialize(self, id: RequestId, params: _Params) -> Outcome:
        if not isinstance(params.version, str):
            return ErrorAnswer(id, INVALID_PARAMS, "Invalid params: protocolVersion must be a string.")
        self.version = params.version if params.version in LEGACY else LEGACY[0]
        told = {"protocolVersion": self.version, "capabilities": CAPABILITIES, "serverInfo": SERVER_INFO}
        return ResultAnswer(id, {**told, "instructions": INSTRUCTIONS})

    def _serve(self, request: Request, params: _Params, version: str) -> Outcome:
        match request.method:
            case "tools/list":
                if params.cursor is not None:
                    return ErrorAnswer(
                        request.id, INVALID_PARAMS, "Invalid params: there is no page behind this cursor."
                    )
                return ResultAnswer(request.id, result({"tools": [TOOL]}, version, cached=True))
            case "tools/call":
                return _called(request.id, params, version)
            case method if method == DISCOVER:
                told = {"supportedVersions": [*MODERN, *LEGACY], "capabilities": CAPABILITIES}
                told |= {"serverInfo": SERVER_INFO, "instructions": INSTRUCTIONS}
                return ResultAnswer(request.id, result(told, version, cached=True))
            case method:
                return ErrorAnswer(request.id, METHOD_NOT_FOUND, f"Method not found: {method[:_SHOWN]}")

    def refuse_batch(self) -> ErrorAnswer | None:
        """Batches exist in one revision only."""
        if self.version == BATCHES:
            return None
        return ErrorAnswer(None, INVALID_REQUEST, f"Invalid request: batches are part of MCP {BATCHES} alone.")


def result(told: dict[str, Any], version: str, *, cached: bool = False) -> dict[str, Any]:
    """A result as the revision wants it: from 2026-07-28 on it says that it is complete, who gave it, and how long it may be kept."""
    if version not in MODERN:
        return told
    meta = {"io.modelcontextprotocol/serverInfo": SERVER_INFO}
    keeping = {"ttlMs": LIST_TTL_MS, "cacheScope": "public"} if cached else {}
    return {"resultType": "complete", **told, **keeping, "_meta": meta}


def _is_given(raw: Raw) -> bool:
    """Whether there are parameters. Some clients write null for none."""
    return bytes(memoryview(raw)[:5]) not in (b"", b"null")


_MISSING_META = (
    "Invalid params: send initialize first, or name io.modelcontextprotocol/protocolVersion and "
    "io.modelcontextprotocol/clientCapabilities in _meta of every request."
)


def _called(id: RequestId, params: _Params, version: str) -> Outcome:
    if params.name != TOOL_NAME:
        shown = params.name[:_SHOWN] if isinstance(params.name, str) else "no name"
        return ErrorAnswer(id, INVALID_PARAMS, f"Unknown tool: {shown}. The only tool is {TOOL_NAME}.")
    token = params.meta.progress_token if params.meta else _NOTHING
    # A token is a string or a number; anything else asks for nothing. Copied: a view would keep the whole line alive.
    token = token.copy() if bytes(memoryview(token)[:1]) in _TOKEN_STARTS else _NOTHING
    try:
        return Placed(id, version, read_order(params.arguments), token=token)
    except UsageError as error:
        return Placed(id, version, None, str(error), token)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return unreadable(id)


_TOKEN_STARTS = frozenset((b'"', b"-", *(b"%d" % digit for digit in range(10))))
