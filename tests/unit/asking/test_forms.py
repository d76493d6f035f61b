"""Forms of servers: which schemas are one, what an accepted one carries, and what a server may not ask for."""

from typing import Any

import pytest

from openclaw.asking.forms import FormError, choices_of, read_form

EVERY_KIND: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[A-Z]", "default": "Ada"},
    "mail": {"type": "string", "format": "email", "default": "ada@example.org"},
    "page": {"type": "string", "format": "uri", "default": "https://example.org/"},
    "day": {"type": "string", "format": "date", "default": "2026-07-28"},
    "moment": {"type": "string", "format": "date-time", "default": "2026-07-28T10:00:00Z"},
    "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
    "people": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2},
    "notify": {"type": "boolean", "default": True},
    "place": {"type": "string", "enum": ["in", "out"], "enumNames": ["Inside", "Outside"], "default": "in"},
    "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}], "default": "l"},
    "days": {"type": "array", "items": {"type": "string", "enum": ["mo", "tu"]}, "maxItems": 2, "default": ["tu"]},
    "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1, "default": ["a"]},
}
UNFIT: dict[str, Any] = {
    "name": "ada",
    "mail": "ada at example",
    "page": "not an address",
    "day": "28.7.2026",
    "moment": "2026-07-28 10:00",
    "share": 2,
    "people": 2.5,
    "notify": "yes",
    "place": "Inside",
    "size": "m",
    "days": ["we"],
    "tags": [],
}


def form(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def test_an_accepted_form_carries_the_default_of_every_kind_of_field() -> None:
    read = read_form(form(**EVERY_KIND))
    filled = read.filled({})
    assert filled == {name: field["default"] for name, field in EVERY_KIND.items()}
    assert read.fault(filled) == ""
    assert read.filled({"people": 3})["people"] == 3


@pytest.mark.parametrize("name", list(UNFIT))
def test_an_answer_that_does_not_fit_is_told_with_the_field_and_without_the_value(name: str) -> None:
    fault = read_form(form(**EVERY_KIND)).fault({name: UNFIT[name]})
    assert fault.startswith(f"'{name}': ")
    assert not isinstance(UNFIT[name], str) or f'"{UNFIT[name]}"' not in fault


def test_a_missing_field_and_one_too_many_are_named() -> None:
    read = read_form({**form(who={"type": "string"}), "required": ["who"]})
    assert (read.fault({}), read.fault({"who": "I", "what": 1})) == (
        "'who' is missing.",
        "'what' is no field of this form.",
    )


def test_a_default_that_does_not_fit_is_left_out() -> None:
    assert read_form(form(people={"type": "integer", "maximum": 5, "default": 6})).filled({}) == {}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (None, "The form is no object with fields."),
        ({"type": "array"}, "The form is no object with fields."),
        ({"properties": []}, "The fields of the form are no object."),
        (
            form(a={"type": "object", "properties": {}}),
            "The field 'a' is neither text, number, yes or no, nor a choice.",
        ),
        (form(a={"type": ["string", "null"]}), "The field 'a' is neither text, number, yes or no, nor a choice."),
        (form(a={"anyOf": [{"type": "string"}]}), "The field 'a' is neither text, number, yes or no, nor a choice."),
        (form(a={"type": "array", "items": {"type": "string"}}), "The field 'a' offers nothing to choose from."),
        (form(a={"type": "array"}), "The field 'a' offers nothing to choose from."),
        (form(a={"type": "string", "enum": [1]}), "The field 'a' offers nothing to choose from."),
        (form(a={"type": "string", "format": "binary"}), "The field 'a' has a format that is not known here."),
        (form(a="text"), "The field 'a' is no schema."),
        (form(a={"type": "integer", "minimum": 10**400}), "The field 'a' has a bound that cannot be shown."),
        (form(a={"type": "string", "maxLength": -(10**400)}), "The field 'a' has a bound that cannot be shown."),
        (form(**{"a\nb": {"type": "string"}}), "The field 'a b' has a name that cannot be shown."),
        ({**form(), "required": ["b"]}, "The form requires 'b', which it does not have."),
        ({**form(), "required": "b"}, "What the form requires is no list of names."),
        (form(**{f"f{n}": {"type": "string"} for n in range(51)}), "The form has more than 50 fields."),
    ],
)
def test_what_is_no_flat_form_is_refused_with_the_field_named(schema: object, fault: str) -> None:
    with pytest.raises(FormError) as refused:
        read_form(schema)
    assert str(refused.value) == fault


def test_a_pattern_that_is_none_is_refused_with_the_field_named() -> None:
    with pytest.raises(FormError, match=r"^The field 'a' cannot be used: "):
        read_form(form(a={"type": "string", "pattern": "("}))


def test_what_a_person_would_not_see_of_a_field_is_dropped_and_words_are_cleaned() -> None:
    field = {
        "type": "string",
        "title": "Your\x1b[2J\nname",
        "const": "x",
        "$ref": "https://example.org/",
        "default": "A",
    }
    assert read_form(form(a=field)).schema["properties"] == {
        "a": {"type": "string", "title": "Your name", "default": "A"}
    }


@pytest.mark.parametrize(
    ("name", "field", "wants"),
    [
        ("password", {"type": "string"}, True),
        ("apiKey", {"type": "string"}, True),
        ("API_KEY", {"type": "string"}, True),
        ("value", {"type": "string", "title": "Private key"}, True),
        ("value", {"type": "string", "description": "Your PIN, please."}, True),
        ("value", {"type": "integer", "title": "CVV"}, True),
        ("value", {"type": "string", "format": "password"}, True),
        ("otp", {"type": "integer"}, True),
        ("cardNumber", {"type": "string"}, True),
        ("shipping", {"type": "string"}, False),
        ("maxTokens", {"type": "integer"}, False),
        ("keepSecret", {"type": "boolean"}, False),
        ("secret", {"type": "string", "enum": ["vault", "env"]}, False),
        ("pin", {"type": "integer"}, True),
        ("value", {"type": "integer", "description": "Any one (not your phone number, pin, or the like)"}, False),
        ("opinion", {"type": "string", "title": "What do you think?"}, False),
    ],
)
def test_a_field_that_wants_a_secret_is_known_by_its_words(name: str, field: dict[str, Any], wants: bool) -> None:
    (read,) = read_form(form(**{name: field})).fields
    assert read.wants_secret is wants


def test_choices_have_what_stands_for_each() -> None:
    properties = read_form(form(**EVERY_KIND)).schema["properties"]
    assert {name: choices_of(properties[name]) for name in ("place", "size", "days", "tags")} == {
        "place": (("in", "Inside"), ("out", "Outside")),
        "size": (("s", "Small"), ("l", "l")),
        "days": (("mo", "mo"), ("tu", "tu")),
        "tags": (("a", "A"),),
    }
