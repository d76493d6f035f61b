"""What an agent tells, as lines for a terminal: its answer on standard output as it comes, everything else beside it.

Pure but for what it remembers: which tool calls there are, and whether the answer stands in the middle of a line. Nothing here is cleaned:
the console does that.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Literal

import msgspec

from openclaw.acp import wire

# Of what a tool gave back, and of a change to a file, so many lines are shown; `--wire` shows all of it.
MOST_LINES = 20
_MARKS = {"pending": "○", "in_progress": "●", "completed": "✓", "failed": "✗"}
_PLAN_MARKS = {"pending": "○", "in_progress": "●", "completed": "✓"}


class Line(msgspec.Struct, frozen=True):
    """Something to print: a piece of the answer, which may end in the middle of a line, or a whole line that is not part of it."""

    text: str
    kind: Literal["answer", "note", "thought"] = "note"


class Screen:
    def __init__(self) -> None:
        # Titles and states of tool calls by their ids.
        self._calls: dict[str, tuple[str, str]] = {}
        # What was shown of each last.
        self._contents: dict[str, list[wire.ToolContent]] = {}

    def title(self, call: wire.ToolCallFields) -> str:
        """What a tool call is called, by what was said of it before or now."""
        known = self._calls.get(call.tool_call_id, ("", ""))[0]
        return call.title if isinstance(call.title, str) else known or call.tool_call_id

    def unseen(self, call: wire.ToolCallFields) -> list[wire.ToolContent]:
        """The content of a tool call, unless it is on the screen already."""
        content = call.content if isinstance(call.content, list) else []
        return [] if self._contents.get(call.tool_call_id) == content else content

    def update(self, update: wire.Update) -> list[Line]:
        match update:
            case wire.MessageChunk(content):
                return [Line(block_text(content), "answer")]
            case wire.ThoughtChunk(content):
                return [Line(block_text(content), "thought")]
            case wire.UserChunk(content):
                return [Line(f"> {block_text(content)}")]
            case wire.ToolCall() | wire.ToolCallUpdate():
                return list(self._call(update))
            case _:
                return [Line(text) for text in _event(update)]

    def _call(self, call: wire.ToolCallFields) -> Iterator[Line]:
        title, before = self.title(call), self._calls.get(call.tool_call_id, ("", ""))[1]
        state = call.status if isinstance(call.status, str) else before or "pending"
        self._calls[call.tool_call_id] = (title, state)
        if state != before:
            kind = f" ({call.kind})" if isinstance(call.kind, str) else ""
            yield Line(f"{_MARKS[state]} {title}{kind}{_places(call)}")
        if isinstance(call.content, list):
            self._contents[call.tool_call_id] = call.content
            for part in call.content:
                yield from (Line(f"    {row}") for row in cut(content_lines(part)))


def _places(call: wire.ToolCallFields) -> str:
    places = call.locations if isinstance(call.locations, list) else []
    return "".join(f" {place.path}" + (f":{place.line}" if place.line else "") for place in places)


def _event(update: wire.Update) -> Iterator[str]:
    match update:
        case wire.Plan(entries):
            yield "plan:"
            yield from (f"    {_PLAN_MARKS.get(entry.status, '?')} {entry.content}" for entry in entries)
        case wire.CommandsUpdate(commands):
            yield "commands: " + (" ".join(f"/{command.name}" for command in commands) or "none")
        case wire.ModeUpdate(mode):
            yield f"mode: {mode}"
        case wire.OptionsUpdate(options):
            yield options_line(options)
        case wire.InfoUpdate(title):
            if isinstance(title, str):
                yield f"title: {title}"
        case wire.UsageUpdate(used, size, cost):
            price = f", {cost.amount:g} {cost.currency}" if isinstance(cost, wire.Cost) else ""
            yield f"context: {used:,} of {size:,} tokens{price}"
        case wire.Notice(severity, title, description):
            yield f"{severity}: {title}" + (f" {description}" if description else "")
        case wire.CompactionUpdate(_, status, _, error):
            yield f"compaction: {status}" + (f" ({error})" if isinstance(error, str) else "")


def options_line(options: Sequence[wire.ConfigOption]) -> str:
    return "options: " + (", ".join(f"{option.id}={_plain(option.current_value)}" for option in options) or "none")


def _plain(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def content_lines(part: wire.ToolContent) -> list[str]:
    match part:
        case wire.Shown(content):
            return block_text(content).splitlines()
        case wire.Diff(path, old, new):
            changed = unified_diff((old or "").splitlines(), new.splitlines(), "", "", n=1, lineterm="")
            # The first two lines name files, which here have no names.
            return [f"{path}{' (new)' if old is None else ''}", *list(changed)[2:]]
        case wire.Terminal(terminal):
            return [f"(terminal {terminal})"]


def cut(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], f"… and {more:,} more lines"] if more > 0 else list(lines)


def block_text(block: wire.Block) -> str:
    """A content block in words."""
    match block:
        case wire.Text(text):
            return text
        case wire.Image(data, kind) | wire.Audio(data, kind):
            return f"[{kind}, {_size(data):,} bytes]"
        case wire.ResourceLink(name, uri):
            return f"[{name}: {uri}]"
        case wire.EmbeddedResource(resource):
            return resource.text if resource.text is not None else f"[{resource.uri}]"


def _size(data: str) -> int:
    try:
        return len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return 0
