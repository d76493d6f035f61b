"""Thousands of generated calls through the whole stack: none is made that the model says must be asked about or refused.

The person declines whatever they are asked, so a call is made only when nobody had to be asked.
"""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.asking.approver import Approver
from openclaw.content import Text, ToolCall
from openclaw.conversation import Answer, Conversation, Nobody, Question, QuestionKind
from openclaw.event_hub import EventHub
from openclaw.security.grants import GrantStore
from openclaw.security.own_places import OwnPlaces
from openclaw.security.policy import Decision, Named, Policy, PolicyLayer
from openclaw.tool import Invocation, ToolResult
from openclaw.tools.invoke import Invoke
from openclaw.tools.running import RunningCalls
from parts.approval_model import (
    STATE,
    Facts,
    arguments_for,
    foreign_for,
    generated,
    grants_for,
    modelled,
    rules_for,
    texts_for,
    tool_for,
    written_for,
)
from parts.stage import Trail

CALLS = 5_000


class Declining:
    """A person who is asked and says no."""

    def __init__(self) -> None:
        self.asked = 0

    def can(self, kind: QuestionKind) -> bool:
        return kind == "approval"

    async def ask(self, question: Question) -> Answer:
        self.asked += 1
        return Answer("decline", by="terminal")


class Silent:
    def noted(self, event: str, facts: Any) -> None:
        pass


async def called(*turns: Facts) -> list[tuple[int, int]]:
    """How often the tool was called and the person was asked in each of these turns, one after the other.

    Rules, grants and tool are those of the first.
    """
    facts = turns[0]
    made: list[dict[str, Any]] = []

    async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        made.append(arguments)
        return ToolResult((Text("done"),), own_words=True)

    tool = tool_for(facts, run)
    given = grants_for(facts, tool)
    lasting = GrantStore()
    await lasting.add(*(one for one in given if one.scope == "always"))
    rules, own = rules_for(facts), OwnPlaces(STATE)
    policy = Policy([PolicyLayer("tools", allow=("*", "exec"))])

    def policy_decide(tool: Named, agent: str) -> Decision:
        return policy.decide(tool)

    approver = Approver(
        rules=lambda agent: rules,
        grants=lasting,
        audit=Silent,
        events=EventHub(),
        own=lambda: own,
        decision=policy_decide,
    )
    invoke = Invoke(
        policy_decide=policy_decide,
        audit=Trail(),
        clock=lambda: 0.0,
        running=RunningCalls(),
        approve=approver.approve,
    )
    person = Declining()
    came: list[tuple[int, int]] = []
    for number, facts in enumerate(turns):
        before = len(made), person.asked
        conversation = Conversation(
            "main",
            f"agent:main:{number}",
            asker=Nobody() if facts.nobody else person,
            foreign=foreign_for(facts),
            reads_only=facts.only_reading,
            surface=facts.surface,
            allow=tuple(texts_for(facts, facts.run_allow)),
            written=written_for(facts),
            granted=[one for one in given if one.scope == "session"],
        )
        await invoke(tool, ToolCall("1", tool.name, arguments_for(facts)), Invocation(conversation))
        came.append((len(made) - before[0], person.asked - before[1]))
    return came


def expected(facts: Facts) -> tuple[int, int]:
    action, _ = modelled(facts)
    return int(action == "run"), int(action == "ask")


@pytest.mark.requirement("000-17-approval")
@pytest.mark.parametrize("part", range(10))
async def test_no_call_is_made_that_must_be_asked_about_or_refused(part: int) -> None:
    chance = random.Random(f"calls {part}")
    wrong = []
    for _ in range(CALLS // 10):
        facts = replace(generated(chance), declined=False)
        # Twice: what the first left behind changes nothing.
        if (given := await called(facts, facts)) != [expected(facts)] * 2:
            wrong.append((modelled(facts), given, facts))
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"


@pytest.mark.parametrize("part", range(4))
async def test_what_was_decided_in_one_conversation_holds_in_no_other_where_it_would_be_decided_otherwise(
    part: int,
) -> None:
    chance = random.Random(f"turns {part}")
    wrong = []
    for _ in range(CALLS // 10):
        facts = replace(generated(chance), declined=False, grant_scope="always", host_was_approved=False)
        other = replace(
            facts,
            was_read=chance.random() < 0.5,
            value_is_foreign=chance.random() < 0.5,
            value_was_written=chance.random() < 0.5,
            host_was_written=chance.random() < 0.5,
            names_own=chance.random() < 0.3,
            only_reading=chance.random() < 0.3,
            surface=chance.choice(("chat", "order", "http")),
        )
        turns = [facts, other, facts, other]
        if (given := await called(*turns)) != [expected(one) for one in turns]:
            wrong.append(([modelled(one) for one in turns], given, facts, other))
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"
