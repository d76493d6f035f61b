"""OpenClaw in Python: a personal agent gateway whose tools come from any MCP server.

The public surface is `__all__`. Names load on first use, so that `openclaw --version` pays for none of them.
"""

from importlib import import_module

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing would cost 4 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from openclaw.app import App as App
    from openclaw.app import Reply as Reply

__version__ = "0.1.0"
__all__ = ["App", "Reply", "__version__"]

_HOMES = {"App": "openclaw.app", "Reply": "openclaw.app"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'openclaw' has no attribute {name!r}")
    return getattr(import_module(home), name)
