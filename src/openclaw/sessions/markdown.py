"""A session as Markdown, for people to keep and to send: what was said, and which tools were called.

What others wrote stands in it without the frames that are for models. Whatever drives a terminal is taken out.
"""

from collections.abc import Iterator
from datetime import datetime

from openclaw.content import AssistantMessage, Block, Message, Text, ToolMessage, UserMessage
from openclaw.log import one_line
from openclaw.security.external import clean_terminal
from openclaw.security.unframe import with_marks, without_frames
from openclaw.sessions.event import Reset, Said, Shortened, Undone
from openclaw.sessions.store import Transcript

# Enough of a call and of its result to recognise them; the JSON lines have them whole.
_SHOWN = 400


def markdown(transcript: Transcript) -> Iterator[str]:
    """The lines, without their line ends."""
    info = transcript.info
    yield f"# {clean_terminal(info.title) or 'A conversation'}"
    yield ""
    yield f"With {info.agent}, {_day(info.created)} to {_day(info.updated)}."
    for entry in transcript.entries:
        match entry.event:
            case Said(message=message):
                yield from _message(message)
            case Shortened():
                yield from ("", "*The conversation was shortened here: the model went on from notes.*")
            case Reset():
                yield from ("", "---", "", "*A new conversation begins here.*")
            case Undone():
                yield from ("", "*The message before was taken back.*")
            case _:
                pass


def _message(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(content=content):
            yield from ("", "## You", "", *_sent(content))
        case AssistantMessage():
            yield from ("", "## Agent", "") if message.text else ("",)
            yield from clean_terminal(without_frames(message.text)).splitlines()
            for call in message.tool_calls:
                yield clean_terminal(f"- → `{call.name}` {one_line(str(call.arguments), _SHOWN)}")
        case ToolMessage(name=name, content=content, is_error=is_error):
            word = "failed: " if is_error else ""
            said = one_line(" ".join(_text(content)), _SHOWN)
            yield clean_terminal(f"- ← `{name}` {word}{said}")


def _sent(content: tuple[Block, ...]) -> list[str]:
    """What a person said, and the files that came with it, each between a line that names it and one that ends it."""
    said = [
        with_marks(
            block.text, lambda name: f"\n*From {_code(name)}:*\n\n", lambda name: f"\n\n*End of {_code(name)}.*\n"
        )
        if isinstance(block, Text)
        else f"[{block.mime_type}]"
        for block in content
    ]
    return clean_terminal("\n".join(said)).splitlines()


def _code(name: str) -> str:
    return f"`{name.replace('`', chr(39))}`"


def _text(content: tuple[Block, ...]) -> list[str]:
    said = [block.text if isinstance(block, Text) else f"[{block.mime_type}]" for block in content]
    return clean_terminal(without_frames("\n".join(said))).splitlines()


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d")
