"""`/last`: the whole of what a tool gave in this conversation, of which a turn shows a line; and the thoughts before the last answer.

What a tool gave is shown as it is, whatever it looks like: cleaned, without frames, never laid out. Pictures and recordings are saved and
named.
"""

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.conversations import messages_of
from openclaw.commands.screen.turn import show_media
from openclaw.content import AssistantMessage, Audio, File, Image, Message, Text, Thinking, ToolCall, ToolMessage
from openclaw.errors import UsageError
from openclaw.media import file_words
from openclaw.security.external import clean_terminal
from openclaw.security.unframe import without_frames
from openclaw.sessions.store import UnknownSessionError

THOUGHTS = "thoughts"


async def show_last(app: App, console: Console, key: str, words: str) -> None:
    """`words`: empty, the number of a call counted from the last, or `thoughts`. Raises UsageError."""
    try:
        # What tools did stays done, also when the message was taken back.
        said = messages_of(await app.store.show(key), with_undone=True)
    except UnknownSessionError:
        said = []
    if words == THOUGHTS:
        _show_thoughts(console, said)
        return
    if words and not (words.isdecimal() and int(words) > 0):
        raise UsageError("/last takes the number of a call, counted from the last.", hint="Try: /last, or /last 2.")
    results = [message for message in said if isinstance(message, ToolMessage)]
    back = int(words or 1)
    if back > len(results):
        has = f"this conversation has {len(results)}" if results else "no tool was called in this conversation"
        raise UsageError(f"There is no such call: {has}.")
    calls = {call.id: call for message in said if isinstance(message, AssistantMessage) for call in message.tool_calls}
    await _show_result(app, console, results[-back], calls.get(results[-back].call_id))


def _show_thoughts(console: Console, said: list[Message]) -> None:
    answers = [message for message in said if isinstance(message, AssistantMessage)]
    thoughts = [block.text for answer in answers for block in answer.content if isinstance(block, Thinking)]
    console.line(thoughts[-1] if thoughts else "The model has told no thoughts in this conversation.")


async def _show_result(app: App, console: Console, result: ToolMessage, call: ToolCall | None) -> None:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items()) if call else "…"
    console.line(console.dim(clean_terminal(f"→ {result.name}({arguments})")))
    console.line(console.dim("← failed" if result.is_error else "←"))
    for block in result.content:
        if isinstance(block, Text):
            console.verbatim(without_frames(block.text))
            continue
        if isinstance(block, File):
            console.line(f"[saved: {file_words(block)}]")
        else:
            assert isinstance(block, Image | Audio)
            await show_media(console, app.engine.media, block)
