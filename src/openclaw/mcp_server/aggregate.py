"""One text out of everything that was said while an order ran: the only place where that is decided.

Pure. Parts stand in the order they came: what the model said between tool calls, what tools answered, and the final answer last.
Tool answers join only when the agent is verbose or when nothing else was said, and only inside their frame. White space aside, a part
that another part contains is dropped, so that nothing is read twice; the final answer never is. Streamed pieces are not parts: the
whole message follows them.
"""

from collections.abc import Iterable, Sequence

from openclaw.agent.events import Event, MessageEnd, ToolEnd
from openclaw.content import Framed, Text
from openclaw.security.external import frame

NOTHING_SAID = "(OpenClaw gave no answer.)"


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
