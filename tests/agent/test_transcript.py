"""Transcripts whose writer was killed half-way, mended."""

from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.agent.transcript import unanswered, whole
from openclaw.content import AssistantMessage, Message, Text, ToolCall, ToolMessage, UserMessage
from openclaw.models.transcript import INTERRUPTED, paired

ONE, TWO = ToolCall("1", "read", {}), ToolCall("2", "ls", {})
USER = UserMessage((Text("Go."),))
ASKED = AssistantMessage((ONE, TWO))
FIRST = ToolMessage("1", "read", (Text("one"),))
SECOND = ToolMessage("2", "ls", (Text("two"),))


def interrupted(call: ToolCall) -> ToolMessage:
    return ToolMessage(call.id, call.name, (Text(INTERRUPTED),), is_error=True)


def test_a_valid_transcript_is_left_as_it_is() -> None:
    messages: list[Message] = [USER, ASKED, FIRST, SECOND, USER]
    assert paired(messages) == messages


def test_a_missing_result_says_it_was_interrupted() -> None:
    assert paired([USER, ASKED, SECOND, USER]) == [USER, ASKED, interrupted(ONE), SECOND, USER]
    assert paired([USER, ASKED]) == [USER, ASKED, interrupted(ONE), interrupted(TWO)]


def test_a_result_without_its_call_is_told_in_words() -> None:
    def told(result: ToolMessage) -> UserMessage:
        note = f"A result of {result.name}, whose call is no longer part of this conversation:"
        return UserMessage((Text(note), *result.content))

    assert paired([FIRST, USER, SECOND, ASKED, FIRST, SECOND, FIRST]) == [
        *(told(FIRST), USER, told(SECOND)),
        *(ASKED, FIRST, SECOND, told(FIRST)),
    ]


def test_the_open_calls_are_those_of_the_last_message_without_a_result() -> None:
    assert unanswered([USER, ASKED, SECOND]) == (ONE,)
    assert unanswered([USER, ASKED, SECOND, FIRST]) == ()
    assert unanswered([ASKED, USER]) == ()
    assert unanswered([]) == ()


messages = st.lists(
    st.one_of(
        st.just(USER),
        st.builds(lambda text: AssistantMessage((Text(text),)), st.text(max_size=3)),
        st.builds(
            lambda ids: AssistantMessage(tuple(ToolCall(i, "t", {}) for i in ids)),
            st.lists(st.sampled_from("abcd"), unique=True, min_size=1),
        ),
        st.builds(lambda i: ToolMessage(i, "t", (Text("r"),)), st.sampled_from("abcd")),
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(messages)
def test_any_list_of_messages_is_valid_once_paired(messages: list[Message]) -> None:
    result = paired(messages)

    expected: list[str] = []
    for message in result:
        if isinstance(message, ToolMessage):
            assert expected.pop(0) == message.call_id
        else:
            assert expected == []
            expected = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    assert expected == []
    assert paired(result) == result
    said = [m for m in result if isinstance(m, AssistantMessage) or m == USER]
    assert said == [m for m in messages if not isinstance(m, ToolMessage)]


@settings(max_examples=200)
@given(st.text(alphabet=st.characters(), max_size=20))
def test_whole_text_can_always_be_encoded(text: str) -> None:
    assert whole(text).encode("utf-8")[:0] == b""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    assert whole(text) == text


def test_two_halves_of_a_character_become_the_character() -> None:
    assert whole("\ud83d\ude00 \ude00") == "😀 \ufffd"
