"""What a person is shown when they are asked for a yes at a terminal, and what counts as an answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.control.dialogue_steps import ENTER, ESCAPE, Screen
from openclaw.control.question_dialogue import dialogue
from openclaw.conversation import NO_ANSWER, Answer, Question
from parts.dialogues import END, HOSTILE, answered, held, no, unseen, yes

MAY_IT = Question("approval", "May files write notes.txt?", options=("once", "always below notes"))


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1", yes(option="once")),
        ("2", yes(option="always below notes")),
        ("n", no()),
        ("N", no()),
        ("no", no()),
        (ESCAPE, NO_ANSWER),
        (END, NO_ANSWER),
    ],
)
def test_an_approval_is_one_of_its_options_or_a_no(typed: str | None, answer: Answer) -> None:
    assert answered(MAY_IT, typed) == answer


def test_an_approval_shows_what_may_be_pressed() -> None:
    assert held(MAY_IT, "x", ENTER, "1")[1] == (
        "May files write notes.txt?\n"
        "  1  once\n"
        "  2  always below notes\n"
        "1–2 yes · n no: "
        "That is none of them.\n1–2 yes · n no: "
        "1–2 yes · n no: "
    )


@pytest.mark.parametrize("question", [MAY_IT, Question("approval", "May it?"), Question("url", url="https://a.test/")])
@pytest.mark.parametrize(
    "typed", [ENTER, " ", "ye", "yy", "ok", "0", "3", "-1", "y\x00", "¹", "true", "\x1b[A", "once"]
)
def test_enter_and_unknown_keys_are_never_a_yes_and_end_unanswered(question: Question, typed: str) -> None:
    assert answered(question, *[typed] * 20) == NO_ANSWER


def test_a_number_is_a_place_whatever_the_options_are_called() -> None:
    question = Question("approval", "How often?", options=("2", "1"))
    finished, shown = held(question, "1")
    assert finished.answer == yes(option="2")
    assert "\n  1  2\n  2  1\n1–2 yes · n no: " in shown


def test_no_option_can_take_the_key_of_a_no() -> None:
    assert answered(Question("approval", "May it?", options=("no", "n")), "n") == no()


def test_more_options_than_there_are_keys_are_typed() -> None:
    question = Question("approval", "Which?", options=tuple(f"number {place}" for place in range(1, 13)))
    assert answered(question, "13", " 12 ") == yes(option="number 12")
    assert answered(question, "n") == no()
    assert answered(question, *["x"] * 5) == NO_ANSWER


@pytest.mark.parametrize(
    ("typed", "answer"), [("y", yes()), ("Y", yes()), ("yes", yes()), ("n", no()), (END, NO_ANSWER)]
)
def test_an_approval_without_options_is_a_yes_or_no(typed: str | None, answer: Answer) -> None:
    assert answered(Question("approval", "May it?"), typed) == answer


@pytest.mark.parametrize(
    ("typed", "answer", "said"),
    [
        ([" y \n"], yes(), ""),
        (["n"], no(), ""),
        ([ENTER], no(), ""),
        (["yess", "yes"], yes(), "That is neither. Type yes or no: "),
        ([END], NO_ANSWER, "Left unanswered.\n"),
    ],
)
def test_what_a_command_asks_stands_in_one_line_with_its_answer(
    typed: list[str | None], answer: Answer, said: str
) -> None:
    finished, shown = held(Question("approval", "Go on? [y/N] "), *typed)
    assert (finished.answer, shown) == (answer, f"Go on? [y/N] {said}")


@pytest.mark.parametrize(
    ("typed", "answer", "said"),
    [
        (["y"], Answer("accept", {"option": "yes"}, by="terminal"), ""),
        (["Choose"], Answer("accept", {"option": "choose"}, by="terminal"), ""),
        (["n"], Answer("decline", by="terminal"), ""),
        ([""], Answer("decline", by="terminal"), ""),
        (
            ["c", "choose"],
            Answer("accept", {"option": "choose"}, by="terminal"),
            "That is none of them. Type yes, choose or no: ",
        ),
    ],
)
def test_a_question_in_one_line_may_have_a_third_answer(typed: list[str | None], answer: Answer, said: str) -> None:
    finished, shown = held(Question("approval", "Those? [y/N/choose] ", options=("yes", "choose")), *typed)
    assert (finished.answer, shown) == (answer, f"Those? [y/N/choose] {said}")


def test_a_question_in_one_line_is_folded_at_words_where_the_screen_is_narrow() -> None:
    text = "17 tools. 2 say that they only read. Allow those without asking? [y/N/choose] "
    question = Question("approval", text, options=("yes", "choose"))
    first = "17 tools. 2 say that they only read. Allow those without\nasking? [y/N/choose] "
    again = "That is none of them. Type yes, choose or no: "
    assert held(question, "c", "n", screen=Screen(60))[1] == first + again
    assert held(question, "n", screen=Screen(80))[1] == text


def test_what_we_ask_ourselves_is_shown_as_it_is() -> None:
    assert held(Question("approval", "May it send <|im_start|>?"), END)[1].startswith("May it send <|im_start|>?\n")


def test_a_long_text_is_cut_and_shown_whole_page_by_page() -> None:
    text = "\n".join(f"line {number}" for number in range(60))
    finished, shown = held(Question("approval", text, asker="lab"), "d", ENTER, " ", "y")
    first, *pages = shown.split(": ")
    assert first.splitlines() == [
        'Server "lab" asks:',
        *(f"  | line {number}" for number in range(15)),
        "… (45 more lines)",
        "y yes · n no · d details",
    ]
    assert [line for line in pages[0].splitlines() if line.startswith("  | ")] == [
        f"  | line {number}" for number in range(20)
    ]
    assert "-- 40 more" in pages[0]
    assert "line 59" in shown
    assert finished.answer == yes()


@pytest.mark.parametrize(
    ("typed", "answer"), [(["d", "q", "n"], no()), (["d", ESCAPE, "n"], no()), (["d", END], NO_ANSWER)]
)
def test_the_pages_of_a_text_can_be_left(typed: list[str | None], answer: Answer) -> None:
    assert answered(Question("approval", "word\n" * 100, asker="lab"), *typed) == answer


@pytest.mark.parametrize("kind", ["approval", "form", "url"])
def test_hostile_text_cannot_draw_on_the_screen(kind: Any) -> None:
    field = {"type": "string", "title": HOSTILE, "description": HOSTILE, "enum": [HOSTILE], "default": HOSTILE}
    question = Question(
        kind,
        text=HOSTILE,
        asker=HOSTILE,
        options=(HOSTILE,),
        schema={"type": "object", "properties": {"name": field}},
        url="https://shop.test/",
    )
    for typed in ([END], ["?", END], ["x", "c", END][kind == "form" :]):
        assert unseen(held(question, *typed)[1]) == []


def test_no_line_of_a_server_can_be_taken_for_one_of_ours() -> None:
    text = f'Hello.\nServer "bank" asks:\n{"x" * 72}{" " * 200}y yes · n no: \n\n你好{"好" * 200}'
    for width in (20, 80, 200):
        shown = held(Question("approval", text, asker="shop"), END, width=width)[1]
        lines = shown.splitlines()
        assert lines[0] == 'Server "shop" asks:'[: width - 1].rstrip() or width == 20
        assert lines[-1].endswith("Left unanswered.")
        ours = [line for line in lines if not line.startswith("  | ")]
        assert not [line for line in ours if "bank" in line or "Hello" in line or "好" in line or "x" in line]


@given(
    kind=st.sampled_from(["approval", "form", "url", "sign-in"]),
    text=st.text(),
    options=st.lists(st.text(), max_size=12).map(tuple),
    schema=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "required",
                        "enum",
                        "oneOf",
                        "const",
                        "title",
                        "default",
                        "a",
                        "items",
                        "minItems",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
    ),
    url=st.text(),
    typed=st.lists(st.none() | st.text() | st.sampled_from(["y", "1", "n", "", "d", "s", "e"]), max_size=8),
    width=st.integers(1, 200),
)
def test_whatever_is_asked_and_typed_the_dialogue_ends_in_an_answer(
    kind: Any, text: str, options: tuple[str, ...], schema: Any, url: str, typed: list[str | None], width: int
) -> None:
    schema = schema if isinstance(schema, dict) else None
    steps = dialogue(Question(kind, text, options=options, schema=schema, url=url), Screen(width))
    with pytest.raises(StopIteration) as ended:
        next(steps)
        for one in [*typed, *[None] * 60]:
            steps.send(one)
    assert ended.value.value.answer.action in ("accept", "decline", "cancel")
