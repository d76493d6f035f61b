"""What makes a transcript valid: every tool call is followed by its result, in order, and no result stands alone.

Pure. The loop uses it to close a run that was cut short, agent.py to mend a history whose writer was killed half-way, and
compaction to cut only where no pair is torn apart.
"""

from collections.abc import Iterable, Sequence

from openclaw.content import AssistantMessage, Block, Message, Text, ToolCall, ToolMessage
from openclaw.tool import ToolResult

# Models refuse a result without content.
NOTHING = Text("[The tool returned nothing.]")
INTERRUPTED = "The call was interrupted before it gave a result."


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
    return ToolMessage(call.id, call.name, content, result.is_error)


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


def mended(messages: Iterable[Message]) -> list[Message]:
    """The same transcript made valid: a call without a result gets one that says so, a result without its call is dropped."""
    whole_list: list[Message] = []
    open_calls: list[ToolCall] = []
    found: dict[str, ToolMessage] = {}

    def close() -> None:
        whole_list.extend(found.get(call.id) or answer(call, ToolResult.error(INTERRUPTED)) for call in open_calls)
        open_calls.clear()
        found.clear()

    for message in messages:
        if isinstance(message, ToolMessage):
            found.setdefault(message.call_id, message)
            continue
        close()
        whole_list.append(message)
        if isinstance(message, AssistantMessage):
            open_calls.extend(message.tool_calls)
    close()
    return whole_list


def _storable(block: Block) -> Block:
    if not isinstance(block, Text):
        return block
    text = whole(block.text)
    return block if text is block.text else Text(text)
