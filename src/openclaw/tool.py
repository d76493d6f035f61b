"""The contracts between parts: what a tool is, who offers tools, who adds text to the prompt, why a tool is missing.

`agent` and `mcp` meet here and nowhere else. A Tool is data plus one callable; only `tools/invoke.py` calls it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

import msgspec

from openclaw.content import Block, Text, ToolCall, to_json
from openclaw.conversation import Conversation
from openclaw.wildcard import matches

Kind = Literal["native", "plugin", "mcp"]
# The tools by which a model finds and calls those it is not shown (`agent/tool_search.py`). They reach nothing by themselves: what they
# show and call is what the agent may use, so no rule and no question is about them.
TOOL_SEARCH: Final = "tool_search"
TOOL_DESCRIBE: Final = "tool_describe"
TOOL_CALL: Final = "tool_call"
SEARCH_TOOLS: Final = frozenset({TOOL_SEARCH, TOOL_DESCRIBE, TOOL_CALL})
# The native tool that runs code of the model, which calls other tools.
RUN_CODE: Final = "run_code"
# The tool by which a model reads skills of servers (`skills/served.py`).
SKILL_READ: Final = "skill_read"
# How a call ended that the tool gave no answer to; empty when it gave one, be it an error.
Ending = Literal["", "timeout", "failed"]


# More than native tools and plugins have.
_MOST_SCHEMAS: Final = 512


class ToolResult(msgspec.Struct, frozen=True):
    """What a call gave. `content` is for the model; `details` are for us, never for the model, dropped on compaction.

    `source` is where the content came from, when neither the person nor we wrote it (`conversation.ForeignSources`): a native tool says so
    of its result, and `tools/invoke.py` of all others. What plugins give is foreign whatever they say, and what servers give unless
    `own_words` says that the content is ours, without a word of theirs: the bridge to servers knows.
    """

    content: tuple[Block, ...]
    is_error: bool = False
    details: Mapping[str, Any] = msgspec.field(default_factory=dict)
    source: str = ""
    ending: Ending = ""
    own_words: bool = False
    # Of a search for tools: the names of those it found.
    found: tuple[str, ...] = ()

    @classmethod
    def error(cls, message: str, **details: Any) -> "ToolResult":
        return cls((Text(message),), is_error=True, details={"error": True, **details})


def _ignore(message: str) -> None:
    return None


class InnerCalls(Protocol):
    """How a running tool calls the others of its agent: each through the whole stack of `tools/invoke.py`, and in sight of who watches."""

    async def tools(self) -> Sequence["Tool"]:
        """What may be called now."""
        ...

    async def call(self, call: ToolCall, code: str) -> ToolResult:
        """Make a call, by its name, in the conversation of the tool that makes it; `code` is the program that it is made by."""
        ...


class Invocation(msgspec.Struct, frozen=True):
    """What a running tool may know about the call. `progress` shows a sentence to the person who waits.

    Who that is, and how they are asked something, is in `conversation`. `notes` are sentences of ours that a model gets beside the result
    of a server's tool: that its person was asked something meanwhile, and no word of what they said. `inner` is for the one tool that
    calls others (`tools/code/run_code.py`).
    """

    conversation: Conversation
    call_id: str = ""
    progress: Callable[[str], None] = _ignore
    notes: list[str] = msgspec.field(default_factory=list)
    # False for a tool whose definition the model was not shown: when its arguments are wrong, the answer has their schema.
    is_shown: bool = True
    inner: InnerCalls | None = None

    @property
    def agent(self) -> str:
        return self.conversation.agent

    @property
    def session(self) -> str:
        """The whole key of the session; empty for a call outside of any."""
        return self.conversation.session

    @property
    def workspace(self) -> Path:
        return self.conversation.workspace or Path()


def note(invocation: Invocation | None, sentence: str) -> None:
    """Tell the model something beside the result of this call, if it is one; the same thing once."""
    if invocation is not None and sentence not in invocation.notes:
        invocation.notes.append(sentence)


class ToolFacts(msgspec.Struct, frozen=True):
    """What an approval needs to know of a server's tool. `identity` names the server (`mcp/cache.py`), `name` the tool as the server calls
    it, `definition` the digest of what is pinned. The hints are the server's claims, None where it makes none; they count only with
    `trusts_annotations`. `approval` is the server's own setting. `skill` is the name of the skill that this is about instead of a tool:
    then `name` is its address and `definition` the digest of all its files."""

    identity: str
    name: str
    definition: str
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    approval: Literal["inherit", "ask", "allow", "deny"] = "inherit"
    trusts_annotations: bool = False
    skill: str = ""


Run = Callable[[dict[str, Any], Invocation], Awaitable[ToolResult]]


class Tool(msgspec.Struct, frozen=True):
    """Something a model can call.

    `run` gets arguments that already satisfy `parameters`, and reports failure as a ToolResult with `is_error`; it raises
    nothing but CancelledError (invoke.py turns anything else into an error result and logs it). `parameters` is JSON Schema
    text, kept raw: it is decoded only by who needs it. So is `output`, the schema of structured results, where there is one. `origin` is
    the plugin id or the server name, empty for native tools. `read_only` is what we or a plugin say of it, never what a server does.
    """

    name: str
    description: str
    parameters: msgspec.Raw
    run: Run
    kind: Kind = "native"
    origin: str = ""
    label: str = ""
    read_only: bool = False
    # Seconds; None leaves the deadline to the tool itself (MCP calls: progress may extend theirs).
    timeout: float | None = 60.0
    # Of a server's tool. Worked out when it is asked for: most calls need none of it.
    facts: Callable[[], ToolFacts] | None = None
    output: msgspec.Raw | None = None
    # Of a tool that stands for several: the one that a call with these arguments, which nobody has checked yet, is about. Rules,
    # approvals and the audit trail are about that one. Must not raise.
    narrowed: "Callable[[Mapping[str, Any]], Tool] | None" = None

    @property
    def schema(self) -> dict[str, Any]:
        """`parameters` decoded: a new dict every time."""
        decoded: dict[str, Any] = msgspec.json.decode(self.parameters)
        return decoded


def parameters(schema: Mapping[str, Any]) -> msgspec.Raw:
    """A JSON Schema given as a mapping, in the raw form a Tool keeps. The same object for the same schema: native tools are made for every
    turn, and what was compiled of a schema is known by its object."""
    return _raw(to_json(schema))


@lru_cache(_MOST_SCHEMAS)
def _raw(data: bytes) -> msgspec.Raw:
    return msgspec.Raw(data)


class OwnWords(str):
    """A sentence of ours without a word of anybody else in it. Any other is framed before a model sees it."""

    __slots__ = ()


class Absence(msgspec.Struct, frozen=True):
    """A tool that is not offered: its name (or a pattern such as `server__*`), why, and where that was decided.

    A person reads the reason as it is; a model gets it framed, unless it is in `OwnWords`.
    `sign_in` names the server that a person has to sign in to before it is.
    """

    name: str
    reason: str
    where: str = ""
    sign_in: str = ""

    def covers(self, tool: str) -> bool:
        """Whether this is why a tool of that name is missing."""
        return matches(self.name, tool)


def find_absence(absences: Iterable[Absence], name: str, *, any_case: bool = False) -> Absence | None:
    """The first reason why a tool of that name is missing; None when there is none. A person may have typed it in `any_case`."""
    if any_case:
        return next((one for one in absences if matches(one.name.casefold(), name.casefold())), None)
    return next((one for one in absences if one.covers(name)), None)


class ToolSource(Protocol):
    """A part that offers tools to agents: native tools, a plugin, the MCP client. None of these raise."""

    def tools(self, agent: str) -> Sequence[Tool]: ...

    def absences(self, agent: str) -> Sequence[Absence]: ...

    async def settle(self, agent: str, patience: float) -> None:
        """Wait at most `patience` seconds for tools that are still being discovered. Ends at once when none are."""
        ...


@runtime_checkable
class OriginSource(Protocol):
    """A source of tools that knows what the servers behind them say of themselves."""

    def origins(self, agent: str) -> Mapping[str, str]:
        """The first words of each, clean and not framed, by `Tool.origin`. One that says nothing may be missing."""
        ...


class PromptText(Protocol):
    """A part that adds text to the system prompt. What it returns is already escaped, framed and bounded."""

    def context(self, agent: str) -> str: ...


@runtime_checkable
class ContextSource(PromptText, Protocol):
    """Such a part that also knows whose text it adds."""

    def foreign(self, agent: str) -> Sequence[tuple[str, str]]:
        """What of `context` neither the person nor we wrote, each text behind its source (`conversation.ForeignSources`)."""
        ...
