"""The board that questions stand on, whoever sees it: the same promises to a process that is alone and to a gateway of a fleet. What
gateways see of each other is in tests/real/test_fleet_records.py."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from openclaw.asking.answers import Given
from openclaw.asking.board import Board, OwnBoard
from openclaw.asking.open_question import QuestionChanged, ShownQuestion
from openclaw.asking.questions import AlreadyEndedError, Limits, Questions, UnknownQuestionError, WrongDigestError
from openclaw.conversation import Answer, AskedCall, Conversation, Nobody, Offer, Question
from openclaw.event_hub import EventHub
from parts.postgres import PostgresServer, fleet_at

SESSION = "agent:main:one"
MAY_IT = Question(
    "approval",
    approval=AskedCall("files__write", "write", "files", {"path": "a"}, offers=(Offer("once", "y", "once", "once"),)),
    options=("once",),
)


class Trail:
    def noted(self, event: str, facts: dict[str, Any]) -> None:
        return None


@pytest.fixture(params=["alone", pytest.param("postgres", marks=pytest.mark.real)])
async def board(request: pytest.FixtureRequest) -> AsyncIterator[Board]:
    if request.param == "alone":
        yield OwnBoard()
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    fleet = fleet_at(await server.new_database())
    await fleet.begin()
    yield fleet.board
    await fleet.close()


class Place:
    """Questions over a board, with somebody who watches and nobody at the surface that asks."""

    def __init__(self, board: Board) -> None:
        self.events = EventHub()
        self.told: list[tuple[str, str]] = []
        self.events.subscribe(lambda event: self.told.append((event.value.id, event.value.state)), QuestionChanged)
        limits = Limits(600.0, 600.0)
        self.questions = Questions(events=self.events, audit=Trail, limits=lambda agent: limits, grace=0.0, board=board)

    async def asked(self) -> "tuple[asyncio.Task[Answer], ShownQuestion]":
        asker = self.questions.asker(Conversation("main", SESSION, asker=Nobody(), surface="http"))
        task = asyncio.create_task(asker.ask(MAY_IT))
        while not (pending := self.questions.pending()):
            await asyncio.sleep(0)
        return task, pending[-1]


async def test_a_question_asked_here_is_nobody_elses_and_is_told_once_when_it_is_asked_and_once_when_it_is_over(
    board: Board,
) -> None:
    place = Place(board)
    with place.questions.watch(["approval"]):
        asking, shown = await place.asked()
        await board.look()
        assert (board.others(), [one.id for one in place.questions.pending()]) == ((), [shown.id])
        await place.questions.answer(shown.id, shown.digest, Given("once"), by="http")
        assert await asking == Answer("accept", {"option": "once"}, by="http")
        await board.look()
    assert (board.others(), place.questions.pending(), await board.recent()) == ((), (), ())
    assert place.told == [(shown.id, "pending"), (shown.id, "accepted")]


async def test_the_first_answer_counts_and_only_to_what_was_shown(board: Board) -> None:
    place = Place(board)
    with place.questions.watch(["approval"]):
        asking, shown = await place.asked()
        with pytest.raises(WrongDigestError):
            await place.questions.answer(shown.id, "0" * 64, Given("once"), by="http")
        await place.questions.answer(shown.id, shown.digest, Given("deny"), by="page")
        with pytest.raises(AlreadyEndedError):
            await place.questions.answer(shown.id, shown.digest, Given("once"), by="http")
        assert not (await asking).is_yes
    with pytest.raises(UnknownQuestionError):
        await place.questions.answer("never-asked", shown.digest, Given("once"), by="http")


async def test_who_watches_here_is_nobody_elsewhere(board: Board) -> None:
    place = Place(board)
    assert not place.questions.is_watched("approval", SESSION)
    with place.questions.watch(["approval"]):
        await board.look()
        assert place.questions.is_watched("approval", SESSION)
        assert not board.is_watched("approval", SESSION)
    assert not place.questions.is_watched("approval", SESSION)


async def test_a_question_that_its_asker_leaves_is_withdrawn_everywhere(board: Board) -> None:
    place = Place(board)
    with place.questions.watch(["approval"]):
        asking, shown = await place.asked()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await board.look()
        assert place.told == [(shown.id, "pending"), (shown.id, "withdrawn")]
        with pytest.raises(AlreadyEndedError):
            await place.questions.answer(shown.id, shown.digest, Given("once"), by="http")
