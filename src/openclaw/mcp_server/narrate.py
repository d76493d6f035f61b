"""What is happening, in one sentence for whoever waits: events of a run to words. Pure.

Words of servers and models in it are cleaned and cut: they end up in somebody's status line.
"""

from openclaw.agent.events import (
    Compacted,
    Event,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.security.external import clean_label

_LONGEST = 200
_MCP = "MCP: "


def narrate(event: Event) -> str:
    """Empty when there is nothing to tell."""
    match event:
        case TurnStart() | ReasoningDelta():
            return "Thinking"
        case TextDelta():
            return "Writing the answer"
        case ToolStart(call=call, label=label):
            return _calling(call.name, label)
        case ToolProgress(text=text) | Notice(text=text):
            return clean_label(text, _LONGEST)
        case Compacted():
            return "Making room in the conversation"
        case _:
            return ""


def _calling(name: str, label: str) -> str:
    """`label` of a tool that came from a server is `MCP: server/tool`."""
    server, slash, tool = label.removeprefix(_MCP).partition("/")
    if label.startswith(_MCP) and slash:
        return clean_label(f"Calling tool {tool} on server {server}", _LONGEST)
    return clean_label(f"Calling tool {name}", _LONGEST)
