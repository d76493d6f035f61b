"""The engine as the agent loop uses it: a config file, `Engine`, its manager's tools, each called through `tools/invoke.py`.

Nothing is switched off: the default policy decides about every call, arguments are checked against the tool's schema, results are
framed, approvals decide about every call, and two lines of audit are written for each. The servers say that their tools only read, and are
trusted with that: nobody is there to be asked. Needs a state directory of its own (OPENCLAW_STATE_DIR).
"""

import json
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bench.contenders.driver import Target
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.content import Text, ToolCall
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.mcp.manager import Manager
from openclaw.tool import Invocation, Tool

# Room for every measure; the default bound is 20.
MOST_SERVERS = 1_000


def config_of(servers: dict[str, Target], **options: Any) -> dict[str, Any]:
    """An `openclaw.json` that names these servers."""
    entries: dict[str, Any] = {}
    for name, target in servers.items():
        if "url" in target:
            entries[name] = {"url": target["url"]}
        else:
            command, *arguments = target["command"]
            entries[name] = {"command": command, "args": arguments}
        entries[name] |= {"annotations": "trusted", **options}
    return {"mcp": {"servers": entries, "maxConcurrentServers": MOST_SERVERS}}


class Ours:
    def __init__(self) -> None:
        self._exit = AsyncExitStack()
        self._tools: dict[str, Tool] = {}
        self._numbers = 0
        self.manager: Manager

    async def open(self, servers: dict[str, Target], **options: Any) -> None:
        await self.open_config(config_of(servers, **options))

    async def open_config(self, config: dict[str, Any]) -> None:
        await self._start(config)
        await self.manager.readiness.started(self.agent)
        self.offer()

    async def start(self, servers: dict[str, Target], **options: Any) -> None:
        """Everything up to the point where servers are starting."""
        await self._start(config_of(servers, **options))

    async def _start(self, settings: dict[str, Any]) -> None:
        paths = Paths.from_env(os.environ)
        paths.config_file.parent.mkdir(parents=True, exist_ok=True)
        paths.config_file.write_text(json.dumps(settings))
        config = load_config(paths, os.environ)
        await self.adopt(await self._exit.enter_async_context(Engine(config, paths=paths)))

    async def adopt(self, engine: Engine) -> None:
        """Use an engine that somebody else made."""
        self.engine = engine
        self.agent = engine.agent().id
        self._invoke = self.engine.invoke
        self._conversation = Conversation(self.agent, "agent:main:bench", workspace=Path.cwd())
        self.manager = await self.engine.manager()
        self.manager.start(self.agent)

    async def open_many(self, servers: dict[str, Target]) -> None:
        """As a gateway does: nobody waits for anybody. A call waits for its own server."""
        await self.start(servers)

    # A config is also our own way to open a list of servers.
    open_list = open_many

    def offer(self) -> None:
        """Take what agents are offered now; names are asked for once, as a model would send them."""
        self._tools = {tool.name: tool for tool in self.manager.tools(self.agent)}

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        self._numbers += 1
        call = ToolCall(f"call-{self._numbers}", f"{server}__{tool}", arguments)
        if call.name not in self._tools:
            await self.manager.find(call.name, self.agent)
            self.offer()
        result = await self._invoke(self._tools[call.name], call, Invocation(self._conversation, call.id))
        block = result.content[0]
        text = block.text if isinstance(block, Text) else ""
        if result.is_error:
            raise RuntimeError(text)
        return text

    async def close(self) -> None:
        await self._exit.aclose()
