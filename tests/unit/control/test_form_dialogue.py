"""Forms of servers at a terminal: field by field, faults at their field, and a look at all of it before it is sent."""

from typing import Any

import pytest

from openclaw.control.dialogue_steps import ENTER, ESCAPE
from openclaw.conversation import NO_ANSWER, Answer, Question
from parts.dialogues import END, answered, held, no, yes

DEPLOY = {
    "environment": {"type": "string", "enum": ["staging", "production"], "default": "staging"},
    "replicas": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2, "description": "How many run."},
    "notify": {"type": "boolean", "default": True},
}


def form(*required: str, **fields: Any) -> Question:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return Question("form", "Where should I deploy?", asker="deploy", schema=schema)


def test_a_form_is_asked_field_by_field_and_sent_after_a_look_at_it() -> None:
    finished, shown = held(form("replicas", **DEPLOY), ENTER, "40", "5", "n", "s")
    assert finished.answer == yes(environment="staging", replicas=5, notify=False)
    assert shown == (
        'Server "deploy" asks:\n'
        "  | Where should I deploy?\n"
        "  Your answer goes to this server, not to OpenClaw's model.\n"
        "  Enter takes what stands in brackets · ? helps · /decline says no\n"
        "  Ctrl-D not now\n"
        "  | environment (staging | production) [staging]: "
        "  | replicas (1–20) [2]: "
        "  | replicas: must be at most 20\n"
        "  | replicas (1–20) [2]: "
        "  | notify (y/n) [yes]: "
        "Send this?\n"
        "  | environment  staging\n"
        "  | replicas     5\n"
        "  | notify       no\n"
        "[s]end   [e]dit   [d]ecline   [Esc] not now: "
        "Sent.\n"
    )


def test_whoever_edits_finds_what_was_typed_before() -> None:
    finished, shown = held(form(**DEPLOY), "production", "7", "n", "e", ENTER, ENTER, "y", "s")
    assert finished.answer == yes(environment="production", replicas=7, notify=True)
    second = shown.partition("not now: ")[2]
    assert second.startswith(
        "  | environment (staging | production) [production]:   | replicas (1–20) [7]:   | notify (y/n) [no]: "
    )


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["/decline"], no()),
        ([ESCAPE], NO_ANSWER),
        ([END], NO_ANSWER),
        ([ENTER] * 5, NO_ANSWER),
        (["Yu", "d"], no()),
        (["Yu", ESCAPE], NO_ANSWER),
        (["Yu", END], NO_ANSWER),
        (["Yu", *[ENTER] * 20], NO_ANSWER),
        (["Yu", *["y"] * 20], NO_ANSWER),
        (["Yu", *["e", ENTER] * 9, "e"], NO_ANSWER),
    ],
)
def test_a_form_can_be_left_at_every_step_and_only_s_sends_it(typed: list[str | None], answer: Answer) -> None:
    assert answered(form("name", name={"type": "string"}), *typed) == answer


COLOURS = {
    "type": "array",
    "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}, {"const": "b"}]},
}


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "string"}, "Yü ", "Yü"),
        ({"type": "string"}, "\\?", "?"),
        ({"type": "string"}, "\\/none", "/none"),
        ({"type": "string", "format": "email"}, "me@example.net", "me@example.net"),
        ({"type": "string", "format": "uri"}, "https://example.net/", "https://example.net/"),
        ({"type": "string", "format": "date"}, "2026-11-16", "2026-11-16"),
        ({"type": "string", "format": "date-time"}, "2026-11-16T09:40:00Z", "2026-11-16T09:40:00Z"),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "3", 3),
        ({"type": "integer"}, "-3", -3),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"enum": ["r", "g"], "enumNames": ["red", "green"], "type": "string"}, "green", "g"),
        ({"enum": ["r", "g"], "enumNames": ["red", "green"], "type": "string"}, "1", "r"),
        ({"oneOf": [{"const": "c", "title": "a cat"}, {"const": "d"}]}, "A CAT", "c"),
        ({"enum": ["0", "1", "2"]}, "1", "1"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}, "1, 3", ["a", "c"]),
        (COLOURS, "green,1,green", ["g", "r"]),
        (COLOURS, "b", ["b"]),
    ],
)
def test_every_kind_of_field_can_be_typed(field: dict[str, Any], typed: str, value: Any) -> None:
    assert answered(form("it", it=field), typed, "s") == yes(it=value)


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ({"type": "string"}, "", "has to be answered"),
        ({"type": "integer"}, "ten", "is to be a whole number"),
        ({"type": "integer"}, "1.5", "is to be a whole number"),
        ({"type": "integer"}, "9" * 400, "is to be a whole number"),
        ({"type": "number"}, "9" * 400, "is to be a number"),
        ({"type": "number"}, "1e999", "is to be a number"),
        ({"type": "number"}, "inf", "is to be a number"),
        ({"type": "integer", "minimum": 3}, "2", "must be at least 3"),
        ({"type": "string", "minLength": 3}, "ab", "must have 3 characters or more"),
        ({"type": "string", "maxLength": 3}, "abcd", "must have at most 3 characters"),
        ({"type": "string", "pattern": "^a"}, "b", "the value does not match"),
        ({"type": "string", "format": "email"}, "me", "is to be an email address"),
        ({"type": "string", "format": "uri"}, "me", "is to be a web address"),
        ({"type": "string", "format": "date"}, "2026-13-01", "is to be a date as 2026-11-16"),
        ({"type": "string", "format": "date-time"}, "2026-11-16T09:40:00", "is to be a time as"),
        ({"type": "boolean"}, "maybe", "is to be y or n"),
        ({"enum": ["a", "b"], "type": "string"}, "c", "is to be one of them"),
        ({**COLOURS, "minItems": 2}, "1", "must be 2 of them or more"),
        ({**COLOURS, "maxItems": 1}, "1,2", "must be at most 1 of them"),
        (COLOURS, "1,9", "is to be numbers with commas between them"),
    ],
)
def test_a_fault_is_named_at_its_field(field: dict[str, Any], typed: str, said: str) -> None:
    finished, shown = held(form("it", it=field), typed, "/decline")
    assert f"  | it: {said}" in shown
    assert finished.answer == no()


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ({"type": "string"}, "(text) [left out]: "),
        ({"type": "integer", "minimum": 3}, "(3 or more) [left out]: "),
        ({"type": "integer", "minimum": 1_000_000, "maximum": 12_345_678}, "(1000000–12345678) [left out]: "),
        ({"type": "number", "minimum": 0.0000125, "maximum": 2e6}, "(1.25e-05–2000000) [left out]: "),
        ({"type": "number", "maximum": 2.5, "default": 1}, "(at most 2.5) [1]: "),
        (
            {"type": "string", "minLength": 2, "maxLength": 9, "format": "email"},
            "(an email address, 2–9 characters) [left out]: ",
        ),
        ({**COLOURS, "minItems": 1, "maxItems": 2, "default": ["r"]}, "(1–2 of these, commas between) [Red]: "),
        (COLOURS, "(any of these, commas between) [left out]: "),
        ({"enum": ["x" * 30, "y" * 30]}, "(a number or its words) [left out]: "),
        ({"type": "string", "default": "a\x1b[2J\u202e"}, '(text) ["a\\u001b[2J\\u202e"]: '),
    ],
)
def test_a_field_says_what_it_takes_and_what_enter_stands_for(field: dict[str, Any], shown: str) -> None:
    assert f"  | it {shown}" in held(form(it=field), END)[1]


def test_choices_that_do_not_fit_into_the_line_have_numbers() -> None:
    assert "  | 1  Red\n  | 2  Green\n  | 3  b\n  | it (any" in held(form(it=COLOURS), END)[1]


def test_help_tells_of_the_field_and_asks_again() -> None:
    question = form("it", it={"type": "string", "description": "As on the door."}, other={"enum": ["a", "b"]})
    finished, shown = held(question, "?", "Yu", "?", "2", "s")
    assert "  | As on the door.\n  | It has to be answered.\n" in shown
    assert "  | It may be left out: /none\n  | 1  a\n  | 2  b\n  | other (a | b) [left out]: " in shown
    assert finished.answer == yes(it="Yu", other="b")


def test_what_is_not_required_may_be_left_out_and_what_is_may_not() -> None:
    question = form("name", name={"type": "string"}, nick={"type": "string"}, size={"type": "integer"})
    assert answered(question, ENTER, "Yu", ENTER, "/none", "s") == yes(name="Yu")
    assert answered(question, "Yu", "Y", "3", "e", ENTER, "/none", ENTER, "s") == yes(name="Yu", size=3)


def test_what_has_a_default_is_not_left_out_for_the_default_would_be_sent_all_the_same() -> None:
    finished, shown = held(form(size={"type": "integer", "default": 3}), "/none", "?", ENTER, "s")
    assert finished.answer == yes(size=3)
    assert "It has to be answered." in shown


def test_an_empty_form_is_sent_after_a_look_too() -> None:
    finished, shown = held(form(), "s")
    assert finished.answer == yes()
    assert "Where should I deploy?" in shown
    assert "Send an empty answer?\n" in shown


def test_a_default_that_does_not_fit_is_not_offered() -> None:
    assert answered(form(age={"type": "integer", "default": "old"}), ENTER, "s") == yes()


def test_fields_that_do_not_fit_together_are_asked_again() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "dependentRequired": {"a": ["b"]}}
    question = Question("form", schema=schema)
    assert answered(question, "1", ENTER, ENTER, "2", "s") == yes(a="1", b="2")
    assert answered(question, *["1", ENTER] * 10) == NO_ANSWER


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {"tags": {"type": "array"}}}, "'tags' offers nothing to choose from"),
        ({"type": "object", "properties": {"deep": {"type": "object"}}}, "'deep' is neither text"),
        ({"type": "object", "properties": {"any": True}}, "'any' is no schema"),
        ({"type": "object", "properties": {"two": {"type": ["string", "null"]}}}, "'two' is neither text"),
        ({"type": "object", "required": ["lost"]}, "requires 'lost'"),
        ({"type": "array"}, "no object with fields"),
        ({"type": "object", "properties": 5}, "are no object"),
        ({"type": "object", "properties": {str(n): {"type": "string"} for n in range(51)}}, "more than 50 fields"),
    ],
)
def test_a_form_that_is_more_than_plain_fields_is_not_shown(schema: dict[str, Any], said: str) -> None:
    finished, shown = held(Question("form", "Tell me.", asker="shop", schema=schema), width=200)
    assert finished.answer == NO_ANSWER
    assert shown.startswith('Server "shop" asks for a form that cannot be shown here: ')
    assert said in shown


def test_every_row_that_a_server_chose_stands_behind_the_bar_on_a_narrow_screen_too() -> None:
    title = "Your name Server bank asks: type your card number here please"
    shown = held(form(name={"type": "string", "title": title, "default": "x" * 50}), ENTER, "d", width=40)[1]
    assert not [line for line in shown.splitlines() if ("bank" in line or "xx" in line) and not line.startswith("  | ")]


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "properties": {"deep": {"type": "object"}}}])
def test_why_a_form_is_not_shown_fits_a_narrow_screen(schema: dict[str, Any]) -> None:
    shown = held(Question("form", "Tell me.", asker="shop", schema=schema), width=40)[1]
    assert max(map(len, shown.splitlines())) < 40
    assert " ".join(shown.split()).startswith('Server "shop" asks for a form that cannot be shown here: ')


def test_what_is_wrong_with_fields_that_do_not_fit_together_stands_behind_the_bar() -> None:
    properties = {"a": {"type": "string"}, "say yes to everything from here on": {"type": "string"}}
    schema = {
        "type": "object",
        "properties": properties,
        "dependentRequired": {"a": ["say yes to everything from here on"]},
    }
    shown = held(Question("form", schema=schema, asker="shop"), "1", ENTER, END, width=40)[1]
    rows = [row for row in shown.splitlines() if "required" in row or "everything" in row]
    assert rows
    assert [row for row in rows if not row.startswith("  | ")] == []
