"""A question as a dialogue at a terminal: what is shown, what was typed, what that comes to. Pure: reads and writes nothing.

Whatever is shown is cleaned here, and words of a server stand behind a bar at the left, wrapped before the edge of the screen: no
line of theirs can be taken for one of ours. Only a word that says so is a yes. Enter alone, unknown words and the end of input are not;
after a few of them the question stays unanswered. Refuses forms with more than plain fields, and addresses that cannot be shown as they
would be opened.
"""

import math
import textwrap
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from openclaw.content import to_json
from openclaw.conversation import NO_ANSWER, Answer, Question
from openclaw.errors import AddressError
from openclaw.json_schema import Checker, problems_of_schema
from openclaw.security.egress import OPERATOR, Rules, browser_address
from openclaw.security.external import clean_label, clean_terminal, clean_text

YES, NO = ("yes", "y"), ("no", "n")
# Typed in place of a field's value.
DECLINE = "/decline"
# What was shown when the question is taken back.
WITHDRAWN = "\n(This is no longer asked.)\n"

# Lines that are no answer before a question is given up, and rounds through a form whose fields do not fit together.
_MOST_TRIES = 5
_MOST_ROUNDS = 3
# A form that is longer is not for a terminal.
_MOST_FIELDS = 50
_MOST_CHOICES = 50
_LONGEST_TEXT = 2_000
# What we say ourselves may quote the arguments of a call.
_LONGEST_OWN = 20_000
_LONGEST_NAME, _LONGEST_LABEL, _LONGEST_NOTE = 100, 60, 300
_NARROWEST = 20
# Besides letters and digits; no program on the way takes them for more than a part of an address.
_IN_FRAGMENT = "-._~:/?&=+,%@!"
_BAR = "  | "
_YES_OR_NO = "Type yes or no: "


class Finished(msgspec.Struct, frozen=True):
    """How a dialogue ended: what it comes to, what is said last, and the address to open now."""

    answer: Answer
    said: str = ""
    address: str = ""


# Gives what to show before each line, gets the line, or None at the end of input.
Dialogue = Generator[str, str | None, Finished]

_NOT_ANSWERED = Finished(NO_ANSWER, "Left unanswered.\n")
_DECLINED = Finished(Answer("decline"), "Declined.\n")


def dialogue(question: Question, width: int) -> Dialogue:
    """`width` is that of the screen, in columns."""
    match question.kind:
        case "approval":
            return _approval(question, width)
        case "form":
            return _form(question, width)
        case "url":
            return _address(question, width)
        case _:
            return _cannot("")


def _approval(question: Question, width: int) -> Dialogue:
    head = _head(question, width)
    if _stands_in_one_line(question):
        agreed = yield from _agreed(clean_terminal(question.text), enter_is_no=True)
        return Finished(Answer("accept" if agreed else "decline")) if agreed is not None else _NOT_ANSWERED
    if not question.options:
        agreed = yield from _agreed(head + _YES_OR_NO)
        return Finished(Answer("accept")) if agreed else _refused(agreed)
    listed = [clean_label(option, _LONGEST_NOTE) for option in question.options]
    rows = "".join(f"  {row}\n" for row in _numbered(listed))
    asked = f"Type {_way(listed)} for yes, or no: "
    shown = f"{head}{rows}{asked}"
    for _ in range(_MOST_TRIES):
        typed = yield shown
        if typed is None:
            break
        # A no goes first: no option can take its word.
        if typed.strip().casefold() in NO:
            return _DECLINED
        if (chosen := _chosen(typed, listed)) is not None:
            return Finished(Answer("accept", {"option": question.options[chosen]}))
        shown = f"That is none of them. {asked}"
    return _NOT_ANSWERED


def _address(question: Question, width: int) -> Dialogue:
    base, mark, fragment = question.url.partition("#")
    # A server may not lead a browser to what only this machine or this network reaches: pages there act for whoever comes from near.
    rules = Rules() if question.asker else OPERATOR
    try:
        address, host = browser_address(base, rules, what="The page that you are asked to open")
    except AddressError as error:
        return (yield from _cannot(f"{_who(question)}: {error.message}"))
    address += mark + _encoded(fragment)
    shown = f"{_head(question, width)}The page is at {host}:\n  {address}\n"
    if "xn--" in host:
        shown += "Its name is written in letters that may look like others.\n"
    agreed = yield from _agreed(f"{shown}Open it in your browser? {_YES_OR_NO}")
    return Finished(Answer("accept"), address=address) if agreed else _refused(agreed)


def _form(question: Question, width: int) -> Dialogue:
    schema = question.schema or {}
    fields = _fields(schema)
    if isinstance(fields, str):
        return (yield from _cannot(f"{_who(question)}: a form that cannot be shown here: {fields}"))
    checker = Checker(to_json(schema), what="answers")
    shown = _head(question, width)
    if fields:
        shown += f"Enter alone takes what stands in brackets. {DECLINE} says no, Ctrl-D leaves it unanswered.\n"
    for _ in range(_MOST_ROUNDS):
        content: dict[str, Any] = {}
        for field in fields:
            given = yield from _value(field, shown, width)
            if isinstance(given, Finished):
                return given
            content |= given
            shown = ""
        fault = checker.check(content)
        if fault is None:
            agreed = yield from _agreed(f"{shown}Send {_count(content)}? {_YES_OR_NO}")
            return Finished(Answer("accept", content)) if agreed else _refused(agreed)
        shown = f"{clean_label(fault, _LONGEST_NOTE)}\n"
    return _NOT_ANSWERED


def _cannot(why: str) -> Dialogue:
    """A question that is not shown: nobody is asked, the person is told."""
    yield from ()
    return Finished(NO_ANSWER, f"{clean_label(why, _LONGEST_TEXT)}\n" if why else "")


def _stands_in_one_line(question: Question) -> bool:
    """Whether it is what a command asks with its answer behind it, as in `Go on? [y/N] `."""
    return question.text.endswith(" ") and not question.asker and not question.options


def _agreed(shown: str, *, enter_is_no: bool = False) -> Generator[str, str | None, bool | None]:
    """Whether a yes or a no was typed; None for neither."""
    for _ in range(_MOST_TRIES):
        typed = yield shown
        if typed is None:
            break
        word = typed.strip().casefold()
        if word in YES or word in NO or (enter_is_no and not word):
            return word in YES
        shown = f"That is neither. {_YES_OR_NO}"
    return None


def _refused(agreed: bool | None) -> Finished:
    return _NOT_ANSWERED if agreed is None else _DECLINED


# --- the text ------------------------------------------------------------------------------------------------------------------


def _who(question: Question) -> str:
    return f'Server "{clean_label(question.asker, _LONGEST_NAME)}" asks' if question.asker else "A question"


def _head(question: Question, width: int) -> str:
    if not question.asker:
        text = clean_terminal(question.text).strip("\n")
        if len(text) > _LONGEST_OWN:
            text = f"{text[:_LONGEST_OWN]}… ({len(text) - _LONGEST_OWN:,} more characters)"
        return f"{text}\n" if text else ""
    return f"{_who(question)}:\n{_quoted(clean_text(question.text, _LONGEST_TEXT), width)}"


def _quoted(text: str, width: int) -> str:
    """Words of a server, every line of them behind a bar."""
    room = max(width - len(_BAR) - 1, _NARROWEST)
    lines: list[str] = []
    for line in clean_terminal(text).splitlines():
        # Letters of some scripts take two columns.
        wide = room if line.isascii() else max(room // 2, _NARROWEST // 2)
        lines += textwrap.wrap(line, wide) or [""]
    return "".join(f"{_BAR}{line}\n" for line in lines)


def _encoded(fragment: str) -> str:
    return quote(fragment.encode("utf-8", "replace"), safe=_IN_FRAGMENT)


def _count(content: Mapping[str, Any]) -> str:
    return "this answer" if len(content) == 1 else f"these {len(content)} answers" if content else "an empty answer"


# --- forms ---------------------------------------------------------------------------------------------------------------------


class _Field(msgspec.Struct, frozen=True):
    """One line of a form. `label` and `note` are clean. A choice has the values that may be sent and what stands for each."""

    name: str
    kind: Literal["text", "number", "integer", "boolean", "choice"]
    label: str
    note: str
    checker: Checker
    is_required: bool
    values: tuple[Any, ...] = ()
    titles: tuple[str, ...] = ()
    default: Any = msgspec.UNSET


_KINDS: dict[Any, Literal["text", "number", "integer", "boolean"]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


def _fields(schema: Mapping[str, Any]) -> list[_Field] | str:
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
            return f"{clean_label(name, _LONGEST_LABEL)} is more than a text, a number, a yes or no, or a choice."
        found.append(field)
    if missing := [name for name in required if name not in members]:
        return f"it requires {clean_label(missing[0], _LONGEST_LABEL)}, which it does not have."
    return found


def _field(name: str, schema: Any, *, is_required: bool) -> _Field | None:
    if not isinstance(schema, dict):
        return None
    choices = _choices(schema)
    kind: Literal["text", "number", "integer", "boolean", "choice"] | None = (
        "choice" if choices else _KINDS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    )
    if kind is None or len(choices) > _MOST_CHOICES:
        return None
    checker = Checker(to_json(schema), what="answers")
    default = schema.get("default", msgspec.UNSET)
    return _Field(
        name,
        kind,
        clean_label(str(schema.get("title") or name), _LONGEST_LABEL),
        clean_label(str(schema.get("description", "")), _LONGEST_NOTE),
        checker,
        is_required,
        tuple(value for value, _ in choices),
        tuple(clean_label(title, _LONGEST_NOTE) for _, title in choices),
        # One that does not fit would be sent without being looked at.
        msgspec.UNSET if default is msgspec.UNSET or checker.check(default) else default,
    )


def _choices(schema: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The texts that may be chosen and what stands for each; none when it is no choice of one text."""
    listed, titled = schema.get("enum"), schema.get("oneOf")
    if isinstance(listed, list) and all(isinstance(value, str) for value in listed):
        names = schema.get("enumNames")
        if not isinstance(names, list) or len(names) != len(listed):
            names = listed
        return [(value, str(name)) for value, name in zip(listed, names, strict=True)]
    if isinstance(titled, list) and all(isinstance(one, dict) and isinstance(one.get("const"), str) for one in titled):
        return [(one["const"], str(one.get("title") or one["const"])) for one in titled]
    return ()


def _value(field: _Field, before: str, width: int) -> Generator[str, str | None, dict[str, Any] | Finished]:
    """What was typed for a field, empty when it was left out; the end of the dialogue, else."""
    prompt = _prompt(field)
    shown = f"{before}{_quoted(field.note, width)}{_rows(field, width)}{prompt}"
    for _ in range(_MOST_TRIES):
        typed = yield shown
        if typed is None:
            break
        typed = typed.strip()
        if typed == DECLINE:
            return _DECLINED
        if not typed and field.default is not msgspec.UNSET:
            return {field.name: field.default}
        if not typed and not field.is_required:
            return {}
        value = _read(field, typed)
        if value is msgspec.UNSET:
            why = f"That is not {_WANTED[field.kind]}."
        elif fault := field.checker.check(value):
            why = clean_label(fault, _LONGEST_NOTE)
        else:
            return {field.name: value}
        shown = f"{why}\n{prompt}"
    return _NOT_ANSWERED


_WANTED = {
    "text": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "choice": "one of the choices",
}


def _prompt(field: _Field) -> str:
    if field.default is not msgspec.UNSET:
        default = {True: "yes", False: "no"}.get(field.default) if field.kind == "boolean" else str(field.default)
        more = f" [{clean_label(default or '', _LONGEST_LABEL)}]"
    else:
        more = "" if field.is_required else " []"
    wanted = _way(field.titles) if field.kind == "choice" else _WANTED[field.kind]
    return f"{_BAR}{field.label} ({wanted}){more}: "


def _rows(field: _Field, width: int) -> str:
    return "".join(_quoted(row, width) for row in _numbered(field.titles))


def _read(field: _Field, typed: str) -> Any:
    """The value that was typed; UNSET when it is none of the field's kind."""
    match field.kind:
        case "choice":
            chosen = _chosen(typed, field.titles)
            chosen = _chosen(typed, field.values) if chosen is None else chosen
            return msgspec.UNSET if chosen is None else field.values[chosen]
        case "boolean":
            word = typed.casefold()
            return word in YES if word in YES or word in NO else msgspec.UNSET
        case "integer" | "number":
            return next(_numbers(typed, whole=field.kind == "integer"), msgspec.UNSET)
        case _:
            return typed or msgspec.UNSET


def _numbers(typed: str, *, whole: bool) -> Iterator[int | float]:
    for read in (int,) if whole else (int, float):
        try:
            value = read(typed)
        except ValueError:
            continue
        if math.isfinite(value):
            yield value


def _has_numbers(listed: Sequence[str]) -> bool:
    """Whether a number may stand for one of them: not where it could be the words of another."""
    return not any(text.isdecimal() for text in listed)


def _way(listed: Sequence[str]) -> str:
    """What to type for one of them."""
    return "a number or its words" if _has_numbers(listed) else "one of these"


def _numbered(listed: Sequence[str]) -> list[str]:
    return [f"{place}  {text}" for place, text in enumerate(listed, 1)] if _has_numbers(listed) else list(listed)


def _chosen(typed: str, listed: Sequence[str]) -> int | None:
    """Which of them was typed, by its number or in full; None for none, or for more than one."""
    word = typed.strip().casefold()
    if _has_numbers(listed) and word.isdecimal():
        number = int(word) if len(word) <= len(str(len(listed))) else 0
        return number - 1 if 0 < number <= len(listed) else None
    same = [place for place, text in enumerate(listed) if text.casefold() == word]
    return same[0] if len(same) == 1 else None
