"""`openclaw mcp call`: one tool, called by a person.

The agent's rules hold for it, and it leaves the same trail, also where its server is used this once (once.py). Where somebody watches a
terminal with a browser, a call that needs a sign-in gets one and is made again: a server that asked for it has done nothing yet. Elsewhere
it ends with the command to run.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from openclaw.commands.arguments import allowed_calls, arguments_of, misnamed
from openclaw.commands.console import Doing
from openclaw.commands.dispatch import Context
from openclaw.commands.notices import prefix_on
from openclaw.commands.once import Once, once
from openclaw.commands.opened import opened
from openclaw.commands.parse import Parsed
from openclaw.commands.render import show_result
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.config.wording import nearest
from openclaw.content import File, Text, ToolCall, text_of
from openclaw.conversation import Conversation, Nobody, ask_to_sign_in
from openclaw.engine import Engine
from openclaw.errors import ProcessError, UsageError
from openclaw.mcp.manager import Manager
from openclaw.mcp.remedies import SHELL, CommandPrefix, command
from openclaw.mcp.server.state import UnavailableError
from openclaw.mcp.sign_in import with_sign_in
from openclaw.mcp.tools.definition import schema_value
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.mcp.tools.results import Result, as_json
from openclaw.process.find_program import find_program
from openclaw.security.external import clean_label
from openclaw.security.policy import ToolRef
from openclaw.security.unframe import without_frames
from openclaw.tool import Absence, Invocation, Tool, ToolResult, find_absence

if TYPE_CHECKING:
    from openclaw.commands.trial import Trial

_LIST = "Try: openclaw mcp tools"
_PROGRESS = 200
_NAME = 64


async def call(context: Context, parsed: Parsed) -> int:
    """Exit code 1 when the tool reported an error. Starts only the server it needs, which may be one that is not configured."""
    words = (parsed.text("tool"), *parsed.many("words"))
    asked = once(parsed.text("stdio"), words)
    if asked is None:
        async with opened(context, parsed) as (engine, manager, agent):
            offered = _OfAgent(manager, agent, words[1:], context.env.get("PATH", ""), prefix_on(context.surface))
            return await _called(context, parsed, engine, offered, words)
    from openclaw.commands.used_once import opened_once

    async with opened_once(context, parsed, asked) as (engine, tried, agent):
        return await _called(context, parsed, engine, _OfOnce(tried, asked, agent), asked.tool_words)


async def help(context: Context, parsed: Parsed) -> int:
    """What a tool takes: `mcp call TOOL --help`."""
    from openclaw.commands.tool_help import help_lines

    words = parsed.many("about")
    asked = once(parsed.text("stdio"), words)
    prefix = prefix_on(context.surface)
    if asked is None:
        async with opened(context, parsed) as (engine, manager, agent):
            entry = await _found(engine, _OfAgent(manager, agent, prefix=prefix), words[0], Conversation(agent))
            lines = list(help_lines(entry, entry.name, prefix, context.console))
    else:
        from openclaw.commands.used_once import opened_once

        tool = asked.tool_words[0]
        async with opened_once(context, parsed, asked) as (engine, tried, agent):
            entry = await _found(engine, _OfOnce(tried, asked, agent), tool, Conversation(agent))
            lines = list(help_lines(entry, f"{asked.command} {entry.definition.name}", prefix, context.console))
    for line in lines:
        context.console.line(line)
    return 0


async def _called(context: Context, parsed: Parsed, engine: Engine, offered: "_Offered", words: Sequence[str]) -> int:
    async with SignInPrompt(context, engine, offered.agent) as person:
        # Nothing but the result may be shown with --json.
        asker = Nobody() if parsed.flag("json") else person
        conversation = engine.asking(
            Conversation(
                offered.agent,
                workspace=engine.paths.workspace_dir,
                asker=asker,
                surface="call",
                allow=allowed_calls(parsed),
                says_yes=parsed.flag("yes"),
            )
        )
        entry = await _found(engine, offered, words[0], conversation)
        schema = schema_value(entry.definition.details())
        arguments = arguments_of(words[1:], schema if isinstance(schema, dict) else None)
        hint = misnamed(arguments, schema)
        result = await _Caller(context, engine, offered, conversation).call(entry, arguments, hint)
        if parsed.flag("json"):
            context.console.data(as_json(result))
        else:
            await show_result(result, engine.media, context.console)
    return 1 if result.is_error else 0


class _Offered(Protocol):
    """Where a person's call finds its tool: what an agent is offered, or one server that is used once."""

    agent: str

    async def find(self, tool: str) -> ToolEntry | None: ...

    def hint(self, tool: str) -> str:
        """What to try in place of a name that nothing has."""
        ...

    def absences(self) -> Sequence[Absence]: ...

    def way_back(self, tool: str) -> str:
        """What brings a tool back whose server a person took away; empty for any other."""
        ...

    def tool(self, entry: ToolEntry) -> Tool: ...

    async def call(
        self, entry: ToolEntry, arguments: dict[str, Any], show: Callable[[str], None] | None, invocation: Invocation
    ) -> Result: ...


class _OfAgent:
    def __init__(
        self,
        manager: Manager,
        agent: str,
        words: Sequence[str] = (),
        search_path: str = "",
        prefix: CommandPrefix = SHELL,
    ) -> None:
        """`words` stand behind the tool; programs are looked for on `search_path`; commands begin with `prefix`."""
        self.agent = agent
        self._manager = manager
        self._words = words
        self._search_path = search_path
        self._prefix = prefix

    async def find(self, tool: str) -> ToolEntry | None:
        return await self._manager.find(tool, self.agent)

    def hint(self, tool: str) -> str:
        entries = self._manager.entries(self.agent)
        # A person who types the name that the tool has at its server means that tool; so does one who types the server before it.
        bare = [entry.name for entry in entries if entry.definition.name == tool]
        if any(one.name == tool for one in self._manager.status(self.agent)):
            behind = [one for one in entries if one.spec.name == tool and one.definition.name in self._words[:1]]
            bare = [entry.name for entry in behind]
            if not bare:
                return f"That is a server. Its tools: openclaw mcp tools {tool}"
        near = f'Did you mean "{bare[0]}"?' if bare else nearest(tool, [entry.name for entry in entries])
        return near or (f'To use this program as the server: --stdio "{tool}"' if self._is_program(tool) else _LIST)

    def _is_program(self, tool: str) -> bool:
        try:
            return bool(find_program(tool, search_path=self._search_path))
        except ProcessError:
            return False

    def absences(self) -> Sequence[Absence]:
        return self._manager.absences(self.agent)

    def way_back(self, tool: str) -> str:
        name = self._manager.reserved_for(tool, self.agent)
        status = next((one for one in self._manager.status(self.agent) if one.name == name), None)
        if status is None or status.state not in ("disabled", "stopped"):
            return ""
        if status.state == "stopped" and not self._manager.server(name, self.agent).is_stopped_by_hand:
            return ""
        verb = "enable" if status.state == "disabled" else "restart"
        return f"Run: {command(verb, name, status.owner, prefix=self._prefix)}"

    def tool(self, entry: ToolEntry) -> Tool:
        return self._manager.tool(entry, self.agent)

    async def call(
        self, entry: ToolEntry, arguments: dict[str, Any], show: Callable[[str], None] | None, invocation: Invocation
    ) -> Result:
        return await self._manager.call_checked(
            entry.name, arguments, agent=self.agent, show_progress=show, invocation=invocation
        )


class _OfOnce:
    def __init__(self, tried: "Trial", asked: Once, agent: str) -> None:
        self.agent = agent
        self._view = tried.view
        self._asked = asked

    async def find(self, tool: str) -> ToolEntry | None:
        entries = self._view.registry.entries()
        # By the name that its server gives it, or by the one it would have in the config.
        return next((one for one in entries if tool in (one.definition.name, one.name)), None)

    def hint(self, tool: str) -> str:
        names = [entry.definition.name for entry in self._view.registry.entries()]
        return nearest(tool, names) or f"Try: openclaw mcp tools {self._asked.command}"

    def absences(self) -> Sequence[Absence]:
        return ()

    def way_back(self, tool: str) -> str:
        return ""

    def tool(self, entry: ToolEntry) -> Tool:
        return self._view.tool(entry)

    async def call(
        self, entry: ToolEntry, arguments: dict[str, Any], show: Callable[[str], None] | None, invocation: Invocation
    ) -> Result:
        return await self._view.call(entry, arguments, show_progress=show, invocation=invocation)


async def _found(engine: Engine, offered: _Offered, tool: str, conversation: Conversation) -> ToolEntry:
    """Raises UsageError when there is no such tool, UnavailableError when there may be one that cannot be had."""
    entry = await offered.find(tool)
    if entry is not None:
        return entry
    absence = find_absence(offered.absences(), tool)
    if absence is None:
        raise UsageError(f"There is no MCP tool {tool}. {offered.hint(tool)}")
    if absence.sign_in:
        decision = engine.decide(ToolRef(tool, "mcp", absence.sign_in), offered.agent)
        if not decision.allowed:
            # Nobody need sign in for a call that would not be made.
            raise UsageError(f"{tool} may not be used: {decision}.")
        if await ask_to_sign_in(conversation.asker, absence.sign_in, since=monotonic()):
            entry = await offered.find(tool)
    if entry is None:
        where = f" ({absence.where})" if absence.where else ""
        raise UnavailableError(f"{tool} is not available: {absence.reason}{where}", hint=offered.way_back(tool))
    return entry


class _Caller:
    """A person who calls as an agent."""

    def __init__(self, context: Context, engine: Engine, offered: _Offered, conversation: Conversation) -> None:
        self._context = context
        self._engine = engine
        self._offered = offered
        self._conversation = conversation
        # What is shown while it runs: the last words of its progress.
        self._told = ""
        self._doing_what = ""
        self._since = 0.0

    async def call(self, entry: ToolEntry, arguments: dict[str, Any], hint: str) -> Result:
        """One call, as every call is made; what a person is shown is what the server sent, not what a model would get of it.

        Raises UsageError when a rule or the tool's own schema forbids it; then `hint` says what the words may lack.
        """
        kept: list[Result] = []

        async def run(checked: dict[str, Any], invocation: Invocation) -> ToolResult:
            send = partial(self._offered.call, entry, checked, self._progress(), invocation)
            result = await with_sign_in(send, entry.spec.name, invocation)
            kept.append(result)
            return _measured(result)

        call = ToolCall(f"command-{os.urandom(4).hex()}", entry.name, arguments)
        tool = msgspec.structs.replace(self._offered.tool(entry), run=run)
        self._since, self._doing_what = monotonic(), f"Running {clean_label(entry.name, _NAME)}"
        with self._context.console.live.waiting(self._doing):
            said = await self._engine.invoke(tool, call, Invocation(self._conversation, call.id))
        if not kept:
            # Forbidden, called with the wrong words, or taken away while it ran.
            raise UsageError(without_frames(text_of(said.content)).replace("\n", " ", 1), hint=hint)
        return kept[0]

    def _progress(self) -> Callable[[str], None] | None:
        console = self._context.console
        if not console.interactive:
            return None
        return self._tell if console.cursor else lambda text: console.note(console.dim(clean_label(text, _PROGRESS)))

    def _tell(self, text: str) -> None:
        self._told = clean_label(text, _PROGRESS)

    def _doing(self) -> Doing:
        return Doing(self._told or self._doing_what, self._since)


def _measured(result: Result) -> ToolResult:
    """A result as the audit trail counts it: by its size and its end alone. Base64 has four characters for three bytes."""
    texts = [Text(item.text) for item in result.content if item.text]
    files = [
        File("", "", item.mime_type or "", len(item.data.rstrip("=")) * 3 // 4) for item in result.content if item.data
    ]
    return ToolResult((*texts, *files), is_error=result.is_error, ending=result.ending)
