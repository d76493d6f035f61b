"""What a client is told of a run: a sentence for each thing that happens, and at the end one text out of everything that was said. No I/O.

The parts of that text stand in the order they came: what the model said between tool calls, what tools answered, and the final answer
last. Tool answers join only when the agent is verbose or when nothing else was said, and only inside their frame. White space aside, a part
that another part contains is dropped, so that nothing is read twice; the final answer never is. Streamed pieces are not parts: the whole
message follows them. Words of servers and models in a sentence are cleaned and cut: they end up in somebody's status line.
"""

from collections.abc import Iterable, Sequence

from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.content import Framed, Text
from openclaw.security.external import clean_label, frame

NOTHING_SAID = "(OpenClaw gave no answer.)"
# Characters of one sentence.
_LONGEST = 200
# What the label of a tool begins with that came from a server.
_MCP = "MCP: "


def aggregate(events: Iterable[Event], *, verbose: bool) -> str:
    """The text of the whole answer; empty when nothing was said."""
    said: list[str] = []
    everything: list[str] = []
    final = ""
    for event in events:
        match event:
            case MessageEnd(message=message, final=True):
                final = message.text.strip()
            case MessageEnd(message=message):
                said.append(message.text.strip())
                everything.append(said[-1])
            case ToolEnd():
                everything.append(_tool_text(event))
            case _:
                pass
    parts = everything if verbose or not (final or any(said)) else said
    return "\n\n".join([*distinct(parts, final), final] if final else distinct(parts, ""))


def distinct(parts: Sequence[str], final: str) -> list[str]:
    """`parts` without the empty ones, those that `final` or another part contains, and repetitions."""
    plain = [" ".join(part.split()) for part in parts]
    end = " ".join(final.split())
    kept: list[str] = []
    for index, part in enumerate(plain):
        inside = any(part in other for other in plain if len(other) > len(part))
        if part and not inside and part not in end and part not in plain[:index]:
            kept.append(parts[index])
    return kept


def _tool_text(event: ToolEnd) -> str:
    """The texts of a result inside their frames; what has none yet (a native tool's) gets one."""
    texts = [block.text for block in event.result.content if isinstance(block, Text)]
    if not any(isinstance(text, Framed) for text in texts):
        joined = "\n".join(texts).strip()
        return frame(joined, source="unknown", sender=event.call.name, warning=False).strip() if joined else ""
    return "\n".join(texts).strip()


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
