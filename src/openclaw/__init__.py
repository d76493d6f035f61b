"""OpenClaw in Python: a personal agent gateway whose tools come from any MCP server.

The public surface is `__all__`. Names load on first use, so that `openclaw --version` pays for none of them.
"""

from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing would cost 4 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from openclaw.app import App as App
    from openclaw.app import Reply as Reply

__all__ = ["App", "Reply", "__version__"]


def __getattr__(name: str) -> object:
    if name == "App":
        from openclaw.app import App

        return App
    if name == "Reply":
        from openclaw.app import Reply

        return Reply
    raise AttributeError(f"module 'openclaw' has no attribute {name!r}")
