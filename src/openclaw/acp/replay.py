"""What was said in a session, as a client is told of it when it loads one: in the order it was said, every call settled. Pure."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from openclaw.acp import wire
from openclaw.acp.updates import block_of, ended, started
from openclaw.commands.conversations import messages_of
from openclaw.content import AssistantMessage, Message, Text, Thinking, ToolCall, ToolMessage, UserMessage
from openclaw.security.external import clean_terminal
from openclaw.security.unframe import without_frames
from openclaw.sessions.store import Transcript
from openclaw.tool import ToolResult

_UNKNOWN = ToolResult.error("It is not known what came of this call.")


def replayed(transcript: Transcript, workspace: Path) -> Iterator[wire.Update]:
    """Everything since the conversation was last started afresh, what compaction took from the model included; not what was taken back."""
    messages = messages_of(transcript)
    results = _results(messages)
    for number, message in enumerate(messages):
        id = f"message-{number}"
        match message:
            case UserMessage(content=blocks, notes=False):
                yield from (wire.UserChunk(block_of(block), id) for block in blocks)
            case AssistantMessage(content=parts):
                for part in parts:
                    yield from _part(part, id, number, results, workspace)
            case _:
                pass


def _part(
    part: Text | Thinking | ToolCall,
    id: str,
    number: int,
    results: "dict[tuple[int, str], ToolResult]",
    workspace: Path,
) -> Iterator[wire.Update]:
    match part:
        case Text(text=text) if text:
            yield wire.MessageChunk(wire.Text(clean_terminal(without_frames(text))), id)
        case Thinking(text=text) if text:
            yield wire.ThoughtChunk(wire.Text(clean_terminal(text)), f"{id}-thought")
        case ToolCall():
            result = results.get((number, part.id), _UNKNOWN)
            told = started(part, "", (workspace,), None)
            end = ended(part, result, 0.0)
            yield wire.ToolCall(
                told.tool_call_id,
                told.title,
                told.name,
                told.kind,
                end.status,
                [*(told.content or []), *(end.content or [])],
                told.locations,
                told.raw_input,
            )
        case _:
            pass


def _results(messages: Sequence[Message]) -> "dict[tuple[int, str], ToolResult]":
    """What came of each call, by the message that made it: some models give every call the same id."""
    found: dict[tuple[int, str], ToolResult] = {}
    asking = 0
    for number, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asking = number
        elif isinstance(message, ToolMessage):
            found[asking, message.call_id] = ToolResult(message.content, is_error=message.is_error)
    return found
