"""Config, credentials and servers, without models or agents: all that `openclaw mcp …` needs, and one half of an App.

Owns the MCP manager and what it is given (secrets, sign-in, media), and who may use which tool. Parts are made when they are first
asked for; no server starts by asking. app.py adds agents.
"""

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cached_property
from types import TracebackType

from openclaw.config.agents import AgentSpec, agent_ids
from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.servers import engine_options, server_specs
from openclaw.mcp.connect import Services
from openclaw.mcp.manager import Manager
from openclaw.media import MediaStore
from openclaw.security.audit import AuditLog
from openclaw.security.policy import Policy, PolicyLayer, layer_of

# Names that no server's tool may take: a test holds them to what tools/native.py offers.
NATIVE_NAMES = ("read", "write", "edit", "ls", "grep", "exec", "web_fetch")


class Engine:
    """`through_gateway` adds the rules of `gateway.tools` to every agent's policy."""

    def __init__(
        self, config: Config, *, paths: Paths, env: Mapping[str, str] | None = None, through_gateway: bool = False
    ) -> None:
        self.config = config
        self.paths = paths
        self.env = dict(os.environ) if env is None else env
        self._through_gateway = through_gateway
        self._manager: Manager | None = None
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> "Engine":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.aclose()

    async def manager(self) -> Manager:
        """The MCP manager with the servers of every agent, none of them started by asking for it."""
        if self._manager is None:
            self._manager = await self._exit.enter_async_context(
                Manager(
                    {name: server_specs(self.config, name) for name in agent_ids(self.config)},
                    options=engine_options(self.config),
                    services=Services(environ=self.env),
                    state=self.paths.data_dir / "mcp",
                    media=self.media,
                    reserved=NATIVE_NAMES,
                    eager=False,
                )
            )
        return self._manager

    @cached_property
    def media(self) -> MediaStore:
        return MediaStore(self.paths.media_dir)

    @cached_property
    def audit(self) -> AuditLog:
        log = AuditLog(self.paths.audit_dir / "calls.jsonl")
        self._exit.callback(log.close)
        return log

    def policy(self, spec: AgentSpec) -> Policy:
        return Policy(self.policy_layers(spec))

    def policy_layers(self, spec: AgentSpec) -> list[PolicyLayer]:
        layers = [layer_of(layer) for layer in spec.tools]
        if self._through_gateway:
            layers.append(layer_of(spec.gateway_tools, grants=False))
        return layers

    @property
    def startup_grace(self) -> float:
        """How long a turn waits for servers that were never seen before."""
        return engine_options(self.config).startup_grace
