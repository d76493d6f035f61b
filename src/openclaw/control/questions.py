"""Questions on the control socket: how they stand in its frames, and which answers to them are taken.

Both ends use it: the gateway, whose turns and commands ask, and whoever handed in the command and shows the question. What is shown, and
how, is not decided here.
"""

from typing import Any

import msgspec

from openclaw.content import to_json
from openclaw.control import wire
from openclaw.conversation import NO_ANSWER, Answer, Question
from openclaw.json_schema import Checker
from openclaw.security.external import clean_label, clean_text

# Questions that wait for one person at a time; who asks beyond that is not heard.
MOST_OPEN = 8
# What a person who says no may say besides, in characters.
LONGEST_NOTE = 2_000
_LONGEST_BY = 20


class OpenQuestion(msgspec.Struct, frozen=True):
    """What QUESTION carries."""

    id: str
    question: Question


class GivenAnswer(msgspec.Struct, frozen=True):
    """What ANSWER carries."""

    id: str
    answer: Answer


def question_frame(number: str, question: Question) -> bytes:
    """Raises UnicodeEncodeError or TypeError for what is not JSON."""
    return wire.frame(wire.QUESTION, to_json(OpenQuestion(number, question)))


def read_question(payload: bytes) -> OpenQuestion | None:
    """None for what is no question."""
    try:
        return msgspec.json.decode(payload, type=OpenQuestion)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def answer_frame(number: str, answer: Answer) -> bytes:
    return wire.frame(wire.ANSWER, to_json(GivenAnswer(number, answer)))


def read_answer(payload: bytes) -> GivenAnswer | None:
    """None for what is no answer."""
    try:
        return msgspec.json.decode(payload, type=GivenAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def checked(question: Question, answer: Answer) -> Answer:
    """The answer as far as it is one to this question: an option that was not offered, or a form that does not fit, is none."""
    by = clean_label(answer.by, _LONGEST_BY)
    if not answer.is_yes:
        return Answer(answer.action, note=clean_text(answer.note, LONGEST_NOTE), by=by, why=answer.why)
    content = dict(answer.content)
    return Answer("accept", content, by=by) if _fits(question, content) else NO_ANSWER


def _fits(question: Question, content: dict[str, Any]) -> bool:
    match question.kind:
        case "approval" if question.options:
            return content.keys() == {"option"} and content["option"] in question.options
        case "form":
            return Checker(to_json(question.schema or {}), what="answers").check(content) is None
        case "url" if question.url:
            return content in ({}, {"opened": True})
        case _:
            return not content
