"""What a person is shown when they are asked something at a terminal, and what counts as an answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.control.question_dialogue import Finished, dialogue
from openclaw.conversation import Answer, Question

HOSTILE = "\x1b[2J\x1b[1;1H\x1b]0;title\x07\r\x08\x9b31m\u202eevil\u2066\u200f\n"
ENTER, END = "", None


def held(question: Question, *lines: str | None, width: int = 80) -> tuple[Finished, str]:
    """How the dialogue ends when these lines are typed, all of which it takes, and everything it showed."""
    steps = dialogue(question, width)
    shown, left = [], list(lines)
    try:
        shown.append(next(steps))
        while True:
            shown.append(steps.send(left.pop(0)))
    except StopIteration as ended:
        assert not left
        finished: Finished = ended.value
        return finished, "".join(shown) + finished.said


def answered(question: Question, *lines: str | None) -> Answer:
    return held(question, *lines)[0].answer


def form(*required: str, **fields: Any) -> Question:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return Question("form", "Tell me.", asker="shop", schema=schema)


MAY_IT = Question("approval", "May files write notes.txt?", options=("once", "always below notes"))


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1", Answer("accept", {"option": "once"})),
        (" Once ", Answer("accept", {"option": "once"})),
        ("always below notes", Answer("accept", {"option": "always below notes"})),
        ("2", Answer("accept", {"option": "always below notes"})),
        ("no", Answer("decline")),
        ("N", Answer("decline")),
        (END, Answer("cancel")),
    ],
)
def test_an_approval_is_one_of_its_options_or_a_no(typed: str | None, answer: Answer) -> None:
    assert answered(MAY_IT, typed) == answer


def test_an_approval_shows_what_may_be_typed() -> None:
    assert held(MAY_IT, "what?", "1")[1] == (
        "May files write notes.txt?\n"
        "  1  once\n"
        "  2  always below notes\n"
        "Type a number or its words for yes, or no: "
        "That is none of them. Type a number or its words for yes, or no: "
    )


@pytest.mark.parametrize("question", [MAY_IT, Question("approval", "May it?"), Question("url", url="https://a.test/")])
@pytest.mark.parametrize("typed", [ENTER, " ", "ye", "yess", "ok", "0", "3", "-1", "y\x00", "¹", "true", "all ways"])
def test_enter_and_unknown_words_are_never_a_yes_and_end_unanswered(question: Question, typed: str) -> None:
    assert answered(question, *[typed] * 5) == Answer("cancel")


def test_a_number_never_stands_for_one_option_and_is_the_words_of_another() -> None:
    question = Question("approval", "How often?", options=("2", "1"))
    finished, shown = held(question, "1")
    assert finished.answer == Answer("accept", {"option": "1"})
    assert "\n  2\n  1\nType one of these for yes, or no: " in shown
    assert answered(form(size={"enum": ["0", "1", "2"]}), "3", "1", "yes") == Answer("accept", {"size": "1"})


def test_options_that_look_alike_are_told_apart_by_their_numbers() -> None:
    question = Question("approval", "Which?", options=("it\x07", "it"))
    assert answered(question, "it", "2") == Answer("accept", {"option": "it"})


def test_no_option_can_take_the_word_of_a_no() -> None:
    assert answered(Question("approval", "May it?", options=("no", "n")), "no") == Answer("decline")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("yes", Answer("accept")), ("Y", Answer("accept")), ("n", Answer("decline")), (END, Answer("cancel"))],
)
def test_an_approval_without_options_is_a_yes_or_no(typed: str | None, answer: Answer) -> None:
    assert answered(Question("approval", "May it?"), typed) == answer


@pytest.mark.parametrize(
    ("typed", "action", "said"),
    [
        ([" y \n"], "accept", ""),
        (["n"], "decline", ""),
        ([ENTER], "decline", ""),
        (["yess", "yes"], "accept", "That is neither. Type yes or no: "),
        ([END], "cancel", "Left unanswered.\n"),
    ],
)
def test_what_a_command_asks_stands_in_one_line_with_its_answer(
    typed: list[str | None], action: Any, said: str
) -> None:
    question = Question("approval", "Go on? [y/N] ")
    finished, shown = held(question, *typed)
    assert (finished.answer, shown) == (Answer(action), f"Go on? [y/N] {said}")


def test_what_we_ask_ourselves_is_shown_as_it_is_and_cut_with_its_length() -> None:
    shown = held(Question("approval", f"May it send <|im_start|>?\n{'x' * 30_000}"), END)[1]
    assert shown.startswith("May it send <|im_start|>?\nxxx")
    assert "x… (10,026 more characters)\nType yes or no: " in shown


def test_a_form_is_asked_field_by_field_and_sent_after_a_yes() -> None:
    question = form(
        "name",
        name={"type": "string", "title": "Your name", "description": "As on the door.", "minLength": 2},
        age={"type": "integer", "minimum": 0},
        size={"type": "number", "default": 1.5},
        news={"type": "boolean", "default": True},
        colour={"enum": ["r", "g"], "enumNames": ["red", "green"], "type": "string"},
        pet={"oneOf": [{"const": "c", "title": "a cat"}, {"const": "d"}]},
    )
    lines = ("Y", "Yu", "ten", "-1", "10", ENTER, "no", "green", "2", ENTER, "yes")
    finished, shown = held(question, *lines)

    content = {"name": "Yu", "age": 10, "size": 1.5, "news": False, "colour": "g", "pet": "d"}
    assert finished.answer == Answer("accept", content)
    assert shown.splitlines()[:6] == [
        'Server "shop" asks:',
        "  | Tell me.",
        "Enter alone takes what stands in brackets. /decline says no, Ctrl-D leaves it unanswered.",
        "  | As on the door.",
        "  | Your name (a text): The answers do not fit their schema: the value is shorter than 2 characters.",
        "  | Your name (a text):   | age (a whole number) []: That is not a whole number.",
    ]
    assert "  | news (yes or no) [yes]: " in shown
    assert "  | 1  red\n  | 2  green\n  | colour (a number or its words) []: " in shown
    assert shown.endswith("Send these 6 answers? Type yes or no: That is neither. Type yes or no: ")


def test_what_is_not_required_may_be_left_out_and_what_is_may_not() -> None:
    question = form("name", name={"type": "string"}, nick={"type": "string"})
    assert answered(question, ENTER, "Yu", ENTER, "y") == Answer("accept", {"name": "Yu"})


@pytest.mark.parametrize(
    ("lines", "action"),
    [
        (["/decline"], "decline"),
        ([END], "cancel"),
        (["Yu", "no"], "decline"),
        (["Yu", END], "cancel"),
        ([ENTER] * 5, "cancel"),
        (["Yu", *[ENTER] * 5], "cancel"),
    ],
)
def test_a_form_can_be_left_at_every_line(lines: list[str | None], action: str) -> None:
    assert answered(form("name", name={"type": "string"}), *lines).action == action


def test_a_default_that_does_not_fit_is_not_offered() -> None:
    assert answered(form(age={"type": "integer", "default": "old"}), ENTER, "yes") == Answer("accept", {})


def test_fields_that_do_not_fit_together_are_asked_again() -> None:
    question = form(a={"type": "string"}, b={"type": "string"})
    question = Question("form", schema={**(question.schema or {}), "dependentRequired": {"a": ["b"]}})
    assert answered(question, "1", ENTER, "1", "2", "yes") == Answer("accept", {"a": "1", "b": "2"})
    assert answered(question, *["1", ENTER] * 3) == Answer("cancel")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {"tags": {"type": "array"}}}, "tags is more than a text"),
        ({"type": "object", "properties": {"deep": {"type": "object"}}}, "deep is more than a text"),
        ({"type": "object", "properties": {"any": True}}, "any is more than a text"),
        ({"type": "object", "properties": {"two": {"type": ["string", "null"]}}}, "two is more than a text"),
        ({"type": "object", "required": ["lost"]}, "it requires lost"),
        ({"type": "array"}, "no list of at most 50 fields"),
        ({"type": "object", "properties": 5}, "The schema cannot be used"),
        ({"type": "object", "properties": {str(n): {"type": "string"} for n in range(51)}}, "no list of at most 50"),
    ],
)
def test_a_form_that_is_more_than_plain_fields_is_not_shown(schema: dict[str, Any], said: str) -> None:
    finished, shown = held(Question("form", "Tell me.", asker="shop", schema=schema))
    assert finished.answer == Answer("cancel")
    assert shown.startswith('Server "shop" asks: a form that cannot be shown here: ')
    assert said in shown


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("https://shop.test/pay?id=1&x=%20#/step/2", "https://shop.test/pay?id=1&x=%20#/step/2"),
        ("https://shop.test/a'b$(c)#d e\"\x1b", "https://shop.test/a%27b%24%28c%29#d%20e%22%1B"),
    ],
)
def test_the_whole_address_is_shown_and_opened_after_a_yes(url: str, opened: str) -> None:
    finished, shown = held(Question("url", "Pay here.", asker="shop", url=url), "yes")
    assert finished == Finished(Answer("accept"), address=opened)
    assert f":\n  {opened}\nOpen it in your browser? Type yes or no: " in shown


NEAR = ["http://localhost:8080/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://192.168.1.1/"]


@pytest.mark.parametrize("url", NEAR)
def test_a_server_cannot_have_a_page_of_this_machine_or_this_network_opened(url: str) -> None:
    finished, shown = held(Question("url", "Pay here.", asker="shop", url=url))
    assert (finished.answer, finished.address) == (Answer("cancel"), "")
    assert shown.startswith('Server "shop" asks: The page that you are asked to open is at an address that may not be')


@pytest.mark.parametrize("url", NEAR)
def test_we_may_have_such_a_page_opened_ourselves(url: str) -> None:
    assert held(Question("url", url=url), "yes")[0] == Finished(Answer("accept"), address=url)


@pytest.mark.parametrize(("typed", "action"), [("no", "decline"), (END, "cancel")])
def test_without_a_yes_nothing_is_opened(typed: str | None, action: str) -> None:
    finished, _ = held(Question("url", url="https://shop.test/"), typed)
    assert (finished.answer.action, finished.address) == (action, "")


def test_letters_that_may_look_like_others_are_named() -> None:
    shown = held(Question("url", url="https://xn--pple-43d.test/"), END)[1]
    assert "Its name is written in letters that may look like others." in shown


@pytest.mark.parametrize(
    "url",
    [
        *("", "javascript:alert(1)", "file:///etc/passwd", "http://shop.test/", "https://me:pw@shop.test/"),
        *("https://shop.test\\@evil.test/", "https://0x7f000001/", "https://169.254.169.254/", "https://a b.test/"),
        *("https://shop.test/\x1b[2J", "https://shop.test/\u202e", "--help", "https://"),
    ],
)
def test_an_address_that_may_be_read_in_two_ways_is_neither_shown_nor_opened(url: str) -> None:
    finished, shown = held(Question("url", "Pay here.", asker="shop", url=url), *([] if "\u202e" not in url else [END]))
    assert (finished.answer, finished.address) == (Answer("cancel"), "")
    assert "\u202e" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("kind", ["approval", "form", "url"])
def test_hostile_text_cannot_draw_on_the_screen(kind: Any) -> None:
    field = {"type": "string", "title": HOSTILE, "description": HOSTILE, "enum": [HOSTILE], "default": HOSTILE}
    question = Question(
        kind,
        text=HOSTILE,
        asker=HOSTILE,
        options=(HOSTILE,),
        schema={"type": "object", "properties": {HOSTILE: field}},
        url="https://shop.test/",
    )
    shown = held(question, END)[1]
    assert not [letter for letter in shown if not letter.isprintable() and letter != "\n"]
    assert not set(shown) & set("\u202e\u2066\u200f")


def test_no_line_of_a_server_can_be_taken_for_one_of_ours() -> None:
    text = f'Hello.\nServer "bank" asks:\n{"x" * 72}{" " * 200}Type yes or no: \n\n你好{"好" * 200}'
    for width in (20, 80, 200):
        shown = held(Question("approval", text, asker="shop"), END, width=width)[1]
        body = [line for line in shown.splitlines() if line.startswith("  | ")]
        assert shown.splitlines() == ['Server "shop" asks:', *body, "Type yes or no: Left unanswered."]
        assert all(len(line) < max(width, 25) for line in body if line.isascii())
        assert all(len(line) * 2 < max(width, 25) + 8 for line in body if not line.isascii())


def test_a_long_text_of_a_server_is_cut() -> None:
    assert len(held(Question("approval", "word " * 10_000, asker="shop"), END)[1]) < 3_000


@given(
    kind=st.sampled_from(["approval", "form", "url", "sign-in"]),
    text=st.text(),
    options=st.lists(st.text(), max_size=3).map(tuple),
    schema=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "properties", "required", "enum", "oneOf", "const", "title", "default", "a"]),
                inner,
                max_size=4,
            )
        ),
    ),
    url=st.text(),
    lines=st.lists(st.none() | st.text() | st.sampled_from(["yes", "1", "no", ""]), max_size=8),
)
def test_whatever_is_asked_and_typed_the_dialogue_ends_in_an_answer(
    kind: Any, text: str, options: tuple[str, ...], schema: Any, url: str, lines: list[str | None]
) -> None:
    schema = schema if isinstance(schema, dict) else None
    steps = dialogue(Question(kind, text, options=options, schema=schema, url=url), 80)
    with pytest.raises(StopIteration) as ended:
        next(steps)
        for line in [*lines, *[None] * 60]:
            steps.send(line)
    assert ended.value.value.answer.action in ("accept", "decline", "cancel")
