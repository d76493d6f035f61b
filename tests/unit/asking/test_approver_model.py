"""Thousands of generated calls through the whole stack: none is made that the model says must be asked about or refused.

The person declines whatever they are asked, so a call is made only when nobody had to be asked.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.asking.approver import Approver
from openclaw.content import Text, ToolCall
from openclaw.conversation import Answer, Conversation, Nobody, Question, QuestionKind
from openclaw.event_hub import EventHub
from openclaw.grant import Grant
from openclaw.security.grants import LOOK_EVERY, GrantStore
from openclaw.security.own_places import OwnPlaces
from openclaw.security.policy import Decision, Named, Policy, PolicyLayer
from openclaw.tool import Invocation, ToolFacts, ToolResult
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
# What the approver is told of when it becomes another: the config, and what a server says of its tool. Of grants it has to know by itself.
OF_CONFIG_AND_SERVER = (
    *(
        "agent_mode",
        "mode",
        "taint",
        "agent_taint",
        "fallback",
        "order_fallback",
        "deny",
        "ask",
        "allow",
        "agent_allow",
    ),
    # Patterns that fit are made for the call.
    *("has_address", "is_inline"),
    *("server_approval", "claims_reading", "annotations_trusted", "claims_closed"),
)


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


class Life:
    """A gateway in which rules, lasting grants and what a server says of its tool become others from turn to turn.

    With a `file` another process may be the one that changes the grants: a moment later they are known here.
    """

    def __init__(self, first: Facts, chance: random.Random, file: Path | None) -> None:
        self._facts, self._chance, self._file = first, chance, file
        self._now = 0.0
        self._lasting = GrantStore(file, clock=lambda: self._now)
        self._rules, self._own = rules_for(first), OwnPlaces(STATE)
        self._policy = Policy([PolicyLayer("tools", allow=("*", "exec"))])
        self._made = 0
        tool = tool_for(first, self._run)
        # The same tool as it was offered, whatever becomes of it.
        self._tool = tool if tool.facts is None else replace(tool, facts=self._said)
        self._approver = Approver(
            rules=lambda agent: self._rules,
            grants=self._lasting,
            audit=Silent,
            events=EventHub(),
            own=lambda: self._own,
            decision=self._decide,
        )
        self._invoke = Invoke(
            policy_decide=self._decide,
            audit=Trail(),
            clock=lambda: self._now,
            running=RunningCalls(),
            approve=self._approver.approve,
        )

    def _decide(self, tool: Named, agent: str) -> Decision:
        return self._policy.decide(tool)

    def _said(self) -> ToolFacts:
        said = tool_for(self._facts).facts
        assert said is not None
        return said()

    async def _run(self, arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        self._made += 1
        return ToolResult((Text("done"),), own_words=True)

    async def turn(self, facts: Facts, number: int) -> tuple[int, int]:
        """How often the tool was called and the person was asked in it."""
        before, self._facts = self._facts, facts
        if any(getattr(before, name) != getattr(facts, name) for name in OF_CONFIG_AND_SERVER):
            self._rules = rules_for(facts)
            self._approver.forget()
        given = grants_for(facts, self._tool)
        await self._grant([one for one in given if one.scope == "always"])
        person, made = Declining(), self._made
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
        call = ToolCall("1", self._tool.name, arguments_for(facts))
        await self._invoke(self._tool, call, Invocation(conversation))
        return self._made - made, person.asked

    async def _grant(self, wanted: Sequence[Grant]) -> None:
        """Revoke what is not wanted any more, and add what is not there: here, or in another process."""
        there = self._lasting.all()
        store, is_other = self._lasting, self._file is not None and self._chance.random() < 0.5
        if is_other:
            store = GrantStore(self._file)
        for one in there:
            if one not in wanted:
                await store.revoke(one.id)
        if fresh := [one for one in wanted if one not in there]:
            await store.add(*fresh)
        if is_other:
            self._now += LOOK_EVERY


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("is_shared", [False, True])
async def test_whatever_becomes_other_between_two_calls_counts_for_the_next(
    is_shared: bool, part: int, tmp_path: Path
) -> None:
    chance = random.Random(f"lives {part}")
    wrong = []
    for number in range(CALLS // (250 if is_shared else 50)):
        facts = replace(generated(chance), declined=False)
        states = [facts]
        for _ in range(3):
            other = generated(chance)
            fields = [name for name in chance.sample(Facts.__struct_fields__, 3) if name not in ("tool", "declined")]
            states.append(replace(facts, **{name: getattr(other, name) for name in fields}))
        turns = [facts, facts, *chance.choices(states, k=8)]
        life = Life(facts, chance, tmp_path / f"{number}.json" if is_shared else None)
        given = [await life.turn(one, place) for place, one in enumerate(turns)]
        if given != [expected(one) for one in turns]:
            wrong.append(([modelled(one) for one in turns], given, turns))
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"
