"""The register of open questions: lines, times, first answers, and what becomes of those who ask and those who show."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from openclaw.asking.answers import Given, UnfitAnswerError
from openclaw.asking.open_question import OpenQuestion, QuestionChanged, ShownQuestion
from openclaw.asking.questions import (
    KEPT,
    MOST_ASKED,
    AlreadyEndedError,
    Limits,
    Questions,
    UnknownQuestionError,
    WrongDigestError,
)
from openclaw.conversation import Answer, AskedCall, Asker, Conversation, Nobody, Offer, Question, QuestionKind
from openclaw.event_hub import EventHub

CALL = AskedCall(
    "files__write", "write", "files", {"path": "secret-path"}, offers=(Offer("once", "y", "once", "once"),)
)
MAY_IT = Question("approval", approval=CALL, options=("once",), call="c1")
YES = Answer("accept", {"option": "once"}, by="http")
WITHDRAWN = Answer("cancel", why="withdrawn")


class Trail:
    """An audit trail in memory."""

    def __init__(self) -> None:
        self.records: list[tuple[str, dict[str, Any]]] = []

    def noted(self, event: str, facts: dict[str, Any]) -> None:
        self.records.append((event, facts))


class Screen:
    """A surface that shows what it is asked, and answers when it is told to."""

    def __init__(self, *kinds: QuestionKind) -> None:
        self.kinds = set[str](kinds or ("approval", "form", "url"))
        self.shown: asyncio.Queue[tuple[Question, asyncio.Future[Answer]]] = asyncio.Queue()
        self.withdrawn = 0

    def can(self, kind: QuestionKind) -> bool:
        return kind in self.kinds

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.shown.put_nowait((question, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise


class Register:
    def __init__(self, limits: Limits = Limits(), grace: float = 0.0) -> None:  # noqa: B008
        self.trail = Trail()
        self.events = EventHub()
        self.told: list[QuestionChanged] = []
        self.events.subscribe(lambda event: self.told.append(event.value), QuestionChanged)
        self.questions = Questions(
            events=self.events, audit=lambda: self.trail, limits=lambda agent: limits, grace=grace
        )

    def asker(self, surface: Asker | None = None, session: str = "agent:main:one") -> Asker:
        return self.questions.asker(Conversation("main", session, asker=surface or Nobody(), surface="chat"))

    async def next(self, count: int = 1) -> ShownQuestion:
        """The newest of so many open questions, once there are."""
        with self.events.reader(QuestionChanged) as reader:
            while len(self.questions.pending()) < count:
                await reader.next()
        return self.questions.pending()[-1]


@asynccontextmanager
async def asked(*asking: Any) -> AsyncIterator[list["asyncio.Task[Answer]"]]:
    tasks = [asyncio.ensure_future(one) for one in asking]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def answered(register: Register, one: ShownQuestion, choice: str = "once", **more: Any) -> QuestionChanged:
    return await register.questions.answer(one.id, one.digest, Given(choice, **more), by="http")


async def test_where_nobody_is_and_nobody_watches_nothing_is_asked() -> None:
    register = Register()
    asker = register.asker()
    assert (asker.can("approval"), await asker.ask(MAY_IT)) == (False, Answer("cancel", why="nobody"))
    assert (register.told, register.trail.records) == ([], [])


async def test_a_surface_answers_and_the_trail_has_no_content() -> None:
    register, screen = Register(), Screen()
    async with asked(register.asker(screen).ask(MAY_IT)) as (task,):
        question, answer = await screen.shown.get()
        answer.set_result(Answer("decline", note="never there"))
        assert await task == Answer("decline", note="never there", by="terminal")
    assert (question.agent, question.session) == ("main", "agent:main:one")
    assert [one.state for one in register.told] == ["pending", "declined"]
    (first, asking), (second, ended) = register.trail.records
    facts = {"call": "c1", "agent": "main", "kind": "approval", "asker": "", "tool": "files__write"}
    assert (first, second) == ("question", "answer")
    assert asking == {**facts, "session": asking["session"]}
    assert ended == {**asking, "answer": "declined", "option": "", "by": "terminal", "waitMs": ended["waitMs"]}
    assert [text in str(register.trail.records) for text in ("never there", "secret-path")] == [False, False]


async def test_an_answer_from_elsewhere_counts_and_the_surface_takes_its_question_away() -> None:
    register, screen = Register(), Screen()
    async with asked(register.asker(screen).ask(MAY_IT)) as (task,):
        await screen.shown.get()
        ended = await answered(register, await register.next())
        assert await task == YES
    assert (ended.state, ended.option, ended.by, screen.withdrawn) == ("accepted", "once", "http", 1)


async def test_of_two_answers_the_first_counts_and_the_second_is_told_so() -> None:
    register, screen = Register(), Screen()
    async with asked(register.asker(screen).ask(MAY_IT)) as (task,):
        _, answer = await screen.shown.get()
        one = await register.next()
        # Both before anybody else runs.
        await answered(register, one)
        answer.set_result(Answer("decline"))
        with pytest.raises(AlreadyEndedError) as late:
            await answered(register, one, "deny")
        assert await task == YES
    assert (late.value.ended.state, late.value.ended.by) == ("accepted", "http")
    assert [one.state for one in register.told] == ["pending", "accepted"]


async def test_an_answer_to_something_else_and_one_that_does_not_fit_leave_the_question_open() -> None:
    register, screen = Register(), Screen()
    async with asked(register.asker(screen).ask(MAY_IT)) as (task,):
        one = await register.next()
        with pytest.raises(WrongDigestError):
            await register.questions.answer(one.id, "", Given("once"), by="http")
        with pytest.raises(UnfitAnswerError):
            await answered(register, one, "perhaps")
        with pytest.raises(UnknownQuestionError):
            await register.questions.answer("nothing", one.digest, Given("once"), by="http")
        assert register.questions.pending() == (one,)
        await answered(register, one)
        assert await task == YES


async def test_ten_questions_at_once_are_shown_one_at_a_time_and_the_tenth_is_not_heard() -> None:
    register, screen = Register(), Screen()
    asker = register.asker(screen)
    most = 0
    async with asked(*(asker.ask(Question("approval", f"number {number}")) for number in range(10))) as tasks:
        for _ in range(9):
            _, answer = await screen.shown.get()
            most = max(most, len(register.questions.pending()))
            answer.set_result(Answer("decline"))
        answers = await asyncio.gather(*tasks)
    assert answers == [*[Answer("decline", by="terminal")] * 9, WITHDRAWN]
    assert (most, screen.shown.empty()) == (1, True)


async def test_turns_of_one_session_share_a_line_and_other_sessions_do_not_wait() -> None:
    register, screen, other = Register(), Screen(), Screen()
    first, second = register.asker(screen), register.asker(screen)
    async with asked(first.ask(MAY_IT), second.ask(MAY_IT), register.asker(other, "agent:main:two").ask(MAY_IT)):
        await register.next(2)
        await other.shown.get()
        _, answer = await screen.shown.get()
        assert screen.shown.empty()
        answer.set_result(Answer("decline"))
        await screen.shown.get()


async def test_a_question_left_unanswered_expires_and_is_taken_away() -> None:
    register, screen = Register(Limits(0.01, 60.0)), Screen()
    assert await register.asker(screen).ask(MAY_IT) == Answer("cancel", why="expired")
    assert (screen.withdrawn, register.told[-1].state) == (1, "expired")


async def test_a_time_of_its_own_begins_when_the_question_is_shown_and_not_in_the_line() -> None:
    register, screen = Register(), Screen()
    asker = register.asker(screen)
    first, second = (structs.replace(MAY_IT, seconds=seconds) for seconds in (0.02, 0.01))
    answers = await asyncio.gather(asker.ask(first), asker.ask(second))
    # The second waited longer than its own time before anybody could see it.
    assert (list(answers), screen.shown.qsize()) == ([Answer("cancel", why="expired")] * 2, 2)


async def test_a_time_of_its_own_holds_also_where_only_watchers_see_the_question() -> None:
    register = Register()
    with register.questions.watch(["approval"]):
        async with asked(register.asker().ask(structs.replace(MAY_IT, seconds=7.0))):
            one = await register.next()
            assert one.expires - one.asked == 7.0


async def test_when_nobody_looks_the_rest_is_not_waited_for() -> None:
    register, screen = Register(Limits(0.01, 60.0)), Screen()
    asker = register.asker(screen)
    answers = [await asker.ask(MAY_IT) for _ in range(5)]
    assert answers == [Answer("cancel", why="expired")] * 5
    assert screen.shown.qsize() == 3


async def test_who_asks_for_ever_is_not_heard_for_ever() -> None:
    class Impatient(Screen):
        async def ask(self, question: Question) -> Answer:
            return Answer("decline")

    register = Register()
    asker = register.asker(Impatient())
    answers = [await asker.ask(MAY_IT) for _ in range(MOST_ASKED + 2)]
    assert answers[MOST_ASKED - 1 :] == [Answer("decline", by="terminal"), WITHDRAWN, WITHDRAWN]


async def test_who_asks_in_a_loop_without_anybody_there_lets_others_run() -> None:
    asker = Register().asker()

    async def ask_for_ever() -> Answer:
        while True:
            await asker.ask(MAY_IT)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ask_for_ever(), 0.01)


async def test_a_question_goes_away_with_whoever_asked_it_shown_or_waiting() -> None:
    register, screen = Register(), Screen()
    asker = register.asker(screen)
    async with asked(asker.ask(MAY_IT), asker.ask(MAY_IT)) as (shown, waiting):
        one = await register.next()
        waiting.cancel()
        await asyncio.wait([waiting])
        shown.cancel()
        await asyncio.wait([shown])
        with pytest.raises(AlreadyEndedError) as late:
            await answered(register, one)
        async with asked(asker.ask(MAY_IT)):
            await register.next()
    assert (late.value.ended.state, screen.withdrawn) == ("withdrawn", 2)


async def test_a_surface_that_disappears_is_a_cancel_and_everything_after_it_too() -> None:
    register, screen = Register(), Screen()
    asker = register.asker(screen)
    async with asked(asker.ask(MAY_IT), asker.ask(MAY_IT)) as tasks:
        _, answer = await screen.shown.get()
        screen.kinds.clear()
        answer.set_result(Answer("cancel"))
        assert await asyncio.gather(*tasks) == [WITHDRAWN, WITHDRAWN]
    # Nobody there would let a rule decide; somebody was.
    assert (asker.can("approval"), await asker.ask(MAY_IT)) == (True, WITHDRAWN)


async def test_a_surface_that_fails_is_a_cancel() -> None:
    class Broken(Screen):
        async def ask(self, question: Question) -> Answer:
            raise OSError

    assert await Register().asker(Broken()).ask(MAY_IT) == WITHDRAWN


async def test_a_surface_that_fails_after_somebody_else_answered_is_noted_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(Screen):
        async def ask(self, question: Question) -> Answer:
            try:
                return await super().ask(question)
            except asyncio.CancelledError:
                raise OSError from None

    register = Register()
    async with asked(register.asker(Failing()).ask(MAY_IT)) as (task,):
        await answered(register, await register.next())
        assert await task == YES
    assert caplog.messages == ["A question could not be shown: OSError"]


async def test_a_watcher_can_answer_where_nobody_else_is() -> None:
    register = Register()
    asker = register.asker()
    with register.questions.watch(["approval"]):
        assert (asker.can("approval"), asker.can("form"), asker.can("sign-in")) == (True, False, False)
        async with asked(asker.ask(MAY_IT)) as (task,):
            one = await register.next()
            assert one.expires - one.asked == Limits().watched
            await answered(register, one)
            assert await task == YES
    assert asker.can("approval") is False


async def test_a_watcher_of_one_session_sees_no_other() -> None:
    register = Register()
    with register.questions.watch(["approval"], "agent:main:two"):
        assert register.asker().can("approval") is False
        assert register.asker(session="agent:main:two").can("approval") is True


async def test_watchers_may_answer_when_the_surface_is_gone() -> None:
    register, screen = Register(), Screen()
    with register.questions.watch(["approval"]):
        async with asked(register.asker(screen).ask(MAY_IT)) as (task,):
            _, answer = await screen.shown.get()
            one = await register.next()
            screen.kinds.clear()
            answer.set_result(Answer("cancel"))
            # It has the time of watchers as soon as the surface has left.
            while one.expires - one.asked != Limits().watched:
                await asyncio.sleep(0)
                (one,) = register.questions.pending()
            await answered(register, one)
            assert await task == YES


async def test_a_question_that_only_watchers_see_goes_with_the_last_of_them() -> None:
    register = Register()
    asker = register.asker()
    with register.questions.watch(["approval"]):
        with register.questions.watch(["approval"]):
            task = asyncio.create_task(asker.ask(MAY_IT))
            await register.next()
        await asyncio.sleep(0)
        assert len(register.questions.pending()) == 1
    assert await task == WITHDRAWN


async def test_a_watcher_that_comes_back_finds_the_question_open() -> None:
    register = Register(grace=60.0)
    with register.questions.watch(["approval"]):
        task = asyncio.create_task(register.asker().ask(MAY_IT))
        await register.next()
    with register.questions.watch(["approval"]):
        await answered(register, await register.next())
        assert await task == YES


async def test_a_sign_in_passes_the_line_and_cannot_be_answered_from_elsewhere() -> None:
    register, screen = Register(), Screen("approval", "sign-in")
    asker = register.asker(screen)
    async with asked(asker.ask(MAY_IT)):
        await screen.shown.get()
        async with asked(asker.ask(Question("sign-in", server="shop"))) as (sign_in,):
            _, answer = await screen.shown.get()
            one = await register.next(2)
            with pytest.raises(UnfitAnswerError):
                await answered(register, one, "accept")
            answer.set_result(Answer("accept"))
            assert (await sign_in).is_yes


async def test_a_register_that_closes_answers_everything_with_cancel() -> None:
    register, screen = Register(), Screen()
    asker = register.asker(screen)
    async with asked(asker.ask(MAY_IT), asker.ask(MAY_IT)) as tasks:
        await screen.shown.get()
        register.questions.close()
        assert await asyncio.gather(*tasks) == [WITHDRAWN, WITHDRAWN]
    assert (asker.can("approval"), await asker.ask(MAY_IT)) == (True, WITHDRAWN)


async def test_an_asker_that_is_ours_already_is_not_asked_twice() -> None:
    register, screen = Register(), Screen()
    outer = register.asker(screen)
    assert register.asker(outer) is outer


async def test_so_many_questions_are_remembered_without_what_they_asked() -> None:
    class Quick(Screen):
        async def ask(self, question: Question) -> Answer:
            return Answer("decline")

    register = Register()
    for _ in range(KEPT + 5):
        await register.asker(Quick()).ask(MAY_IT)
    recent = await register.questions.recent()
    assert (len(recent), recent[0].ended >= recent[-1].ended, "secret-path" in str(recent)) == (KEPT, True, False)


async def test_a_question_that_is_no_json_is_not_asked() -> None:
    register, screen = Register(), Screen()
    call = AskedCall("x", "x", arguments={"a": object()})
    assert await register.asker(screen).ask(Question("approval", approval=call)) == WITHDRAWN
    assert screen.shown.empty()


async def test_no_id_begins_like_an_option_of_a_command() -> None:
    ids = [OpenQuestion(MAY_IT, "", 0.0, lambda _: None).id for _ in range(1_000)]
    assert (len(set(ids)), [id for id in ids if id.startswith("-")]) == (1_000, [])


async def test_the_beginning_of_an_id_is_enough_for_a_person() -> None:
    register, screen = Register(), Screen()
    async with asked(register.asker(screen).ask(MAY_IT)):
        one = await register.next()
        assert await register.questions.find(one.id[:8]) is one
        with pytest.raises(UnknownQuestionError):
            await register.questions.find(one.id[:3])
