"""How a turn is closed whose gateway ended in the middle of it."""

import pytest

from openclaw.content import AssistantMessage, Message, Text, ToolCall, ToolMessage, UserMessage
from openclaw.fleet.cut_turn import CUT, CUT_WORDS, LOST, UNKNOWN_END, closing, words_of
from openclaw.sessions.event import Custom, Said

ASKED = UserMessage((Text("do it"),))
CALLS = AssistantMessage((ToolCall("1", "send", {}), ToolCall("2", "pay", {})))
SENT = ToolMessage("1", "send", (Text("sent"),))
PAID = ToolMessage("2", "pay", (Text("paid"),))
NOTE = Custom(CUT, CUT_WORDS)


def unknown(id: str, name: str) -> Said:
    return Said(ToolMessage(id, name, (Text(UNKNOWN_END),), is_error=True))


@pytest.mark.parametrize(
    ("messages", "behind"),
    [
        ([], []),
        ([ASKED, AssistantMessage((Text("done"),))], []),
        ([UserMessage((Text("summary"),), notes=True)], []),
        ([ASKED], [NOTE]),
        ([ASKED, CALLS], [unknown("1", "send"), unknown("2", "pay"), NOTE]),
        ([ASKED, CALLS, SENT], [unknown("2", "pay"), NOTE]),
        ([ASKED, CALLS, SENT, PAID], [NOTE]),
        ([ASKED, CALLS, SENT, ASKED], [NOTE]),
    ],
)
def test_open_calls_get_a_result_that_says_what_is_known_and_the_turn_a_note(
    messages: list[Message], behind: list[object]
) -> None:
    assert closing(messages) == behind


def test_a_person_is_told_why_something_is_missing_and_nothing_of_other_notes() -> None:
    assert words_of(Custom(CUT, CUT_WORDS)) == "The gateway that answered this ended before it was done."
    assert [words_of(Custom(LOST, count)).partition(": ")[2] for count in (1, 3)] == [
        "1 entry is missing here.",
        "3 entries are missing here.",
    ]
    assert [words_of(Custom(name, data)) for name, data in (("foreign", ["a"]), (LOST, "many"))] == ["", ""]
