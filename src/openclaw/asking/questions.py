"""All open questions of a process, whoever asks them and wherever they are shown; and those of others who share a board with it.

Owns who is asked and for how long: one question at a time for each session, the others in a short line behind it; a time of its own for
each; the first answer counts, be it typed where the question is shown, sent over HTTP or given by a command, and every later one is told
what was recorded. A question goes away with whoever asked it, with the place that showed it, and with this process: what was not answered
was not allowed. Shows nothing itself, and keeps nothing of a question that is over but that there was one.
"""

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from openclaw.asking.answers import Given, answer_to, digest_of
from openclaw.asking.board import Board, Handed, OwnBoard, Watching
from openclaw.asking.open_question import ANSWERABLE, EXPIRED, OpenQuestion, QuestionChanged, ShownQuestion
from openclaw.conversation import (
    NOBODY_THERE,
    QUESTION_KINDS,
    WITHDRAWN,
    Answer,
    Asker,
    Conversation,
    Question,
    QuestionKind,
)
from openclaw.errors import StoreError, UsageError
from openclaw.event_hub import Event, EventHub
from openclaw.log import one_line, short_hash
from openclaw.security.approval import DEFAULT_PENDING, DEFAULT_TIMEOUT

_log = logging.getLogger(__name__)

# Questions of one session that wait behind the one that is shown: who asks beyond that gets no answer.
MOST_WAITING = 8
# Questions of one turn or call, and those in a row that nobody answered in time: whoever asks on for ever is not heard for ever.
MOST_ASKED = 100
MOST_EXPIRED = 3
# Questions that are over and still known by their ids.
KEPT = 200
# Seconds in which a watcher may come back before the questions that only watchers see are taken away: a page that is loaded again, a
# connection that broke.
GRACE = 10.0
# Seconds for a place that showed a question to take it away.
_LEAVING = 1.0
# The fewest characters of an id that a person may type instead of all of it.
_SHORTEST_ID = 6
_LONGEST_TEXT = 200


class Limits(msgspec.Struct, frozen=True):
    """Seconds to answer a question that is shown where it was asked, and one that only watchers see."""

    shown: float = DEFAULT_TIMEOUT
    watched: float = DEFAULT_PENDING


class UnknownQuestionError(UsageError):
    """There is no such question, open or remembered."""


class WrongDigestError(UsageError):
    """The answer is to something else than what is asked."""


class AlreadyEndedError(UsageError):
    """The question is over; `ended` says how."""

    def __init__(self, ended: QuestionChanged) -> None:
        by = f" by {ended.by}" if ended.by else ""
        super().__init__(f"This question is over already: {ended.state}{by}.")
        self.ended = ended


class Audit(Protocol):
    def noted(self, event: str, facts: dict[str, Any]) -> None: ...


class _Line:
    """The questions of one session: one of them is shown."""

    def __init__(self) -> None:
        self._shown = asyncio.Lock()
        self._length = 0

    @property
    def is_full(self) -> bool:
        return self._length > MOST_WAITING

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the questions before are over."""
        self._length += 1
        try:
            async with self._shown:
                yield
        finally:
            self._length -= 1


class Questions:
    """`limits` gives the times of an agent. `clock` gives seconds since 1970. `board` is where questions of other processes are, unless
    there are none."""

    def __init__(
        self,
        *,
        events: EventHub,
        audit: Callable[[], Audit],
        limits: Callable[[str], Limits] = lambda agent: Limits(),
        clock: Callable[[], float] = time.time,
        grace: float = GRACE,
        board: Board | None = None,
    ) -> None:
        self._board = OwnBoard() if board is None else board
        self._board.attach(self)
        self._events = events
        self._audit = audit
        self._limits = limits
        self._clock = clock
        self._grace = grace
        self._open: dict[str, OpenQuestion] = {}
        # By id, the oldest first.
        self._ended: dict[str, QuestionChanged] = {}
        self._watchers: list[Watching] = []
        self._lines: WeakValueDictionary[str, _Line] = WeakValueDictionary()
        self._is_closed = False

    def asker(self, conversation: Conversation) -> Asker:
        """Who is asked in this conversation: the person behind its surface, and whoever watches. Its agent and session are known by now."""
        if isinstance(conversation.asker, _ConversationAsker):
            # A call within a turn: its questions stand in that line already.
            return conversation.asker
        return _ConversationAsker(self, conversation)

    def line(self, session: str) -> _Line:
        """Where questions of a session wait; calls outside of any have nothing to do with each other."""
        return self._lines.setdefault(session, _Line()) if session else _Line()

    # For who answers from elsewhere

    @contextmanager
    def watch(self, kinds: Collection[str], session: str = "") -> Iterator[None]:
        """Somebody is there who sees questions of these kinds and may answer them, of one session or of all."""
        watcher = Watching(tuple(sorted(frozenset(kinds).intersection(ANSWERABLE))), session)
        self._watchers.append(watcher)
        self._board.watch(self._watchers)
        try:
            yield
        finally:
            self._watchers.remove(watcher)
            self._board.watch(self._watchers)
            self.watchers_left()

    @contextmanager
    def watch_session(
        self, kinds: Collection[str], session: str, told: Callable[[QuestionChanged], None]
    ) -> Iterator[None]:
        """The same for one session, whose questions `told` hears of as they are asked and answered."""

        def heard(event: Event[QuestionChanged]) -> None:
            if event.value.session == session:
                told(event.value)

        unsubscribe = self._events.subscribe(heard, QuestionChanged)
        try:
            with self.watch(kinds, session):
                yield
        finally:
            unsubscribe()

    def is_watched(self, kind: str, session: str) -> bool:
        here = any(watcher.sees(kind, session) for watcher in self._watchers)
        return here or self._board.is_watched(kind, session)

    def pending(self) -> tuple[ShownQuestion, ...]:
        """The questions that are shown now, here and elsewhere, the oldest first."""
        own = [one.shown for one in self._open.values() if not one.answer.done()]
        return tuple(sorted([*own, *self._board.others()], key=lambda one: one.asked))

    async def look(self) -> None:
        """Know what is asked elsewhere now. When that cannot be known, what is asked here is all there is."""
        try:
            await self._board.look()
        except StoreError as error:
            _log.warning("Questions of other gateways are not known: %s", error)

    async def recent(self) -> tuple[QuestionChanged, ...]:
        """Questions that are over, the newest first."""
        try:
            others = await self._board.recent()
        except StoreError as error:
            _log.warning("Questions of other gateways are not known: %s", error)
            others = ()
        return tuple(sorted((*self._ended.values(), *others), key=lambda one: one.ended, reverse=True)[:KEPT])

    async def find(self, name: str) -> ShownQuestion:
        """The open question of this id, or of the only one that begins so. Raises UnknownQuestionError or AlreadyEndedError."""
        found = self._found(name)
        if found is None:
            # It may have been asked elsewhere a moment ago.
            await self.look()
            found = self._found(name)
        ended = self._ended.get(found.id if found is not None else name)
        if ended is None and found is None:
            ended = next((one for one in await self.recent() if one.id == name), None)
        if ended is not None:
            raise AlreadyEndedError(ended)
        if found is None:
            hint = f"At least {_SHORTEST_ID} letters of its id are needed." if len(name) < _SHORTEST_ID else ""
            raise UnknownQuestionError(f"There is no question {one_line(name, 40)!r}; it may be over.", hint=hint)
        return found

    def _found(self, name: str) -> ShownQuestion | None:
        known = [*(one.shown for one in self._open.values()), *self._board.others()]
        if (exact := next((one for one in known if one.id == name), None)) is not None or len(name) < _SHORTEST_ID:
            return exact
        begin_so = [one for one in known if one.id.startswith(name)]
        return begin_so[0] if len(begin_so) == 1 else None

    async def answer(self, name: str, digest: str, given: Given, *, by: str) -> QuestionChanged:
        """Answer a question in the place of who was shown it. Raises UnknownQuestionError, AlreadyEndedError, WrongDigestError or
        UnfitAnswerError; only the second of them means that it is over. Raises StoreError when its gateway takes no answer."""
        shown = await self.find(name)
        if not hmac.compare_digest(digest.encode(), shown.digest.encode()):
            raise WrongDigestError("The digest is not that of this question: look at it again before you answer.")
        answer = answer_to(shown.question, given)
        if (own := self._open.get(shown.id)) is not None:
            own.settle(msgspec.structs.replace(answer, by=by))
            return self._ended[own.id]
        ended, counts = await self._board.answer(Handed(shown.id, digest, given, by))
        if not counts:
            raise AlreadyEndedError(ended)
        return ended

    # For the board (board.LocalQuestions)

    def take(self, handed: Handed) -> bool:
        one = self._open.get(handed.id)
        if (
            one is None
            or one.answer.done()
            or not hmac.compare_digest(handed.digest.encode(), one.shown.digest.encode())
        ):
            return False
        try:
            answer = answer_to(one.question, handed.given)
        except UsageError:
            # Looked at where it was given, too.
            return False
        one.settle(msgspec.structs.replace(answer, by=handed.by))
        return True

    def told(self, changed: QuestionChanged) -> None:
        self._events.send(changed)

    def watchers_left(self) -> None:
        if self._open:
            asyncio.get_running_loop().call_later(self._grace, self._withdraw_unseen)

    def close(self) -> None:
        """We are stopping: nothing is asked any more, and what is open goes unanswered."""
        self._is_closed = True
        for question in tuple(self._open.values()):
            question.settle(WITHDRAWN)

    # For who asks

    async def ask(self, question: Question, surface: Asker | None, by: str) -> Answer:
        """Show a question on `surface`, if there is one, and to watchers, until somebody answers or its time is over."""
        question = _printable(question)
        try:
            one = OpenQuestion(question, digest_of(question), self._clock(), self._end)
        except (TypeError, ValueError, RecursionError):
            _log.warning("A question could not be asked: it is not JSON.")
            return WITHDRAWN
        if self._is_closed:
            return WITHDRAWN
        self._open[one.id] = one
        if one.is_answerable:
            self._limit(one, self._seconds(question, is_shown=surface is not None))
        self._tell("question", one, one.shown.changed(None, 0.0))
        try:
            if surface is not None:
                one.show(surface.ask(question), lambda task: self._heard(one, task, surface, by))
            return await asyncio.shield(one.answer)
        finally:
            # Still open when whoever asked is cancelled.
            one.settle(WITHDRAWN)
            del self._open[one.id]
            if (shown := one.surface) is not None:
                shown.cancel()
                await asyncio.wait([shown], timeout=_LEAVING)

    def _limit(self, one: OpenQuestion, seconds: float) -> None:
        one.limit(seconds, self._clock())
        self._board.post(one)

    def _seconds(self, question: Question, *, is_shown: bool) -> float:
        """How long a question may wait: `is_shown` where it was asked, or to watchers alone."""
        if question.seconds is not None:
            return question.seconds
        limits = self._limits(question.agent)
        return limits.shown if is_shown else limits.watched

    def _heard(self, one: OpenQuestion, task: "asyncio.Task[Answer]", surface: Asker, by: str) -> None:
        """What a surface says to a question it showed. When it says nothing, watchers may still."""
        answer = WITHDRAWN
        if not task.cancelled():
            if (error := task.exception()) is not None:
                _log.error("A question could not be shown: %s", type(error).__name__)
            else:
                answer = task.result()
        if one.answer.done():
            return
        question = one.question
        if answer.action != "cancel":
            one.settle(msgspec.structs.replace(answer, by=answer.by or by, why=""))
        elif one.is_answerable and self.is_watched(question.kind, question.session):
            self._limit(one, self._seconds(question, is_shown=False))
        elif answer.why == "" and surface.can(question.kind):
            # Somebody is there, and left it open.
            one.settle(Answer("cancel", by=answer.by or by))
        else:
            one.settle(answer if answer.why == "expired" else WITHDRAWN)

    def _withdraw_unseen(self) -> None:
        """Watchers left, and did not come back: what only they could answer is over."""
        for one in tuple(self._open.values()):
            question = one.question
            if one.surface is None and one.is_answerable and not self.is_watched(question.kind, question.session):
                one.settle(WITHDRAWN)

    def _end(self, one: OpenQuestion) -> None:
        ended = one.shown.changed(one.answer.result(), self._clock())
        if one.is_answerable:
            self._board.over(one, ended)
        self._ended[one.id] = ended
        if len(self._ended) > KEPT:
            del self._ended[next(iter(self._ended))]
        self._tell("answer", one, ended)

    def _tell(self, event: str, one: OpenQuestion, changed: QuestionChanged) -> None:
        facts: dict[str, Any] = {
            "call": one_line(one.question.call, _LONGEST_TEXT),
            "agent": one_line(changed.agent, _LONGEST_TEXT),
            "session": short_hash(changed.session),
            "kind": changed.kind,
            "asker": one_line(changed.asker, _LONGEST_TEXT),
            "tool": one_line(changed.tool, _LONGEST_TEXT),
        }
        if changed.state != "pending":
            waited = round((changed.ended - changed.asked) * 1000)
            facts |= {"answer": changed.state, "option": changed.option, "by": changed.by, "waitMs": waited}
        self._audit().noted(event, facts)
        self._events.send(changed)


class _ConversationAsker:
    """The asker of one turn, or of one call. What its surface could show at the beginning it can be asked for to the end, though
    the surface may be gone by then: that is a no, and not nobody, whom a rule might let something run for."""

    def __init__(self, questions: Questions, conversation: Conversation) -> None:
        self._questions = questions
        self._surface = conversation.asker
        self._agent, self._session = conversation.agent, conversation.session
        self._by = "client" if conversation.surface in ("order", "acp") else "terminal"
        # Made with the first question: most calls ask none.
        self._line: _Line | None = None
        self._shows = tuple(kind for kind in QUESTION_KINDS if self._surface.can(kind))
        self._asked = 0
        self._expired = 0

    def can(self, kind: QuestionKind) -> bool:
        return kind in self._shows or self._surface.can(kind) or self._questions.is_watched(kind, self._session)

    async def ask(self, question: Question) -> Answer:
        # A caller that asks in a loop and gets no answer must not keep everybody else from running.
        await asyncio.sleep(0)
        if not self.can(question.kind):
            return NOBODY_THERE
        question = msgspec.structs.replace(question, agent=self._agent, session=self._session)
        if question.kind == "sign-in":
            # One sign-in is made for all calls that wait for it, in its own time.
            return await self._questions.ask(question, self._surface, self._by)
        if self._line is None:
            self._line = self._questions.line(self._session)
        if self._asked >= MOST_ASKED or self._line.is_full:
            return WITHDRAWN
        self._asked += 1
        async with self._line.turn():
            return await self._next(question)

    async def _next(self, question: Question) -> Answer:
        if self._expired >= MOST_EXPIRED:
            # Nobody has looked for a while.
            return EXPIRED
        surface = self._surface if self._surface.can(question.kind) else None
        if surface is None and not self._questions.is_watched(question.kind, self._session):
            return WITHDRAWN
        answer = await self._questions.ask(question, surface, self._by)
        self._expired = self._expired + 1 if answer.why == "expired" else 0
        return answer


def _printable(question: Question) -> Question:
    """A name of a file may hold what no JSON can."""
    return msgspec.structs.replace(question, text=question.text.encode("utf-8", "backslashreplace").decode())
