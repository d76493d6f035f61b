"""A run as its watchers see it: each event of `agent/events.py` as JSON. Pure.

What tools were given and what they answered is in here, and so these events are for those who may see the conversation: `/v1/events` has
none of it. Texts of servers come without the frame that a model needs; whoever shows them shows them as text, and as theirs.
"""

from pathlib import PurePath
from typing import Any

import msgspec

from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    ReasoningDelta,
    RunEnd,
    RunStart,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.content import Block, File, Text
from openclaw.security.unframe import without_frames

# A longer text of a result is cut here: the whole one is in the session.
MOST_RESULT = 100_000


def run_event(event: Event) -> tuple[str, dict[str, Any]]:
    """What an event is called, and its data."""
    match event:
        case RunStart(agent, model, session_key, window):
            return "started", {"agent": agent, "model": model, "sessionKey": session_key, "window": window}
        case TurnStart(number):
            return "turn", {"number": number}
        case TextDelta(text):
            return "text", {"delta": text}
        case ReasoningDelta(text):
            return "reasoning", {"delta": text}
        case MessageEnd(message, final):
            return "message", {
                "text": without_frames(message.text),
                "final": final,
                "model": message.model,
                "usage": message.usage,
            }
        case ToolStart(call, label):
            return "call", {"id": call.id, "tool": call.name, "label": label, "arguments": call.arguments}
        case ToolProgress(call_id, text):
            return "progress", {"id": call_id, "text": text}
        case ToolEnd(call, result, seconds):
            return "result", {
                "id": call.id,
                "tool": call.name,
                "isError": result.is_error,
                "seconds": round(seconds, 3),
                "content": [shown_block(block) for block in result.content],
            }
        case Compacted(dropped, summary):
            return "compacted", {"droppedMessages": dropped, "summary": summary}
        case Notice(text=text):
            return "notice", {"text": text}
        case RunEnd(reason, usage, error):
            return "ended", {"reason": reason, "error": error, "usage": usage}


def shown_block(block: Block) -> Block | dict[str, Any]:
    """One block for somebody who looks at it: text without the frame that a model needs; a file with where its bytes are; other media as it
    is."""
    if isinstance(block, File):
        media = "/".join(PurePath(block.path).parts[-2:])
        return {**msgspec.to_builtins(block), "media": media}
    if not isinstance(block, Text):
        return block
    text = without_frames(block.text)
    if len(text) <= MOST_RESULT:
        return {"type": "text", "text": text}
    return {"type": "text", "text": text[:MOST_RESULT], "cut": len(text) - MOST_RESULT}
