"""How a model finds the tools it is not shown: the index over them, the tools to ask it, and what the prompt says of them.

Owns the schemas and answers of `tool_search`, `tool_describe` and `tool_call`, and that a call by `tool_call` is a call of the tool
itself (`direct_calls`): whoever sees calls sees that tool and no other. What is not in the offer is not in an answer: tools that policy
hides are in neither. Names, summaries and parameters in answers are the servers' words: cleaned and bounded, with their server beside
them, like the definitions that other models are shown; a description as a whole is framed. Which tools are searched for is
`deferral.py`'s, how good a match is `ranking.py`'s.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from openclaw.agent.deferral import Offer, SearchSettings, is_on, split, tokens_of
from openclaw.agent.meaning import DEPTH, Meaning
from openclaw.content import AssistantMessage, Framed, Text, ToolCall, to_json
from openclaw.ranking import DESCRIPTION_CHARACTERS, Document, Index, Part, fused, joined, parameter_text, part_of, rank
from openclaw.security.external import clean_label, clean_text, frame
from openclaw.tool import RUN_CODE, TOOL_CALL, TOOL_DESCRIBE, TOOL_SEARCH, Invocation, Tool, ToolResult, parameters
from openclaw.tool_form import lenient_json
from openclaw.tools.code.signature import head_of

LIMIT: Final = 8
MOST_RESULTS: Final = 20
LONGEST_QUERY: Final = 512
MOST_DESCRIBED: Final = 5
# Of one line of an answer.
SUMMARY: Final = 160
MOST_PARAMETERS: Final = 20
# One line for each server in the prompt, of about 2,000 tokens in all.
LINE_WORDS: Final = 80
LINES: Final = 8_000
MOST_SERVERS: Final = 100
LONGEST_NAME: Final = 64
MOST_NAMED: Final = 50
# Names that are nearest to one that does not exist.
NEAREST: Final = 3
LIKENESS: Final = 0.5
# Tools whose names are compared letter by letter: those that share a word come first.
COMPARED: Final = 50

_NONE: Final[Mapping[str, Tool]] = {}
_HEAD = """\
## Tools that are not shown
You have more tools than you are shown. Before you say that something cannot be done, look for a tool with tool_search, in English. \
What it finds you may call at once, and for the rest of the conversation. They belong to these servers:"""
_FINDS = (
    "Find tools that are not shown. Say in a few English words what the tool should do, such as 'create a calendar "
    "event'; several words find more than one. Gives the best matches first, with their parameters (* is required)."
)


class ToolSearch:
    """The search over one agent's tools. Keeps what is costly between turns: the index of each server as long as its tools are the
    same, and the words of the prompt as long as they are. `meaning` finds by meaning what words alone do not."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._meaning = meaning
        self._was_on = False
        # The last list of very many tools, the tools that are always kept in sight, and what is shown and what is searched for of it.
        self._long: tuple[Mapping[str, Tool], SearchSettings, Offer] | None = None
        # How many tools each server has among those that were searched for last.
        self._counted: tuple[Mapping[str, Tool], dict[str, int]] | None = None
        self._parts: dict[str, tuple[tuple[Tool, ...], str, Part]] = {}
        self._lines = ""
        self._framed: Framed | None = None

    def offer(
        self,
        tools: Sequence[Tool],
        settings: SearchSettings,
        window: int,
        used: Sequence[str] = (),
        long: Mapping[str, Tool] = _NONE,
    ) -> Offer:
        """What a model gets of `tools`. `used` are those that its conversation used most. `long` are very many more, by name, which are
        gone through once for as long as they are the same object."""
        # So many that their number decides: nobody counts what their definitions take.
        size = 0 if long else tokens_of(tools)
        count = len(tools) + len(long)
        self._was_on = is_on(settings, tools=count, tokens=size, window=window, was_on=self._was_on)
        if not self._was_on:
            return Offer((*tools, *long.values()))
        offer = split(tools, settings, used)
        return self._with_long(offer, long, settings, used) if long else offer

    def _with_long(
        self, offer: Offer, long: Mapping[str, Tool], settings: SearchSettings, used: Sequence[str]
    ) -> Offer:
        if self._long is None or self._long[0] is not long or self._long[1] != settings:
            self._long = long, settings, split([*long.values()], settings)
        more = self._long[2]
        also = [more.deferred[name] for name in used if name in more.deferred]
        deferred = more.deferred
        if offer.deferred or also:
            deferred = {**offer.deferred, **more.deferred}
            for tool in also:
                del deferred[tool.name]
        return Offer((*offer.shown, *more.shown, *also), deferred)

    def _counts(self, tools: Mapping[str, Tool]) -> dict[str, int]:
        if self._counted is None or self._counted[0] is not tools:
            self._counted = tools, _counts(tools)
        return self._counted[1]

    def used_line(self, counts: Mapping[str, int]) -> str:
        """What the notes on a shortened conversation say of the tools it used; empty when none have to be found again."""
        names = [clean_label(name, LONGEST_NAME) for name in sorted(counts)[:MOST_NAMED]]
        return f"[Tools used so far: {', '.join(names)}]" if self._was_on and names else ""

    async def find(
        self, tools: Mapping[str, Tool], origins: Mapping[str, str], query: str, limit: int, server: str = ""
    ) -> list[str]:
        """The names of the tools that fit a question best, the best first; of one server, if one is named."""
        index = self.index(tools, origins, server)
        if self._meaning is None:
            return [name for name, _ in rank(index, query, limit)]
        by_words = [name for name, _ in rank(index, query, DEPTH)]
        texts = {name: _text(tools[name]) for name in index.names}
        return fused([by_words, await self._meaning.ranked(query, texts)], limit)

    def index(self, tools: Mapping[str, Tool], origins: Mapping[str, str], server: str = "") -> Index:
        """The index over `tools`, or those of one server. Only what changed since the last time is read again."""
        by_origin: dict[str, list[Tool]] = {}
        for tool in tools.values():
            if not server or tool.origin == server:
                by_origin.setdefault(tool.origin, []).append(tool)
        return joined(self._part(origin, tuple(own), origins.get(origin, "")) for origin, own in by_origin.items())

    def _part(self, origin: str, tools: tuple[Tool, ...], words: str) -> Part:
        known = self._parts.get(origin)
        if known is None or known[1] != words or len(known[0]) != len(tools) or any(map(_differ, known[0], tools)):
            known = self._parts[origin] = (tools, words, part_of(_document(tool, words) for tool in tools))
        return known[2]

    def prompt(self, offer: Offer, origins: Mapping[str, str]) -> str:
        """What the system prompt says of tools that are not shown; empty when all are."""
        if not offer.deferred:
            return ""
        lines = _server_lines(self._counts(offer.deferred), origins)
        if self._framed is None or lines != self._lines:
            # A frame has a fresh id each time: unchanged words keep theirs, so that prompts stay cacheable.
            self._lines = lines
            self._framed = frame(lines, source="mcp_server", sender="several", subject="servers")
        return f"{_HEAD}\n{self._framed}"


def _differ(one: Tool, other: Tool) -> bool:
    return one is not other


def _document(tool: Tool, words: str) -> Document:
    return Document(
        tool.name, _description(tool), parameters=parameter_text(tool.schema), server=f"{tool.origin} {words}"
    )


def _text(tool: Tool) -> str:
    """A tool as an embedding model reads it."""
    return f"{tool.name}: {_description(tool)[:DESCRIPTION_CHARACTERS]}"


def _description(tool: Tool) -> str:
    """A server's tool names its server first: that is said of each anyway."""
    return tool.description.partition("] ")[2] if tool.kind == "mcp" else tool.description


def _counts(tools: Mapping[str, Tool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tool in tools.values():
        counts[tool.origin] = counts.get(tool.origin, 0) + 1
    return counts


def _server_lines(counts: Mapping[str, int], origins: Mapping[str, str]) -> str:
    lines: list[str] = []
    left, room = {**counts}, LINES
    for origin, count in list(left.items())[:MOST_SERVERS]:
        words = clean_label(origins.get(origin, ""), LINE_WORDS)
        line = f"{_server(origin, count)}{': ' if words else ''}{words}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
        del left[origin]
    if left:
        lines.append(f"{len(left)} more servers ({_tools(sum(left.values()))})")
    return "\n".join(lines)


def _server(origin: str, count: int) -> str:
    return f"{clean_label(origin, LONGEST_NAME)} ({_tools(count)})"


def _tools(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"


def direct_calls(message: AssistantMessage) -> AssistantMessage:
    """The message with every call by `tool_call` as the call of the tool it names. One that names none stays: its answer says why."""
    if not any(call.name == TOOL_CALL for call in message.tool_calls):
        return message
    content = tuple(_direct(block) if isinstance(block, ToolCall) else block for block in message.content)
    return msgspec.structs.replace(message, content=content)


def _direct(call: ToolCall) -> ToolCall:
    name, given = call.arguments.get("id"), call.arguments.get("arguments", {})
    if isinstance(given, str):
        # Some models write an object within an object as text.
        try:
            given = lenient_json(given)
        except ValueError:
            return call
    if call.name != TOOL_CALL or call.fault or not isinstance(name, str) or not name or not isinstance(given, dict):
        return call
    return ToolCall(call.id, name, given, through=TOOL_CALL)


class SearchTools:
    """The three tools of one turn. `offer` is what the model has at the moment."""

    def __init__(self, search: ToolSearch, offer: Offer, origins: Mapping[str, str]) -> None:
        self._search = search
        self._offer = offer
        self._origins = origins

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(TOOL_SEARCH, _FINDS, _SEARCH_SCHEMA, self._find, read_only=True),
            Tool(TOOL_DESCRIBE, _DESCRIBES, _DESCRIBE_SCHEMA, self._describe, read_only=True),
            Tool(TOOL_CALL, _CALLS, _CALL_SCHEMA, _never_called, read_only=True),
        )

    def nearest(self, name: str) -> list[str]:
        """The names most like one that is no tool's, among all that the model has."""
        index = self._search.index(self._offer.deferred, self._origins)
        alike = [found for found, _ in rank(index, name, COMPARED)]
        return nearest(name, [*(tool.name for tool in self._offer.shown), *alike]) or alike[:NEAREST]

    async def _find(self, arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        query, server = arguments["query"], arguments.get("server", "")
        counts = _counts(self._offer.deferred)
        if server and server not in counts:
            near = nearest(server, counts)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            return _said(f"There is no server named {clean_label(server, LONGEST_NAME)}.{hint} {_listed(counts)}")
        limit = arguments.get("limit", LIMIT)
        names = await self._search.find(self._offer.deferred, self._origins, query, limit, server)
        found = [self._offer.deferred[name] for name in names]
        if not found:
            return _said(f"No tool matches these words. Try others, in English. {_listed(counts)}")
        return msgspec.structs.replace(
            _said(to_json([_summary(tool) for tool in found]).decode()), found=tuple(tool.name for tool in found)
        )

    async def _describe(self, arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        blocks: list[Text] = []
        has_code = any(tool.name == RUN_CODE for tool in self._offer.shown)
        for name in arguments["ids"]:
            tool = self._offer.deferred.get(name) or next((t for t in self._offer.shown if t.name == name), None)
            if tool is None:
                near = self.nearest(name)
                hint = f" Did you mean {' or '.join(near)}?" if near else ""
                blocks.append(Text(f"There is no tool named {clean_label(name, LONGEST_NAME)}.{hint}"))
                continue
            words = f"{_description(tool)}\nArguments: {bytes(tool.parameters).decode()}"
            if has_code:
                words += f"\nIn {RUN_CODE}: {head_of(tool)}"
            framed = frame(words, source="mcp_server", sender=tool.origin) if tool.kind == "mcp" else words
            blocks.append(Text(f"{tool.name}:"))
            blocks.append(Text(framed))
        return ToolResult(tuple(blocks))


def nearest(name: str, names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    folded = {one.lower(): one for one in names}
    return [folded[one] for one in get_close_matches(name.lower(), folded, NEAREST, LIKENESS)]


def _said(text: str) -> ToolResult:
    return ToolResult((Text(text),))


def _listed(counts: Mapping[str, int]) -> str:
    shown = [_server(origin, count) for origin, count in list(counts.items())[:MOST_SERVERS]]
    more = f" and {len(counts) - MOST_SERVERS} more" if len(counts) > MOST_SERVERS else ""
    return f"Servers: {', '.join(shown)}{more}."


def _summary(tool: Tool) -> dict[str, Any]:
    facts = tool.facts() if tool.facts is not None else None
    return {
        "id": tool.name,
        "server": clean_label(tool.origin, LONGEST_NAME),
        "summary": clean_label(clean_text(_description(tool), SUMMARY), SUMMARY),
        "parameters": _parameters(tool.schema),
        "readOnly": bool(tool.read_only or (facts and facts.read_only)),
    }


def _parameters(schema: Mapping[str, Any]) -> str:
    """The names of the parameters: `title*, body, labels[]`."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ""
    needed = required if isinstance(required, list) else []
    named = [
        f"{clean_label(str(name), LONGEST_NAME)}{'[]' if isinstance(kind, dict) and kind.get('type') == 'array' else ''}"
        f"{'*' if name in needed else ''}"
        for name, kind in sorted(properties.items(), key=lambda item: item[0] not in needed)
    ]
    more = [f"… {len(named) - MOST_PARAMETERS} more"] if len(named) > MOST_PARAMETERS else []
    return ", ".join([*named[:MOST_PARAMETERS], *more])


async def _never_called(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    """What `direct_calls` leaves is a call that names no tool."""
    return ToolResult.error('tool_call was not called: give {"id": NAME, "arguments": {…}} with the name of a tool.')


_DESCRIBES = "Read the whole description and the arguments of tools that tool_search found, before calling one that is not plain."
_CALLS = "Call a tool that tool_search found: its id, and its arguments as an object."
_SEARCH_SCHEMA = parameters(
    {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_QUERY,
                "description": "What it should do.",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": f"{LIMIT} if not said."},
            "server": {"type": "string", "description": "Only the tools of this server."},
        },
        "required": ["query"],
    }
)
_DESCRIBE_SCHEMA = parameters(
    {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_DESCRIBED},
        },
        "required": ["ids"],
    }
)
_CALL_SCHEMA = parameters(
    {
        "type": "object",
        "properties": {"id": {"type": "string"}, "arguments": {"type": "object", "properties": {}}},
        "required": ["id", "arguments"],
    }
)
