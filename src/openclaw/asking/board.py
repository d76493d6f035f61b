"""Where questions of other processes are seen and answered, and ours by them: the contract, and the board of a process that is alone.

The process that asks decides what becomes of its question: which answer came first, and when it is over. On the board others see that it is
asked, hand in an answer, and learn what came of it.
"""

from collections.abc import Collection
from typing import Protocol

import msgspec

from openclaw.asking.answers import Given
from openclaw.asking.open_question import OpenQuestion, QuestionChanged, ShownQuestion


class Watching(msgspec.Struct, frozen=True):
    """Somebody who sees questions of these kinds, of one session or, when it is empty, of all."""

    kinds: tuple[str, ...]
    session: str = ""

    def sees(self, kind: str, session: str) -> bool:
        return kind in self.kinds and self.session in ("", session)


class Handed(msgspec.Struct, frozen=True):
    """An answer from elsewhere to a question of ours."""

    id: str
    digest: str
    given: Given
    by: str


class LocalQuestions(Protocol):
    """Who asks here, as the board knows them. Called in the event loop."""

    def take(self, handed: Handed) -> bool:
        """Whether this answer is the one that counts."""
        ...

    def told(self, changed: QuestionChanged) -> None:
        """A question of another process is asked, or over."""
        ...

    def watchers_left(self) -> None:
        """Fewer people watch elsewhere."""
        ...


class Board(Protocol):
    def attach(self, questions: LocalQuestions) -> None:
        """Once, before anything else."""
        ...

    def post(self, one: OpenQuestion) -> None:
        """A question is asked here, or has another time."""
        ...

    def over(self, one: OpenQuestion, ended: QuestionChanged) -> None:
        """It is over."""
        ...

    def watch(self, watching: Collection[Watching]) -> None:
        """These watch here now."""
        ...

    def is_watched(self, kind: str, session: str) -> bool:
        """Whether somebody elsewhere would see such a question."""
        ...

    def others(self) -> tuple[ShownQuestion, ...]:
        """The open questions of other processes as far as they are known, the oldest first."""
        ...

    async def look(self) -> None:
        """Know what is asked elsewhere now. Raises StoreError."""
        ...

    async def answer(self, handed: Handed) -> tuple[QuestionChanged, bool]:
        """Hand in an answer to a question of another process: what came of the question, and whether this was the answer that counted.
        Raises StoreError when nobody takes it."""
        ...

    async def recent(self) -> tuple[QuestionChanged, ...]:
        """Questions of others that are over, the newest first. Raises StoreError."""
        ...


class OwnBoard:
    """Of a process that shares its questions with nobody."""

    def attach(self, questions: LocalQuestions) -> None:
        return None

    def post(self, one: OpenQuestion) -> None:
        return None

    def over(self, one: OpenQuestion, ended: QuestionChanged) -> None:
        return None

    def watch(self, watching: Collection[Watching]) -> None:
        return None

    def is_watched(self, kind: str, session: str) -> bool:
        return False

    def others(self) -> tuple[ShownQuestion, ...]:
        return ()

    async def look(self) -> None:
        return None

    async def answer(self, handed: Handed) -> tuple[QuestionChanged, bool]:
        raise AssertionError("there is no question of anybody else")

    async def recent(self) -> tuple[QuestionChanged, ...]:
        return ()
