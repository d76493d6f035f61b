"""What dialogues at a terminal are made of: the screen, a step, the end, and the few questions that all of them ask. Pure.

A step shows something and takes a key or a line. Where a terminal gives no single keys, a line stands for the key. Only a key or a word
that says so is a yes: Enter alone, unknown keys, Esc and the end of input are not, and after many of them the question stays unanswered.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Literal

import msgspec

from openclaw.control.shown_text import behind_a_bar, folded, grouped, in_rows
from openclaw.conversation import NO_ANSWER, Answer, Question
from openclaw.security.external import clean_label, clean_terminal

# What a step gets for these keys; the end of input is None.
ENTER, ESCAPE = "", "\x1b"
BAR = "  | "
# How an answer came, in `Answer.by`.
BY = "terminal"

# Keys, or lines, that are no answer before a question is given up.
MOST_KEYS, MOST_TRIES = 20, 5
LONGEST_NAME = 100
_USUAL_WIDTH, _USUAL_HEIGHT = 80, 24
# What a page leaves free: for the line below it, and for the one it follows.
_MARGIN = 2
_LEAST_ROWS = 10
_WORDS = {"yes": "y", "no": "n"}


class Screen(msgspec.Struct, frozen=True):
    """The terminal that it is shown on. `clipboard`: an escape sequence that copies does no harm there, whether it is understood or not."""

    width: int = _USUAL_WIDTH
    height: int = _USUAL_HEIGHT
    colour: bool = False
    clipboard: bool = False

    def bold(self, text: str) -> str:
        return self._styled("1", text)

    def dim(self, text: str) -> str:
        return self._styled("2", text)

    def warning(self, text: str) -> str:
        return self._styled("31", text)

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


class Step(msgspec.Struct, frozen=True):
    shown: str
    wants: Literal["key", "line"] = "key"


class Finished(msgspec.Struct, frozen=True):
    """How a dialogue ended: what it comes to, what is said last, and the address to open now."""

    answer: Answer
    said: str = ""
    address: str = ""


# Gives a step, gets the key or the line, or None at the end of input.
Dialogue = Generator[Step, str | None, Finished]

NOT_ANSWERED = Finished(NO_ANSWER, "Left unanswered.\n")
DECLINED = Finished(Answer("decline", by=BY), "Declined.\n")


def accepted(**content: object) -> Answer:
    return Answer("accept", content, by=BY)


def pressed(shown: str, keys: Sequence[str], row: str, *, enter: str = "") -> Generator[Step, str | None, str | None]:
    """Which of these keys was pressed; None for no answer. `row` says what they mean; `enter` is the key that Enter stands for."""
    shown, keys = shown + row, tuple(keys)
    for _ in range(MOST_KEYS):
        typed = yield Step(shown)
        if typed is None or typed.strip() == ESCAPE:
            return None
        word = typed.strip().casefold()
        key = _WORDS.get(word, word) or enter
        if key in keys:
            return key
        shown = f"That is none of them.\n{row}" if word else row
    return None


def choices(screen: Screen, meanings: Mapping[str, str]) -> str:
    """The keys and what each means, in as many rows as it takes."""
    # What a key means may quote a call: it cannot look like one more key.
    parts = [f"{key} {meaning.replace('·', '.')}" for key, meaning in meanings.items()]
    room = screen.width - len(" · ")
    groups = grouped(parts, len(" · "), room)
    return " ·\n".join(" · ".join(_with_key(part, room, screen) for part in group) for group in groups) + ": "


def _with_key(part: str, room: int, screen: Screen) -> str:
    key, _, meaning = "\n  ".join(row.rstrip() for row in folded(part, room - 2)).partition(" ")
    return f"{screen.bold(key)} {meaning}"


def buttons(screen: Screen, *labels: str) -> str:
    """Keys that stand in brackets in their words."""
    return "\n".join(in_rows(labels, "   ", screen.width - len(": ") - 1)) + ": "


def prose(text: str, screen: Screen, style: Callable[[str], str] = str, indent: str = "") -> list[str]:
    """A sentence of ours in rows."""
    return [style(f"{indent}{row.rstrip()}") for row in folded(clean_terminal(text), screen.width - len(indent) - 1)]


def paged(rows: Sequence[str], screen: Screen) -> Generator[Step, str | None, str | None]:
    """Show all of it, a screen at a time: what is left to be shown in the end, None at the end of input."""
    room = max(screen.height - _MARGIN, _LEAST_ROWS)
    for start in range(0, len(rows), room):
        page = "".join(f"{row}\n" for row in rows[start : start + room])
        left = len(rows) - start - room
        if left <= 0:
            return page
        typed = yield Step(page + screen.dim(f"-- {left:,} more: Enter on, q back --"))
        if typed is None:
            return None
        if typed.strip().casefold() in ("q", ESCAPE):
            break
    return ""


def who(question: Question) -> str:
    return f'Server "{clean_label(question.asker, LONGEST_NAME)}"' if question.asker else "OpenClaw"


def words_of(question: Question, screen: Screen) -> list[str]:
    """The text of a question in rows: behind a bar when it is a server's, as it is when it is ours."""
    if question.asker:
        return behind_a_bar(question.text.strip(), screen.width, BAR)
    return behind_a_bar(question.text.strip("\n"), screen.width, "")


def said_why(sentence: str, screen: Screen) -> Dialogue:
    """A question that is not asked: the person is told why."""
    yield from ()
    return Finished(NO_ANSWER, "".join(f"{row}\n" for row in prose(sentence, screen)))
