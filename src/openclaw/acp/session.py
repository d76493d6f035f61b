"""One session of a client: a conversation in its folders, one prompt at a time.

Owns where a session stands (idle, running, cancelling): exactly one answer for each prompt, no update of a turn after its answer, and no
call that stays open. A second prompt cancels the first and runs when that has settled. A cancel ends with the result `cancelled`, also
when a tool does not let go: it is waited for a moment, and what it still does is not shown any more.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from openclaw.acp import settings, wire
from openclaw.acp.client_editor import ClientEditor, can_work
from openclaw.acp.connection import Connection, RequestError
from openclaw.acp.given import SessionGiven
from openclaw.acp.permissions import ClientAsker
from openclaw.acp.prompt import Message, message_of
from openclaw.acp.records import Record, Records
from openclaw.acp.slash import SlashCommands
from openclaw.acp.updates import TurnUpdates
from openclaw.agent.events import Event, RunStart, ToolProgress
from openclaw.app import App
from openclaw.config.agents import AgentSpec
from openclaw.conversation import Conversation
from openclaw.errors import OpenClawError, StoreError
from openclaw.log import iso_time, short_hash
from openclaw.plugins.loader import Plugins
from openclaw.protocol.jsonrpc import INTERNAL_ERROR
from openclaw.redact import redact
from openclaw.security.external import clean_label, clean_terminal
from openclaw.sessions.title import MOST_CHARACTERS, shortened
from openclaw.tool import Tool

_log = logging.getLogger(__name__)

# Seconds in which a cancelled turn may settle before it is answered without it.
SETTLING = 5.0


class _Turn:
    """One prompt under way. `before` is the one it has to wait for; `calls` are those that the client was told of. Nothing of it is told
    once it `is_over`."""

    def __init__(self, before: "_Turn | None") -> None:
        self.before = before
        self.cancelled = asyncio.Event()
        self.settled = asyncio.Event()
        self.updates: TurnUpdates | None = None
        self.calls: set[str] = set()
        self.is_over = False
        self._work: asyncio.Task[wire.StopReason] | None = None

    async def wait_for_the_one_before(self) -> None:
        if self.before is not None:
            await self.before.settled.wait()
            self.before = None

    def begin(self, work: Coroutine[Any, Any, wire.StopReason]) -> "asyncio.Task[wire.StopReason]":
        self._work = asyncio.get_running_loop().create_task(work)
        return self._work

    def told_by(self, updates: TurnUpdates) -> TurnUpdates:
        self.updates = updates
        return updates

    def of(self, event: Event) -> list[wire.Update]:
        """What a client is told of an event."""
        if self.is_over or self.updates is None:
            return []
        told = self.updates.of(event)
        self.calls.update(update.tool_call_id for update in told if isinstance(update, wire.ToolCall))
        return told

    def cancel(self) -> None:
        self.cancelled.set()
        if self._work is not None:
            self._work.cancel()

    def end(self) -> list[wire.Update]:
        """Nothing more is told but this."""
        last = self.updates.close() if self.updates is not None and not self.is_over else []
        self.is_over = True
        return last

    def settle(self) -> None:
        self.is_over = True
        self.settled.set()


class Session:
    """`record` is what is kept of it, and changes."""

    def __init__(
        self,
        app: App,
        plugins: Plugins,
        connection: Connection,
        client: wire.ClientCapabilities,
        records: Records,
        record: Record,
        given: SessionGiven,
    ) -> None:
        self.app = app
        self.record = record
        self._plugins = plugins
        self._connection = connection
        self._client = client
        self._records = records
        self._given = given
        self._turn: _Turn | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self._commands = SlashCommands(
            app, record.agent, record.key, self.folders, lambda: self.mode == settings.READ_ONLY
        )

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(map(Path, (self.record.cwd, *self.record.directories)))

    @property
    def spec(self) -> AgentSpec:
        return self.app.engine.agent(self.record.agent)

    def show(self, *updates: wire.Update) -> None:
        for update in updates:
            self._connection.notify(wire.UPDATE, wire.SessionNotification(self.id, update))

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for; it ends with the session."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    # Prompts

    def prompt(self, prompt: Sequence[wire.Block], caller: Mapping[str, str] = {}) -> Awaitable[wire.PromptEnd]:
        """Begin a prompt, at once in the place of the one that runs. `caller` is the trace that the client is part of. Raises RequestError
        for one that cannot be taken."""
        message = message_of(prompt, self.folders)
        turn = _Turn(self._turn)
        if turn.before is not None:
            turn.before.cancel()
        self._turn = turn
        return self._prompt(turn, message, caller)

    def cancel(self) -> None:
        """End the prompt that runs, if one does."""
        if self._turn is not None:
            self._turn.cancel()

    async def close(self) -> None:
        """End what runs, and give back what the session was given."""
        for task in tuple(self._beside):
            task.cancel()
        if (turn := self._turn) is not None:
            turn.cancel()
            await turn.settled.wait()
        await self._given.remove()

    async def _prompt(self, turn: _Turn, message: Message, caller: Mapping[str, str]) -> wire.PromptEnd:
        try:
            await turn.wait_for_the_one_before()
            if turn.cancelled.is_set():
                return wire.PromptEnd("cancelled")
            with self.app.engine.serving_acp("session/prompt", caller):
                return wire.PromptEnd(await self._outcome(turn, turn.begin(self._answer(turn, message))))
        finally:
            turn.settle()
            if self._turn is turn:
                self._turn = None

    async def _outcome(self, turn: _Turn, work: "asyncio.Task[wire.StopReason]") -> wire.StopReason:
        """How a turn ended. What ended it is decided before anything is cleaned up."""
        cancelled = asyncio.ensure_future(turn.cancelled.wait())
        try:
            await asyncio.wait({work, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if turn.cancelled.is_set():
                await asyncio.wait({work}, timeout=SETTLING)
        except asyncio.CancelledError:
            # The connection ends.
            turn.cancel()
            await asyncio.wait({work}, timeout=SETTLING)
            raise
        finally:
            cancelled.cancel()
            self.show(*turn.end())
        if turn.cancelled.is_set():
            if not work.done():
                _log.warning("a cancelled turn of session %s has not ended yet", short_hash(self.record.key))
            elif not work.cancelled() and (error := work.exception()) is not None:
                _log.info("a cancelled turn failed: %s", error)
            return "cancelled"
        return work.result()

    async def _answer(self, turn: _Turn, message: Message) -> wire.StopReason:
        if message.text.startswith("/") and (command := await self._commands.find(message.text)):
            said = await command(lambda text: self._say(turn, text), self._asker(turn))
            if said is None:
                await self._take_title()
                self._touch()
                return "end_turn"
            message = msgspec.structs.replace(
                message,
                text=said.message,
                blocks=(*message.blocks, *said.blocks),
                sources=(*message.sources, *said.sources),
            )
        return await self._reply(turn, message)

    async def _reply(self, turn: _Turn, message: Message) -> wire.StopReason:
        spec, record = self.spec, self.record
        selection = await self.app.selection(spec, record.model)
        window = spec.context_tokens or selection.context_window
        updates = turn.told_by(
            TurnUpdates(self.folders, self._client, tool=self._tool, window=window, clock=time.monotonic)
        )
        self._name(message.text)
        asker = self._asker(turn)
        await self._given.start(asker, partial(self._show_in, turn), partial(self._tell, turn))
        reply = await self.app.reply(
            message.text,
            Conversation(
                spec.id,
                record.key,
                patience=self.app.engine.startup_grace,
                sink=partial(self._happened, turn),
                caught_up=self._connection.pace.caught_up,
                asker=asker,
                surface="acp",
                allow=settings.EDITS if record.mode == settings.ACCEPT_EDITS else (),
                folders=self.folders,
                model=record.model,
                reads_only=record.mode == settings.READ_ONLY,
                editor=self._editor(turn),
            ),
            attachments=message.attachments,
            blocks=message.blocks,
            sources=message.sources,
        )
        self._touch()
        reason = updates.stop_reason(reply)
        if reason is None:
            raise RequestError(INTERNAL_ERROR, redact(clean_terminal(reply.error)) or "The model failed.")
        if reply.reason in ("deadline", "declined"):
            self._say(turn, reply.error)
        return reason

    def _happened(self, turn: _Turn, event: Event) -> None:
        if isinstance(event, RunStart):
            # The tools of this moment are those that the model gets.
            self._given.tell_missing(partial(self._tell, turn))
        if isinstance(event, ToolProgress) and self._connection.pace.is_behind:
            # The one thing that a call says as often as it likes.
            return
        self.show(*turn.of(event))

    def _tell(self, turn: _Turn, sentence: str) -> None:
        if turn.updates is not None and not turn.is_over:
            self.show(*turn.updates.notice(redact(sentence), "warning"))

    def _show_in(self, turn: _Turn, update: wire.Update) -> None:
        if not turn.is_over:
            self.show(update)

    def _say(self, turn: _Turn, text: str) -> None:
        if text and not turn.is_over:
            self.show(wire.MessageChunk(wire.Text(clean_terminal(text))))

    def _asker(self, turn: _Turn) -> ClientAsker:
        return ClientAsker(
            self._connection,
            self.id,
            self._client,
            self.folders,
            show=partial(self._show_in, turn),
            knows=turn.calls.__contains__,
        )

    def _editor(self, turn: _Turn) -> ClientEditor | None:
        if not can_work(self._client):
            return None
        return ClientEditor(self._connection, self.id, self._client, partial(self._show_in, turn))

    def _tool(self, name: str) -> Tool | None:
        agent, given = self.record.agent, self.app.engine.session_servers(self.record.key)
        own = (tool for tool in (given.tools(agent) if given is not None else ()) if tool.name == name)
        return self._plugins.tool(agent, name) or next(own, None)

    # What is kept of it

    def _name(self, text: str) -> None:
        """A session is called by what was first said in it."""
        if not self.record.title and (title := clean_label(shortened(text), MOST_CHARACTERS)):
            self.keep(title=title)
            self.show(wire.InfoUpdate(title=title))

    async def _take_title(self) -> None:
        """A command may have named the conversation."""
        try:
            title = (await self.app.store.last(self.record.key, 1)).info.title
        except OpenClawError:
            # Nothing was said in it yet, or it cannot be read: the next prompt will say so.
            return
        if self.record.title and title and title != self.record.title:
            self.keep(title=title)
            self.show(wire.InfoUpdate(title=title))

    def _touch(self) -> None:
        self.keep(updated=time.time())
        self.show(wire.InfoUpdate(updated_at=iso_time(self.record.updated)))

    def keep(self, **changes: str | float) -> None:
        self.record = msgspec.structs.replace(self.record, **changes)
        try:
            self._records.keep(self.record)
        except StoreError as error:
            _log.warning("A session is not kept: %s", error)

    # How it is set

    async def options(self) -> list[wire.ConfigOption]:
        spec = self.spec
        in_use = (await self.app.selection(spec, self.record.model)).name
        providers = self.app.config.root.models.providers
        listed = [
            f"{provider}/{model if isinstance(model, str) else model.id}"
            for provider, entry in providers.items()
            for model in entry.models
        ]
        own = (await self.app.selection(spec)).name
        return settings.options_of(self.mode, in_use, (own, *spec.fallbacks, *listed))

    @property
    def mode(self) -> str:
        return self.record.mode or settings.ASK

    async def opened(self) -> tuple[wire.Modes, list[wire.ConfigOption]]:
        return settings.modes_of(self.mode), await self.options()

    async def commands(self) -> wire.CommandsUpdate:
        return wire.CommandsUpdate(await self._commands.available())
