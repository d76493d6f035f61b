"""`builtin/offline`: not a language model but a ranker, for a machine without a key.

Calls the tool that is named at the start of what was typed or, when none is, the one that `ranking.py` finds for its words; shows what came
back, and says each time what it is and how to get a real model. Arguments are `key=value` pairs or one JSON object; without them a path in
the sentence goes into `path`, and the rest of it into the one required argument that is left. Runs read-only tools and MCP tools; anything
else only when it is named with its arguments. A tool that is named and not there is called all the same: the answer to that call says why
it is missing.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec

from openclaw.content import Audio, File, Framed, Image, Message, Text, ToolCall, ToolMessage, UserMessage, to_json
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.ranking import SYNONYM_WEIGHT, Document, build, query_words, rank, same_act, stem, words
from openclaw.tool import SEARCH_TOOLS, Tool

NAME = "builtin"
MODEL = "offline"

# Below this a match is a coincidence. One rare word of a description that is not long is just enough.
THRESHOLD = 0.7
# Tools whose arguments are tried: the right one is hardly ever further down.
CANDIDATES = 8
# A typed request fits many times; a pasted page is not searched for arguments to its end.
READ_CHARACTERS = 4_000

ABOUT = (
    "I am builtin/offline, not a language model: I run the tool that matches your words. For a model run `openclaw setup`, set "
    "OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama."
)
NOTE = "(builtin/offline: not a language model; it called `{tool}`.)"
UNSEEN = "(builtin/offline cannot look at what came with your message: it was ignored. It takes a language model.)"

_NAMED = re.compile(
    r"\s*(?:(?:please\s+)?(?:use|call|invoke)\s+(?:the\s+)?(?:tool\s+)?)?`?([\w-]+)`?(?=\s|$)", re.IGNORECASE
)
_PAIR = re.compile(r"(?<!\S)([A-Za-z_][\w-]*)=(?=\S)")
_QUOTED = re.compile(r"\"([^\"]+)\"|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")
# A word with a separator, an ending or a leading dot or tilde; else the word behind "in" that ends the sentence.
_PATH = re.compile(
    r"(?:\bin\s+)?(?<!\S)(?=\S*[/\\]|~|\.|\S*\w\.[A-Za-z]\w{0,9}[?!.,;:]*(?:\s|$))(?!\S*://)(?P<path>\S+)"
)
_PLACE = re.compile(r"\bin\s+(?:the\s+)?(?!here\b)(?P<path>[\w-]+)[?!.\s]*$", re.IGNORECASE)
# "the docs folder"; words that tell no folder from another stand before that too.
_FOLDER = re.compile(
    r"(?<!\S)(?:in\s+)?(?:the\s+)?(?!(?:the|this|that|a|my|any|which|what|current|parent|whole|same)\b)"
    r"(?P<path>[\w-]+)\s+(?:folder|directory)\b",
    re.IGNORECASE,
)
_PUNCTUATION = "?!.,;: \t\n"
# An MCP tool whose name says that it changes something is picked only for a text that says so too.
_CHANGES = (
    "delete remove erase drop destroy send post publish create write update edit move rename set add insert merge close "
    "approve pay buy"
)
_CHANGING = frozenset(stem(word) for word in _CHANGES.split())


class _Written(msgspec.Struct, frozen=True):
    """A message: the arguments that were written out (None where there were none), and what else it says."""

    arguments: Mapping[str, Any] | None
    rest: str


class _Choice(msgspec.Struct, frozen=True):
    """`missing` are required arguments for which the message says nothing."""

    tool: Tool
    arguments: dict[str, Any]
    missing: tuple[str, ...]


class Offline:
    name = NAME

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        # It ranks tools itself, so it is given all of them.
        shown = [tool for tool in request.tools if tool.name not in SEARCH_TOOLS]
        answer = decide(request.messages, [*shown, *request.deferred.values()])
        if isinstance(answer, ToolCall):
            yield ToolCallStart(0, answer.id, answer.name)
            yield ToolCallDelta(0, to_json(answer.arguments).decode())
            yield ToolCallEnd(0, answer)
            yield Done("tools", model=f"{NAME}/{MODEL}")
        else:
            yield TextDelta(answer)
            # Without tools it can do nothing that is asked: whoever wants a text written, such as a summary, must know.
            yield Done("end" if request.tools else "refused", model=f"{NAME}/{MODEL}")

    async def close(self) -> None:
        return None


def decide(messages: Sequence[Message], tools: Sequence[Tool]) -> ToolCall | str:
    """The next step of a conversation: a call, or the text of an answer."""
    if messages and isinstance(messages[-1], ToolMessage):
        step: ToolCall | str = _shown(messages)
    else:
        step = _step(messages, tools)
    asked = next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
    # Whatever came along stands behind the person's own words.
    unseen = asked is not None and len(asked.content) > 1
    return f"{step}\n\n{UNSEEN}" if unseen and isinstance(step, str) else step


def _step(messages: Sequence[Message], tools: Sequence[Tool]) -> ToolCall | str:
    said = next((_own_words(m) for m in reversed(messages) if isinstance(m, UserMessage)), "").strip()[:READ_CHARACTERS]
    by_name, id = {tool.name: tool for tool in tools}, f"call_{len(messages)}"
    name, written = _named(said, by_name)
    if name and name not in by_name:
        return ToolCall(id, name, dict(written.arguments or {}))
    choice = _filled(by_name[name], written, picked=False) if name else _chosen(said, tools)
    if choice is None:
        return f"No tool here matches that. {ABOUT}{_examples(tools)}"
    tool = choice.tool
    if not _may_be_picked(tool) and not (name and written.arguments):
        return f"That looks like `{tool.name}`, which can change things. {_how_to_name(tool)} {ABOUT}"
    if choice.missing:
        lacking = " and ".join(f"`{one}`" for one in choice.missing)
        return (
            f"I would run `{tool.name}`, but I could not find {lacking} in your message. {_how_to_name(tool)} {ABOUT}"
        )
    return ToolCall(id, tool.name, choice.arguments)


def _may_be_picked(tool: Tool) -> bool:
    """Read-only tools and MCP tools may be picked by their words; write, edit, exec and the like may not."""
    return tool.read_only or tool.kind == "mcp"


def _own_words(message: UserMessage) -> str:
    """What the person typed: the first text of the message. What they sent along or pointed at follows it, with notes about it, and no
    word of that may choose a tool."""
    first = next((block.text for block in message.content if isinstance(block, Text)), "")
    return "" if isinstance(first, Framed) else first


def _named(text: str, offered: Mapping[str, Tool]) -> tuple[str, _Written]:
    """The tool that the message names at its start, whether there is such a tool or not, and what follows; an empty name for none.

    A plain word may be what the person says ("read the note"): it is a name when nothing but arguments follows, or one word ("ls docs").
    """
    match = _NAMED.match(text)
    if match is None:
        return "", _Written(None, text)
    name, written = match[1], _read_written(text[match.end() :])
    alone = (name in offered and len(written.rest.split()) <= 1) or (written.arguments is not None and not written.rest)
    return (name if alone or "_" in name else ""), written


def _chosen(text: str, tools: Sequence[Tool]) -> _Choice | None:
    """The best tool for a sentence, of those that can be called with what it says; None when nothing matches well enough."""
    by_name = {tool.name: tool for tool in tools}
    index = build(Document(tool.name, tool.description, tool.label) for tool in tools)
    asked, written = query_words(text), _read_written(text)
    found = [
        by_name[name]
        for name, score in rank(index, text, CANDIDATES, synonym_weight=SYNONYM_WEIGHT)
        if score >= THRESHOLD
    ]
    choices = [_filled(tool, written, picked=True) for tool in found if _meant(tool, asked)]
    return next((choice for choice in choices if not choice.missing), choices[0] if choices else None)


def _meant(tool: Tool, asked: list[str]) -> bool:
    """False for an MCP tool that changes things by its name while the text does not ask for such a change."""
    if tool.read_only or tool.kind != "mcp":
        return True
    changes = [word for word in words(tool.name) if word in _CHANGING]
    return not changes or any(same_act(word, change) for change in changes for word in asked)


def _read_written(text: str) -> _Written:
    """One JSON object, or `key=value` pairs; values may be quoted, or JSON."""
    start = text.find("{")
    if start >= 0 and (start == 0 or text[start - 1] != "="):
        value, end = _json_at(text, start)
        if isinstance(value, dict):
            return _Written(value, (text[:start] + text[end:]).strip())
    pairs: dict[str, Any] = {}
    rest, end = "", 0
    for match in _PAIR.finditer(text):
        if match.start() >= end:
            rest += text[end : match.start()]
            pairs[match[1]], end = _value_at(text, match.end())
    return _Written(pairs or None, (rest + text[end:]).strip())


def _value_at(text: str, start: int) -> tuple[Any, int]:
    if text[start] in "\"'" and (close := text.find(text[start], start + 1)) > 0:
        return text[start + 1 : close], close + 1
    if text[start] in "[{":
        value, end = _json_at(text, start)
        if end > start:
            return value, end
    end = next((place for place in range(start, len(text)) if text[place].isspace()), len(text))
    return text[start:end], end


def _json_at(text: str, start: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start


def _filled(tool: Tool, written: _Written, *, picked: bool) -> _Choice:
    """A tool with the arguments that were written out or, when none were, those that the rest of the message gives. `picked`: by its words,
    which are then no arguments."""
    schema = _schema(tool)
    properties = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    arguments = {name: _as_declared(value, properties.get(name)) for name, value in (written.arguments or {}).items()}
    if not arguments:
        quoted = next((next(filter(None, match.groups())) for match in _QUOTED.finditer(written.rest)), "")
        rest = _QUOTED.sub(" ", written.rest)
        if "path" in properties and (match := _path_in(rest)):
            arguments["path"] = match["path"].rstrip("?!,;:").removesuffix(".") or match["path"]
            rest = rest[: match.start()] + rest[match.end() :]
        text = quoted or (_beyond_the_act(rest, tool) if picked else rest.strip())
        left = [name for name in required if name not in arguments]
        if not left and not picked and text and "path" in properties:
            # Behind a tool's name, as in "ls docs".
            arguments.setdefault("path", text)
        elif len(left) == 1 and text:
            arguments[left[0]] = _as_declared(text, properties.get(left[0]))
    return _Choice(tool, arguments, tuple(name for name in required if name not in arguments))


def _path_in(text: str) -> re.Match[str] | None:
    return _PATH.search(text) or _FOLDER.search(text) or _PLACE.search(text)


def _beyond_the_act(text: str, tool: Tool) -> str:
    """A sentence without what every sentence has, at both ends, and without the first words that the tool's name explains."""
    act, said = words(tool.name), text.split()
    while said and all(any(same_act(word, one) for one in act) for word in query_words(said[0])):
        del said[0]
    while said and not query_words(said[-1]):
        del said[-1]
    return " ".join(said).strip(_PUNCTUATION)


def _as_declared(value: Any, declared: Any) -> Any:
    """A text as the type that the schema asks for, where it can be one; the check of the call says what is wrong with any other."""
    kinds = _list(declared.get("type")) or [declared.get("type")] if isinstance(declared, dict) else []
    if not isinstance(value, str) or "string" in kinds:
        return value
    if "array" in kinds:
        return [piece.strip() for piece in value.split(",") if piece.strip()]
    if {"integer", "number", "boolean"}.intersection(kind for kind in kinds if isinstance(kind, str)):
        read, end = _json_at(value.lower(), 0)
        return read if end == len(value) else value
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _schema(tool: Tool) -> dict[str, Any]:
    try:
        schema = msgspec.json.decode(tool.parameters)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return schema if isinstance(schema, dict) else {}


def _how_to_name(tool: Tool) -> str:
    pairs = "".join(f" {name}=…" for name in _list(_schema(tool).get("required")) if isinstance(name, str))
    return f"Name it with its arguments: `{tool.name}{pairs}`."


def _examples(tools: Sequence[Tool]) -> str:
    samples = {"read": "read README.md", "ls": "list the files in src", "grep": "search for TODO in src"}
    offered = [sample for name, sample in samples.items() if any(tool.name == name for tool in tools)]
    return " Try: " + " · ".join(offered) + "." if offered else ""


def _shown(messages: Sequence[Message]) -> str:
    """The results at the end of the conversation, as the answer. Frames stay: another model may read this conversation later."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, message)
    parts = []
    for result in results:
        if result.is_error:
            parts.append(f"`{result.name}` failed:")
        parts += [_block(block) for block in result.content] or [f"`{result.name}` returned nothing."]
    return "\n".join(parts) + "\n\n" + NOTE.format(tool=results[-1].name)


def _block(block: Text | Image | Audio | File) -> str:
    match block:
        case Text():
            return block.text
        case Image() | Audio():
            return f"[{block.mime_type}, {len(block.data)} bytes]"
        case File():
            return f"[{block.name}: {block.path}]"
