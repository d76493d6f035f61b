"""One question that waits for its answer, and what is told of it to those who may not see what it asks.

Owns that the first answer counts, and its time. Who is asked is questions.py's.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import msgspec

from openclaw.asking.answers import shown
from openclaw.conversation import Answer, Question, QuestionKind
from openclaw.errors import UsageError
from openclaw.log import iso_time, one_line

_ID_BYTES = 16
_LONGEST_OPTION = 200
_LONGEST_WORD = 40
EXPIRED = Answer("cancel", why="expired")

# What may be answered from elsewhere: a sign-in needs the person's own browser.
ANSWERABLE: tuple[QuestionKind, ...] = ("approval", "form", "url")


def answerable_kinds(text: str) -> frozenset[str]:
    """The kinds in a text such as `approval,form`, as whoever will answer such questions names them. Raises UsageError."""
    kinds = frozenset(word for part in text.split(",") if (word := part.strip()))
    if unknown := kinds.difference(ANSWERABLE):
        shown = one_line(min(unknown), _LONGEST_WORD)
        raise UsageError(f"{shown!r} is no kind of question.", hint=f"Use {', '.join(ANSWERABLE)}.")
    return kinds


State = Literal["pending", "accepted", "declined", "cancelled", "expired", "withdrawn"]
_STATES: dict[str, State] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


class QuestionChanged(msgspec.Struct, frozen=True):
    """A question is asked (`pending`) or over. What it asks is not in here. `tool` is the one it is about, `asker` the server that asks,
    `option` what was chosen of what it offered, `by` how the answer came."""

    id: str
    kind: QuestionKind
    tool: str
    asker: str
    agent: str
    session: str
    state: State
    option: str = ""
    by: str = ""
    asked: float = 0.0
    ended: float = 0.0


class ShownQuestion(msgspec.Struct, frozen=True):
    """A question as whoever may answer it sees it. `question` never changes, and `digest` is its. Times are seconds since 1970."""

    id: str
    question: Question
    digest: str
    asked: float
    expires: float

    @property
    def is_answerable(self) -> bool:
        """Whether it may be answered from elsewhere than where it is shown."""
        return self.question.kind in ANSWERABLE

    def changed(self, answer: Answer | None, now: float) -> QuestionChanged:
        """What is told of it: that it is asked, or what came of it."""
        question = self.question
        about = question.approval.tool if question.approval is not None else ""
        asked = QuestionChanged(
            self.id,
            question.kind,
            about,
            question.asker or question.server,
            question.agent,
            question.session,
            "pending",
            asked=self.asked,
        )
        if answer is None:
            return asked
        state: State = "expired" if answer.why == "expired" else _STATES[answer.action]
        if answer.why in ("withdrawn", "nobody"):
            state = "withdrawn"
        # Its options are ours, or a plugin's, and so never what a server or a model wrote.
        option = one_line(str(answer.content.get("option", "")), _LONGEST_OPTION) if question.kind == "approval" else ""
        return msgspec.structs.replace(asked, state=state, option=option, by=answer.by, ended=now)

    def as_json(self) -> dict[str, Any]:
        """All there is to show, with the digest that an answer has to carry."""
        return {
            "id": self.id,
            "digest": self.digest,
            "state": "pending",
            "askedAt": iso_time(self.asked),
            "expiresAt": iso_time(self.expires) if self.is_answerable else None,
            **shown(self.question),
        }


def _new_id() -> str:
    """One that a person can type behind a command: with a dash in front it would be an option there."""
    while (id := secrets.token_urlsafe(_ID_BYTES)).startswith("-"):
        pass
    return id


class OpenQuestion:
    """One question of ours that waits for its answer. `over` is called once, when it has one."""

    def __init__(self, question: Question, digest: str, asked: float, over: "Callable[[OpenQuestion], None]") -> None:
        self.shown = ShownQuestion(_new_id(), question, digest, asked, asked)
        # The surface that shows it; none when only watchers see it, or when it is gone.
        self.surface: asyncio.Task[Answer] | None = None
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._over = over
        self._timer: asyncio.TimerHandle | None = None

    @property
    def id(self) -> str:
        return self.shown.id

    @property
    def question(self) -> Question:
        return self.shown.question

    @property
    def is_answerable(self) -> bool:
        return self.shown.is_answerable

    def show(self, asking: Coroutine[Any, Any, Answer], heard: "Callable[[asyncio.Task[Answer]], None]") -> None:
        """Have a surface show it: `heard` is called when that is over."""

        def left(task: "asyncio.Task[Answer]") -> None:
            self.surface = None
            heard(task)

        self.surface = asyncio.get_running_loop().create_task(asking)
        self.surface.add_done_callback(left)

    def settle(self, answer: Answer) -> None:
        """The first answer counts; any other changes nothing."""
        if not self.answer.done():
            self.answer.set_result(answer)
            if self._timer is not None:
                self._timer.cancel()
            self._over(self)

    def limit(self, seconds: float, now: float) -> None:
        """It expires when so many seconds have passed since it was asked; `now` is the time by the clock that `asked` is by."""
        if self._timer is not None:
            self._timer.cancel()
        expires = self.shown.asked + seconds
        self.shown = msgspec.structs.replace(self.shown, expires=expires)
        self._timer = asyncio.get_running_loop().call_later(max(0.0, expires - now), self.settle, EXPIRED)


def changed_json(changed: QuestionChanged) -> dict[str, Any]:
    """A question that is over, or an event about one, without what it asked."""
    names = ("id", "kind", "tool", "asker", "agent", "state", "option", "by")
    document: dict[str, Any] = {name: value for name in names if (value := getattr(changed, name))}
    document["askedAt"] = iso_time(changed.asked)
    if changed.ended:
        document["endedAt"] = iso_time(changed.ended)
    return document
