"""Config, credentials and servers, without models or agents: all that `openclaw mcp …` needs, and one half of an App.

Owns the MCP manager and what it is given (secrets, sign-in, media), who may use which tool, and how every tool is called (`invoke`). Parts
are made when they are first asked for; no server starts by asking. app.py adds agents.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from openclaw.config.agents import AgentSpec, agent_ids
from openclaw.config.agents import agent as agent_spec
from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.sections import TelemetrySection
from openclaw.config.servers import (
    ServerSpec,
    engine_enabled,
    map_secrets,
    secret_text,
    server_specs,
    servers_options,
)
from openclaw.conversation import QUESTION_KINDS, Conversation, Nobody
from openclaw.errors import OpenClawError, UsageError
from openclaw.event_hub import EventHub
from openclaw.libraries import missing
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.handlers import Handlers, modes_of_call
from openclaw.mcp.manager import Manager
from openclaw.mcp.reconcile import shared_spec
from openclaw.mcp.session_servers import SessionServers
from openclaw.media import MediaStore
from openclaw.protocol.authorizer import Authorizer
from openclaw.redact import SECRET_SCHEME, remember_guess
from openclaw.security.approval import Rules
from openclaw.security.approval_rules import rules_of
from openclaw.security.audit import AuditLog, AuditTrail
from openclaw.security.audit_file import AuditFile
from openclaw.security.grants import Grants, GrantStore
from openclaw.security.own_places import OwnPlaces
from openclaw.security.policy import Decision, Named, Policy, PolicyLayer, layer_of
from openclaw.telemetry.switch import is_wanted
from openclaw.tool import SEARCH_TOOLS, SKILL_READ, Invocation, Tool
from openclaw.tools.invoke import Approve, Call, CallEnd, Fence, Invoke, Step, Trace
from openclaw.tools.running import RunningCalls

if TYPE_CHECKING:
    from openclaw.asking.approver import Approver
    from openclaw.asking.elicitation import Elicitation
    from openclaw.asking.questions import Questions
    from openclaw.asking.sampling import AskModel, Sampling
    from openclaw.auth.credentials import Credentials
    from openclaw.fleet.fleet import Fleet
    from openclaw.fleet.placement import Placement
    from openclaw.models.catalog import TraceModel
    from openclaw.secrets.resolve import Resolver
    from openclaw.secrets.store.encrypted import EncryptedStore
    from openclaw.telemetry.telemetry import Telemetry
    from openclaw.telemetry.turns import Served

_log = logging.getLogger(__name__)

# Names that no server's tool may take: those that tools/native.py offers (tests/engine/test_engine.py holds that), written down because to
# load it costs more than a command without native tools should pay.
NATIVE_NAMES = ("read", "write", "edit", "ls", "grep", "exec", "web_fetch", "run_code")


class Engine:
    """`through_gateway` adds the rules of `gateway.tools` to every agent's policy. `approve` and `trace` are steps of every call
    (`tools/invoke.py`): without `approve` calls are approved by the config and the person (`asking/approver.py`), and without `trace` they
    are not traced. `telemetry` is the program's own: without one it is what the config and the variables of OpenTelemetry say, or what the
    program has set for all its parts. `ask_model` and `workspace_of`, which is asked for an agent, are for servers that may have either:
    without them none may."""

    def __init__(
        self,
        config: Config,
        *,
        paths: Paths,
        env: Mapping[str, str] | None = None,
        through_gateway: bool = False,
        approve: Approve | None = None,
        trace: Trace | None = None,
        telemetry: "Telemetry | None" = None,
        ask_model: "AskModel | None" = None,
        workspace_of: Callable[[str], Path] | None = None,
    ) -> None:
        self.config = config
        self.paths = paths
        self.env = dict(os.environ) if env is None else env
        # Everything that happens, for whoever subscribes.
        self.events = EventHub()
        self._through_gateway = through_gateway
        self._approve = approve
        self._trace = trace
        # None when nobody traces, which is all that whoever is traced ever asks.
        self.telemetry = telemetry
        # The other gateways, and what is kept for all of them; None when this one is alone, which is all that anybody else asks.
        self.fleet: Fleet | None = None
        # Where servers of `placement: "one"` run; None when there are no other gateways.
        self.placement: Placement | None = None
        self._ask_model = ask_model
        self._workspace_of = workspace_of
        # Calls of tools under way, whatever their kind: `invoke` enters them, and who takes tools away ends them.
        self.running = RunningCalls()
        self._manager: Manager | None = None
        self._opening = asyncio.Lock()
        self._changing = asyncio.Lock()
        self._policies: dict[str, Policy] = {}
        self._rules: dict[str, Rules] = {}
        self._own_places: OwnPlaces | None = None
        self._agents: dict[str, AgentSpec] = {}
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> "Engine":
        if self.telemetry is None and is_wanted(self.config.root.telemetry, self.env):
            self.telemetry = await self._begin_telemetry()
        if self.telemetry is not None:
            self.telemetry.hear(self.events)
        if self.config.root.session.store == "postgres":
            # Before everything that is kept there: what is made first is closed last.
            self.fleet = self._made_fleet()
            self._exit.push_async_callback(self.fleet.close)
            await self.fleet.open()
            await self._tell_config()
            self.placement = self.fleet.placement(secret_text(self.config.root.token_store.key), self.resolve)
        return self

    def _made_fleet(self) -> "Fleet":
        """Nothing is asked of the database yet. Raises OpenClawError when its library is missing, or it cannot be shared."""
        try:
            from openclaw.fleet.configured import fleet_of
        except ModuleNotFoundError as error:
            raise missing(error) or error from None
        return fleet_of(self.config, self.resolve, self.paths, is_gateway=self._through_gateway)

    async def _begin_telemetry(self) -> "Telemetry | None":
        section = self.config.root.telemetry
        try:
            headers = {name: await self.resolve(secret_text(value)) for name, value in section.otlp.headers.items()}
            for value in headers.values():
                remember_guess(value)
            # In a thread: it takes a while to load.
            telemetry = await asyncio.to_thread(_begin_telemetry, section, self.env, headers)
        except (OpenClawError, ModuleNotFoundError) as error:
            # A turn is worth more than its trace.
            _log.warning("Nothing is traced: %s", missing(error) or error)
            return None
        if telemetry is not None:
            self._exit.push_async_callback(telemetry.close)
        return telemetry

    def serving_mcp(self, method: str, tool: str, caller: Mapping[str, str]) -> "AbstractContextManager[Served | None]":
        """Meanwhile a request of an MCP client is served, which may be part of a trace (`trace_context.py`)."""
        return nullcontext() if self.telemetry is None else self.telemetry.serving_mcp(method, tool, caller)

    def serving_http(
        self, method: str, route: str, caller: Mapping[str, str]
    ) -> "AbstractContextManager[Served | None]":
        """The same for a request to an HTTP port."""
        return nullcontext() if self.telemetry is None else self.telemetry.serving_http(method, route, caller)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.aclose()

    def serving_acp(self, method: str, caller: Mapping[str, str]) -> "AbstractContextManager[Served | None]":
        """The same for a request of an editor."""
        return nullcontext() if self.telemetry is None else self.telemetry.serving_acp(method, caller)

    async def manager(self) -> Manager:
        """The MCP manager with the servers of every agent, none of them started by asking for it."""
        if self._manager is None:
            async with self._opening:
                if self._manager is None:
                    self._warn()
                    self._manager = await self._exit.enter_async_context(self._made_manager())
                    if self.fleet is not None:
                        self.fleet.pins.on_changed(self._manager.pins_changed)
        return self._manager

    def _made_manager(self) -> Manager:
        return Manager(
            self._specs(),
            options=servers_options(self.config),
            dependencies=Dependencies(
                lets_fetch=not self._through_gateway,
                is_gateway=self._through_gateway,
                resolve=self.resolve,
                authorize=self._authorizer,
                signed_in=self._signed_in,
                environ=self.env,
                handlers_of=self._handlers,
                place=None if self.placement is None else self.placement.place,
                homes=None if self.fleet is None else self.fleet.homes,
                tools_differ=self._forget_verdicts,
                trace=None if self.telemetry is None else self.telemetry.requests,
            ),
            state=self.paths.data_dir / "mcp",
            media=self.media,
            reserved=(*NATIVE_NAMES, *SEARCH_TOOLS, SKILL_READ),
            revoke=self.running.revoke,
            events=self.events,
            # A gateway starts its servers at once and waits for none; a command starts those it needs.
            eager=self._through_gateway,
            patience=0.0,
            pins=None if self.fleet is None else self.fleet.pins,
        )

    def _warn(self) -> None:
        """One line for each server whose credentials stand in the config in plain sight."""
        if any(specs for specs in self._specs().values()):
            from openclaw.secrets.plaintext import server_warnings

            for texts in server_warnings(self.config).values():
                for text in texts:
                    _log.warning("%s", text)

    def _specs(self) -> dict[str, tuple[ServerSpec, ...]]:
        return {name: server_specs(self.config, name) for name in agent_ids(self.config)}

    async def change(self, write: Callable[[], Config]) -> None:
        """Let `write`, in a thread, change the config file, and take over what it says then.

        One at a time: what was written last is what is used.
        """
        async with self._changing:
            before = self._roots()
            self._use(await asyncio.to_thread(write))
        await self._follow(before)

    async def reload(self, config: Config) -> None:
        """Take over a changed config. Policy holds from the next line on; returns when servers that had to stop have stopped.

        Calls of tools that are denied now are cancelled, and no others.
        """
        before = self._roots()
        self._use(config)
        await self._follow(before)
        await self._tell_config()

    async def _tell_config(self) -> None:
        """Other gateways can see whether they have the same."""
        if self.fleet is not None and self._through_gateway:
            from openclaw.fleet.configured import config_digest

            await self.fleet.configured(await config_digest(self.config, self.resolve))

    def _use(self, config: Config) -> None:
        self.config = config
        self._policies.clear()
        self._rules.clear()
        self._own_places = None
        self._forget_verdicts()
        self._agents.clear()
        # References may mean something else now.
        self.__dict__.pop("resolver", None)
        self._warn()

    def _forget_verdicts(self) -> None:
        if "approver" in self.__dict__:
            self.approver.forget()

    async def _follow(self, roots: Mapping[ServerSpec, frozenset[Path]]) -> None:
        """`roots` are those of servers by the config before."""
        self.running.revoke(lambda agent, tool: not self.decide(tool, agent).allowed)
        if self._manager is not None:
            await self._manager.reconcile(self._specs(), servers_options(self.config))
            now = self._roots()
            await self._manager.roots_changed([spec for spec in roots.keys() & now.keys() if roots[spec] != now[spec]])

    async def give_servers(
        self, session: str, agent: str, specs: Sequence[ServerSpec], *, may_use_secrets: bool = False
    ) -> None:
        """Let a session have servers besides the configured ones of its agent, in place of those it was given before.

        `session` is its whole key. Only its turns and calls see them, under the agent's policy; a changed config leaves them alone. They
        run until `remove_servers`, or until we close; none is started while the plugin `mcp-client` is switched off. References to secrets
        (`secret://`) are refused unless whoever gives the servers `may_use_secrets` of this machine. Raises UsageError for those, when two
        have one name, or when there is no such agent.
        """
        if not may_use_secrets and (name := next((spec.name for spec in specs if _names_secret(spec)), None)):
            raise UsageError(
                f"MCP server '{name}' of the session names a secret of this machine.",
                hint="Give it the value itself, or say that who gives it may use secrets.",
            )
        if not engine_enabled(self.config):
            specs = [structs.replace(spec, enabled=False) for spec in specs]
        await (await self.manager()).give_servers(session, self.agent(agent).id, specs)

    async def remove_servers(self, session: str) -> None:
        """A session is released: end the servers that it was given, unless others have them too."""
        if self._manager is not None:
            await self._manager.remove_servers(session)

    def session_servers(self, session: str) -> SessionServers | None:
        """The tools and the context of the servers a session was given; None when it was given none."""
        return None if self._manager is None else self._manager.session_servers(session)

    async def resolve(self, value: str) -> str:
        """A configured value with its secret references replaced. Raises SecretError."""
        return await self.resolver.resolve(value) if SECRET_SCHEME in value else value

    @cached_property
    def resolver(self) -> "Resolver":
        from openclaw.secrets.resolve import Resolver

        return Resolver.of(self.config, self.env)

    @cached_property
    def credentials(self) -> "Credentials":
        """Loaded with the first server that has an address: commands for local servers pay nothing for it."""
        from openclaw.auth.credentials import Credentials, token_files
        from openclaw.net.client import ClientOptions
        from openclaw.net.proxy import ProxyRules

        credentials = Credentials(
            self._tokens(token_files),
            resolve=self.resolve,
            # The way out that servers take: behind a proxy nobody could sign in otherwise.
            network=ClientOptions(proxies=ProxyRules.from_environment(self.env)),
            trace=None if self.telemetry is None else self.telemetry.sign_in,
        )
        self._exit.push_async_callback(credentials.close)
        return credentials

    def _tokens(self, in_files: "Callable[..., EncryptedStore]") -> "EncryptedStore":
        key = secret_text(self.config.root.token_store.key)
        if self.fleet is not None:
            return self.fleet.token_store(key, self.resolve)
        return in_files(self.paths.tokens_dir, resolve=self.resolve, key=key)

    def _authorizer(self, spec: ServerSpec) -> Authorizer | None:
        return self.credentials.authorizer(spec) if spec.url else None

    async def _signed_in(self, spec: ServerSpec, since: float) -> None:
        await self.credentials.signed_in(spec, since)

    def _handlers(self, spec: ServerSpec) -> Handlers:
        """What a server may ask of us. Questions to a person always: who is there, the call that they are about knows."""

        async def elicit(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
            return await self.elicitation.create(spec, params, invocation)

        async def finished(server: str, invocation: Invocation | None) -> bool:
            return await self.elicitation.finished(spec, invocation)

        async def sample(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
            return await self.sampling.create(spec, params, invocation)

        async def roots(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
            from openclaw.asking.roots import list_roots

            return list_roots(invocation, self._roots().get(shared_spec(spec), frozenset()))

        return Handlers(
            elicitation=elicit,
            sampling=sample if self._ask_model is not None and spec.sampling.enabled else None,
            roots=roots if self._workspace_of is not None and spec.roots == "workspace" else None,
            modes=("form", "url"),
            modes_of_call=modes_of_call,
            finished=finished,
            samples_with_tools=True,
            roots_change=True,
            shows_panels=self.config.root.mcp.apps.enabled,
        )

    @cached_property
    def elicitation(self) -> "Elicitation":
        """Loaded with the first question of a server."""
        from openclaw.asking.elicitation import Elicitation

        return Elicitation(lambda: self.config.root.mcp.elicitation.timeout_ms / 1000)

    @cached_property
    def sampling(self) -> "Sampling":
        """Loaded with the first server that asks a model."""
        from openclaw.asking.sampling import Sampling

        assert self._ask_model is not None  # nobody may ask otherwise
        return Sampling(self._ask_model, self.paths.data_dir / "sampling.json")

    def _roots(self) -> dict[ServerSpec, frozenset[Path]]:
        """The workspaces of all agents that have a server, for each that may know them."""
        found: dict[ServerSpec, frozenset[Path]] = {}
        if self._workspace_of is not None:
            for agent, specs in self._specs().items():
                for spec in (shared_spec(one) for one in specs if one.roots == "workspace"):
                    found[spec] = found.get(spec, frozenset()) | {self._workspace_of(agent)}
        return found

    @cached_property
    def media(self) -> MediaStore:
        store = MediaStore(self.paths.media_dir)
        # Old media makes room once in the life of a process, beside whatever is going on.
        threading.Thread(target=store.prune, name="media-prune", daemon=True).start()
        return store

    @cached_property
    def audit(self) -> AuditLog:
        log = AuditLog(self._trail(), events=self.events)
        self._exit.callback(log.close)
        return log

    def _trail(self) -> AuditTrail:
        file = AuditFile(self.paths.audit_file)
        if self.fleet is None:
            return file
        shared = self.fleet.audit_trail(file)
        shared.start()
        self._exit.push_async_callback(shared.end)
        return shared

    @cached_property
    def questions(self) -> "Questions":
        """All open questions, whoever asks them. Loaded with the first conversation: listing servers needs none."""
        from openclaw.asking.questions import Limits, Questions

        def limits(agent: str) -> Limits:
            if agent not in agent_ids(self.config):
                # It was taken out of the config while it asked.
                return Limits()
            rules = self.approval_rules(agent)
            return Limits(rules.timeout, rules.pending)

        board = None if self.fleet is None else self.fleet.board
        return Questions(events=self.events, audit=lambda: self.audit, limits=limits, board=board)

    def asking(self, conversation: Conversation) -> Conversation:
        """A conversation that a surface made, whose agent and session are known by now, with its questions among all others."""
        if "questions" not in vars(self) and not any(map(conversation.asker.can, QUESTION_KINDS)):
            # Nobody can be asked anything there, and nobody watches.
            return structs.replace(conversation, asker=Nobody())
        return structs.replace(conversation, asker=self.questions.asker(conversation))

    @cached_property
    def grants(self) -> Grants:
        """What a person allowed for good."""
        return GrantStore(self.paths.approvals_file) if self.fleet is None else self.fleet.grants

    @cached_property
    def invoke(self) -> Invoke:
        """How every call of a tool is made, whoever makes it."""
        return Invoke(
            policy_decide=self.decide,
            audit=self.audit,
            clock=time.monotonic,
            running=self.running,
            approve=self._approve or self.approver.approve,
            trace=self._traced(),
            fence=self._tool_fence(),
        )

    def _tool_fence(self) -> Fence | None:
        if self.fleet is None:
            return None
        from openclaw.fleet.fence import tool_fence

        return tool_fence(self.fleet.may_act)

    def model_trace(self) -> "TraceModel | None":
        """What stands around every request to a model; None when nothing does."""
        trace = None if self.telemetry is None else self.telemetry.trace_model
        if self.fleet is None:
            return trace
        from openclaw.fleet.fence import model_fence

        return model_fence(self.fleet.may_act, trace)

    def _traced(self) -> Trace | None:
        """Our own trace of calls around that of the program."""
        own, theirs = None if self.telemetry is None else self.telemetry.trace_call, self._trace
        if own is None or theirs is None:
            return own or theirs
        both_own, both_theirs = own, theirs

        async def both(call: Call, step: Step) -> CallEnd:
            return await both_own(call, lambda inner: both_theirs(inner, step))

        return both

    @cached_property
    def approver(self) -> "Approver":
        """Who decides about calls when nobody else was named for that."""
        from openclaw.asking.approver import Approver

        return Approver(
            rules=self.approval_rules,
            grants=self.grants,
            audit=lambda: self.audit,
            events=self.events,
            home=str(self.paths.home),
            own=lambda: self.own_places,
            # Who approves in our place sees every call.
            decision=self.decide if self._approve is None else None,
        )

    @property
    def own_places(self) -> OwnPlaces:
        """What no call may change without a person's yes. The same object for as long as the config is the same."""
        own = self._own_places
        if own is None:
            paths = self.paths
            bases = {os.getcwd(), *(spec.cwd for specs in self._specs().values() for spec in specs if spec.cwd)}
            own = self._own_places = OwnPlaces(
                paths.state_dir,
                # Also by themselves, in case somebody works in the state directory.
                (
                    paths.config_file,
                    *self.config.files,
                    paths.approvals_file,
                    paths.tokens_dir,
                    paths.secrets_dir,
                    paths.audit_dir,
                ),
                homes=(paths.home, os.path.expanduser("~")),
                bases=map(os.path.expanduser, sorted(bases)),
            )
        return own

    def agent(self, agent_id: str = "") -> AgentSpec:
        """The agent of that id; the default one when it is empty. Worked out once for each config. Raises UsageError."""
        spec = self._agents.get(agent_id)
        if spec is None:
            spec = self._agents[agent_id] = agent_spec(self.config, agent_id)
        return spec

    def decide(self, tool: Named, agent: str) -> Decision:
        """What the rules say now: asked at every call, so that a rule that changed holds at once."""
        policy = self._policies.get(agent) or self._policy_of(agent)
        return Decision(False, f"there is no agent {agent} any more") if policy is None else policy.decide(tool)

    def admitted(self, tools: Sequence[Tool], agent: str) -> Mapping[str, Tool]:
        """Those that the rules of now let an agent use, by name."""
        policy = self._policies.get(agent) or self._policy_of(agent)
        return {} if policy is None else policy.admitted(tools)

    def _policy_of(self, agent: str) -> Policy | None:
        if agent not in agent_ids(self.config):
            return None
        policy = self._policies[agent] = self.policy(agent_spec(self.config, agent))
        return policy

    def policy(self, spec: AgentSpec) -> Policy:
        return Policy(self.policy_layers(spec))

    def policy_layers(self, spec: AgentSpec) -> list[PolicyLayer]:
        layers = [layer_of(layer) for layer in spec.tools]
        if self._through_gateway:
            layers.append(layer_of(spec.gateway_tools, grants=False))
        return layers

    def approval_rules(self, agent: str) -> Rules:
        """Which calls of an agent are asked about now. The same object for as long as the config is the same."""
        rules = self._rules.get(agent)
        if rules is None:
            spec = self.agent(agent)
            layers = [layer.approval for layer in spec.tools]
            if self._through_gateway:
                layers.append(spec.gateway_tools.approval)
            rules = self._rules[agent] = rules_of(layers, home=str(self.paths.home))
        return rules

    @property
    def startup_grace(self) -> float:
        """How long a turn waits for servers that were never seen before."""
        return servers_options(self.config).startup_grace


def _begin_telemetry(
    section: TelemetrySection, env: Mapping[str, str], headers: Mapping[str, str]
) -> "Telemetry | None":
    from openclaw.telemetry.start import begin

    return begin(section, env, headers)


def _names_secret(spec: ServerSpec) -> bool:
    texts: list[str] = []

    def note(text: str) -> str:
        texts.append(text)
        return text

    map_secrets(spec, note)
    return any(SECRET_SCHEME in text for text in texts)
