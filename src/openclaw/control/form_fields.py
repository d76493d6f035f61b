"""The fields of a form at a terminal: what each takes, what may be typed for it, and what that comes to. Pure.

Which schemas are forms, and which values fit, is asking/forms.py's.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from openclaw.asking import forms
from openclaw.asking.forms import FieldKind
from openclaw.control.shown_text import value_text
from openclaw.security.external import clean_label

YES, NO = ("yes", "y"), ("no", "n")
LONGEST_LABEL, LONGEST_NOTE = 60, 300
# Choices that stand in the line itself, in characters.
_IN_LINE = 40
# Up to here a number with a point has every whole number before it.
_MOST_WHOLE = 1e16


class Field(msgspec.Struct, frozen=True):
    """One line of a form. `label`, `note` and `titles` are clean. A choice has the values that may be sent and what stands for each."""

    given: forms.Field
    is_required: bool
    label: str
    note: str
    values: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.given.name

    @property
    def kind(self) -> FieldKind:
        return self.given.kind

    @property
    def schema(self) -> Mapping[str, Any]:
        return self.given.schema

    @property
    def may_be_left_out(self) -> bool:
        """A default stands for a field that an answer leaves out."""
        return not self.is_required and self.given.default is msgspec.UNSET


_WANTED: Mapping[FieldKind, str] = {
    "text": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "y/n",
    "choice": "one of them",
    "choices": "numbers with commas between them",
}
_FORMATS = {
    "email": "an email address",
    "uri": "a web address",
    "date": "a date as 2026-11-16",
    "date-time": "a time as 2026-11-16T09:40:00Z",
}


def fields(form: forms.Form) -> list[Field]:
    found = []
    for field in form.fields:
        choices = forms.choices_of(field.schema) if field.kind in ("choice", "choices") else ()
        found.append(
            Field(
                field,
                field.name in form.required,
                clean_label(str(field.schema.get("title") or field.name), LONGEST_LABEL),
                clean_label(str(field.schema.get("description", "")), LONGEST_NOTE),
                tuple(value for value, _ in choices),
                tuple(clean_label(title, LONGEST_NOTE) for _, title in choices),
            )
        )
    return found


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
            return between or _WANTED[field.kind]
        case "text":
            form = _FORMATS.get(str(field.schema.get("format")), "")
            between = _between(_bound(field, "minLength"), _bound(field, "maxLength"))
            length = f"{between} characters" if between else ""
            return ", ".join(part for part in (form, length) if part) or _WANTED["text"]
        case _:
            return _WANTED[field.kind]


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
        return f"{_number(least)}–{_number(most)}" if least != most else _number(least)
    return f"{_number(least)} or more" if least is not None else f"at most {_number(most)}" if most is not None else ""


def _number(bound: float) -> str:
    """As it would be typed: all of its digits."""
    whole = isinstance(bound, int) or (bound.is_integer() and abs(bound) < _MOST_WHOLE)
    return str(int(bound)) if whole else repr(bound)


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
    if value is msgspec.UNSET and field.kind == "text":
        return "has to be answered"
    if value is msgspec.UNSET:
        return f"is to be {_WANTED[field.kind]}" if field.kind != "boolean" else "is to be y or n"
    for name, (is_wrong, words) in _BOUNDS.items():
        bound = _bound(field, name)
        if bound is not None and is_wrong(value, bound):
            return words.format(_number(bound))
    wrong = forms.fault_of(field.given, value)
    if wrong and (form := _FORMATS.get(str(field.schema.get("format")), "")) and ": " not in wrong:
        return f"is to be {form}"
    return clean_label(wrong.partition(": ")[2] or wrong, LONGEST_NOTE).rstrip(".")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_BOUNDS: Mapping[str, tuple[Callable[[Any, float], bool], str]] = {
    "minimum": (lambda value, bound: _is_number(value) and value < bound, "must be at least {}"),
    "maximum": (lambda value, bound: _is_number(value) and value > bound, "must be at most {}"),
    "minLength": (
        lambda value, bound: isinstance(value, str) and len(value) < bound,
        "must have {} characters or more",
    ),
    "maxLength": (
        lambda value, bound: isinstance(value, str) and len(value) > bound,
        "must have at most {} characters",
    ),
    "minItems": (lambda value, bound: isinstance(value, list) and len(value) < bound, "must be {} of them or more"),
    "maxItems": (lambda value, bound: isinstance(value, list) and len(value) > bound, "must be at most {} of them"),
}


def _numbers(typed: str, *, whole: bool) -> Iterator[int | float]:
    for parse in (int,) if whole else (int, float):
        try:
            value = parse(typed)
            is_one = math.isfinite(value)
        except (ValueError, OverflowError):
            # The last is a number of hundreds of digits.
            continue
        if is_one:
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
