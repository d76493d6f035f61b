"""Calls and their results as a transcript keeps them.

Pure. The loop uses it to close a run that was cut short. A history that is not valid is mended by `models/transcript.py`.
"""

from collections.abc import Sequence

from openclaw.content import AssistantMessage, Block, Message, Text, ToolCall, ToolMessage
from openclaw.tool import ToolResult

# Models refuse a result without content.
NOTHING = Text("[The tool returned nothing.]")


def whole(text: str) -> str:
    """`text` without halves of surrogate pairs: two halves that met become their character, a lone one a replacement character."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def answer(call: ToolCall, result: ToolResult) -> ToolMessage:
    """The result as the conversation keeps it. `details` stay behind: they are not for a model."""
    content = tuple(_storable(block) for block in result.content) or (NOTHING,)
    return ToolMessage(call.id, call.name, content, result.is_error, result.source, result.found)


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that no result follows."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.call_id)
        elif isinstance(message, AssistantMessage):
            return tuple(call for call in message.tool_calls if call.id not in answered)
        else:
            break
    return ()


def _storable(block: Block) -> Block:
    if not isinstance(block, Text):
        return block
    text = whole(block.text)
    return block if text is block.text else Text(text)
