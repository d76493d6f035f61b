"""A turn whose gateway ended in the middle of it: how the next one to have the conversation closes it. Pure.

A call is never made a second time: whoever made it may have carried it out. So an open call gets a result that says just that, and the turn
a note that says that no answer will come.
"""

from collections.abc import Sequence
from typing import Final

from openclaw.content import AssistantMessage, Message, Text, ToolMessage, UserMessage
from openclaw.sessions.event import Custom, Said, SessionEvent

UNKNOWN_END: Final = "The gateway that made this call ended; whether it was carried out is not known."
# The name of the note behind a turn that was cut short, and what it says.
CUT: Final = "cut"
CUT_WORDS: Final = "The gateway that answered this ended before it was done."
# The name of the note in a conversation of which the database has lost something: how many entries.
LOST: Final = "lost"


def closing(messages: Sequence[Message]) -> list[SessionEvent]:
    """What belongs behind a history whose turn nobody will go on with; nothing when it had come to its end."""
    last = messages[-1] if messages else None
    if last is None or (isinstance(last, UserMessage) and last.notes):
        return []
    answered = {message.call_id for message in messages if isinstance(message, ToolMessage)}
    calls = next((one.tool_calls for one in reversed(messages) if isinstance(one, AssistantMessage)), ())
    open_calls = [call for call in calls if call.id not in answered]
    if isinstance(last, AssistantMessage) and not open_calls:
        return []
    results = [
        Said(ToolMessage(call.id, call.name, (Text(UNKNOWN_END),), is_error=True))
        for call in open_calls
        # Calls of a message that others followed were mended when those were said.
        if not isinstance(last, UserMessage)
    ]
    return [*results, Custom(CUT, CUT_WORDS)]


def words_of(note: Custom) -> str:
    """What a person who reads the conversation is told of such a note; empty for one that is about something else."""
    match note:
        case Custom(name="cut"):
            return CUT_WORDS
        case Custom(name="lost", data=int(missing)):
            entries = "entry is" if missing == 1 else "entries are"
            return f"The database went over to a standby that was behind: {missing} {entries} missing here."
        case _:
            return ""
