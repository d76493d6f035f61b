"""`builtin/offline`: not a language model but a ranker, for a machine without a key.

Picks the tool that best matches what was typed, fills its arguments from the text, calls it, shows what came back, and says each time
what it is and how to get a real model. Runs read-only tools and MCP tools; anything else only when it is named with its arguments
written out. Small talk calls nothing, nor does a wish that no tool can fulfil. How words are weighed is `ranking.py`, how arguments are
found is `models/arguments.py`, when a sentence is about files at all is `models/grounds.py`.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from openclaw.content import Audio, File, Framed, Image, Message, Text, ToolCall, ToolMessage, UserMessage, to_json
from openclaw.models.arguments import Filled, fill
from openclaw.models.clues import Clues, TargetKind, read_clues
from openclaw.models.grounds import grounded
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.ranking import build, query_words, rank, same_act, stem, words
from openclaw.security.external import frame
from openclaw.tool import Absence, OwnWords, Tool

NAME = "builtin"
MODEL = "offline"

# Below this a match is a coincidence. One rare word of a description is just enough, when nothing else stays unheard.
THRESHOLD = 0.9
# What being named at the start of the message adds: much, but "read the docs folder" still lists it.
NAMED = 1.5
# Tools whose arguments are tried: the right one is hardly ever further down.
CANDIDATES = 8
# How far arguments move a match: an address decides, the kind of the file or folder tells neighbours apart.
_URL_FITS = 2.0
_KIND_FITS = 1.0
_KIND_MISFITS = -2.0
_PATH_FITS = 0.5
_MISSING = -1.0
# Per quotation or telling word that went nowhere; beyond a few it is just a long sentence.
_UNHEARD = -1.0
_MOST_UNHEARD = 3

ABOUT = (
    "I am builtin/offline, not a language model: I run the tool that matches your words. For a model set OPENAI_API_KEY or "
    "ANTHROPIC_API_KEY, start Ollama, or name one in openclaw.json."
)
NOTE = "(builtin/offline: not a language model; it ran `{tool}`.)"
HIDDEN = (
    "`{tool}` is hidden from this agent, so nothing was done. `openclaw tools explain {tool}` says which rule hides it."
)
ABSENT = "`{tool}` is not available, so nothing was done: {reason}"

UNSEEN = "(builtin/offline cannot look at what came with your message: it was ignored. It takes a language model.)"

_SMALL_TALK = (
    "hello hi hey hiya howdy yo greetings good morning afternoon evening night day thanks thank you thx ty cheers how are u is it going "
    "doing been what s up who your name whats bye goodbye see later soon cu nice great cool awesome wow ok okay fine sure yes no yeah "
    "yep nope please sorry welcome to meet ya can do help me i m am well very much a the so lol haha there everyone all again job work "
    "done perfect love like this that robot bot human real person ai today tell about yourself joke for and too right hm hmm what's "
    "happy glad have nothing never mind weekend"
)
_SMALL_TALK_STEMS = frozenset(stem(word) for word in _SMALL_TALK.split())
_NAMING = re.compile(
    r"^\s*(?:(?:please\s+)?(?:use|call|run|invoke)\s+(?:the\s+)?(?:tool\s+)?)?[`/]?([A-Za-z0-9_.:-]+)`?", re.IGNORECASE
)
# An MCP tool whose name says that it changes something runs only for a text that says so too.
_CHANGES = (
    "delete remove erase drop destroy send post publish create write update edit move rename set add insert merge close "
    "approve pay buy"
)
_CHANGING = frozenset(stem(word) for word in _CHANGES.split())
# Verbs that mean a file even when a name without an extension follows.
_READ_VERBS = frozenset({"read", "cat", "print"})
_FILE_READERS = frozenset({"read", "cat", "open", "view"})
_SEARCHERS = frozenset({"search", "grep", "find"})


class _Choice(msgspec.Struct, frozen=True):
    tool: Tool
    filled: Filled
    score: float
    named: bool

    @property
    def allowed(self) -> bool:
        return may_run_unnamed(self.tool) or (self.named and self.filled.written)


def may_run_unnamed(tool: Tool) -> bool:
    """Read-only tools and MCP tools may be picked by their words; write, edit, exec and the like may not."""
    return tool.read_only or tool.kind == "mcp"


class Offline:
    name = NAME

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        answer = decide(request.messages, request.tools, request.hidden(), request.absent)
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


def decide(
    messages: Sequence[Message],
    tools: Sequence[Tool],
    hidden: Sequence[Tool] = (),
    absent: Callable[[], Sequence[Absence]] = tuple,
) -> ToolCall | str:
    """The next step of a conversation: a call, or the text of an answer. A tool that policy hides, or that is not there now, may be what
    was meant: it is named, and no other runs instead."""
    step = _step(messages, tools, hidden, absent)
    asked = next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
    # Whatever came along stands behind the person's own words.
    unseen = asked is not None and len(asked.content) > 1
    return f"{step}\n\n{UNSEEN}" if unseen and isinstance(step, str) else step


def _step(
    messages: Sequence[Message],
    tools: Sequence[Tool],
    hidden: Sequence[Tool],
    absent: Callable[[], Sequence[Absence]],
) -> ToolCall | str:
    if messages and isinstance(messages[-1], ToolMessage):
        return _shown(messages)
    said = next((_own_words(m) for m in reversed(messages) if isinstance(m, UserMessage)), "").strip()
    clues = read_clues(said)
    known = [*tools, *hidden]
    named = _named_tool(said, known)
    if named is None and (missing := _named_absence(said, absent)):
        return missing
    if named is None and is_small_talk(said, clues):
        return f"Hello. {ABOUT}{_examples(tools)}"
    choice = choose(said, clues, known, named)
    if choice is None:
        return f"No tool here matches that. {ABOUT}{_examples(tools)}"
    if choice.tool.name not in {tool.name for tool in tools}:
        return HIDDEN.format(tool=choice.tool.name)
    if not choice.allowed:
        return f"That looks like `{choice.tool.name}`, which can change things. {_how_to_name(choice.tool)} {ABOUT}"
    if choice.filled.missing:
        lacking = " and ".join(f"`{name}`" for name in choice.filled.missing)
        return f"I would run `{choice.tool.name}`, but I could not find {lacking} in your message. {_how_to_name(choice.tool)} {ABOUT}"
    return ToolCall(f"call_{len(messages)}", choice.tool.name, choice.filled.arguments)


def _own_words(message: UserMessage) -> str:
    """What the person typed: the first text of the message. What they sent along or pointed at follows it, with notes about it, and no
    word of that may choose a tool."""
    first = next((block.text for block in message.content if isinstance(block, Text)), "")
    return "" if isinstance(first, Framed) else first


def is_small_talk(text: str, clues: Clues) -> bool:
    """Nothing but greetings, thanks and courtesies: no path, address, quotation or number to act on."""
    if clues.json or clues.urls or clues.quoted or clues.numbers:
        return False
    return all(word in _SMALL_TALK_STEMS for word in words(text))


def choose(text: str, clues: Clues, tools: Sequence[Tool], named: Tool | None = None) -> _Choice | None:
    """The best tool and its arguments; None when nothing matches well enough."""
    if named is not None and not may_run_unnamed(named):
        return _Choice(named, fill(_schema(named), named.name, named.description, clues), NAMED, named=True)
    by_name = {tool.name: tool for tool in tools}
    index = build((tool.name, f"{tool.label} {tool.description}") for tool in by_name.values())
    scores = {name: score for name, score in rank(index, text, CANDIDATES) if score >= THRESHOLD}
    if named is not None:
        scores[named.name] = scores.get(named.name, 0.0) + NAMED
    if not scores:
        scores = _by_target(by_name.values(), clues)
    asked = query_words(text)
    choices = [
        _weighed(by_name[name], score, clues, asked) for name, score in scores.items() if _meant(by_name[name], asked)
    ]
    choices = [
        choice
        for choice in choices
        if (choice.score >= THRESHOLD or choice.filled.missing)
        and (choice.tool is named or grounded(choice.tool, _schema(choice.tool), choice.filled, clues))
    ]
    return max(choices, key=lambda choice: choice.score, default=None)


def _weighed(tool: Tool, score: float, clues: Clues, asked: list[str]) -> _Choice:
    filled = fill(_schema(tool), tool.name, tool.description, clues)
    score += _MISSING * len(filled.missing) + _UNHEARD * min(filled.unused, _MOST_UNHEARD)
    if clues.urls:
        score += _URL_FITS if "url" in filled.roles else -_URL_FITS
    target = clues.target
    if target is not None and "path" in filled.roles:
        folder = target.kind == "folder" or (target.kind == "unknown" and not _READ_VERBS.intersection(asked))
        shows = _shows(tool)
        score += _PATH_FITS
        if shows:
            score += _KIND_FITS if shows == ("folder" if folder else "file") else _KIND_MISFITS
    return _Choice(tool, filled, score, named=False)


def _shows(tool: Tool) -> TargetKind | None:
    """Whether a tool, by its name, shows a file or the entries of a folder; None for anything else."""
    named = set(words(tool.name))
    if named & _FILE_READERS:
        return "file"
    lists = any(word == "ls" or same_act(word, "ls") for word in named) and not named & _SEARCHERS
    return "folder" if lists else None


def _by_target(tools: Iterable[Tool], clues: Clues) -> dict[str, float]:
    """With no word understood, a path on its own asks to be shown: `README.md`, in any language."""
    if clues.target is None or clues.target.kind == "unknown":
        return {}
    # Enough to bear that nothing else of the sentence was heard.
    score = THRESHOLD - _UNHEARD * _MOST_UNHEARD
    return {tool.name: score for tool in tools if tool.kind == "native" and _shows(tool) == clues.target.kind}


def _meant(tool: Tool, asked: list[str]) -> bool:
    """False for an MCP tool that changes things by its name while the text does not ask for such a change."""
    if tool.read_only or tool.kind != "mcp":
        return True
    changes = [word for word in words(tool.name) if word in _CHANGING]
    return not changes or any(same_act(word, change) for change in changes for word in asked)


def _named_tool(text: str, tools: Sequence[Tool]) -> Tool | None:
    """The tool whose exact name starts the message ("grep …", "use github__search …")."""
    match = _NAMING.match(text)
    return next((tool for tool in tools if tool.name == match[1]), None) if match else None


def _named_absence(text: str, absent: Callable[[], Sequence[Absence]]) -> str:
    """Why the tool whose exact name starts the message is not there; empty when it starts with none such. A plain word is no name: it may
    be what the person says."""
    match = _NAMING.match(text)
    if match is None or match[1].isalpha():
        return ""
    why = next((one for one in absent() if fnmatchcase(match[1], one.name)), None)
    if why is None:
        return ""
    # Another model may read this conversation later.
    reason = why.reason if isinstance(why.reason, OwnWords) else frame(why.reason, source="unknown", sender=why.name)
    return ABSENT.format(tool=match[1], reason=reason)


def _schema(tool: Tool) -> dict[str, Any]:
    try:
        schema = msgspec.json.decode(tool.parameters)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return schema if isinstance(schema, dict) else {}


def _how_to_name(tool: Tool) -> str:
    required = _schema(tool).get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    pairs = " ".join(f"{name}=…" for name in names)
    return f"Name it with its arguments: `{tool.name}{' ' if pairs else ''}{pairs}`."


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
