"""What a tool takes, for people: one line of it in a list, and the whole of it for `mcp call TOOL --help`.

Words alone: which tools there are, and asking their servers, is mcp.py's and call.py's.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import msgspec

from openclaw.commands.console import Console
from openclaw.commands.signature import Parameter, example, parameters_of, signature, typed
from openclaw.mcp.tools.definition import Details, is_null, schema_value
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.security.external import clean_label, clean_text

_ONE_LINE = 300
_LONGEST_TEXT = 20_000
# What a server may say of a tool, and how that reads.
_HINTS = (
    ("readOnlyHint", True, "it only reads"),
    ("destructiveHint", True, "it may destroy"),
    ("destructiveHint", False, "it destroys nothing"),
    ("idempotentHint", True, "twice is as good as once"),
    ("openWorldHint", True, "it reaches out into the world"),
    ("openWorldHint", False, "it stays within its own data"),
)


def annotations_of(details: Details) -> Any:
    return None if is_null(details.annotations) else msgspec.json.decode(details.annotations)


def first_line(text: str) -> str:
    """What a tool is for, as far as its first sentence or line says so."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    sentence, end, _ = line.partition(". ")
    return clean_label(f"{sentence}." if end else line, _ONE_LINE)


def tool_lines(entries: Sequence[tuple[str, Details]], console: Console) -> Iterator[str]:
    """Two lines for each tool: its signature, and what it is for. Both are folded at words where there is a screen."""
    width = console.width or _LONGEST_TEXT
    for name, details in entries:
        head, *more = wrap(signature(name, schema_value(details)), width, subsequent_indent="      ") or [name]
        shown, opening, rest = head.partition("(")
        yield f"{console.bold(shown)}{opening}{rest}"
        yield from more
        text = first_line(details.description or details.title or "")
        yield from (console.dim(line) for line in wrap(text, width, initial_indent="    ", subsequent_indent="    "))


def help_lines(entry: ToolEntry, called: str, prefix: str, console: Console) -> Iterator[str]:
    """Everything about one tool. `called` is how it is named after `PREFIX call`."""
    details = entry.definition.details()
    schema, width = schema_value(details), console.prose_width
    parameters = parameters_of(schema)
    usage = " ".join(f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in parameters)
    yield from wrap(f"Usage: {prefix} call {called} {usage}".rstrip(), width, subsequent_indent="         ")
    text = clean_text(details.description or details.title or "", _LONGEST_TEXT)
    if text:
        yield ""
        for line in text.splitlines():
            yield from wrap(line, width) or [""]
    if parameters:
        yield ""
        yield "Arguments:"
    for one in parameters:
        yield from _argument(one, console, width)
    if said := _said(annotations_of(details)):
        yield ""
        yield from wrap(f"Its server says: {said}.", width)
    yield ""
    yield "Example:"
    words = example("", schema)[1:]
    yield f"  {prefix} call {called} {typed(words)}".rstrip()
    yield ""
    yield console.dim(f"Options of the command itself: {prefix} call --help")


def _argument(one: Parameter, console: Console, width: int) -> Iterator[str]:
    facts = [one.type, *(["required"] if one.required else []), *one.limits]
    if one.default:
        facts.append(f"{one.default} when left out")
    head, *more = wrap(f"{one.name}  {', '.join(facts)}", width - 2, subsequent_indent="    ")
    name, gap, rest = head.partition("  ")
    yield f"  {console.bold(name)}{gap}{rest}"
    yield from (f"  {line}" for line in more)
    yield from wrap(one.text, width, initial_indent="      ", subsequent_indent="      ")


def _said(annotations: object) -> str:
    if not isinstance(annotations, dict):
        return ""
    return ", ".join(words for key, value, words in _HINTS if annotations.get(key) is value)
