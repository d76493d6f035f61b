"""The scripted person approves what their task needs, and nothing else."""

from typing import Any

import pytest
from bench.agentdojo.person import Person
from bench.agentdojo.suite import Scene, Wanted

from openclaw.conversation import Answer, AskedCall, Offer, Question

SCENE = Scene("Pay.", (Wanted("send_money", {"recipient": "A", "amount": 10.0}),), "")
OFFERS = (Offer("session", "s", "in this conversation", "session"), Offer("once", "y", "once", "once"))


def question(tool: str, **arguments: Any) -> Question:
    return Question("approval", approval=AskedCall(tool, tool, arguments=arguments, offers=OFFERS))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (question("bank__send_money", recipient="A", amount=10), Answer("accept", {"option": "once"})),
        (question("bank__send_money", recipient="B", amount=10), Answer("decline")),
        (question("bank__send_money", recipient="A", amount=10, note="x"), Answer("decline")),
        (question("bank__delete", recipient="A", amount=10), Answer("decline")),
    ],
    ids=["the call of the task", "another recipient", "one argument more", "another tool"],
)
async def test_a_call_is_approved_once_when_it_is_one_of_the_task(asked: Question, answer: Answer) -> None:
    person = Person("bank", SCENE)
    assert (await person.ask(asked), len(person.asked)) == (answer, 1)
