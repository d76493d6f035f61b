"""What a plugin gave back, as our loop may use it: every tool, source and context of it runs in the plugin's own thread.

The synchronous questions (which tools, what text) are asked there too: a plugin's code never runs in two threads at once. They are
answered while a turn settles; in between what was said the last time counts, and nobody waits.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from openclaw.conversation import Answer, Asker, Declined, ForeignSources, Question, QuestionKind
from openclaw.plugins.contract import PluginFault, PluginHandle
from openclaw.plugins.thread import ALIVE_SECONDS, PluginThread
from openclaw.tool import Absence, Invocation, Run, Tool, ToolResult


def in_own_thread(handle: PluginHandle, plugin: str, thread: PluginThread) -> PluginHandle:
    """Called in the plugin's thread. Hooks stay as they are, and so does where `settle` runs: who calls them knows their bounds."""
    tools: list[Any] = [_tool(tool, plugin, thread) for tool in handle.tools]
    if handle.source is None and not handle.contexts:
        return replace(handle, tools=tools)
    source = _Source(handle, plugin, thread)
    return replace(handle, tools=tools, source=source, contexts=[source] if handle.contexts else [])


class _Source:
    """A ToolSource and a PromptText. None of the questions waits."""

    def __init__(self, handle: PluginHandle, plugin: str, thread: PluginThread) -> None:
        self._source = handle.source
        self._contexts = tuple(handle.contexts)
        self._plugin = plugin
        self._thread = thread
        # By agent: the tools as the plugin gave them, and as they are passed on.
        self._known: dict[str, tuple[tuple[object, ...], Sequence[Tool]]] = {}

    def tools(self, agent: str) -> Sequence[Tool]:
        return self._thread.ask(("tools", agent), lambda: self._tools(agent), ())

    def absences(self, agent: str) -> Sequence[Absence]:
        return self._thread.ask(("absences", agent), lambda: self._absences(agent), ())

    def context(self, agent: str) -> str:
        return self._thread.ask(("context", agent), lambda: self._context(agent), "")

    # In the plugin's thread

    async def settle(self, agent: str, patience: float) -> None:
        no_tools: Sequence[Tool] = ()
        no_absences: Sequence[Absence] = ()
        if self._source is not None:
            await self._source.settle(agent, patience)
        self._thread.answer(("tools", agent), lambda: self._tools(agent), no_tools)
        self._thread.answer(("absences", agent), lambda: self._absences(agent), no_absences)
        self._thread.answer(("context", agent), lambda: self._context(agent), "")

    def _tools(self, agent: str) -> Sequence[Tool]:
        given = tuple(self._source.tools(agent)) if self._source is not None else ()
        known = self._known.get(agent)
        # The same tools are the same objects again: nothing is decided anew because of them.
        if (
            known is None
            or len(known[0]) != len(given)
            or any(a is not b for a, b in zip(known[0], given, strict=True))
        ):
            known = self._known[agent] = (given, [_tool(tool, self._plugin, self._thread) for tool in given])
        return known[1]

    def _absences(self, agent: str) -> Sequence[Absence]:
        return tuple(self._source.absences(agent)) if self._source is not None else ()

    def _context(self, agent: str) -> str:
        return "\n\n".join(text for part in self._contexts if (text := part.context(agent)))


def _tool(tool: Any, plugin: str, thread: PluginThread) -> Any:
    """What is no Tool stays what it is: admit.py says so."""
    return replace(tool, run=_moved(tool.run, tool, plugin, thread)) if isinstance(tool, Tool) else tool


def _moved(run: Run, tool: Tool, plugin: str, thread: PluginThread) -> Run:
    """The same callable, which does its work in the plugin's thread. tools/invoke.py still ends it at the tool's own timeout."""
    seconds = ALIVE_SECONDS if tool.timeout is None else tool.timeout

    async def moved(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        ours = invocation.conversation
        # What it does in its thread to what is known of the conversation is nobody else's business, and what was approved is none of its.
        conversation = replace(
            ours,
            asker=_AskerAtHome(ours.asker),
            foreign=ForeignSources(ours.foreign),
            written=[*ours.written],
            granted=[],
            declined=Declined(),
        )
        there = replace(invocation, conversation=conversation, progress=_at_home(invocation.progress))
        try:
            return await thread.call(f"the tool {tool.name}", lambda: run(arguments, there), seconds)
        except PluginFault as fault:
            if thread.fault:
                return ToolResult.error(f"{tool.name} is not available: the plugin {plugin} is disabled: {fault}.")
            return ToolResult.error(f"{tool.name} failed: {fault}.")

    return moved


class _AskerAtHome:
    """An asker of ours that may be asked in the plugin's loop: it does its asking in ours."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._home = asyncio.get_running_loop()

    def can(self, kind: QuestionKind) -> bool:
        return self._asker.can(kind)

    async def ask(self, question: Question) -> Answer:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._asker.ask(question), self._home))


def _at_home(callback: Callable[[str], None]) -> Callable[[str], None]:
    """A callback of ours that may be called in any thread."""
    home = asyncio.get_running_loop()

    def call(message: str) -> None:
        # Our loop may have ended meanwhile; then nobody listens.
        with suppress(RuntimeError):
            home.call_soon_threadsafe(callback, message)

    return call
