"""The fields of a form: what a flat JSON Schema asks for, what may be typed for each, and what that comes to. Pure.

Texts, numbers, yes or no, one choice and several. Refuses schemas with anything else in them, and names the field.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

import msgspec

from openclaw.content import to_json
from openclaw.control.shown_text import value_text
from openclaw.json_schema import Checker, problems_of_schema
from openclaw.security.external import clean_label

YES, NO = ("yes", "y"), ("no", "n")
# A form that is longer is not for a terminal.
_MOST_FIELDS = 50
_MOST_CHOICES = 50
LONGEST_LABEL, LONGEST_NOTE = 60, 300
# Choices that stand in the line itself, in characters.
_IN_LINE = 40

Kind = Literal["text", "number", "integer", "boolean", "choice", "choices"]


class Field(msgspec.Struct, frozen=True):
    """One line of a form. `label`, `note` and `titles` are clean. A choice has the values that may be sent and what stands for each."""

    name: str
    kind: Kind
    label: str
    note: str
    schema: Mapping[str, Any]
    checker: Checker
    is_required: bool
    values: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    default: Any = msgspec.UNSET


_KINDS: dict[Any, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
WANTED: dict[Kind, str] = {
    "text": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "y/n",
    "choice": "one of them",
    "choices": "numbers with commas between them",
}


def fields(schema: Mapping[str, Any]) -> list[Field] | str:
    """The fields of a form; why it cannot be shown, else."""
    if fault := problems_of_schema(to_json(schema)):
        return fault
    members, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type", "object") != "object" or len(members) > _MOST_FIELDS:
        return f"it is no list of at most {_MOST_FIELDS} fields."
    found = []
    for name, member in members.items():
        field = _field(name, member, is_required=name in required)
        if field is None:
            return f"{clean_label(name, LONGEST_LABEL)} is more than a text, a number, a yes or no, or a choice."
        found.append(field)
    if missing := [name for name in required if name not in members]:
        return f"it requires {clean_label(missing[0], LONGEST_LABEL)}, which it does not have."
    return found


def _field(name: str, schema: Any, *, is_required: bool) -> Field | None:
    if not isinstance(schema, dict):
        return None
    items = schema.get("items") if schema.get("type") == "array" else None
    choices = _choices(items if isinstance(items, dict) else schema)
    kind: Kind | None = (
        ("choices" if isinstance(items, dict) else "choice")
        if choices
        else _KINDS.get(schema["type"])
        if isinstance(schema.get("type"), str)
        else None
    )
    if kind is None or len(choices) > _MOST_CHOICES:
        return None
    checker = Checker(to_json(schema), what="answers")
    default = schema.get("default", msgspec.UNSET)
    return Field(
        name,
        kind,
        clean_label(str(schema.get("title") or name), LONGEST_LABEL),
        clean_label(str(schema.get("description", "")), LONGEST_NOTE),
        schema,
        checker,
        is_required,
        tuple(value for value, _ in choices),
        tuple(clean_label(title, LONGEST_NOTE) for _, title in choices),
        # One that does not fit would be sent without being looked at.
        msgspec.UNSET if default is msgspec.UNSET or checker.check(default) else default,
    )


def _choices(schema: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The texts that may be chosen and what stands for each; none when it is no choice of texts."""
    listed, titled = schema.get("enum"), schema.get("oneOf") or schema.get("anyOf")
    if isinstance(listed, list) and all(isinstance(value, str) for value in listed):
        names = schema.get("enumNames")
        if not isinstance(names, list) or len(names) != len(listed):
            names = listed
        return [(value, str(name)) for value, name in zip(listed, names, strict=True)]
    if isinstance(titled, list) and all(isinstance(one, dict) and isinstance(one.get("const"), str) for one in titled):
        return [(one["const"], str(one.get("title") or one["const"])) for one in titled]
    return ()


# --- what may be typed ---------------------------------------------------------------------------------------------------------


def wanted(field: Field) -> str:
    """What a field takes, in a few words."""
    match field.kind:
        case "choice":
            return " | ".join(field.titles) if is_in_line(field) else _way(field.titles)
        case "choices":
            few, most = _bound(field, "minItems"), _bound(field, "maxItems")
            between = _between(few, most)
            return f"{between} of these, commas between" if between else "any of these, commas between"
        case "integer" | "number":
            between = _between(_bound(field, "minimum"), _bound(field, "maximum"))
            return between or WANTED[field.kind]
        case "text":
            form = _FORMATS.get(str(field.schema.get("format")), ("", None))[0]
            between = _between(_bound(field, "minLength"), _bound(field, "maxLength"))
            length = f"{between} characters" if between else ""
            return ", ".join(part for part in (form, length) if part) or WANTED["text"]
        case _:
            return WANTED[field.kind]


def is_in_line(field: Field) -> bool:
    """Whether the choices are few and short enough to stand before the answer."""
    return field.kind == "choice" and len(" | ".join(field.titles)) <= _IN_LINE and "|" not in "".join(field.titles)


def rows_of(field: Field) -> list[str]:
    """The choices that do not stand in the line."""
    return [] if is_in_line(field) else numbered(field.titles)


def shown_value(field: Field, value: Any) -> str:
    """A value of this field in the words that would be typed for it."""
    match field.kind:
        case "boolean" if isinstance(value, bool):
            return "yes" if value else "no"
        case "choice" if value in field.values:
            return field.titles[field.values.index(value)]
        case "choices" if isinstance(value, list):
            return ", ".join(field.titles[field.values.index(one)] for one in value if one in field.values) or "none"
        case _:
            return value_text(value)


def _bound(field: Field, name: str) -> int | float | None:
    found = field.schema.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _between(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"{least:g}–{most:g}" if least != most else f"{least:g}"
    return f"{least:g} or more" if least is not None else f"at most {most:g}" if most is not None else ""


def read(field: Field, typed: str) -> Any:
    """The value that was typed; UNSET when it is none of the field's kind."""
    match field.kind:
        case "choice":
            chosen = _one(field, typed)
            return msgspec.UNSET if chosen is None else chosen
        case "choices":
            several = [_one(field, part) for part in typed.split(",") if part.strip()]
            return msgspec.UNSET if None in several else list(dict.fromkeys(several))
        case "boolean":
            word = typed.casefold()
            return word in YES if word in YES or word in NO else msgspec.UNSET
        case "integer" | "number":
            return next(_numbers(typed, whole=field.kind == "integer"), msgspec.UNSET)
        case _:
            return typed or msgspec.UNSET


def fault(field: Field, value: Any) -> str:
    """What is wrong with a value, as the end of a sentence; empty when it fits."""
    if value is msgspec.UNSET:
        return f"is to be {WANTED[field.kind]}" if field.kind != "boolean" else "is to be y or n"
    for name, (is_wrong, words) in _BOUNDS.items():
        bound = _bound(field, name)
        if bound is not None and is_wrong(value, bound):
            return words.format(bound)
    form, fits = _FORMATS.get(str(field.schema.get("format")), ("", None))
    if fits is not None and isinstance(value, str) and not fits(value):
        return f"is to be {form}"
    wrong = field.checker.check(value)
    return clean_label(wrong.partition(": ")[2] or wrong, LONGEST_NOTE).rstrip(".") if wrong else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_BOUNDS: dict[str, tuple[Any, str]] = {
    "minimum": (lambda value, bound: _is_number(value) and value < bound, "must be at least {:g}"),
    "maximum": (lambda value, bound: _is_number(value) and value > bound, "must be at most {:g}"),
    "minLength": (
        lambda value, bound: isinstance(value, str) and len(value) < bound,
        "must have {:g} characters or more",
    ),
    "maxLength": (
        lambda value, bound: isinstance(value, str) and len(value) > bound,
        "must have at most {:g} characters",
    ),
    "minItems": (lambda value, bound: isinstance(value, list) and len(value) < bound, "must be {:g} of them or more"),
    "maxItems": (lambda value, bound: isinstance(value, list) and len(value) > bound, "must be at most {:g} of them"),
}


def _parses(parse: Any, value: str) -> bool:
    try:
        return parse(value) is not None
    except ValueError:
        return False


_FORMATS: dict[str, tuple[str, Any]] = {
    "email": ("an email address", re.compile(r"[^\s@]+@[^\s@]+").fullmatch),
    "uri": ("a web address", re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+").fullmatch),
    "date": ("a date as 2026-11-16", lambda value: len(value) == 10 and _parses(date.fromisoformat, value)),
    "date-time": ("a time as 2026-11-16T09:40:00Z", lambda value: "T" in value.upper() and _has_zone(value)),
}


def _has_zone(value: str) -> bool:
    return _parses(lambda text: datetime.fromisoformat(text).tzinfo, value.upper())


def _numbers(typed: str, *, whole: bool) -> Iterator[int | float]:
    for parse in (int,) if whole else (int, float):
        try:
            value = parse(typed)
        except ValueError:
            continue
        if math.isfinite(value):
            yield value


# --- choices -------------------------------------------------------------------------------------------------------------------


def _one(field: Field, typed: str) -> str | None:
    chosen = _chosen(typed, field.titles)
    chosen = _chosen(typed, field.values) if chosen is None else chosen
    return None if chosen is None else field.values[chosen]


def _has_numbers(listed: Sequence[str]) -> bool:
    """Whether a number may stand for one of them: not where it could be the words of another."""
    return not any(text.isdecimal() for text in listed)


def _way(listed: Sequence[str]) -> str:
    """What to type for one of them."""
    return "a number or its words" if _has_numbers(listed) else "one of these"


def numbered(listed: Sequence[str]) -> list[str]:
    return [f"{place}  {text}" for place, text in enumerate(listed, 1)] if _has_numbers(listed) else list(listed)


def _chosen(typed: str, listed: Sequence[str]) -> int | None:
    """Which of them was typed, by its number or in full; None for none, or for more than one."""
    word = typed.strip().casefold()
    if _has_numbers(listed) and word.isdecimal():
        number = int(word) if len(word) <= len(str(len(listed))) else 0
        return number - 1 if 0 < number <= len(listed) else None
    same = [place for place, text in enumerate(listed) if text.casefold() == word]
    return same[0] if len(same) == 1 else None
