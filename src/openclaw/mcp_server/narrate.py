"""What is happening, in one sentence for whoever waits: events of a run to words. No I/O.

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


class Narrator:
    """Tells one run. Remembers which calls there are, so that what a tool says of itself is told with its name."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}

    def words(self, event: Event) -> str:
        """Empty when there is nothing to tell."""
        match event:
            case TurnStart() | ReasoningDelta():
                return "Thinking"
            case TextDelta():
                return "Writing the answer"
            case ToolStart(call=call, label=label):
                self._calls[call.id] = _tool(call.name, label)
                return f"Calling {self._calls[call.id]}"
            case ToolProgress(call_id=id, text=text) if id in self._calls:
                return clean_label(f"T{self._calls[id][1:]}: {text}", _LONGEST)
            case ToolProgress(text=text) | Notice(text=text):
                return clean_label(text, _LONGEST)
            case Compacted():
                return "Making room in the conversation"
            case _:
                return ""


def _tool(name: str, label: str) -> str:
    """`label` of a tool that came from a server is `MCP: server/tool`."""
    server, slash, tool = label.removeprefix(_MCP).partition("/")
    if label.startswith(_MCP) and slash:
        return clean_label(f"tool {tool} on server {server}", _LONGEST)
    return clean_label(f"tool {name}", _LONGEST)
