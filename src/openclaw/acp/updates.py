"""What happens in a turn, as version 1 of the protocol tells a client: events in, updates out. Does nothing, and sees nothing but what a
call will change (`planned.py`).

The one place that knows how our events look there: another version of the protocol gets a module of its own beside it. Words of models and
servers are shown as they are to people, without our frames and cleaned; what a call is given is told whole (`rawInput`).
"""

import base64
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from openclaw import content
from openclaw.acp import wire
from openclaw.acp.planned import absolute, planned
from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.content import ToolCall
from openclaw.control.shown_text import cut, shell_word
from openclaw.reply import Reply
from openclaw.security.external import clean_label, clean_terminal
from openclaw.security.unframe import Unframer, without_frames
from openclaw.tool import Tool, ToolResult

# Seconds between two words of one call about its progress.
PROGRESS_EVERY = 0.25
# Characters of a title, of a name in it, and of a notice.
_LONGEST_TITLE = 200
_LONGEST_NAME = 100
_LONGEST_NOTICE = 2_000
# Bytes of pictures and recordings that go out with an update; Base64 makes four thirds of them, and a line has 32 MiB.
MOST_MEDIA_BYTES = 20 * 1_048_576
_MCP = "MCP: "
_CANCELLED = "Cancelled."

NATIVE_KINDS: Mapping[str, wire.ToolKind] = {
    "read": "read",
    "ls": "read",
    "write": "edit",
    "edit": "edit",
    "grep": "search",
    "exec": "execute",
    "web_fetch": "fetch",
    "run_code": "execute",
}
_VERBS = {"read": "Read", "ls": "List", "write": "Write", "edit": "Edit", "grep": "Search", "web_fetch": "Fetch"}


class TurnUpdates:
    """The updates of one turn. `tool` finds a tool by its name, for what it says of itself. `window` is how many tokens the model's context
    has."""

    def __init__(
        self,
        folders: Sequence[Path],
        client: wire.ClientCapabilities,
        *,
        tool: Callable[[str], Tool | None],
        window: int,
        clock: Callable[[], float],
    ) -> None:
        self._folders = folders
        self._client = client
        self._tool = tool
        self._window = window
        self._clock = clock
        self._unframer = Unframer()
        self._message = _new_id()
        # Calls that have begun and not ended, and when each last said something.
        self._open: dict[str, float] = {}
        # Of the model's last message.
        self._stopped_by = ""

    def of(self, event: Event) -> list[wire.Update]:
        match event:
            case TurnStart():
                self._message = _new_id()
            case TextDelta(text=text):
                return self._said(self._unframer.feed(text))
            case ReasoningDelta(text=text):
                return [wire.ThoughtChunk(wire.Text(clean_terminal(text)), f"{self._message}-thought")]
            case MessageEnd(message=message):
                self._stopped_by = message.stop_reason
                return [*self._said(self._unframer.end()), *self._usage(message.usage)]
            case ToolStart(call=call, label=label):
                self._open[call.id] = float("-inf")
                return [
                    started(
                        call,
                        label,
                        self._folders,
                        self._tool(call.name),
                        planned(call.name, call.arguments, self._folders),
                    )
                ]
            case ToolProgress(call_id=id, text=text):
                return self._progress(id, text)
            case ToolEnd(call=call, result=result, seconds=seconds):
                self._open.pop(call.id, None)
                return [ended(call, result, seconds)]
            case Compacted(summary=summary):
                return self._compacted(summary)
            case Notice(text=text):
                return self.notice(text)
            case _:
                pass
        return []

    def notice(self, text: str, severity: wire.Severity = "info") -> list[wire.Update]:
        """A sentence of ours: a notice where the client shows them, else a thought, which everybody does."""
        title = clean_label(text, _LONGEST_NOTICE)
        if not title:
            return []
        if self._client.shows_notices:
            return [wire.Notice(severity, title)]
        return [wire.ThoughtChunk(wire.Text(f"{title}\n"), f"{_new_id()}-notice")]

    def close(self) -> list[wire.Update]:
        """The turn is over, whatever came of its calls: none stays open."""
        said = self._said(self._unframer.end())
        ended = [_failed(id, _CANCELLED) for id in self._open]
        self._open.clear()
        return [*said, *ended]

    def stop_reason(self, reply: Reply) -> wire.StopReason | None:
        """What a turn ended by; None for an error. `refusal` makes a client forget the prompt: for a model's refusal alone."""
        match reply.reason:
            case "cancelled":
                return "cancelled"
            case "turn-limit":
                return "max_turn_requests"
            case "done" if self._stopped_by == "length":
                return "max_tokens"
            case "done" | "error" if self._stopped_by == "refused":
                return "refusal"
            case "error":
                return None
            case _:
                return "end_turn"

    def _said(self, text: str) -> list[wire.Update]:
        return [wire.MessageChunk(wire.Text(clean_terminal(text)), self._message)] if text else []

    def _usage(self, usage: content.Usage) -> list[wire.Update]:
        used = usage.input_tokens + usage.output_tokens
        return [wire.UsageUpdate(used, max(used, self._window))] if used else []

    def _progress(self, id: str, text: str) -> list[wire.Update]:
        now = self._clock()
        if id not in self._open or now - self._open[id] < PROGRESS_EVERY:
            return []
        self._open[id] = now
        shown = wire.Shown(wire.Text(clean_label(text, _LONGEST_NOTICE)))
        return [wire.ToolCallUpdate(id, status="in_progress", content=[shown])]

    def _compacted(self, summary: str) -> list[wire.Update]:
        if not self._client.shows_compaction:
            return []
        told: Any = [wire.Text(clean_terminal(summary))] if summary else UNSET
        return [wire.CompactionUpdate(_new_id(), "completed", told)]


def started(
    call: ToolCall,
    label: str,
    folders: Sequence[Path],
    tool: Tool | None,
    change: "list[wire.ToolContent] | None" = None,
) -> wire.ToolCall:
    """`change` is what it will do to a file, where that is known."""
    return wire.ToolCall(
        call.id,
        title=title_of(call.name, call.arguments, label),
        name=clean_label(call.name, _LONGEST_NAME),
        kind=kind_of(call.name, tool),
        status="in_progress",
        content=change or UNSET,
        locations=locations_of(call.name, call.arguments, folders[0]),
        raw_input=call.arguments,
    )


def ended(call: ToolCall, result: ToolResult, seconds: float) -> wire.ToolCallUpdate:
    details = {name: value for name, value in result.details.items() if name in ("exitCode", "timedOut")}
    return wire.ToolCallUpdate(
        call.id,
        status="failed" if result.is_error else "completed",
        content=[*_terminals(result), *diffs_of(result)] or shown(result.content),
        raw_output={"isError": result.is_error, "seconds": round(seconds, 3), **details},
    )


def _terminals(result: ToolResult) -> list[wire.ToolContent]:
    """Where the editor itself shows a program; its output stands there."""
    place = result.details.get("terminal")
    return [wire.Terminal(place)] if isinstance(place, str) and place else []


def diffs_of(result: ToolResult) -> list[wire.ToolContent]:
    """What a native tool did to a file."""
    match result.details.get("diff"):
        case {"path": str(path), "oldText": str() | None as old, "newText": str(new)}:
            return [wire.Diff(path, old, new)]
        case _:
            return []


def title_of(name: str, arguments: Mapping[str, Any], label: str = "", *, room: int = _LONGEST_TITLE) -> str:
    """What a person reads of a call: of a native tool what it does to what, of a server's where it comes from. A program's words stand as a
    shell would need them."""
    server, slash, tool = label.removeprefix(_MCP).partition("/")
    if label.startswith(_MCP) and slash:
        return clean_label(f"{server}: {tool}", _LONGEST_TITLE)
    if name == "exec" and isinstance(command := arguments.get("command"), list):
        return cut(f"Run {' '.join(map(shell_word, command))}", room)
    if name in _VERBS:
        about = arguments.get("pattern") or arguments.get("url") or arguments.get("path") or "."
        return cut(clean_label(f"{_VERBS[name]} {about}", 10_000), room)
    return clean_label(name, _LONGEST_TITLE)


def kind_of(name: str, tool: Tool | None) -> wire.ToolKind:
    """A server's tool is what nobody knows, unless the server says that it only reads: this is for the eye, and decides nothing."""
    if name in NATIVE_KINDS:
        return NATIVE_KINDS[name]
    if tool is None:
        return "other"
    facts = tool.facts() if tool.facts is not None else None
    return "read" if tool.read_only or (facts is not None and facts.read_only) else "other"


def locations_of(name: str, arguments: Mapping[str, Any], workspace: Path) -> list[wire.Location]:
    """The files that a native tool is about: editors follow them."""
    path = arguments.get("path")
    if name not in ("read", "write", "edit", "ls", "grep") or not isinstance(path, str) or not path or "\0" in path:
        return []
    line = arguments.get("offset") if name == "read" else None
    return [wire.Location(absolute(path, workspace), line if isinstance(line, int) and line > 0 else None)]


def _failed(id: str, why: str) -> wire.ToolCallUpdate:
    return wire.ToolCallUpdate(id, status="failed", content=[wire.Shown(wire.Text(why))])


def shown(blocks: Iterable[content.Block]) -> list[wire.ToolContent]:
    """All of them, with as much of pictures and recordings as one line carries."""
    told: list[wire.ToolContent] = []
    room = MOST_MEDIA_BYTES
    for block in blocks:
        told.append(wire.Shown(block_of(block, room)))
        if isinstance(block, content.Image | content.Audio) and len(block.data) <= room:
            room -= len(block.data)
    return told


def block_of(block: content.Block, room: int = MOST_MEDIA_BYTES) -> wire.Block:
    """A block of a conversation as a person is shown it, and in words where it has more bytes than there is room for."""
    match block:
        case content.Text(text=text):
            return wire.Text(clean_terminal(without_frames(text)))
        case content.Image(data=data, mime_type=kind) if len(data) <= room:
            return wire.Image(base64.b64encode(data).decode(), kind)
        case content.Audio(data=data, mime_type=kind) if len(data) <= room:
            return wire.Audio(base64.b64encode(data).decode(), kind)
        case content.File(path=path, name=name, mime_type=kind, size=size):
            return wire.ResourceLink(clean_label(name, _LONGEST_NAME), Path(path).as_uri(), kind, size=size)
        case _:
            return wire.Text(f"[{len(block.data):,} bytes of {clean_label(block.mime_type, _LONGEST_NAME)}]")


def _new_id() -> str:
    return secrets.token_hex(8)
