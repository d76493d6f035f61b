"""The Anthropic messages wire: the form of the request and the reading of the stream.

Pure; `exchange.py` sends, waits and tries again. Tool results go back in a user message, images among them; thinking goes back with the
signature it came with, and only when that signature is this wire's. What never changes between turns is marked for the vendor's cache.
A model that takes deferred tools finds them by our search, which is answered with `tool_reference` blocks (`provider.py`); of those tools
only what was found is sent, and the vendor keeps it out of what it caches.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from openclaw.content import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from openclaw.models.exchange import HttpProvider, Pace, Quirk, broken_off, not_this_wire, stated_error
from openclaw.models.pictures import ANTHROPIC
from openclaw.models.provider import (
    NO_TOOL_SEARCH,
    Done,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    as_made,
    found_tools,
    own_door_tools,
)
from openclaw.models.refusal import Refusal, error_in
from openclaw.models.spec import ModelEndpoint
from openclaw.models.transcript import Sent, carried, sendable
from openclaw.tool import Tool
from openclaw.tool_form import PROPERTY_NAME, accepted_schema, encoded, finished_call, lenient_json

API_VERSION: Final = "2023-06-01"
# The vendor wants a limit; this one holds a long answer and its thinking, and every current model takes it.
DEFAULT_MAX_TOKENS: Final = 32_000
# Signatures of this wire: of thinking, and of thinking that the vendor keeps to itself.
SIGNATURE: Final = "anthropic:"
REDACTED: Final = "anthropic-redacted:"

_TOOL_CHOICES = {"required": "any", "none": "none"}
_CACHED = {"type": "ephemeral"}
_TOO_MANY_TOKENS = re.compile(r"max_tokens: \d+ > (\d+)")
_THINKING_REFUSED = re.compile(r"signature|thinking", re.IGNORECASE)
_SEARCH_REFUSED = re.compile(r"defer_loading|tool_reference|tool reference", re.IGNORECASE)
_NO_TOOLS = re.compile(r"does not support tools|tools? (?:is|are) not supported", re.IGNORECASE)
_NO_IMAGES = re.compile(r"does not support images?|image input is not supported|image.*not supported", re.IGNORECASE)
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
# The status each kind of error stands for when it comes inside a stream.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class MessagesWire:
    label = "messages"

    def url(self, base_url: str) -> str:
        base = base_url.rstrip("/")
        if base.endswith("/messages"):
            return base
        return base + ("/messages" if re.search(r"/v\d+$", base) else "/v1/messages")

    def headers(self, endpoint: ModelEndpoint) -> dict[str, str]:
        key = {"x-api-key": endpoint.api_key} if endpoint.api_key else {}
        return {"anthropic-version": API_VERSION, **key}

    def body(self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bytes:
        limit = request.max_tokens or endpoint.model(request.model).max_tokens or DEFAULT_MAX_TOKENS
        allowed = [int(quirk.partition("=")[2]) for quirk in quirks if quirk.startswith("max-tokens=")]
        payload: dict[str, Any] = {
            "model": request.model,
            "max_tokens": min([limit, *allowed]),
            "messages": [message for message, _ in _messages(request, endpoint, quirks)],
            "stream": True,
        }
        if request.system.strip():
            payload["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
        if request.tools and "no-tools" not in quirks:
            payload["tools"] = _tools(request, own_door=_own_door(request, endpoint, quirks))
            if request.tool_choice != "auto":
                payload["tool_choice"] = {"type": _TOOL_CHOICES[request.tool_choice]}
        # A temperature is refused, and so is a blank text to stop at.
        if stop := [text for text in request.stop if text.strip()]:
            payload["stop_sequences"] = stop
        return encoded(payload)

    def quirk(self, refusal: Refusal, quirks: frozenset[str]) -> Quirk | None:
        if refusal.status not in {400, 422}:
            return None
        said = refusal.message
        if _SEARCH_REFUSED.search(said) and NO_TOOL_SEARCH not in quirks:
            return Quirk(NO_TOOL_SEARCH)
        if match := _TOO_MANY_TOKENS.search(said):
            return Quirk(f"max-tokens={match[1]}")
        if _NO_TOOLS.search(said):
            return Quirk("no-tools", "This model does not take tools: asking without them.")
        if _NO_IMAGES.search(said):
            return Quirk("no-images", "This model does not take images: describing them instead.")
        return Quirk("no-thinking") if _THINKING_REFUSED.search(said) else None

    def sources(
        self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
    ) -> list[tuple[Message, ...]]:
        return [sources for _, sources in _messages(request, endpoint, quirks)]

    def decoder(self) -> "MessagesDecoder":
        return MessagesDecoder()


def connect(endpoint: ModelEndpoint, pace: Pace | None = None) -> HttpProvider:
    return HttpProvider(endpoint, MessagesWire(), pace)


def _own_door(request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bool:
    return bool(request.deferred) and NO_TOOL_SEARCH not in quirks and endpoint.searches(request.model)


def _tools(request: ModelRequest, *, own_door: bool) -> list[dict[str, Any]]:
    if not own_door:
        return [_definition(tool) for tool in request.tools]
    shown = [_definition(tool) for tool in own_door_tools(request)]
    return [*shown, *({**_definition(tool), "defer_loading": True} for tool in found_tools(request))]


def _definition(tool: Tool) -> dict[str, Any]:
    schema = accepted_schema(tool.parameters, names=PROPERTY_NAME)
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _messages(
    request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
) -> list[tuple[dict[str, Any], tuple[Message, ...]]]:
    """The messages, and for each what it stands for."""
    images = "image" in endpoint.model(request.model).input and "no-images" not in quirks
    # The vendor refuses a call in a request that offers no tools.
    with_calls = bool(request.tools) and "no-tools" not in quirks
    written: list[tuple[dict[str, Any], tuple[Message, ...]]] = []
    for role, content, sources in _spoken(
        sendable(request.messages, ANTHROPIC if images else None, quirks, with_calls=with_calls),
        images=images,
        thinking="no-thinking" not in quirks,
        deferred=request.deferred if _own_door(request, endpoint, quirks) else None,
    ):
        if written and written[-1][0]["role"] == role:
            message, before = written.pop()
            written.append(({"role": role, "content": message["content"] + content}, before + sources))
        else:
            written.append(({"role": role, "content": content}, sources))
    # A conversation starts with the user, also when its beginning has been dropped, and ends with one: models no longer go on
    # from words that are put into their mouth.
    if not written or written[0][0]["role"] != "user":
        written.insert(0, (_user("(The beginning of this conversation is not shown.)"), ()))
    if written[-1][0]["role"] != "user":
        written.append((_user("Go on."), ()))
    # All of this request is the beginning of the next one.
    last = written[-1][0]["content"]
    last[-1] = {**last[-1], "cache_control": _CACHED}
    return written


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [_text(text)]}


def _spoken(
    sent: Sequence[Sent], *, images: bool, thinking: bool, deferred: Mapping[str, Tool] | None
) -> Iterator[tuple[str, list[dict[str, Any]], tuple[Message, ...]]]:
    """Who says what. Pictures of failed calls follow the last result: a result that is an error holds text alone, and results stand
    together at the beginning of a message. `deferred` is None where the vendor's own door is not used."""
    pictures: list[dict[str, Any]] = []
    for one in sent:
        message = one.message
        if pictures and not isinstance(message, ToolMessage):
            yield "user", pictures, ()
            pictures = []
        match message:
            case UserMessage():
                yield "user", _blocks(message.content, images=images) or [_text("(empty message)")], one.sources
            case ToolMessage():
                blocks = _references(message, deferred or {}) or _blocks(message.content, images=images)
                if message.is_error and (shown := [block for block in blocks if block["type"] == "image"]):
                    pictures += [_text(f"Returned by the failed call of {message.name}:"), *shown]
                    blocks = [block for block in blocks if block["type"] == "text"]
                    blocks.append(_text("[The image follows the results.]"))
                result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
                result |= {"content": blocks or [_text("(no output)")]}
                yield "user", [{**result, "is_error": True} if message.is_error else result], one.sources
            case AssistantMessage():
                told = (block for block in message.content if thinking or not isinstance(block, Thinking))
                said = [_said(block, own_door=deferred is not None) for block in told]
                yield "assistant", [block for block in said if block is not None], one.sources
    if pictures:
        yield "user", pictures, ()


def _blocks(content: tuple[Any, ...], *, images: bool) -> list[dict[str, Any]]:
    """Blocks as this wire has them. Text without a visible character is refused by the vendor, and left out."""
    blocks = [carried(block, images=images) for block in content]
    return [
        _image(block) if isinstance(block, Image) else _text(block.text)
        for block in blocks
        if isinstance(block, Image) or block.text.strip()
    ]


def _references(message: ToolMessage, deferred: Mapping[str, Tool]) -> list[dict[str, Any]]:
    """What a search found, where the vendor puts the definitions in its place. A name without a definition is refused, and left out."""
    return [{"type": "tool_reference", "tool_name": name} for name in message.found if name in deferred]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": data}}


def _said(block: Text | Thinking | ToolCall, *, own_door: bool) -> dict[str, Any] | None:
    match block:
        case Text():
            return _text(block.text)
        case ToolCall():
            name, arguments = (block.name, block.arguments) if own_door else as_made(block)
            return {"type": "tool_use", "id": block.id, "name": name, "input": arguments}
        case Thinking() if block.signature.startswith(SIGNATURE):
            return {"type": "thinking", "thinking": block.text, "signature": block.signature.removeprefix(SIGNATURE)}
        case Thinking() if block.signature.startswith(REDACTED):
            return {"type": "redacted_thinking", "data": block.signature.removeprefix(REDACTED)}
        case Thinking():
            return None


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Message(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: dict[str, Any] | None = None


class _OpenCall(msgspec.Struct):
    number: int
    id: str
    name: str
    input: Any
    pieces: list[str] = msgspec.field(default_factory=list)


class MessagesDecoder:
    """The stream of one answer. Every block has an index; calls are numbered in the order they start."""

    def __init__(self) -> None:
        self.finished = False
        self.closed = False
        self.usage = Usage()
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._started = False
        self._open: dict[int, _OpenCall] = {}
        self._thinking: dict[int, str] = {}
        self._calls = 0

    def event(self, data: str) -> list[ModelEvent]:
        if data.strip() == "[DONE]":
            # From endpoints that speak both wires and mix up their ends.
            self.closed = True
            return []
        try:
            value = lenient_json(data)
            event = msgspec.convert(value, _Event)
        except (ValueError, msgspec.ValidationError):
            raise not_this_wire("something that is not its JSON") from None
        match event.type:
            case "error":
                kind, message, _ = error_in(value)
                raise stated_error(kind, message, next((s for name, s in _STATUSES.items() if name in kind), 500))
            case "message_start":
                self._started = True
                self._count(event.message.usage if event.message else None)
            case "content_block_start" if event.content_block is not None:
                return self._start(event.index, event.content_block)
            case "content_block_delta" if event.delta is not None:
                return self._delta(event.index, event.delta)
            case "content_block_stop":
                return self._stop_block(event.index)
            case "message_delta":
                self._count(event.usage)
                if event.delta is not None and event.delta.stop_reason:
                    self._stop = event.delta.stop_reason
                    self.finished = True
            case "message_stop":
                self.closed = True
        # Kinds of events we do not know come with new features, and are skipped, as the vendor asks.
        return []

    def whole(self, body: bytes) -> list[ModelEvent]:
        try:
            value = lenient_json(body)
        except ValueError:
            raise not_this_wire("something that is not its JSON") from None
        kind, message, known = error_in(value)
        if known and isinstance(value, dict) and "error" in value:
            raise stated_error(kind, message, next((s for name, s in _STATUSES.items() if name in kind), 500))
        raise not_this_wire("JSON that is not a stream of events")

    def end(self) -> tuple[list[ModelEvent], Done]:
        if not self._started or not (self.finished or self.closed):
            raise broken_off()
        # An endpoint that forgets to close its blocks.
        events = [event for index in sorted(self._open) for event in self._stop_block(index)]
        reason = _STOP_REASONS.get(self._stop, "end")
        if reason == "refused":
            return events, Done("refused", self.usage, "The model refused to answer. Ask in another way.")
        return events, Done("tools" if self._calls else "end" if reason == "tools" else reason, self.usage)

    def _start(self, index: int, block: _Block) -> list[ModelEvent]:
        match block.type:
            case "text":
                return [TextDelta(block.text)] if block.text else []
            case "thinking":
                self._thinking[index] = block.signature
                return [ReasoningDelta(block.thinking)] if block.thinking else []
            case "redacted_thinking":
                return [ReasoningDelta("", REDACTED + block.data)]
            case "tool_use":
                self._open[index] = _OpenCall(self._calls, block.id, block.name, block.input)
                self._calls += 1
                return [ToolCallStart(self._open[index].number, block.id, block.name)]
        return []

    def _delta(self, index: int, delta: _Delta) -> list[ModelEvent]:
        match delta.type:
            case "text_delta" if delta.text:
                return [TextDelta(delta.text)]
            case "thinking_delta" if delta.thinking:
                return [ReasoningDelta(delta.thinking)]
            case "signature_delta":
                self._thinking[index] = self._thinking.get(index, "") + delta.signature
            case "input_json_delta" if index in self._open and delta.partial_json:
                self._open[index].pieces.append(delta.partial_json)
                return [ToolCallDelta(self._open[index].number, delta.partial_json)]
        return []

    def _stop_block(self, index: int) -> list[ModelEvent]:
        signature = self._thinking.pop(index, "")
        if signature:
            return [ReasoningDelta("", SIGNATURE + signature)]
        call = self._open.pop(index, None)
        if call is None:
            return []
        arguments = "".join(call.pieces) if call.pieces else call.input
        return [ToolCallEnd(call.number, finished_call(call.id, call.name, arguments))]

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Counts are cumulative, and come in parts: what an event does not name stays as it was."""
        for name, value in (usage or {}).items():
            if isinstance(value, int) and value >= 0:
                self._counts[name] = value
        cached = self._counts.get("cache_read_input_tokens", 0)
        fresh = self._counts.get("input_tokens", 0) + self._counts.get("cache_creation_input_tokens", 0)
        self.usage = Usage(fresh + cached, self._counts.get("output_tokens", 0), cached)
