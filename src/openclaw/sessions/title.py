"""What a conversation is called where people choose among them: the words it began with, unless somebody named it."""

from collections.abc import Iterable

from openclaw.content import Text, UserMessage
from openclaw.log import one_line
from openclaw.sessions.event import Reset, Said, SessionEvent

# Enough to know it by, and short enough for a column.
MOST_CHARACTERS = 60
# A message may be megabytes long, and begin with blank lines.
_LOOKED_AT = 1_000


def shortened(words: str) -> str:
    """Words on one line, cut between two of them."""
    line = one_line(" ".join(words[:_LOOKED_AT].split()))
    if len(line) <= MOST_CHARACTERS:
        return line
    cut = line[: MOST_CHARACTERS - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def opening_of(events: Iterable[SessionEvent], before: str = "") -> str:
    """The first words that the person said since the last reset. `before` are those of the events that came before."""
    opening = before
    for event in events:
        match event:
            case Said(message=UserMessage(notes=False, content=content)) if not opening:
                words = next((block.text for block in content if isinstance(block, Text) and block.text.strip()), "")
                opening = shortened(words)
            case Reset():
                opening = ""
            case _:
                pass
    return opening
