"""The composition root: one App holds everything, introduces the parts to each other, and answers through `reply`.

Owns which parts exist and how long they live. Parts are made when they are first needed, so that a command pays only for what it
uses; nothing starts by constructing an App. Decides nothing itself: policy is security/policy.py, a turn is agent/agent.py, servers are
mcp/manager.py.
"""

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from datetime import date
from functools import cached_property
from inspect import iscoroutinefunction
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, assert_never
from weakref import WeakKeyDictionary, WeakSet

from msgspec import Struct, structs

from openclaw.agent.agent import Agent, AgentDependencies, Settings
from openclaw.agent.attachments import Attachment, Transcribe, discard, incoming
from openclaw.agent.deferral import SearchSettings
from openclaw.agent.draft import Draft
from openclaw.agent.events import Compacted
from openclaw.agent.loop import RunOutcome
from openclaw.agent.meaning import Embed, Meaning
from openclaw.agent.tool_search import ToolSearch
from openclaw.asking.samples import Sample, SampleRequest
from openclaw.config.agents import AgentSpec
from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.servers import secret_text
from openclaw.content import Block, Framed, Text, ToolCall, UserMessage
from openclaw.conversation import UNKNOWN, Conversation
from openclaw.engine import NATIVE_NAMES, Engine
from openclaw.errors import ConfigError, OpenClawError, StoreError, UsageError
from openclaw.files import make_directory, private_key
from openclaw.log import short_hash
from openclaw.mcp.session_servers import SessionServers
from openclaw.media import MB
from openclaw.models.catalog import OFFLINE, Models, Selection
from openclaw.models.configured import misnamed, provider_specs
from openclaw.models.provider import Done, ModelRequest
from openclaw.plugins.configured import plugin_rules
from openclaw.plugins.contract import ToolPlugin
from openclaw.plugins.loader import LoaderDependencies, Plugins, open_plugins
from openclaw.plugins.mcp_client import MCP_CLIENT, MCP_MANAGE, mcp_client
from openclaw.reply import CallRecord, Collector, Reply, ReplyEnded
from openclaw.sessions.key import new_key
from openclaw.sessions.key import session_key as full_key
from openclaw.sessions.memory import MemoryStore
from openclaw.sessions.retention import Keep
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from openclaw.skills.served import Offered, ServedSkills, VerifiedFiles
from openclaw.tool import SEARCH_TOOLS, SKILL_READ, Invocation, Tool, ToolResult
from openclaw.tools.invoke import Approve, Trace
from openclaw.workplace import Workplace, skill_limits, workspace_of

if TYPE_CHECKING:
    from openclaw.telemetry.telemetry import Telemetry

_log = logging.getLogger(__name__)

__all__ = ["App", "Attachment", "CallRecord", "Reply"]


class App:
    """`async with App(config, paths=…) as app: await app.reply("hello")`.

    `workspace` is where agents work that have none configured. `through_gateway` adds the rules of `gateway.tools`. `plugins` are
    built in beside `mcp-client`, by id. `approve` is asked about every call of a tool, and `trace` makes it (`tools/invoke.py`).
    `telemetry` is the program's own; see `Engine`. With `embed`, which gives a vector for each text, tools that a model has to find are
    found by their meaning too.
    """

    def __init__(
        self,
        config: Config,
        *,
        paths: Paths,
        env: Mapping[str, str] | None = None,
        workspace: str | PathLike[str] | None = None,
        through_gateway: bool = False,
        store: Store | None = None,
        plugins: Mapping[str, ToolPlugin] | None = None,
        approve: Approve | None = None,
        trace: Trace | None = None,
        telemetry: "Telemetry | None" = None,
        embed: Embed | None = None,
    ) -> None:
        _check("config", config, Config, "App(parse_config(text), paths=…)")
        _check("paths", paths, Paths, "paths=Paths.from_env(os.environ)")
        self._phase: Literal["new", "open", "closed"] = "new"
        self.engine = Engine(
            config,
            paths=paths,
            env=env,
            through_gateway=through_gateway,
            approve=approve,
            trace=trace,
            telemetry=telemetry,
            ask_model=self._ask_model,
            workspace_of=lambda agent: self._root(self.engine.agent(agent), None),
        )
        self._workspace = None if workspace is None else Path(workspace)
        self._given_store = store
        self._built_in = {MCP_CLIENT: mcp_client(self.engine.manager), **(plugins or {})}
        self._plugins: Plugins | None = None
        self._loading = asyncio.Lock()
        self._selections: dict[str, Selection] = {}
        self._meaning = None if embed is None else Meaning(embed)
        # What is known for searching, by agent, and of a session with servers of its own.
        self._searches: dict[str, ToolSearch] = {}
        self._given_searches: WeakKeyDictionary[SessionServers, ToolSearch] = WeakKeyDictionary()
        # What was read of skills of servers.
        self._skill_files = VerifiedFiles()
        self._models_from: object = None
        # The one in use, and those that turns still use from before a reload.
        self._catalogs: WeakSet[Models] = WeakSet()
        self._read_once = _read_once(config)
        # Calls without a model are told apart by these: the first from those of other processes.
        self._mark = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        # Turns under way.
        self.turns = 0
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> "App":
        if self._phase != "new":
            raise UsageError(
                f"This App {'is open already' if self._phase == 'open' else 'was closed'}.",
                hint="Make another one: async with App(config, paths=…) as app.",
            )
        await self._exit.enter_async_context(self.engine)
        self._exit.push_async_callback(self._close_models)
        self._phase = "open"
        return self

    @property
    def config(self) -> Config:
        return self.engine.config

    @property
    def paths(self) -> Paths:
        return self.engine.paths

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._phase = "closed"
        await self._exit.aclose()

    def _check_open(self) -> None:
        """Raises UsageError outside of the block in which an App is used: nobody would end what is started there."""
        if self._phase != "open":
            raise UsageError(
                f"The App is {'not open yet' if self._phase == 'new' else 'closed'}.",
                hint="Use it inside its block: async with App(config, paths=…) as app.",
            )

    async def reload(self, config: Config, *, instead_of: Config | None = None) -> None:
        """Take over a changed config: policy at once, then servers; agents, skills and models from their next turn on.

        It is out of date, and left alone, when another one is in use by now than `instead_of`, which it was read under.
        """
        if instead_of is not None and self.config is not instead_of:
            return
        # One that is being looked for now belongs to the config before.
        self._selections = {}
        retired: Models | None = None
        # Compared with what the catalog was made from: a command may have given the engine this config already.
        if self._models_from != _models(config):
            retired = self.__dict__.pop("models", None)
        try:
            await self.engine.reload(config)
        finally:
            if retired is not None:
                # Turns that run keep the catalog they have.
                await retired.retire()
        async with self._loading:
            if self._plugins is not None:
                # By the newest config: while servers of this one were ended another may have come.
                await self._plugins.apply(await plugin_rules(self.config, self.engine.resolve))

    def outdated(self, config: Config) -> tuple[str, ...]:
        """Settings of `config` that are others than when this App was made, and that only a new one will go by."""
        now = _read_once(config)
        return tuple(name for name, value in self._read_once.items() if now[name] != value)

    # One way in

    async def reply(
        self,
        message: str,
        conversation: Conversation | None = None,
        *,
        attachments: Sequence[Attachment] = (),
        blocks: Sequence[Block] = (),
        sources: Sequence[str] = (),
        timeout: float | None = None,
        waited: float = 0.0,
        label: str = "",
    ) -> Reply:
        """Say something to an agent and wait for its whole answer; the conversation's `sink` sees it come.

        Without a conversation, or one that names no session, a new session is started with the default agent, or the one it names.
        `timeout` is seconds for all of it, waiting for the session's turn included; `waited` of them are over when this is called.
        `blocks` are content the person pointed at, already framed where it is not their own; `sources` says of each whose it is, empty for
        theirs (`conversation.ForeignSources`). `label` is noted behind the answer in the store. Raises UsageError, ConfigError, ModelError,
        StoreError or MediaError before anything was said; what goes wrong later is in the reply.
        """
        began = time.monotonic()
        asked = Conversation() if conversation is None else conversation
        self._check_open()
        _check("message", message, str, "app.reply('hello')")
        _check("conversation", asked, Conversation, "app.reply('hello', Conversation(session='mine'))")
        _check("allow", asked.allow, tuple, "Conversation(allow=('files__read_*',))")
        if iscoroutinefunction(asked.sink):
            raise UsageError("sink must be a plain function, not an async one.", hint="Write Conversation(sink=print).")
        spec = self.engine.agent(asked.agent)
        key = full_key(spec.id, asked.session or new_key(), asked.namespace)
        said = _Said(message, attachments, blocks, sources, timeout, waited, began, label)
        telemetry = self.engine.telemetry
        self.turns += 1
        try:
            if telemetry is None:
                return await self._answer(spec, key, asked, said)
            return await telemetry.turn(spec.id, key, asked.surface, message, self._answer(spec, key, asked, said))
        finally:
            self.turns -= 1

    async def _answer(self, spec: AgentSpec, key: str, asked: Conversation, said: "_Said") -> Reply:
        # Held before the model is looked for: it is the same catalog, and stays open to the end of the turn.
        async with self.models.used():
            one = await self.agent(
                spec,
                instructions=asked.instructions,
                workspace=asked.workspace,
                session=key,
                folders=asked.folders,
                model=asked.model,
            )
            manager = await self.engine.manager()
            manager.start(spec.id, first=said.message)
            sent = await incoming(said.attachments, self.engine.media, transcribe=self._transcribe())
            self.store.prune_beside(self.keep)
            collector = Collector(asked.sink, one.settings.model)
            _log.debug("agent %s answers with %s in session %s", spec.id, one.settings.model, short_hash(key))
            try:
                outcome: RunOutcome = await one.turn(
                    _said(said.message, sent, said.blocks, said.sources),
                    self.engine.asking(
                        structs.replace(asked, agent=spec.id, session=key, namespace="", sink=collector)
                    ),
                    deadline=spec.timeout if said.timeout is None else said.timeout,
                    spent=said.waited + time.monotonic() - said.began,
                    label=said.label,
                    settled=lambda: manager.readiness.tell_left_out(spec.id, key),
                )
            except BaseException:
                if (cut := collector.cut_reply(key)) is not None:
                    self.engine.events.send(ReplyEnded(spec.id, cut))
                raise
            finally:
                discard(sent)
        reply = collector.reply(outcome, key)
        self.engine.events.send(ReplyEnded(spec.id, reply))
        return reply

    async def compact(self, conversation: Conversation) -> Compacted | None:
        """Let notes, which the conversation's model writes, take the place of its older part; None when there is none. Raises UsageError
        when the model cannot write any."""
        spec = self.engine.agent(conversation.agent)
        async with self.models.used():
            one = await self.agent(spec, model=conversation.model)
            if not one.settings.summaries:
                raise UsageError(
                    f"{one.settings.model} cannot write notes on a conversation.", hint="Choose another: /model"
                )
            return await one.compact(full_key(spec.id, conversation.session, conversation.namespace))

    async def agent(
        self,
        spec: AgentSpec,
        *,
        instructions: str = "",
        workspace: Path | None = None,
        session: str = "",
        folders: Sequence[Path] = (),
        model: str = "",
    ) -> Agent:
        """The agent as it is now: its model found, its sources in place. With a session, also what that one has besides; with `model`,
        that one answers. `folders` go before the workspace that is configured."""
        selection = await self.selection(spec, model)
        plugins = await self.plugins()
        given = await self._given_servers(session)
        served = await self.served_skills(spec, session)
        workplace = self.workplace(spec, workspace, folders)
        # In a thread: there may be hundreds of files to read.
        skills = await asyncio.to_thread(workplace.skills)
        search = self.config.root.tools.search
        return Agent(
            Settings(
                id=spec.id,
                model=selection.name,
                workspace=workplace.root,
                name=spec.name,
                instructions="\n\n".join(filter(None, (spec.prompt, instructions))),
                window=spec.context_tokens or selection.context_window,
                max_tokens=selection.max_tokens,
                max_turns=spec.max_turns,
                parallel_calls=spec.max_concurrent,
                summaries=selection.name != OFFLINE,
                search=SearchSettings(search.mode, search.keep),
            ),
            AgentDependencies(
                provider_stream=selection.provider.stream,
                store=self.store,
                sources=(workplace.native(skills), served, plugins, *given),
                policy_decide=self.engine.decide,
                admitted=self.engine.admitted,
                invoke=self.engine.invoke,
                clock=time.monotonic,
                today=date.today,
                contexts=(served, plugins, *given),
                skills=skills.prompt,
                search=self._search(spec.id, given),
                frame_key=self._frame_key,
            ),
        )

    @cached_property
    def _frame_key(self) -> bytes:
        try:
            return private_key(self.paths.frame_key_file)
        except StoreError as error:
            _log.warning("Prompts are the same from turn to turn only as long as this process runs: %s", error)
            return secrets.token_bytes()

    def _search(self, agent: str, given: Sequence[SessionServers]) -> ToolSearch:
        for servers in given:
            return self._given_searches.setdefault(servers, ToolSearch(self._meaning))
        return self._searches.setdefault(agent, ToolSearch(self._meaning))

    async def _given_servers(self, session: str) -> tuple[SessionServers, ...]:
        """The servers that a session was given: none where the plugin for servers is switched off."""
        given = self.engine.session_servers(session)
        if given is None or MCP_CLIENT not in (await self.plugins()).names:
            return ()
        return (given,)

    async def served_skills(self, spec: AgentSpec, session: str = "") -> ServedSkills:
        """The skills that servers offer an agent, and those that a session was given: none where the plugin for servers is switched off."""
        sources: list[Offered] = []
        if MCP_CLIENT in (await self.plugins()).names:
            sources.append((await self.engine.manager()).skills)
        section = self.config.root.skills
        return ServedSkills(
            [*sources, *(one.skills for one in await self._given_servers(session))],
            spec.id,
            decide=self.engine.decide,
            allowed=spec.skills,
            disabled=[name for name, entry in section.entries.items() if entry.enabled is False],
            limits=skill_limits(section.limits),
            media=self.engine.media,
            kept=self._skill_files,
        )

    # The parts, each made when it is first asked for

    @cached_property
    def store(self) -> Store:
        store = self._given_store or self._configured_store()
        telemetry = self.engine.telemetry
        return store if telemetry is None else telemetry.store(store)

    def _configured_store(self) -> Store:
        # By what was configured when we began: it is read once.
        if self.engine.fleet is not None:
            return self.engine.fleet.sessions
        match self.config.root.session.store:
            case "memory":
                return MemoryStore()
            case "file" | "postgres":
                # The latter in a config that was read since: the fleet is joined when we begin.
                return self.file_store
            case other:
                assert_never(other)

    @cached_property
    def file_store(self) -> SqliteStore:
        """The conversations in the file, whether new ones are kept there or not."""
        store = SqliteStore(self.paths.sessions_file)
        self._exit.push_async_callback(store.close)
        return store

    @property
    def keep(self) -> Keep:
        """How long conversations are kept, by the config of now."""
        section = self.config.root.sessions.keep
        size = None if section.megabytes is None else round(section.megabytes * MB)
        return Keep(section.days, section.unnamed_days, size)

    @cached_property
    def models(self) -> Models:
        catalog = Models(
            provider_specs(self.config),
            environ=self.engine.env,
            resolve=self._resolve,
            look_around=self.config.root.models.mode == "merge",
            base=self.config.file.parent,
            trace=self.engine.model_trace(),
        )
        self._models_from = _models(self.config)
        self._catalogs.add(catalog)
        return catalog

    async def _close_models(self) -> None:
        for catalog in tuple(self._catalogs):
            await catalog.close()

    async def _ask_model(self, request: SampleRequest) -> Sample:
        """What a model says to a server that may ask one: the named model, or the agent's."""
        async with self.models.used():
            try:
                if request.model:
                    selection = await self.models.select(request.model)
                else:
                    selection = await self.selection(self.engine.agent(request.agent))
            except OpenClawError as error:
                return Sample(error=str(error))
            asked = ModelRequest(
                model=selection.name,
                system=request.system,
                messages=request.messages,
                tools=request.tools,
                max_tokens=request.max_tokens,
                tool_choice=request.tool_choice,
                temperature=request.temperature,
                stop=request.stop,
            )
            draft = Draft()
            done = Done("error", error="The model gave no answer.")
            async with aclosing(selection.provider.stream(asked)) as events:
                async for event in events:
                    draft.add(event)
                    if isinstance(event, Done):
                        done = event
        message = draft.message(done, selection.name)
        # A vendor that does not count is taken to have used all it might.
        tokens = done.usage.input_tokens + done.usage.output_tokens or request.max_tokens
        return Sample(message.content, done.stop_reason, message.model, tokens, done.error)

    async def _resolve(self, value: object) -> str:
        return await self.engine.resolve(str(value))

    def _transcribe(self) -> Transcribe | None:
        """What turns recordings into words, when an endpoint for that is configured."""
        section = self.config.root.media.audio.transcription
        if section is None:
            return None

        async def transcribe(recording: Attachment) -> str:
            from openclaw.agent.transcription import Transcriber

            transcriber = Transcriber(
                base_url=section.base_url,
                model=section.model,
                api_key=await self.engine.resolve(secret_text(section.api_key)),
                language=section.language or "",
                timeout=section.timeout_seconds,
                environ=self.engine.env,
            )
            words: str = await transcriber(recording)
            return words

        return transcribe

    async def selection(self, spec: AgentSpec, model: str = "") -> Selection:
        """The model that serves an agent. Looked for once: finding one may take a moment. Raises ConfigError for a name of nothing.

        With `model` it is that one alone, without the agent's fallbacks: whoever names a model wants its answer. Raises ModelError when
        the name means nothing here.
        """
        if model:
            return await self.models.select(model)
        # Those of this config: another may come while this one's model is looked for.
        selections = self._selections
        if spec.id not in selections:
            if problems := misnamed(self.config, {spec.model, *spec.fallbacks}):
                raise ConfigError(problems)
            selections[spec.id] = await self.models.select(spec.model, spec.fallbacks)
        return selections[spec.id]

    def workplace(self, spec: AgentSpec, given: Path | None = None, folders: Sequence[Path] = ()) -> Workplace:
        """Where an agent works. `given`: for this turn, in place of this App's own; `folders` in place of whatever is configured."""
        if folders:
            root, *others = folders
        else:
            root, others = self._root(spec, given), []
        if root == self.paths.workspace_dir:
            make_directory(root)
        return Workplace(spec, root, self.config, self.paths, self.engine.env, self.engine.resolve, tuple(others))

    def _root(self, spec: AgentSpec, given: Path | None) -> Path:
        return workspace_of(spec, given or self._workspace, self.paths)

    async def plugins(self) -> Plugins:
        """Every plugin that is switched on, loaded once. The MCP client is one of them, the last in the order of tools, and there at once.

        The others may still be on their way (`Plugins.loaded`).
        """
        if self._plugins is None:
            async with self._loading:
                if self._plugins is None:
                    manager = await self.engine.manager()
                    self._plugins = await open_plugins(
                        await plugin_rules(self.config, self.engine.resolve),
                        LoaderDependencies(self.paths.data_dir / "plugins"),
                        built_in=self._built_in,
                        reserved=(*NATIVE_NAMES, *SEARCH_TOOLS, SKILL_READ, MCP_MANAGE),
                        reserved_for=manager.reserved_for,
                    )
                    self._exit.push_async_callback(self._plugins.close)
        return self._plugins

    # What an agent has, and has not

    async def settled(self, agent: str = "", *, tool: str = "") -> Agent:
        """An agent once the tools of its servers are known, or cannot be: also of one that was late before, for which no turn waits again.

        With `tool`, only the servers that this name tells of are waited for longer than a turn would, and they come first.
        """
        one = await self.agent(self.engine.agent(agent))
        manager = await self.engine.manager()
        manager.start(one.settings.id, first=tool)
        manager.retry(one.settings.id)
        await manager.readiness.listed(one.settings.id, text=tool or None)
        await asyncio.gather(*(source.settle(one.settings.id, float("inf")) for source in one.dependencies.sources))
        manager.readiness.tell_left_out(one.settings.id)
        return one

    async def call(self, tool: Tool | str, arguments: dict[str, Any], conversation: Conversation) -> ToolResult:
        """Call a tool without a model, with everything that belongs to a call. A name must be one of the agent's tools.

        A conversation that names no session makes a call outside of any.
        """
        self._check_open()
        spec, workspace = self.engine.agent(conversation.agent), conversation.workspace
        key = _key_of_call(spec, conversation)
        folders = conversation.folders
        found = (
            await self.tool(tool, spec.id, workspace=workspace, session=key, folders=folders)
            if isinstance(tool, str)
            else tool
        )
        if found is None:
            return await self.unknown(str(tool), arguments, conversation)
        # A server knows nothing of it: no need to look whether it is there.
        is_known = found.kind == "mcp" and not folders
        root = self._root(spec, workspace) if is_known else self.workplace(spec, workspace, folders).root
        known = self.engine.asking(
            structs.replace(conversation, agent=spec.id, session=key, namespace="", workspace=root)
        )
        call = ToolCall(self._call_id(), found.name, arguments)
        inner = _InnerCalls(self, spec, known)
        return await self.engine.invoke(found, call, Invocation(known, call.id, inner=inner))

    async def unknown(self, name: str, arguments: dict[str, Any], conversation: Conversation) -> ToolResult:
        """The answer to a call, without a model, of a tool that the agent does not have. It leaves its line in the audit trail."""
        spec = self.engine.agent(conversation.agent)
        key = _key_of_call(spec, conversation)
        one = await self.agent(spec, session=key)
        known = structs.replace(conversation, agent=spec.id, session=key, namespace="")
        call = ToolCall(self._call_id(), name, arguments)
        offered = [tool.name for tool in one.tools()]
        return self.engine.invoke.unknown(call, Invocation(known, call.id), offered, one.absence(name))

    def _call_id(self) -> str:
        return f"command-{self._mark}-{next(self._numbers)}"

    async def tool(
        self,
        name: str,
        agent: str = "",
        *,
        workspace: Path | None = None,
        session: str = "",
        folders: Sequence[Path] = (),
    ) -> Tool | None:
        """A tool that an agent has and may use, by its name; with a session, also one of the servers it was given.

        Asks neither for a model nor, unless the tool is native, for skills.
        """
        spec = self.engine.agent(agent)
        if name in NATIVE_NAMES:
            workplace = self.workplace(spec, workspace, folders)
            native = workplace.native(await asyncio.to_thread(workplace.skills))
            found = next((tool for tool in native.tools(spec.id) if tool.name == name), None)
        elif name == SKILL_READ:
            found = next(iter((await self.served_skills(spec, session)).tools(spec.id)), None)
        else:
            plugins, given = await self.plugins(), await self._given_servers(session)

            def named() -> Tool | None:
                own = (tool for source in given for tool in source.tools(spec.id) if tool.name == name)
                return plugins.tool(spec.id, name) or next(own, None)

            found = named()
            if found is None:
                # It may be one of a plugin that is still on its way, or of such a server. Nobody else waits for that.
                grace = self.engine.startup_grace
                await asyncio.gather(plugins.settle(spec.id, 0.0), *(source.settle(spec.id, grace) for source in given))
                found = named()
        return found if found is not None and self.engine.decide(found, spec.id).allowed else None


class _Said(Struct, frozen=True):
    """The arguments of `App.reply` but for the conversation. `began` is when it was called (monotonic)."""

    message: str
    attachments: Sequence[Attachment]
    blocks: Sequence[Block]
    sources: Sequence[str]
    timeout: float | None
    waited: float
    began: float
    label: str


class _InnerCalls:
    """The calls that a call without a model makes."""

    def __init__(self, app: App, spec: AgentSpec, conversation: Conversation) -> None:
        self._app = app
        self._spec = spec
        self._conversation = conversation
        self._agent: Agent | None = None

    async def tools(self) -> Sequence[Tool]:
        asked = self._conversation
        if self._agent is None:
            self._agent = await self._app.agent(
                self._spec, workspace=asked.workspace, session=asked.session, folders=asked.folders
            )
            (await self._app.engine.manager()).start(self._spec.id)
            grace = self._app.engine.startup_grace
            sources = self._agent.dependencies.sources
            await asyncio.gather(*(source.settle(self._spec.id, grace) for source in sources))
        return self._agent.tools()

    async def call(self, call: ToolCall, code: str) -> ToolResult:
        offered = {tool.name: tool for tool in await self.tools()}
        invoke = self._app.engine.invoke
        invocation = Invocation(structs.replace(self._conversation, code=code), call.id)
        if (tool := offered.get(call.name)) is not None:
            return await invoke(tool, call, invocation)
        assert self._agent is not None  # made by `tools`
        return invoke.unknown(call, invocation, offered, self._agent.absence(call.name))


def _check(name: str, given: object, kind: type, write: str) -> None:
    """Raises UsageError for what a program gives as something that it is not."""
    if not isinstance(given, kind):
        raise UsageError(f"{name} must be of type {kind.__name__}, not {type(given).__name__}.", hint=f"Write {write}.")


def _said(message: str, sent: Sequence[Block], blocks: Sequence[Block], sources: Sequence[str]) -> UserMessage:
    """What the person wrote, attached and pointed at. What is framed is somebody else's, also when nobody says whose."""
    whose = [*sources, *("" for _ in blocks)][: len(blocks)]
    for number, block in enumerate(blocks):
        if isinstance(block, Text) and isinstance(block.text, Framed):
            whose[number] = whose[number] or UNKNOWN
    own = ("",) * (1 + len(sent))
    return UserMessage((Text(message), *sent, *blocks), sources=(*own, *whose) if any(whose) else ())


def _key_of_call(spec: AgentSpec, conversation: Conversation) -> str:
    """The whole key of the session that a call is of; empty when it is of none: calls of nobody must not share one."""
    return full_key(spec.id, conversation.session, conversation.namespace) if conversation.session else ""


def _read_once(config: Config) -> dict[str, object]:
    """What cannot change under conversations and sign-ins that are under way."""
    root = config.root
    return {
        "session.store": root.session.store,
        "session.postgres": root.session.postgres,
        "tokenStore": root.token_store,
        "telemetry": root.telemetry,
        "mcp.apps": root.mcp.apps,
    }


def _models(config: Config) -> object:
    """What the catalog of models is made from."""
    return config.root.models, config.file.parent
