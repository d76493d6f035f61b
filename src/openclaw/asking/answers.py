"""Questions and answers as other programs see them: a question as one JSON object with its digest, and the answer that a few words mean.

Pure. A word that names nothing the question offers, and a form that does not fit its schema, are refused with a sentence and never taken
for something near. Nothing here shows anything: what it gives holds texts of models and servers as they are.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from openclaw.content import to_json, to_sorted_json
from openclaw.conversation import Answer, Question
from openclaw.errors import UsageError
from openclaw.json_schema import Checker
from openclaw.log import one_line
from openclaw.security.external import clean_text

# What a no is called, and what leaves a question unanswered; the first of each is ours.
_NO = ("decline", "deny", "no")
_CANCEL = ("cancel",)
# What a plain yes is called: to a question that offers no choice.
_YES = ("accept", "allow", "yes")
_ONCE = "once"
# OpenClaw's own words are ours behind this: `/approve ID allow-once`.
_ALLOW = "allow-"
# A note is a sentence to a model, not a second prompt.
LONGEST_NOTE = 2_000
_SHOWN_WORD = 40


class UnfitAnswerError(UsageError):
    """An answer that is none to this question. The question stays open."""


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody answers: `choice` is a word; `offer` the id of one of the offers, when the word alone does not say which; `content`
    the fields of a form; `note` what a no has to say to the model."""

    choice: str
    offer: str = ""
    content: Mapping[str, Any] = {}
    note: str = ""


def shown(question: Question) -> dict[str, Any]:
    """A question as it is shown to programs; what is empty is left out."""
    document: dict[str, Any] = msgspec.json.decode(to_json(question))
    # A moment of this process's own clock says nothing to another, and until when it may be answered is said beside it.
    for ours in ("since", "seconds"):
        document.pop(ours)
    return {name: value for name, value in document.items() if value not in ("", None, [])}


def digest_of(question: Question) -> str:
    """SHA-256 of what is shown, as JSON with sorted keys: an answer carries it, so that nobody says yes to something else.

    Raises TypeError, ValueError or RecursionError for a question that is no JSON.
    """
    return sha256(to_sorted_json(shown(question))).hexdigest()


def answer_to(question: Question, given: Given) -> Answer:
    """What `given` answers to the question. Raises UnfitAnswerError."""
    word = given.choice.strip().lower()
    if len(given.note) > LONGEST_NOTE:
        raise UnfitAnswerError(f"The note is longer than {LONGEST_NOTE:,} characters.")
    if word in _CANCEL:
        return Answer("cancel")
    if word in _NO:
        return Answer("decline", note=clean_text(given.note, LONGEST_NOTE))
    match question.kind:
        case "approval" if question.options:
            return Answer("accept", {"option": _option(question, given)})
        case "approval" | "url" | "form":
            if word not in _YES and not (question.kind == "approval" and word in (_ONCE, f"{_ALLOW}{_ONCE}")):
                raise _unknown(given.choice, (_YES[0], _NO[0], *_CANCEL))
            return Answer("accept", _content(question, given))
        case _:
            raise UnfitAnswerError("This question can only be answered where it was asked.")


def _option(question: Question, given: Given) -> str:
    """The offer that is named: never another one for its likeness, for some reach further than others."""
    choice = given.choice.strip()
    if choice not in question.options:
        choice = choice.lower().removeprefix(_ALLOW)
    if not given.offer:
        if choice not in question.options:
            raise _unknown(given.choice, (*question.options, _NO[0]))
        return choice
    if given.offer not in question.options:
        raise _unknown(given.offer, question.options)
    offers = question.approval.offers if question.approval is not None else ()
    lasts = next((offer.lasts for offer in offers if offer.id == given.offer), None)
    if choice not in (*_YES, given.offer, lasts):
        raise UnfitAnswerError(f"The offer {one_line(given.offer, _SHOWN_WORD)} is not what the choice says.")
    return given.offer


def _content(question: Question, given: Given) -> dict[str, Any]:
    content = dict(given.content)
    if question.kind != "form":
        if content:
            raise UnfitAnswerError("This question takes no fields.")
        return {}
    if fault := Checker(to_json(question.schema or {}), what="answers").check(content):
        raise UnfitAnswerError(fault)
    return content


def _unknown(word: str, known: tuple[str, ...]) -> UnfitAnswerError:
    return UnfitAnswerError(
        f"{one_line(word, _SHOWN_WORD)!r} is no answer to this question.",
        hint=f"Use {', '.join(dict.fromkeys(known))}.",
    )
