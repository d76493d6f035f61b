"""A question as a dialogue at a terminal: what is shown, what was typed, what that comes to. Pure: reads and writes nothing.

Whatever is shown is cleaned on the way, and words of a server stand behind a bar at the left, within the edge of the screen: no line of
theirs can be taken for one of ours. Calls, forms and pages have dialogues of their own; here is what is a plain yes or no, or one of a few
options.
"""

from collections.abc import Generator

from openclaw.control.address_dialogue import address_dialogue
from openclaw.control.approval_dialogue import approval_dialogue
from openclaw.control.dialogue_steps import (
    BY,
    DECLINED,
    LONGEST_NAME,
    MOST_TRIES,
    NOT_ANSWERED,
    Dialogue,
    Finished,
    Screen,
    Step,
    accepted,
    choices,
    paged,
    pressed,
    prose,
    who,
    words_of,
)
from openclaw.control.form_dialogue import form_dialogue
from openclaw.control.form_fields import NO, YES
from openclaw.control.shown_text import behind_a_bar, folded, many
from openclaw.conversation import NO_ANSWER, Answer, Question
from openclaw.security.external import clean_label, clean_terminal

# What is said of a question whose dialogue fails.
FAILED = "This question cannot be shown"
# What was shown when the question is taken back.
WITHDRAWN = "\n(This is no longer asked.)\n"

# Rows of a text that are shown at first: who asks and what is to be pressed stay on the screen.
_MOST_ROWS = 15
# As many as there are keys for.
_MOST_KEYED = 9
_YES_OR_NO = "Type yes or no: "


def dialogue(question: Question, screen: Screen) -> Dialogue:
    """One that fails leaves its question unanswered and says so: whoever shows it goes on."""
    try:
        return (yield from _dialogue(question, screen))
    except Exception as error:
        return Finished(NO_ANSWER, f"\n{FAILED} ({type(error).__name__}): it is left unanswered.\n")


def _dialogue(question: Question, screen: Screen) -> Dialogue:
    match question.kind:
        case "approval" if question.approval is not None and question.approval.offers:
            return approval_dialogue(question, question.approval, screen)
        case "approval":
            return _in_one_line(question, screen) if _stands_in_one_line(question) else _agreement(question, screen)
        case "form":
            return form_dialogue(question, screen)
        case "url":
            return address_dialogue(question, screen)
        case _:
            return _nothing()


def _nothing() -> Dialogue:
    """A kind of question that is not asked here."""
    yield from ()
    return Finished(NO_ANSWER)


def _agreement(question: Question, screen: Screen) -> Dialogue:
    """A yes or a no, or one of a few options."""
    rows = words_of(question, screen)
    head = prose(f"{who(question)} asks:", screen, screen.bold) if question.asker else []
    first = rows[:_MOST_ROWS]
    if len(rows) > _MOST_ROWS:
        first.append(f"… ({many(len(rows) - _MOST_ROWS, 'more line')})")
    listed = [f"{place}  {clean_label(one, LONGEST_NAME)}" for place, one in enumerate(question.options, 1)]
    first += [row for one in listed for row in behind_a_bar(one, screen.width, "  ")]
    keys = {str(place): one for place, one in enumerate(question.options, 1)} or {"y": ""}
    meanings = (
        {"y": "yes", "n": "no"} if not listed else {f"1–{len(listed)}" if len(listed) > 1 else "1": "yes", "n": "no"}
    )
    if len(rows) > _MOST_ROWS:
        meanings["d"] = "details"
    asked = choices(screen, meanings)
    shown = "".join(f"{row}\n" for row in (*head, *first))
    while True:
        if len(listed) > _MOST_KEYED:
            key = yield from _typed(shown, (*keys, *meanings), asked)
        else:
            key = yield from pressed(shown, (*keys, *(one for one in ("n", "d") if one in meanings)), asked)
        if key is None:
            return NOT_ANSWERED
        if key == "n":
            return DECLINED
        if key != "d":
            return Finished(accepted(option=keys[key]) if question.options else accepted())
        rest = yield from paged(["", *head, *rows], screen)
        if rest is None:
            return NOT_ANSWERED
        shown = rest


def _typed(shown: str, words: tuple[str, ...], asked: str) -> Generator[Step, str | None, str | None]:
    """Which of these words was typed."""
    for _ in range(MOST_TRIES):
        typed = yield Step(shown + asked, "line")
        if typed is None:
            break
        if (word := typed.strip().casefold()) in words:
            return word
        shown = "That is none of them.\n"
    return None


def _stands_in_one_line(question: Question) -> bool:
    """Whether it is what a command asks with its answer behind it, as in `Go on? [y/N] ` or `All of them? [y/N/choose] `."""
    return question.text.endswith(" ") and not question.asker


def _in_rows(text: str, screen: Screen) -> str:
    """Folded at words; the last row keeps its blank, behind which the answer is typed."""
    rows = [row for line in clean_terminal(text).split("\n") for row in folded(line, screen.width - 1)]
    return "\n".join([*(row.rstrip() for row in rows[:-1]), rows[-1]])


def _in_one_line(question: Question, screen: Screen) -> Dialogue:
    shown = _in_rows(question.text, screen)
    for _ in range(MOST_TRIES):
        typed = yield Step(shown, "line")
        if typed is None:
            break
        word = typed.strip().casefold()
        if word in YES and question.options:
            return Finished(accepted(option=question.options[0]))
        if word in question.options:
            return Finished(accepted(option=word))
        if word in YES or word in NO or not word:
            return Finished(Answer("accept" if word in YES else "decline", by=BY))
        words = f"Type {', '.join(question.options)} or no: "
        again = f"That is none of them. {words}" if question.options else f"That is neither. {_YES_OR_NO}"
        shown = _in_rows(again, screen)
    return NOT_ANSWERED
