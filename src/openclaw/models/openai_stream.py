"""The stream of a chat-completions answer, read into our events: text, reasoning, calls told apart, usage, the reason it stopped.

Pure, and as tolerant as the endpoints are different: a missing index, repeated ids, arguments as an object, two names for reasoning,
a whole answer instead of a stream. What cannot be an answer is refused (`models/refusal.py`). Requests are `openai_chat.py`'s.
"""

import secrets
from typing import Any, Final

import msgspec

from openclaw.content import Usage
from openclaw.models.exchange import broken_off, not_this_wire, stated_error
from openclaw.models.openai_endpoints import count, status_of
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.models.refusal import error_in
from openclaw.tool_form import encoded, finished_call, lenient_json, scrubbed

# Signatures of this wire: the field reasoning came in, or the whole list of signed pieces.
FIELD_SIGNATURE: Final = "chat:"
DETAILS_SIGNATURE: Final = "chat-details:"

_REASONING_FIELDS = ("reasoning_content", "reasoning")


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Said(msgspec.Struct):
    """A delta, or the message of an answer in one piece."""

    content: Any = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    object: str = ""


class _OpenCall(msgspec.Struct):
    id: str
    name: str
    arguments: list[str] = msgspec.field(default_factory=list)
    # From endpoints that send the object itself.
    given: dict[str, Any] | None = None

    def give(self, arguments: dict[str, Any]) -> None:
        self.given = arguments


class ChatDecoder:
    """The stream of one answer. Calls are told apart by index where there is one, else by id and name, as endpoints differ."""

    def __init__(self) -> None:
        self.finished = False
        self.closed = False
        self.usage = Usage()
        self._finish_reason = ""
        self._refused = False
        self._heard = False
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, int] = {}
        self._reasoning_field = ""
        self._details: list[dict[str, Any]] = []

    def event(self, data: str) -> list[ModelEvent]:
        if data.strip() == "[DONE]":
            self.closed = True
            return []
        return self._chunk(data)

    def whole(self, body: bytes) -> list[ModelEvent]:
        events = self._chunk(body)
        self.closed = True
        return events

    def end(self) -> tuple[list[ModelEvent], Done]:
        if not (self.finished or self.closed) or not self._heard:
            raise broken_off()
        events = self._close_reasoning()
        for index, call in enumerate(self._calls):
            arguments = call.given if call.given is not None else "".join(call.arguments)
            events.append(ToolCallEnd(index, finished_call(call.id, call.name, arguments)))
        return events, self._done()

    def _done(self) -> Done:
        if self._refused or self._finish_reason == "content_filter":
            return Done("refused", self.usage, "The model refused to answer. Ask in another way.")
        if self._calls:
            return Done("tools", self.usage)
        reason: StopReason = "length" if self._finish_reason in {"length", "max_tokens"} else "end"
        return Done(reason, self.usage)

    def _chunk(self, data: str | bytes) -> list[ModelEvent]:
        try:
            value = lenient_json(data)
            chunk = msgspec.convert(value, _Chunk)
        except (ValueError, msgspec.ValidationError):
            raise not_this_wire("something that is not its JSON") from None
        if chunk.error or (chunk.choices is None and chunk.usage is None and not chunk.object.startswith("chat.")):
            kind, message, known = error_in(value)
            if not known:
                raise not_this_wire("JSON without `choices`")
            raise stated_error(kind, message, status_of(kind))
        self._heard = True
        if chunk.usage:
            self.usage = _usage(chunk.usage)
        events: list[ModelEvent] = []
        for choice in chunk.choices or []:
            said = choice.delta or choice.message
            if said is not None:
                events += self._said(said)
            if choice.finish_reason:
                self._finish_reason = choice.finish_reason
                self.finished = True
        if self._finish_reason == "error":
            raise stated_error("error", "the model behind it failed", 502)
        return events

    def _said(self, said: _Said) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        text, thought = _split(said.content)
        thoughts = [
            *((name, value) for name in _REASONING_FIELDS if isinstance(value := getattr(said, name), str) and value),
            *([("", thought)] if thought else []),
        ]
        if isinstance(said.reasoning_details, list):
            self._add_details(said.reasoning_details)
        if thoughts:
            # Some endpoints send the same words in both fields.
            self._reasoning_field = thoughts[0][0] or self._reasoning_field
            events.append(ReasoningDelta(thoughts[0][1]))
        if said.refusal:
            self._refused = True
            text += said.refusal
        if text:
            events += [*self._close_reasoning(), TextDelta(text)]
        for call in said.tool_calls or []:
            events += [*self._close_reasoning(), *self._call(call)]
        return events

    def _add_details(self, pieces: list[Any]) -> None:
        """Signed reasoning in pieces: those of one kind and index are one."""
        for piece in pieces:
            if not isinstance(piece, dict):
                continue
            last = self._details[-1] if self._details else {}
            if last and all(last.get(key) == piece.get(key) for key in ("type", "index")):
                for key, value in piece.items():
                    joined = key in {"text", "summary", "data"} and isinstance(value, str)
                    last[key] = (
                        str(last.get(key) or "") + value if joined else value if value is not None else last.get(key)
                    )
            else:
                self._details.append(dict(piece))

    def _close_reasoning(self) -> list[ModelEvent]:
        signature = ""
        if self._details:
            signature = DETAILS_SIGNATURE + encoded(self._details).decode()
        elif self._reasoning_field:
            signature = FIELD_SIGNATURE + self._reasoning_field
        self._details, self._reasoning_field = [], ""
        return [ReasoningDelta("", signature)] if signature else []

    def _call(self, delta: _Call) -> list[ModelEvent]:
        function = delta.function or _Function()
        events: list[ModelEvent] = []
        place = self._place(delta, function)
        if place is None:
            place = len(self._calls)
            self._calls.append(_OpenCall(delta.id or f"call_{secrets.token_hex(8)}", function.name or ""))
            events.append(ToolCallStart(place, self._calls[place].id, self._calls[place].name))
        if delta.index is not None:
            self._by_index[delta.index] = place
        if isinstance(function.arguments, dict):
            self._calls[place].give(scrubbed(function.arguments))
            events.append(ToolCallDelta(place, encoded(function.arguments).decode()))
        elif isinstance(function.arguments, str) and function.arguments:
            self._calls[place].arguments.append(function.arguments)
            events.append(ToolCallDelta(place, function.arguments))
        return events

    def _place(self, delta: _Call, function: _Function) -> int | None:
        """Which open call a piece belongs to; None for a new one. Ids and names are repeated by some, missing from others."""
        place = self._by_index.get(delta.index) if delta.index is not None else None
        if place is None and delta.index is None and self._calls:
            place = len(self._calls) - 1
        if place is None:
            return None
        # Without an index, a name and no id can only be the next call.
        anonymous = delta.index is None and not delta.id
        other = anonymous or (delta.id or self._calls[place].id) != self._calls[place].id
        return None if other and function.name else place


def _split(content: Any) -> tuple[str, str]:
    """Text and reasoning of a `content`, which some vendors send as a list of parts."""
    if isinstance(content, str):
        return content, ""
    text = thought = ""
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            thought += inner if isinstance(inner, str) else _split(inner)[0]
        elif isinstance(part.get("text"), str):
            text += part["text"]
    return text, thought


def _usage(usage: dict[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    return Usage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")), count(cached))
