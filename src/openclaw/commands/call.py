"""`openclaw mcp call`: one tool, called by a person.

The agent's rules hold for it, and it leaves the same trail. Where somebody watches a terminal with a browser, a call that needs a sign-in
gets one and is made again: a server that asked for it has done nothing yet. Elsewhere it ends with the command to run.
"""

from collections.abc import Callable
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any

import msgspec

from openclaw.commands.arguments import allowed_calls, arguments_of
from openclaw.commands.dispatch import Context
from openclaw.commands.mcp import opened
from openclaw.commands.parse import Parsed
from openclaw.commands.render import show_result
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.config.wording import nearest
from openclaw.content import File, Text, ToolCall, text_of
from openclaw.conversation import Conversation, Nobody, ask_to_sign_in
from openclaw.engine import Engine
from openclaw.errors import UsageError
from openclaw.mcp.manager import Manager
from openclaw.mcp.server.state import UnavailableError
from openclaw.mcp.sign_in import with_sign_in
from openclaw.mcp.tools.definition import schema_of
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.mcp.tools.results import CallResult, as_json
from openclaw.security.external import clean_label
from openclaw.security.policy import ToolRef
from openclaw.security.unframe import without_frames
from openclaw.tool import Invocation, ToolResult, find_absence

_PROGRESS = 200


async def call(context: Context, parsed: Parsed) -> int:
    """Exit code 1 when the tool reported an error. Starts only the server it needs."""
    async with opened(context, parsed) as (engine, manager, agent), SignInPrompt(context, engine, agent) as person:
        # Nothing but the result may be shown with --json.
        asker = Nobody() if parsed.flag("json") else person
        conversation = engine.asking(
            Conversation(
                agent,
                workspace=engine.paths.workspace_dir,
                asker=asker,
                surface="call",
                allow=allowed_calls(parsed),
                says_yes=parsed.flag("yes"),
            )
        )
        caller = _Caller(context, engine, manager, conversation)
        entry = await caller.find(parsed.text("tool"))
        schema = msgspec.json.decode(schema_of(entry.definition.details()))
        arguments = arguments_of(parsed.many("words"), schema if isinstance(schema, dict) else None)
        result = await caller.call(entry, arguments)
        if parsed.flag("json"):
            context.console.data(as_json(result))
        else:
            await show_result(result, engine.media, context.console)
    return 1 if result.is_error else 0


class _Caller:
    """A person who calls as an agent."""

    def __init__(self, context: Context, engine: Engine, manager: Manager, conversation: Conversation) -> None:
        self._context = context
        self._engine = engine
        self._manager = manager
        self._agent = conversation.agent
        self._conversation = conversation

    async def find(self, tool: str) -> ToolEntry:
        """Raises UsageError when there is no such tool, UnavailableError when there may be one that cannot be had."""
        entry = await self._manager.find(tool, self._agent)
        if entry is not None:
            return entry
        absence = find_absence(self._manager.absences(self._agent), tool)
        if absence is None:
            entries = self._manager.entries(self._agent)
            # A person who types the name that the tool has at its server means that tool.
            bare = [entry.name for entry in entries if entry.definition.name == tool]
            near = f'Did you mean "{bare[0]}"?' if bare else nearest(tool, [entry.name for entry in entries])
            raise UsageError(f"There is no MCP tool {tool}. {near or 'Try: openclaw mcp tools'}")
        if absence.sign_in:
            decision = self._engine.decide(ToolRef(tool, "mcp", absence.sign_in), self._agent)
            if not decision.allowed:
                # Nobody need sign in for a call that would not be made.
                raise UsageError(f"{tool} may not be used: {decision}.")
            if await ask_to_sign_in(self._conversation.asker, absence.sign_in, since=monotonic()):
                entry = await self._manager.find(tool, self._agent)
        if entry is None:
            where = f" ({absence.where})" if absence.where else ""
            raise UnavailableError(f"{tool} is not available: {absence.reason}{where}")
        return entry

    async def call(self, entry: ToolEntry, arguments: dict[str, Any]) -> CallResult:
        """One call, as every call is made; what a person is shown is what the server sent, not what a model would get of it.

        Raises UsageError when a rule or the tool's own schema forbids it.
        """
        kept: list[CallResult] = []

        async def run(checked: dict[str, Any], invocation: Invocation) -> ToolResult:
            send = partial(
                self._manager.call,
                entry.name,
                checked,
                agent=self._agent,
                show_progress=self._progress(),
                invocation=invocation,
                is_checked=True,
            )
            result = await with_sign_in(send, entry.spec.name, invocation)
            kept.append(result)
            return _measured(result)

        call = ToolCall(f"command-{token_hex(4)}", entry.name, arguments)
        tool = msgspec.structs.replace(self._manager.tool(entry, self._agent), run=run)
        said = await self._engine.invoke(tool, call, Invocation(self._conversation, call.id))
        if not kept:
            # Forbidden, called with the wrong words, or taken away while it ran.
            raise UsageError(without_frames(text_of(said.content)).replace("\n", " ", 1))
        return kept[0]

    def _progress(self) -> Callable[[str], None] | None:
        console = self._context.console
        if not console.interactive:
            return None
        return lambda text: console.note(console.dim(clean_label(text, _PROGRESS)))


def _measured(result: CallResult) -> ToolResult:
    """A result as the audit trail counts it: by its size and its end alone. Base64 has four characters for three bytes."""
    texts = [Text(item.text) for item in result.content if item.text]
    files = [
        File("", "", item.mime_type or "", len(item.data.rstrip("=")) * 3 // 4) for item in result.content if item.data
    ]
    return ToolResult((*texts, *files), is_error=result.is_error, ending=result.ending)
