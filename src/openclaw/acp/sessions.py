"""The sessions of one client: what each method of the protocol does with them.

Owns which sessions are open, by the ids that the client knows, and what a new one is: a conversation of its own in the client's folder, or
the one that was named. A session outlives this process: one that is not open is found by its record.
"""

import asyncio
import base64
import logging
import os
import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from openclaw.acp import settings, wire
from openclaw.acp.client_servers import given_servers
from openclaw.acp.connection import Connection, Replied, RequestError
from openclaw.acp.given import SessionGiven
from openclaw.acp.model import missing_model
from openclaw.acp.records import Record, Records
from openclaw.acp.replay import replayed
from openclaw.acp.session import Session
from openclaw.app import App
from openclaw.config.paths import Paths
from openclaw.config.servers import server_specs
from openclaw.errors import ConfigError, ModelError, OpenClawError
from openclaw.log import iso_time, short_hash
from openclaw.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RequestId
from openclaw.security.external import clean_terminal
from openclaw.sessions.key import agent_of, session_key
from openclaw.sessions.store import Store, UnknownSessionError
from openclaw.trace_context import carried

_log = logging.getLogger(__name__)

MOST_SESSIONS = 16
PAGE = 50
_LONGEST_CLIENT = 40
# Seconds for a session that is deleted or reset to end its turn in another process.
_PATIENCE = 10.0


class Options(msgspec.Struct, frozen=True):
    """What the command line says. `session` is the key of the conversation that new sessions continue, if one is named."""

    agent: str = ""
    session: str = ""
    reset_session: bool = False
    require_existing: bool = False
    allow_client_servers: bool = False


class Sessions:
    """`app` gives the App with the config as it is now."""

    def __init__(
        self,
        app: Callable[[], Awaitable[App]],
        paths: Paths,
        connection: Connection,
        client: wire.Initialize,
        options: Options,
    ) -> None:
        self._app = app
        self._connection = connection
        self._capabilities = client.client_capabilities or wire.ClientCapabilities()
        self._client = _client_name(client)
        self._options = options
        self._records = Records(paths.data_dir / "acp" / "sessions")
        self._open: dict[str, Session] = {}
        self._opening = asyncio.Lock()
        # Sessions that are loaded or resumed now, until the client was answered: prompts wait for it.
        self._reopening: dict[str, asyncio.Event] = {}
        self._was_pruned = False
        # Which session a prompt is of, by the id of its request.
        self._prompts: dict[RequestId, Session] = {}

    # Prompts

    def prompt(self, id: RequestId, prompt: wire.Prompt) -> Awaitable[wire.PromptEnd]:
        session = self._open.get(prompt.session_id)
        if session is None or prompt.session_id in self._reopening:
            return self._prompt_later(id, prompt)
        return self._prompted(id, session, session.prompt(prompt.prompt, carried(prompt.meta)))

    async def _prompt_later(self, id: RequestId, prompt: wire.Prompt) -> wire.PromptEnd:
        """Of a session that is being opened; or of one that another process had open: it goes on here, without the servers it was given
        there."""
        if (reopened := self._reopening.get(prompt.session_id)) is not None:
            await reopened.wait()
        session = self._open.get(prompt.session_id)
        if session is None:
            session = await self._opened(await self._record(prompt.session_id))
        return await self._prompted(id, session, session.prompt(prompt.prompt, carried(prompt.meta)))

    async def _prompted(self, id: RequestId, session: Session, work: Awaitable[wire.PromptEnd]) -> wire.PromptEnd:
        self._prompts[id] = session
        try:
            return await work
        finally:
            self._prompts.pop(id, None)

    def cancel(self, session_id: str) -> None:
        if (session := self._open.get(session_id)) is not None:
            session.cancel()

    def cancel_prompt(self, id: RequestId) -> bool:
        session = self._prompts.get(id)
        if session is not None:
            session.cancel()
        return session is not None

    # Sessions

    async def authenticate(self, params: wire.Authenticate) -> dict[str, Any]:
        await self._ready()
        return {}

    async def new(self, params: wire.NewSession) -> Replied:
        app = await self._ready()
        cwd, directories = _folders(params.cwd, params.additional_directories)
        agent = app.engine.agent(self._options.agent or agent_of(self._options.session)).id
        id = f"acp:{self._client}:{uuid.uuid4()}"
        key = await self._key(app, agent, id, params.meta or {})
        record = Record(id, key, agent, cwd, directories, self._client)
        session = await self._opened(record, params.mcp_servers)
        session.keep()
        if not self._was_pruned:
            self._was_pruned = True
            session.beside(self._prune(app))
        modes, options = await session.opened()
        return Replied(wire.OpenedSession(id, modes, options), lambda: self._tell_commands(session))

    async def load(self, params: wire.OpenSession) -> Replied:
        return await self._reopened(params, self._replay)

    async def resume(self, params: wire.OpenSession) -> Replied:
        return await self._reopened(params)

    async def list(self, params: wire.ListSessions) -> wire.SessionList:
        start = _place(params.cursor)
        app = await self._app()
        records = [one for one in await asyncio.to_thread(self._records.all) if params.cwd in (None, one.cwd)]
        page: list[Record] = []
        for place, one in enumerate(records):
            # A cursor says how many records are behind it; each is looked up by itself, as there may be very many conversations.
            if place < start or not await _is_kept(app.store, one.key):
                continue
            if len(page) == PAGE:
                return wire.SessionList([_info(each) for each in page], _cursor(place))
            page.append(one)
        return wire.SessionList([_info(each) for each in page], None)

    async def close(self, params: wire.NamedSession) -> dict[str, Any]:
        await self._close(params.session_id)
        return {}

    async def delete(self, params: wire.NamedSession) -> dict[str, Any]:
        await self._close(params.session_id)
        app = await self._app()
        record = await asyncio.to_thread(self._records.find, params.session_id)
        if record is not None:
            await app.store.delete(record.key, patience=_PATIENCE)
            await asyncio.to_thread(self._records.forget, record.id)
        return {}

    async def set_mode(self, params: wire.SetMode) -> Replied:
        session = self._session(params.session_id)
        await self._set(session, settings.MODE, params.mode_id)
        options = await session.options()
        return Replied({}, lambda: session.show(wire.OptionsUpdate(options)))

    async def set_option(self, params: wire.SetOption) -> Replied:
        session = self._session(params.session_id)
        before = session.mode
        await self._set(session, params.config_id, params.value)
        options = await session.options()

        def tell() -> None:
            if session.mode != before:
                session.show(wire.ModeUpdate(session.mode))

        return Replied(wire.OptionsSet(options), tell)

    async def close_all(self) -> None:
        """The client has left."""
        await asyncio.gather(*(self._close(id) for id in tuple(self._open)), return_exceptions=True)

    # How

    async def _prune(self, app: App) -> None:
        """Once in the life of a client, while nobody waits."""
        try:
            kept = {info.key for info in await app.store.list()}
        except OpenClawError as error:
            _log.info("old sessions are not forgotten: %s", error)
            return
        if gone := await asyncio.to_thread(self._records.prune, kept):
            _log.info("%d sessions of which nothing is left are forgotten", gone)

    async def _ready(self) -> App:
        """The App, once a model is there to answer. Raises RequestError."""
        app = await self._app()
        if missing := await missing_model(app, self._options.agent, self._options.session):
            raise RequestError(wire.AUTH_REQUIRED, missing)
        return app

    async def _key(self, app: App, agent: str, id: str, meta: dict[str, Any]) -> str:
        """The conversation of a new session: one of its own, or the one that the command line or the client names."""
        named = meta.get("sessionKey") or self._options.session
        if not isinstance(named, str) or not named:
            return session_key(agent, id)
        key = session_key(agent, named)
        try:
            is_kept = (await app.store.last(key, 1)).info.agent == agent
        except UnknownSessionError:
            is_kept = False
        if self._options.require_existing and not is_kept:
            raise RequestError(wire.NOT_FOUND, f"There is no conversation {clean_terminal(named)!r}.")
        if is_kept and (self._options.reset_session or meta.get("resetSession") is True):
            async with app.store.turn(key, agent, patience=_PATIENCE) as turn:
                turn.reset()
        return key

    async def _reopened(
        self, params: wire.OpenSession, first: Callable[[Session], Awaitable[None]] | None = None
    ) -> Replied:
        """A session that is opened again. `first` is done before the client is answered."""
        answered = self._reopening[params.session_id] = asyncio.Event()

        def end() -> None:
            answered.set()
            if self._reopening.get(params.session_id) is answered:
                del self._reopening[params.session_id]

        try:
            session = await self._found(params)
            if first is not None:
                await first(session)
            modes, options = await session.opened()
        except BaseException:
            end()
            raise

        def then() -> None:
            end()
            self._tell_commands(session)

        return Replied(wire.OpenedSession(modes=modes, config_options=options), then)

    async def _replay(self, session: Session) -> None:
        try:
            transcript = await session.app.store.show(session.record.key)
        except UnknownSessionError:
            # Nothing was said in it yet.
            return
        for update in replayed(transcript, session.folders[0]):
            await self._connection.pace.caught_up()
            session.show(update)

    async def _found(self, params: wire.OpenSession) -> Session:
        """The session in the folders that the client names now."""
        await self._ready()
        cwd, directories = _folders(params.cwd, params.additional_directories)
        record = await self._record(params.session_id)
        await self._close(record.id)
        record = msgspec.structs.replace(record, cwd=cwd, directories=directories)
        session = await self._opened(record, params.mcp_servers)
        session.keep()
        return session

    async def _record(self, id: str) -> Record:
        record = await asyncio.to_thread(self._records.find, id)
        if record is None:
            raise RequestError(wire.NOT_FOUND, f"There is no session {clean_terminal(id)[:100]!r}.")
        return record

    async def _opened(self, record: Record, servers: Sequence[wire.McpServer] | None = None) -> Session:
        app = await self._app()
        agent = app.engine.agent(record.agent).id
        configured = server_specs(app.config, agent) if servers else ()
        found = given_servers(servers or (), record.cwd, configured)
        if found:
            _log.info("session %s: configuring %d MCP servers", short_hash(record.key), len(found))
        allows_all = self._options.allow_client_servers
        given = SessionGiven(app, record.agent, record.key, found, allows_all=allows_all)
        async with self._opening:
            if record.id in self._open:
                return self._open[record.id]
            if len(self._open) >= MOST_SESSIONS:
                raise RequestError(INTERNAL_ERROR, f"{MOST_SESSIONS} sessions are open. Close one of them first.")
            plugins = await app.plugins()
            # They come up while the person types.
            (await app.engine.manager()).start(agent)
            session = Session(app, plugins, self._connection, self._capabilities, self._records, record, given)
            self._open[record.id] = session
            return session

    async def _close(self, id: str) -> None:
        session = self._open.pop(id, None)
        if session is not None:
            await session.close()

    def _session(self, id: str) -> Session:
        session = self._open.get(id)
        if session is None:
            raise RequestError(wire.NOT_FOUND, f"Session {clean_terminal(id)[:100]!r} is not open: load or resume it.")
        return session

    async def _set(self, session: Session, option: str, value: str | bool) -> None:
        if option == settings.MODE and value in settings.MODES:
            session.keep(mode=value)
        elif option == settings.MODEL and isinstance(value, str) and value:
            try:
                await session.app.selection(session.spec, value)
            except (ModelError, ConfigError) as error:
                raise RequestError(INVALID_PARAMS, clean_terminal(str(error))) from None
            session.keep(model=value)
        else:
            raise RequestError(
                INVALID_PARAMS, f"There is no {clean_terminal(option)[:100]} {clean_terminal(str(value))[:100]!r}."
            )

    def _tell_commands(self, session: Session) -> None:
        async def tell() -> None:
            session.show(await session.commands())

        session.beside(tell())


def _folders(cwd: str, directories: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """Raises RequestError for what is no folder."""
    for path in (cwd, *(directories or ())):
        if "\0" in path or not os.path.isabs(path) or not os.path.isdir(path):
            raise RequestError(INVALID_PARAMS, f"{clean_terminal(path)} is not the absolute path of a folder.")
    return os.path.normpath(cwd), tuple(map(os.path.normpath, directories or ()))


def _client_name(client: wire.Initialize) -> str:
    name = client.client_info.name if client.client_info else ""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:_LONGEST_CLIENT].strip("-") or "client"


def _info(record: Record) -> wire.SessionInfo:
    directories: Any = list(record.directories) if record.directories else msgspec.UNSET
    updated = iso_time(record.updated) if record.updated else None
    return wire.SessionInfo(record.id, record.cwd, directories, record.title or None, updated)


async def _is_kept(store: Store, key: str) -> bool:
    try:
        await store.last(key, 1)
    except UnknownSessionError:
        return False
    return True


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(str(place).encode()).decode()


def _place(cursor: str | None) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor)) if cursor else 0
    except ValueError:
        raise RequestError(INVALID_PARAMS, "There is no page behind this cursor.") from None
