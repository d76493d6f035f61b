"""A form as a dialogue at a terminal: field by field, then all of it once more before it is sent. Pure.

Defaults are filled in, faults are named at their field, and whoever edits finds what was typed before. What a field is, and what may be
typed for it, is form_fields.py's.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from openclaw.asking.forms import FormError, read_form
from openclaw.content import to_json
from openclaw.control import form_fields
from openclaw.control.dialogue_steps import (
    BAR,
    DECLINED,
    ESCAPE,
    MOST_TRIES,
    NOT_ANSWERED,
    Dialogue,
    Finished,
    Screen,
    Step,
    accepted,
    buttons,
    pressed,
    prose,
    said_why,
    who,
    words_of,
)
from openclaw.control.form_fields import LONGEST_LABEL, LONGEST_NOTE, Field
from openclaw.control.shown_text import behind_a_bar, columns, cut, folded, in_rows, padded
from openclaw.conversation import Question
from openclaw.json_schema import Checker
from openclaw.security.external import clean_label

# Typed in place of a value.
DECLINE, NONE, HELP = "/decline", "/none", "?"
# Rounds through a form whose fields do not fit together, or whose answers are edited.
_MOST_ROUNDS = 10
_GOES_TO = "Your answer goes to this server, not to OpenClaw's model."
_HOW = ("Enter takes what stands in brackets", f"{HELP} helps", f"{DECLINE} says no", "Ctrl-D not now")
_REVIEW = ("[s]end", "[e]dit", "[d]ecline", "[Esc] not now")
# Columns that stay free for what is typed.
_TO_TYPE = 12
_ESCAPED = "\\"

Given = Mapping[str, Any]


def form_dialogue(question: Question, screen: Screen) -> Dialogue:
    schema = question.schema or {}
    try:
        fields = form_fields.fields(read_form(schema))
    except FormError as error:
        return (yield from said_why(f"{who(question)} asks for a form that cannot be shown here: {error}", screen))
    checker = Checker(to_json(schema), what="answers")
    given: Given = {one.name: one.given.default for one in fields if one.given.default is not msgspec.UNSET}
    shown = _head(question, screen, has_fields=bool(fields))
    for _ in range(_MOST_ROUNDS):
        filled = yield from _filled(fields, given, shown, screen)
        if isinstance(filled, Finished):
            return filled
        given = filled
        if fault := checker.check(dict(given)):
            shown = _lines(
                [screen.warning(row) for row in behind_a_bar(clean_label(fault, LONGEST_NOTE), screen.width, BAR)]
            )
            continue
        key = yield from pressed(
            ("" if fields else shown) + _review(fields, given, screen), "sed", buttons(screen, *_REVIEW)
        )
        match key:
            case "s":
                return Finished(accepted(**given), "Sent.\n")
            case "e":
                shown = ""
            case "d":
                return DECLINED
            case _:
                return NOT_ANSWERED
    return NOT_ANSWERED


def _head(question: Question, screen: Screen, *, has_fields: bool) -> str:
    rows = [*prose(f"{who(question)} asks:", screen, screen.bold), *words_of(question, screen)]
    rows += prose(_GOES_TO, screen, screen.dim, "  ") if question.asker else []
    rows += [screen.dim(f"  {row}") for row in in_rows(_HOW, " · ", screen.width - 3)] if has_fields else []
    return "".join(f"{row}\n" for row in rows)


def _filled(
    fields: Sequence[Field], before: Given, shown: str, screen: Screen
) -> Generator[Step, str | None, Given | Finished]:
    """What was typed for all of them; the end of the dialogue, else."""
    given: dict[str, Any] = {}
    for field in fields:
        found = yield from _value(field, before.get(field.name, msgspec.UNSET), shown, screen)
        if isinstance(found, Finished):
            return found
        given |= found
        shown = ""
    return given


def _value(field: Field, default: Any, before: str, screen: Screen) -> Generator[Step, str | None, Given | Finished]:
    """What was typed for a field, empty when it was left out; the end of the dialogue, else."""
    prompt = _prompt(field, default, screen)
    shown = before + _lines(behind_a_bar("\n".join(form_fields.rows_of(field)), screen.width, BAR)) + prompt
    for _ in range(MOST_TRIES):
        typed = yield Step(shown, "line")
        if typed is None or typed.strip() == ESCAPE:
            return NOT_ANSWERED
        typed = typed.strip()
        if typed == DECLINE:
            return DECLINED
        if not typed and default is not msgspec.UNSET:
            return {field.name: default}
        if field.may_be_left_out and typed in ("", NONE):
            return {}
        if typed == HELP:
            shown = _lines(_help(field, screen)) + prompt
            continue
        value = form_fields.read(field, typed.removeprefix(_ESCAPED) if field.kind == "text" else typed)
        fault = form_fields.fault(field, value)
        if not fault:
            return {field.name: value}
        shown = _lines(behind_a_bar(f"{field.label}: {fault}", screen.width, BAR)) + prompt
    return NOT_ANSWERED


def _prompt(field: Field, default: Any, screen: Screen) -> str:
    if default is not msgspec.UNSET:
        more = f" [{cut(form_fields.shown_value(field, default), LONGEST_LABEL)}]"
    else:
        more = "" if field.is_required else " [left out]"
    # Every row behind the bar, also where the edge of the screen is near.
    rows = folded(f"{field.label} ({form_fields.wanted(field)}){more}: ", screen.width - len(BAR) - _TO_TYPE)
    return "\n".join(f"{BAR}{row}" for row in rows)


def _help(field: Field, screen: Screen) -> list[str]:
    said = [field.note, f"It may be left out: {NONE}" if field.may_be_left_out else "It has to be answered."]
    said += (
        [f"A text that begins with / or is a {HELP} is typed with a {_ESCAPED} before it."]
        if field.kind == "text"
        else []
    )
    return [*behind_a_bar("\n".join(filter(None, said)), screen.width, BAR), *_choices(field, screen)]


def _choices(field: Field, screen: Screen) -> list[str]:
    return behind_a_bar("\n".join(form_fields.numbered(field.titles)), screen.width, BAR)


def _review(fields: Sequence[Field], given: Given, screen: Screen) -> str:
    if not given:
        return "Send an empty answer?\n"
    shown = [
        (field.label, form_fields.shown_value(field, given[field.name])) for field in fields if field.name in given
    ]
    widest = min(max(columns(label) for label, _ in shown), screen.width // 3)
    rows = ["Send this?"]
    for label, value in shown:
        first, *others = folded(value, screen.width - len(BAR) - widest - 3)
        rows.append(f"{BAR}{padded(cut(label, widest), widest)}  {first}")
        rows += [f"{BAR}{' ' * widest}  {row}" for row in others]
    return _lines(rows)


def _lines(rows: Sequence[str]) -> str:
    return "".join(f"{row}\n" for row in rows)
