"""The MCP client: any server's tools, kept available. `from openclaw.mcp import Manager` is the way in; `__all__` is all of it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.config.servers import ServerSpec as ServerSpec
    from openclaw.errors import RpcError as RpcError
    from openclaw.mcp.connect import Dependencies as Dependencies
    from openclaw.mcp.events import Awaited as Awaited
    from openclaw.mcp.events import DefinitionsChanged as DefinitionsChanged
    from openclaw.mcp.events import LeftOut as LeftOut
    from openclaw.mcp.events import PromptsChanged as PromptsChanged
    from openclaw.mcp.events import ResourceChanged as ResourceChanged
    from openclaw.mcp.events import StateChanged as StateChanged
    from openclaw.mcp.events import ToolsChanged as ToolsChanged
    from openclaw.mcp.handlers import Handlers as Handlers
    from openclaw.mcp.manager import Manager as Manager
    from openclaw.mcp.prompts import get_prompt as get_prompt
    from openclaw.mcp.prompts import list_prompts as list_prompts
    from openclaw.mcp.resources import list_resources as list_resources
    from openclaw.mcp.resources import read_resource as read_resource
    from openclaw.mcp.tools.names import base_name as base_name
    from openclaw.mcp.tools.results import as_json as as_json
    from openclaw.media import MediaStore as MediaStore
    from openclaw.transport.memory import MemoryTransport as MemoryTransport

__all__ = [
    "Awaited",
    "DefinitionsChanged",
    "Dependencies",
    "Handlers",
    "LeftOut",
    "Manager",
    "MediaStore",
    "MemoryTransport",
    "PromptsChanged",
    "ResourceChanged",
    "RpcError",
    "ServerSpec",
    "StateChanged",
    "ToolsChanged",
    "as_json",
    "base_name",
    "get_prompt",
    "list_prompts",
    "list_resources",
    "read_resource",
]

_MODULE_OF = {
    "ServerSpec": "openclaw.config.servers",
    "RpcError": "openclaw.errors",
    "Dependencies": "openclaw.mcp.connect",
    "Awaited": "openclaw.mcp.events",
    "DefinitionsChanged": "openclaw.mcp.events",
    "LeftOut": "openclaw.mcp.events",
    "PromptsChanged": "openclaw.mcp.events",
    "ResourceChanged": "openclaw.mcp.events",
    "StateChanged": "openclaw.mcp.events",
    "ToolsChanged": "openclaw.mcp.events",
    "Handlers": "openclaw.mcp.handlers",
    "Manager": "openclaw.mcp.manager",
    "get_prompt": "openclaw.mcp.prompts",
    "list_prompts": "openclaw.mcp.prompts",
    "list_resources": "openclaw.mcp.resources",
    "read_resource": "openclaw.mcp.resources",
    "base_name": "openclaw.mcp.tools.names",
    "as_json": "openclaw.mcp.tools.results",
    "MediaStore": "openclaw.media",
    "MemoryTransport": "openclaw.transport.memory",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: importing one module of the client does not cost all of it.
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'openclaw.mcp' has no attribute {name!r}")
    return getattr(import_module(module), name)
