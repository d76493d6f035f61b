"""The composition root: one App holds everything, introduces the parts to each other, and answers through `reply`.

Owns which parts exist and how long they live. Parts are made when they are first needed, so that a command pays only for what it
uses; nothing starts by constructing an App. Decides nothing itself: policy is security/policy.py, a turn is agent/agent.py, servers are
mcp/manager.py.
"""

import asyncio
import logging
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from openclaw.agent.agent import Agent, Parts, Settings
from openclaw.agent.attachments import Attachment, Transcribe, discard, incoming
from openclaw.agent.events import Event, MessageEnd, RunReason, Sink, ToolEnd
from openclaw.agent.loop import RunOutcome
from openclaw.config.agents import AgentSpec
from openclaw.config.agents import agent as agent_spec
from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.servers import secret_text
from openclaw.content import Audio, Block, File, Image, Text, ToolCall, Usage, UserMessage
from openclaw.engine import NATIVE_NAMES, Engine
from openclaw.errors import ConfigError
from openclaw.log import short_hash
from openclaw.models.catalog import OFFLINE, Models, Selection
from openclaw.models.configured import misnamed, provider_specs
from openclaw.plugins.configured import plugin_rules
from openclaw.plugins.contract import PluginContext, PluginHandle, ToolPlugin
from openclaw.plugins.loader import Host, Plugins, load_plugins
from openclaw.sessions.key import session_key as full_key
from openclaw.sessions.memory import MemoryStore
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from openclaw.skills.catalog import SkillRules, Skills, load_skills
from openclaw.skills.discover import Limits, skill_roots
from openclaw.tool import Invocation, Tool, ToolResult
from openclaw.tools.confine import Fence
from openclaw.tools.invoke import CheckerCache, invoke, unknown
from openclaw.tools.native import NativeTools, native_tools

_log = logging.getLogger(__name__)

__all__ = ["App", "Attachment", "CallRecord", "Reply"]

# The id of the bundled plugin, as `plugins.entries` names it.
MCP_CLIENT = "mcp-client"
# Bytes of randomness in the key of a conversation nobody named: keys never meet and cannot be guessed.
_KEY_BYTES = 16


class CallRecord(msgspec.Struct, frozen=True):
    """One tool call of a run, as a surface reports it."""

    name: str
    arguments: Mapping[str, Any]
    is_error: bool


class Reply(msgspec.Struct, frozen=True):
    """What came of one message. `text` is the model's final answer; `error` is a sentence whenever `reason` is not `done`."""

    text: str
    session_key: str
    model: str
    reason: RunReason = "done"
    error: str = ""
    media: tuple[Image | Audio | File, ...] = ()
    usage: Usage = Usage()
    tool_calls: tuple[CallRecord, ...] = ()


class Explanation(msgspec.Struct, frozen=True):
    """Why an agent has a tool, or has it not. `looked` says where it was searched for."""

    name: str
    available: bool
    reason: str
    where: str = ""
    looked: tuple[str, ...] = ()


class _Collector(msgspec.Struct):
    """Sees every event of a run on its way to the surface, and keeps what the reply needs."""

    forward: Sink | None
    calls: list[CallRecord] = msgspec.field(default_factory=list)
    media: list[Image | Audio | File] = msgspec.field(default_factory=list)
    model: str = ""

    def __call__(self, event: Event) -> None:
        match event:
            case ToolEnd(call=call, result=result):
                self.calls.append(CallRecord(call.name, call.arguments, result.is_error))
                self.media += [block for block in result.content if not isinstance(block, Text)]
            case MessageEnd(message=message):
                self.model = message.model or self.model
            case _:
                pass
        if self.forward is not None:
            self.forward(event)


class App:
    """`async with App(config, paths=…) as app: await app.reply("hello")`.

    `workspace` is where agents work that have none configured. `through_gateway` adds the rules of `gateway.tools`. `plugins` are
    built in beside `mcp-client`, by id.
    """

    def __init__(
        self,
        config: Config,
        *,
        paths: Paths,
        env: Mapping[str, str] | None = None,
        workspace: Path | None = None,
        through_gateway: bool = False,
        store: Store | None = None,
        plugins: Mapping[str, ToolPlugin] | None = None,
    ) -> None:
        self.engine = Engine(config, paths=paths, env=env, through_gateway=through_gateway)
        # Called with the agent and the reply of every run; must neither block nor raise.
        self.listeners: list[Callable[[str, Reply], None]] = []
        self._workspace = workspace
        self._given_store = store
        self._built_in = {MCP_CLIENT: _mcp_client(self.engine), **(plugins or {})}
        self._plugins: Plugins | None = None
        self._loading = asyncio.Lock()
        self._checkers = CheckerCache()
        self._selections: dict[str, Selection] = {}
        self._read_once = _read_once(config)
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> "App":
        await self._exit.enter_async_context(self.engine)
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
        await self._exit.aclose()

    async def reload(self, config: Config) -> None:
        """Take over a changed config: policy at once, then servers; agents, skills and models from their next turn on."""
        self._selections.clear()
        if _models(self.config) != _models(config):
            # Turns that run keep the catalog they have; it is closed with the App.
            self.__dict__.pop("models", None)
        await self.engine.reload(config)
        if self._plugins is not None:
            await self._plugins.apply(await plugin_rules(config, self.engine.resolve))

    def outdated(self, config: Config) -> tuple[str, ...]:
        """Settings of `config` that are others than when this App was made, and that only a new one will go by."""
        now = _read_once(config)
        return tuple(name for name, value in self._read_once.items() if now[name] != value)

    # One way in

    async def reply(
        self,
        message: str,
        *,
        agent: str = "",
        session_key: str = "",
        namespace: str = "",
        attachments: Sequence[Attachment] = (),
        blocks: Sequence[Block] = (),
        on_event: Sink | None = None,
        timeout: float | None = None,
        patience: float | None = None,
        instructions: str = "",
        workspace: Path | None = None,
    ) -> Reply:
        """Say something to an agent and wait for its whole answer; `on_event` sees it come.

        Without a `session_key` a new conversation is started. `patience` is how long to wait for servers whose tools are not known yet;
        None waits while they come up, and not for one that hangs. Raises UsageError, ConfigError, ModelError, StoreError or MediaError
        before anything was said; what goes wrong later is in the reply. `instructions` are added to the agent's own; `workspace` is
        where it works if it has none configured. `blocks` are content the person pointed at, already framed where it is not their own.
        """
        spec = agent_spec(self.config, agent)
        key = full_key(spec.id, session_key or _new_key(), namespace)
        one = await self.agent(spec, instructions=instructions, workspace=workspace)
        (await self.engine.manager()).start(spec.id)
        sent = await incoming(attachments, self.engine.media, transcribe=self._transcribe())
        collector = _Collector(on_event)
        _log.debug("agent %s answers with %s in session %s", spec.id, one.settings.model, short_hash(key))
        try:
            outcome: RunOutcome = await one.turn(
                UserMessage((Text(message), *sent, *blocks)),
                session_key=key,
                sink=collector,
                deadline=spec.timeout if timeout is None else timeout,
                patience=float("inf") if patience is None else patience,
            )
        finally:
            discard(sent)
        reply = Reply(
            text=outcome.text,
            session_key=key,
            model=collector.model or one.settings.model,
            reason=outcome.reason,
            error=outcome.error,
            media=tuple(collector.media),
            usage=outcome.usage,
            tool_calls=tuple(collector.calls),
        )
        for listener in self.listeners:
            listener(spec.id, reply)
        return reply

    async def agent(self, spec: AgentSpec, *, instructions: str = "", workspace: Path | None = None) -> Agent:
        """The agent as it is now: its model found, its sources in place."""
        selection = await self.selection(spec)
        plugins = await self.plugins()
        return Agent(
            Settings(
                id=spec.id,
                model=selection.name,
                workspace=self.workspace(spec, workspace),
                name=spec.name,
                instructions="\n\n".join(filter(None, (spec.prompt, instructions))),
                window=spec.context_tokens or selection.context_window,
                max_tokens=selection.max_tokens,
                max_turns=spec.max_turns,
                parallel_calls=spec.max_concurrent,
                summaries=selection.name != OFFLINE,
            ),
            Parts(
                provider_stream=selection.provider.stream,
                store=self.store,
                sources=(self.native(spec, workspace), plugins),
                policy_decide=self.engine.decide,
                audit=self.engine.audit,
                checker_cache=self._checkers,
                clock=time.monotonic,
                today=date.today,
                contexts=(plugins,),
                skills=lambda: self.skills(spec, workspace).prompt,
                running=(await self.engine.manager()).running,
            ),
        )

    # The parts, each made when it is first asked for

    @cached_property
    def store(self) -> Store:
        if self._given_store is not None:
            return self._given_store
        if self.config.root.session.store == "memory":
            return MemoryStore()
        store = SqliteStore(self.paths.sessions_file)
        self._exit.push_async_callback(store.close)
        return store

    @cached_property
    def models(self) -> Models:
        catalog = Models(
            provider_specs(self.config),
            environ=self.engine.env,
            resolve=self._resolve,
            look_around=self.config.root.models.mode == "merge",
            base=self.config.file.parent,
        )
        self._exit.push_async_callback(catalog.close)
        return catalog

    async def _resolve(self, value: object) -> str:
        return await self.engine.resolve(str(value))

    def _transcribe(self) -> Transcribe | None:
        """What turns recordings into words, when an endpoint for that is configured."""
        section = self.config.root.media.audio.transcription
        if section is None:
            return None

        async def transcribe(recording: Attachment) -> str:
            transcriber = import_module("openclaw.agent.transcription").Transcriber(
                base_url=section.base_url,
                model=section.model,
                api_key=await self.engine.resolve(secret_text(section.api_key)),
                language=section.language or "",
                timeout=section.timeout_seconds,
            )
            words: str = await transcriber(recording)
            return words

        return transcribe

    async def selection(self, spec: AgentSpec) -> Selection:
        """The model that serves an agent. Looked for once: finding one may take a moment. Raises ConfigError for a name of nothing."""
        if spec.id not in self._selections:
            if problems := misnamed(self.config, {spec.model, *spec.fallbacks}):
                raise ConfigError(problems)
            self._selections[spec.id] = await self.models.select(spec.model, spec.fallbacks)
        return self._selections[spec.id]

    def workspace(self, spec: AgentSpec, given: Path | None = None) -> Path:
        """Where an agent works: as configured, else as given for this turn or this App, else a directory of ours."""
        if spec.workspace:
            return Path(spec.workspace)
        if chosen := given or self._workspace:
            return chosen
        self.paths.workspace_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.paths.workspace_dir

    def skills(self, spec: AgentSpec, workspace: Path | None = None) -> Skills:
        section = self.config.root.skills
        roots = skill_roots(
            workspace=self.workspace(spec, workspace),
            home=self.paths.home,
            state_dir=self.paths.state_dir,
            agent=spec.id,
            extra_dirs=[self.config.resolve(name) for name in section.load.extra_dirs],
        )
        rules = SkillRules(
            allow_bundled=section.allow_bundled,
            disabled=[name for name, entry in section.entries.items() if entry.enabled is False],
            allowed=spec.skills,
            limits=Limits(
                candidates_per_root=section.limits.max_candidates_per_root,
                skills_per_source=section.limits.max_skills_loaded_per_source,
                file_bytes=section.limits.max_skill_file_bytes,
                prompt_skills=section.limits.max_skills_in_prompt,
                prompt_chars=section.limits.max_skills_prompt_chars,
            ),
        )
        return load_skills(
            roots, rules, config=self.config.raw, env=self.engine.env, platform=sys.platform, reserved=SLASH_WORDS
        )

    def native(self, spec: AgentSpec, workspace: Path | None = None) -> NativeTools:
        fence = Fence(
            readable=self.skills(spec, workspace).directories,
            kept=(self.paths.media_dir,),
            refused=(*self.config.files, self.paths.state_dir),
        )
        return native_tools(fence)

    async def plugins(self) -> Plugins:
        """Every plugin that is switched on, loaded once. The MCP engine is one of them, and the last in the order of tools."""
        async with self._loading:
            if self._plugins is None:
                self._plugins = await load_plugins(
                    await plugin_rules(self.config, self.engine.resolve),
                    Host(self.paths.data_dir / "plugins"),
                    built_in=self._built_in,
                    reserved=NATIVE_NAMES,
                )
                self._exit.push_async_callback(self._plugins.close)
        return self._plugins

    # What an agent has, and has not

    async def settled(self, agent: str = "") -> Agent:
        """An agent once the tools of its servers are known, or cannot be."""
        one = await self.agent(agent_spec(self.config, agent))
        (await self.engine.manager()).start(one.settings.id)
        await asyncio.gather(*(source.settle(one.settings.id, float("inf")) for source in one.parts.sources))
        return one

    async def call(self, agent: str, session_key: str, tool: Tool | str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool without a model, with everything that belongs to a call. A name must be one of the agent's tools."""
        spec = self.engine.agent(agent)
        call = ToolCall(f"command-{secrets.token_hex(4)}", tool if isinstance(tool, str) else tool.name, arguments)
        found = await self.tool(tool, spec.id) if isinstance(tool, str) else tool
        if found is None:
            one = await self.agent(spec)
            return unknown(call, [known.name for known in one.tools()], one.absences())
        return await invoke(
            found,
            call,
            Invocation(spec.id, full_key(spec.id, session_key), self.workspace(spec), call.id),
            policy_decide=self.engine.decide,
            checker_cache=self._checkers,
            audit=self.engine.audit,
            clock=time.monotonic,
            running=(await self.engine.manager()).running,
        )

    async def tool(self, name: str, agent: str = "") -> Tool | None:
        """A tool that an agent has and may use, by its name. Asks neither for a model nor, unless the tool is native, for skills."""
        spec = self.engine.agent(agent)
        if name in NATIVE_NAMES:
            found = next((tool for tool in self.native(spec).tools(spec.id) if tool.name == name), None)
        else:
            found = (await self.plugins()).tool(spec.id, name)
        return found if found is not None and self.engine.decide(found, spec.id).allowed else None

    async def explain(self, name: str, agent: str = "") -> Explanation:
        """Why an agent has a tool, or has it not. Never without saying where it was looked for."""
        spec = agent_spec(self.config, agent)
        one = await self.settled(agent)
        policy = self.engine.policy(spec)
        offered = {tool.name.casefold(): tool for source in one.parts.sources for tool in source.tools(spec.id)}
        tool = offered.get(name.casefold())
        if tool is not None:
            decision = policy.decide(tool)
            return Explanation(tool.name, decision.allowed, decision.rule, decision.where)
        for absence in one.absences():
            if fnmatchcase(name.casefold(), absence.name.casefold()):
                return Explanation(name, False, absence.reason, absence.where)
        close = get_close_matches(name.casefold(), offered, n=1)
        hint = f"Did you mean {offered[close[0]].name}?" if close else ""
        looked = (
            f"{sum(tool.kind == 'native' for tool in offered.values())} native tools",
            *(f"MCP server {status.name}: {status.shown}" for status in (await self.engine.manager()).status(spec.id)),
            *(f"plugin {status.id}: {status.state}" for status in (await self.plugins()).statuses()),
        )
        return Explanation(name, False, f"nothing offers a tool of this name. {hint}".strip(), looked=looked)


def _mcp_client(engine: Engine) -> ToolPlugin:
    """The bundled plugin `mcp-client`: the servers of the config as tools."""

    async def initialize(context: PluginContext) -> PluginHandle:
        manager = await engine.manager()

        async def follow(config: Mapping[str, Any]) -> None:
            """Its servers are part of the whole config, which `Engine.reload` has taken over by now."""

        return PluginHandle(source=manager, contexts=(manager,), on_config_change=follow)

    return ToolPlugin(
        label="MCP Client",
        description="Tools, resources and prompts of MCP servers",
        initialize=initialize,
    )


# What is built into every conversation, and what /help says of it. No skill can take these words; commands/slash.py does what they say.
SLASH_WORDS: Mapping[str, str] = {
    "help": "Show this list.",
    "new": "Start a new conversation.",
    "reset": "The same as /new.",
    "tools": "List the tools the agent has.",
    "status": "Show agent, model and conversation.",
    "skill": "Use a skill by its name: /skill NAME [words].",
    "quit": "Leave.",
    "exit": "The same as /quit.",
}


def _new_key() -> str:
    return f"{int(time.time())}-{secrets.token_hex(_KEY_BYTES)}"


def _read_once(config: Config) -> dict[str, object]:
    """What cannot change under conversations and sign-ins that are under way."""
    return {"session.store": config.root.session.store, "tokenStore": config.root.token_store}


def _models(config: Config) -> object:
    """What the catalog of models is made from."""
    return config.root.models, config.file.parent
