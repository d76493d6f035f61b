"""The bundled plugin `mcp-client`: the servers of the config as tools. On unless `plugins.entries.mcp-client.enabled` is false."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from openclaw.mcp.manager import Manager
from openclaw.plugins.contract import PluginContext, PluginHandle, ToolPlugin

# The id of the plugin, as `plugins.entries` names it.
MCP_CLIENT = "mcp-client"
# The tool behind `/mcp` (commands/plugin_mcp.py). No model is offered it, and no plugin may offer another of its name.
MCP_MANAGE = "mcp_manage"


def mcp_client(manager: Callable[[], Awaitable[Manager]]) -> ToolPlugin:
    """`manager` gives the engine's own, made when it is first asked for."""

    async def initialize(context: PluginContext) -> PluginHandle:
        source = await manager()

        async def follow(config: Mapping[str, Any]) -> None:
            """Its servers are part of the whole config, which `Engine.reload` has taken over by now."""

        return PluginHandle(source=source, contexts=(source,), on_config_change=follow)

    return ToolPlugin(
        label="MCP Client",
        description="Tools, resources and prompts of MCP servers",
        initialize=initialize,
    )
