"""The MCP client: any server's tools, kept available. `from openclaw.mcp import Manager` is the way in; `__all__` is all of it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.config.servers import ServerSpec as ServerSpec
    from openclaw.mcp.connect import Dependencies as Dependencies
    from openclaw.mcp.handlers import Handlers as Handlers
    from openclaw.mcp.manager import Manager as Manager
    from openclaw.mcp.tools.names import base_name as base_name
    from openclaw.mcp.tools.results import as_json as as_json

__all__ = ["Dependencies", "Handlers", "Manager", "ServerSpec", "as_json", "base_name"]

_MODULE_OF = {
    "ServerSpec": "openclaw.config.servers",
    "Dependencies": "openclaw.mcp.connect",
    "Handlers": "openclaw.mcp.handlers",
    "Manager": "openclaw.mcp.manager",
    "base_name": "openclaw.mcp.tools.names",
    "as_json": "openclaw.mcp.tools.results",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: importing one module of the client does not cost all of it.
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'openclaw.mcp' has no attribute {name!r}")
    return getattr(import_module(module), name)
