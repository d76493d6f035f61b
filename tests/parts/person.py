"""A person behind a surface, in the hands of a test: what they are asked, and what they say to it."""

import asyncio
from collections.abc import Callable, Iterable

from openclaw.conversation import Answer, Question, QuestionKind

Say = Callable[[Question], Answer]


class Person:
    """`says` answers a question; None lets them all wait, until `answers` has something for each. `kinds` is what can be shown to them."""

    def __init__(self, says: Say | None = None, kinds: Iterable[QuestionKind] = ("approval", "form", "url")) -> None:
        self.asked: list[Question] = []
        self.withdrawn: list[Question] = []
        self.answers: asyncio.Queue[Answer] = asyncio.Queue()
        self._says = says
        self._kinds = frozenset(kinds)
        self._news = asyncio.Event()

    def can(self, kind: QuestionKind) -> bool:
        return kind in self._kinds

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        self._news.set()
        if self._says is not None:
            return self._says(question)
        try:
            return await self.answers.get()
        except asyncio.CancelledError:
            self.withdrawn.append(question)
            self._news.set()
            raise

    async def question(self, number: int = 0) -> Question:
        """The question of this number, once it is asked."""
        return await self._nth(self.asked, number)

    async def taken_back(self, number: int = 0) -> Question:
        return await self._nth(self.withdrawn, number)

    async def _nth(self, found: list[Question], number: int) -> Question:
        while len(found) <= number:
            self._news.clear()
            await self._news.wait()
        return found[number]


def agrees(question: Question) -> Answer:
    return Answer("accept")


def declines(question: Question) -> Answer:
    return Answer("decline")
