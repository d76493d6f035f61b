"""OpenClaw in Python: a personal agent gateway whose tools come from any MCP server.

The public surface is `__all__` here, in `openclaw.mcp` (the client alone) and in `openclaw.plugins` (what a plugin's author needs): what
the documentation imports, and nothing else. Names load on first use, so that `openclaw --version` pays for none of them.
"""

from importlib import import_module

from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing would cost 4 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from openclaw.agent.events import Compacted as Compacted
    from openclaw.agent.events import MessageEnd as MessageEnd
    from openclaw.agent.events import Notice as Notice
    from openclaw.agent.events import ReasoningDelta as ReasoningDelta
    from openclaw.agent.events import RunEnd as RunEnd
    from openclaw.agent.events import RunStart as RunStart
    from openclaw.agent.events import TextDelta as TextDelta
    from openclaw.agent.events import ToolEnd as ToolEnd
    from openclaw.agent.events import ToolProgress as ToolProgress
    from openclaw.agent.events import ToolStart as ToolStart
    from openclaw.agent.events import TurnStart as TurnStart
    from openclaw.app import App as App
    from openclaw.config.load import parse_config as parse_config
    from openclaw.config.paths import Paths as Paths
    from openclaw.content import Text as Text
    from openclaw.conversation import Conversation as Conversation
    from openclaw.conversation import Question as Question
    from openclaw.errors import ConfigError as ConfigError
    from openclaw.errors import OpenClawError as OpenClawError
    from openclaw.reply import Reply as Reply
    from openclaw.security.external import clean_label as clean_label
    from openclaw.security.external import frame as frame
    from openclaw.tool import Invocation as Invocation
    from openclaw.tool import Tool as Tool
    from openclaw.tool import ToolResult as ToolResult
    from openclaw.tool import parameters as parameters

__all__ = [
    "App",
    "Compacted",
    "ConfigError",
    "Conversation",
    "Invocation",
    "MessageEnd",
    "Notice",
    "OpenClawError",
    "Paths",
    "Question",
    "ReasoningDelta",
    "Reply",
    "RunEnd",
    "RunStart",
    "Text",
    "TextDelta",
    "Tool",
    "ToolEnd",
    "ToolProgress",
    "ToolResult",
    "ToolStart",
    "TurnStart",
    "__version__",
    "clean_label",
    "frame",
    "parameters",
    "parse_config",
]

_MODULE_OF = {
    "TurnStart": "openclaw.agent.events",
    "ToolProgress": "openclaw.agent.events",
    "ToolEnd": "openclaw.agent.events",
    "TextDelta": "openclaw.agent.events",
    "RunStart": "openclaw.agent.events",
    "ReasoningDelta": "openclaw.agent.events",
    "Notice": "openclaw.agent.events",
    "MessageEnd": "openclaw.agent.events",
    "Compacted": "openclaw.agent.events",
    "RunEnd": "openclaw.agent.events",
    "ToolStart": "openclaw.agent.events",
    "App": "openclaw.app",
    "parse_config": "openclaw.config.load",
    "Paths": "openclaw.config.paths",
    "Text": "openclaw.content",
    "Conversation": "openclaw.conversation",
    "Question": "openclaw.conversation",
    "ConfigError": "openclaw.errors",
    "OpenClawError": "openclaw.errors",
    "Reply": "openclaw.reply",
    "clean_label": "openclaw.security.external",
    "frame": "openclaw.security.external",
    "Invocation": "openclaw.tool",
    "Tool": "openclaw.tool",
    "ToolResult": "openclaw.tool",
    "parameters": "openclaw.tool",
}


# Type checkers know the names above, and take no other.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module 'openclaw' has no attribute {name!r}")
        return getattr(import_module(module), name)
