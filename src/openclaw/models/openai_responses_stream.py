"""The stream of a Responses answer, read into our events: text, reasoning, calls, usage, the reason it stopped.

Pure. An answer is a list of items; each is begun, told in pieces and closed, and closed items come in the order in which they go back.
What did not come in pieces is taken from the closed item, and what came in no item from the whole answer: endpoints differ. Requests are
`openai_responses.py`'s.
"""

import secrets
from typing import Any, Final, TypeVar

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
from openclaw.models.refusal import RefusalError, error_in
from openclaw.tool import TOOL_SEARCH
from openclaw.tool_form import encoded, finished_call, lenient_json

# Signatures of this wire: a whole item of reasoning, and what the text that follows is to the answer (a word in between, or the end of it).
REASONING: Final = "responses:"
PHASE: Final = "responses-phase:"

_T = TypeVar("_T")
_PHASES = frozenset({"commentary", "final_answer"})
# Between two messages, and between two parts of a summary.
_GAP: Final = "\n\n"


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    content: Any = None
    summary: Any = None
    encrypted_content: str | None = None
    phase: str | None = None
    execution: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item] | None = None
    usage: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    error: Any = None
    status: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    summary_index: int = 0
    delta: Any = None
    item: _Item | None = None
    response: _Response | None = None


class _OpenCall(msgspec.Struct):
    number: int
    id: str
    name: str
    pieces: list[str] = msgspec.field(default_factory=list)


class ResponsesDecoder:
    """The stream of one answer. Every item has an index; calls are numbered in the order they start."""

    def __init__(self) -> None:
        self.finished = False
        self.closed = False
        self.usage = Usage()
        self._heard = False
        self._refused = False
        self._incomplete = ""
        self._calls = 0
        self._open: dict[int, _OpenCall] = {}
        # Items that were begun, those of which something was told in pieces, and whether any had text.
        self._begun: set[int] = set()
        self._told: set[int] = set()
        self._spoke = False

    def event(self, data: str) -> list[ModelEvent]:
        if data.strip() == "[DONE]":
            self.closed = True
            return []
        event, value = _read(data, _Event)
        self._heard = True
        match event.type:
            case "response.output_item.added" if event.item is not None:
                return self._begin(event.output_index, event.item)
            case "response.output_item.done" if event.item is not None:
                return self._close(event.output_index, event.item)
            case "response.reasoning_summary_part.added" if event.summary_index:
                return [ReasoningDelta(_GAP)]
            case "response.completed" | "response.incomplete" if event.response is not None:
                return self._finish(event.response)
            case "response.failed":
                raise _failed(value.get("response"))
            case "error" | "":
                raise _failed(value)
        # Other kinds say again what is known, or come with new features.
        return self._piece(event.type, event.output_index, event.delta) if isinstance(event.delta, str) else []

    def whole(self, body: bytes) -> list[ModelEvent]:
        response, value = _read(body, _Response)
        if response.error or response.output is None:
            raise _failed(value)
        self._heard = True
        return self._finish(response)

    def end(self) -> tuple[list[ModelEvent], Done]:
        if not (self.finished or self.closed) or not self._heard:
            raise broken_off()
        # An endpoint that forgets to close its items.
        events = [event for index in sorted(self._open) for event in self._close(index, _Item("function_call"))]
        if self._refused or self._incomplete == "content_filter":
            return events, Done("refused", self.usage, "The model refused to answer. Ask in another way.")
        reason: StopReason = "length" if self._incomplete == "max_output_tokens" else "end"
        return events, Done("tools" if self._calls else reason, self.usage)

    def _begin(self, index: int, item: _Item) -> list[ModelEvent]:
        self._begun.add(index)
        match item.type:
            case "message":
                gap: list[ModelEvent] = [TextDelta(_GAP)] if self._spoke else []
                phase = [ReasoningDelta("", PHASE + item.phase)] if item.phase and item.phase in _PHASES else []
                return [*phase, *gap]
            case "function_call" | "tool_search_call" if item.execution != "server":
                # A search has no name on this wire: it is the call of our tool.
                name = TOOL_SEARCH if item.type == "tool_search_call" else item.name or ""
                call = _OpenCall(self._calls, item.call_id or item.id or f"call_{secrets.token_hex(8)}", name)
                self._open[index] = call
                self._calls += 1
                return [ToolCallStart(call.number, call.id, call.name)]
        return []

    def _piece(self, kind: str, index: int, delta: str) -> list[ModelEvent]:
        if not delta:
            return []
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._refused = self._refused or kind == "response.refusal.delta"
                self._spoke = True
                event: ModelEvent = TextDelta(delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                event = ReasoningDelta(delta)
            case "response.function_call_arguments.delta" if index in self._open:
                self._open[index].pieces.append(delta)
                event = ToolCallDelta(self._open[index].number, delta)
            case _:
                return []
        self._told.add(index)
        return [event]

    def _close(self, index: int, item: _Item) -> list[ModelEvent]:
        events = [] if index in self._begun else self._begin(index, item)
        is_told = index in self._told
        match item.type:
            case "message" if not is_told:
                for kind, text in _texts(item.content):
                    events += self._piece(
                        f"response.{'refusal' if kind == 'refusal' else 'output_text'}.delta", index, text
                    )
            case "reasoning":
                text = _GAP.join(text for _, text in _texts(item.summary) or _texts(item.content))
                if text and not is_told:
                    events.append(ReasoningDelta(text))
                if signature := _signature(item):
                    events.append(ReasoningDelta("", signature))
            case "function_call" | "tool_search_call" if (call := self._open.pop(index, None)) is not None:
                arguments = "".join(call.pieces) if call.pieces else item.arguments
                events.append(ToolCallEnd(call.number, finished_call(call.id, call.name, arguments)))
        return events

    def _finish(self, response: _Response) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for index, item in enumerate([] if self._begun else response.output or []):
            events += self._close(index, item)
        usage = response.usage or {}
        details = usage.get("input_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        self.usage = Usage(count(usage.get("input_tokens")), count(usage.get("output_tokens")), count(cached))
        self._incomplete = str((response.incomplete_details or {}).get("reason") or "")
        self.finished = self.closed = True
        return events


def _read(data: str | bytes, kind: type[_T]) -> tuple[_T, dict[str, Any]]:
    try:
        value = lenient_json(data)
        return msgspec.convert(value, kind), value
    except (ValueError, msgspec.ValidationError):
        raise not_this_wire("something that is not its JSON") from None


def _failed(value: Any) -> RefusalError:
    kind, message, known = error_in(value)
    return stated_error(kind, message, status_of(kind)) if known else not_this_wire("JSON that is no event of it")


def _texts(parts: Any) -> list[tuple[str, str]]:
    """The texts of a list of parts, each with its kind."""
    found = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    texts = [(part.get("type"), part.get("refusal") or part.get("text")) for part in found]
    return [(str(kind), text) for kind, text in texts if isinstance(text, str) and text]


def _signature(item: _Item) -> str:
    """The item as it goes back; empty when it carries no reasoning that the endpoint could read there."""
    if not item.id or not (item.encrypted_content or _texts(item.content)):
        return ""
    kept: dict[str, Any] = {"id": item.id, "summary": item.summary if isinstance(item.summary, list) else []}
    if _texts(item.content):
        kept["content"] = item.content
    if item.encrypted_content:
        kept["encrypted_content"] = item.encrypted_content
    return REASONING + encoded(kept).decode()
