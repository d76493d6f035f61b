"""A dialogue at a terminal without one: what is typed is given to it step by step."""

import unicodedata

from openclaw.control.dialogue_steps import Finished, Screen
from openclaw.control.question_dialogue import FAILED, dialogue
from openclaw.conversation import Answer, Question

# What drives a screen, hides on it, or turns the direction of writing.
HOSTILE = "\x1b[2J\x1b[1;1H\x1b]0;title\x07\r\x08\x9b31m\u202eevil\u2066\u200f\u200b\ufeff\U000e0041\n"
END = None


def held(
    question: Question, *typed: str | None, width: int = 80, height: int = 24, screen: Screen | None = None
) -> tuple[Finished, str]:
    """How the dialogue ends when these keys and lines are typed, all of which it takes, and everything it showed."""
    steps = dialogue(question, screen or Screen(width, height))
    shown, left = [], list(typed)
    try:
        step = next(steps)
        while True:
            shown.append(step.shown)
            step = steps.send(left.pop(0))
    except StopIteration as ended:
        assert not left
        finished: Finished = ended.value
        assert FAILED not in finished.said
        return finished, "".join(shown) + finished.said


def answered(question: Question, *typed: str | None) -> Answer:
    return held(question, *typed)[0].answer


def no(note: str = "") -> Answer:
    return Answer("decline", note=note, by="terminal")


def yes(**content: object) -> Answer:
    return Answer("accept", content, by="terminal")


def unseen(shown: str) -> list[str]:
    """Characters of it that drive a screen, or turn what is written there."""
    found = [letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") and letter != "\n"]
    return [
        *found,
        *set(shown).intersection("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    ]
