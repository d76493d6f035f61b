"""The MCP client engine: any server's tools, kept available. `from openclaw.mcp import Manager` is the way in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.mcp.manager import Manager as Manager

__all__ = ["Manager"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: importing one module of the engine does not cost all of it.
    if name == "Manager":
        from openclaw.mcp.manager import Manager

        return Manager
    raise AttributeError(f"module 'openclaw.mcp' has no attribute {name!r}")
