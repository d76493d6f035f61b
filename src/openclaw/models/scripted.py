"""`scripted`: a provider that plays a list of turns and remembers what it was asked. For tests, demonstrations and rehearsals.

A turn is text, reasoning and tool calls, or a failure; it may wait until it is cancelled. `scripted/PATH` as a model name
plays a JSON file: a list of turns, or an object with `turns`. A turn in a file has these fields, all optional:

    {"text": "Hello" | ["Hel", "lo"], "reasoning": "…", "toolCalls": [{"name": "ls", "arguments": {"path": "."}, "id": "c1"}],
     "error": "…", "retryable": true, "stopReason": "end", "usage": {"inputTokens": 1, "outputTokens": 1}, "hold": true}

Text may quote the last tool result as `{result}`. One turn answers one request; when none is left, the answer is an error.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from openclaw.content import ToolCall, ToolMessage, Usage, text_of, to_json
from openclaw.errors import ModelError
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

NAME: Final = "scripted"
# A script is written by hand.
MOST_BYTES: Final = 10 * 1024 * 1024
_RESULT: Final = "{result}"


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    fault: str = ""


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    text: str | tuple[str, ...] = ()
    reasoning: str = ""
    signature: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    error: str = ""
    retryable: bool = False
    too_long: bool = False
    stop_reason: StopReason | None = None
    usage: Usage = Usage()
    # Stream all of the above, then wait to be cancelled.
    hold: bool = False


class _Script(msgspec.Struct, forbid_unknown_fields=True):
    turns: tuple[ScriptedTurn, ...]


# A turn that depends on what was asked.
Reaction = Callable[[ModelRequest], ScriptedTurn]


class Scripted:
    """`requests` are those received, each with the messages and tools of its moment. `holding` is set while one waits to be cancelled."""

    def __init__(self, turns: Sequence[ScriptedTurn | Reaction], *, name: str = NAME) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.holding = asyncio.Event()
        self._turns = tuple(turns)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        # Callers go on adding to the same list of messages; what it held at this moment is what was asked.
        request = msgspec.structs.replace(request, messages=tuple(request.messages), tools=tuple(request.tools))
        number = len(self.requests)
        self.requests.append(request)
        model = f"{self.name}/{request.model}"
        if number >= len(self._turns):
            error = f"The script has no turn {number + 1}. Add one, or ask less."
            yield Done("error", error=error, model=model)
            return
        scripted = self._turns[number]
        turn = scripted if isinstance(scripted, ScriptedTurn) else scripted(request)
        for event in _events(turn, request, number):
            yield event
        if turn.hold:
            self.holding.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.holding.clear()
        yield _done(turn, model)

    async def close(self) -> None:
        return None


def _events(turn: ScriptedTurn, request: ModelRequest, number: int) -> list[ModelEvent]:
    events: list[ModelEvent] = []
    if turn.reasoning:
        events.append(ReasoningDelta(turn.reasoning))
    if turn.signature:
        events.append(ReasoningDelta("", turn.signature))
    result = next((text_of(m.content) for m in reversed(request.messages) if isinstance(m, ToolMessage)), "")
    pieces = (turn.text,) if isinstance(turn.text, str) else turn.text
    events += [TextDelta(piece.replace(_RESULT, result)) for piece in pieces if piece]
    for index, call in enumerate(turn.tool_calls):
        call_id = call.id or f"call_{number + 1}_{index + 1}"
        events += [
            ToolCallStart(index, call_id, call.name),
            ToolCallDelta(index, to_json(call.arguments).decode()),
            ToolCallEnd(index, ToolCall(call_id, call.name, call.arguments, call.fault)),
        ]
    return events


def _done(turn: ScriptedTurn, model: str) -> Done:
    reason: StopReason = "error" if turn.error else "tools" if turn.tool_calls else "end"
    return Done(turn.stop_reason or reason, turn.usage, turn.error, turn.retryable, model, turn.too_long)


def load(path: Path) -> tuple[ScriptedTurn, ...]:
    """The turns of a script file. Raises ModelError that says what is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(
            f"The script {path} cannot be read: {reason}.", hint="Check the path after scripted/."
        ) from error
    if len(data) > MOST_BYTES:
        raise ModelError(f"The script {path} is larger than {MOST_BYTES:,} bytes.", hint="Write a shorter one.")
    try:
        script = msgspec.json.decode(data, type=tuple[ScriptedTurn, ...] | _Script)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = 'It is a JSON list of turns such as {"text": "Hello"}.'
        raise ModelError(f"The script {path} is not a list of turns: {error}.", hint=hint) from error
    return script.turns if isinstance(script, _Script) else script
