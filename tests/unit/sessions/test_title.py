"""What a conversation is called before anybody names it."""

import pytest

from openclaw.content import AssistantMessage, Image, Text, UserMessage
from openclaw.sessions.event import Reset, Said, SessionEvent
from openclaw.sessions.title import MOST_CHARACTERS, opening_of, shortened


def said(text: str) -> Said:
    return Said(UserMessage((Text(text),)))


@pytest.mark.parametrize(
    ("events", "title"),
    [
        ([], ""),
        ([Said(AssistantMessage((Text("Hello."),))), said("Hi.")], "Hi."),
        ([Said(UserMessage((Text("s"),), notes=True)), said("Hi.")], "Hi."),
        ([said("  \n"), said("Hi.")], "Hi."),
        ([Said(UserMessage((Image(b"", "image/png"), Text("What is it?"))))], "What is it?"),
        ([said("One."), Reset(), said("Two.")], "Two."),
        ([said("One."), Reset()], ""),
    ],
)
def test_it_is_what_the_person_said_first_since_it_began(events: list[SessionEvent], title: str) -> None:
    assert opening_of(events) == title


def test_what_came_before_counts_until_a_reset() -> None:
    assert opening_of([said("Two.")], "One.") == "One."
    assert opening_of([Reset(), said("Two.")], "One.") == "Two."


def test_long_words_are_cut_between_two_of_them_and_stand_on_one_line() -> None:
    assert shortened("a\n\tb  c\x1b[31m") == "a b c"
    long = shortened("word " * 50)
    assert long.endswith(" word…")
    assert len(long) <= MOST_CHARACTERS
    assert len(shortened("x" * 1_000_000)) == MOST_CHARACTERS
