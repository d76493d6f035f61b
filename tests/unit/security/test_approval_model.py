"""Thousands of generated cases: the product decides each as the table is worded."""

import random

import pytest

from openclaw.security.approval import Case, confirmed_to_read, decide, fallen_back
from openclaw.security.foreign import foreign_values, written_hosts
from openclaw.security.own_places import OwnPlaces
from openclaw.security.patterns import parse
from openclaw.security.risk import risk_of
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

CASES = 5_000


def decided(facts: Facts) -> tuple[str, int]:
    tool, arguments = tool_for(facts), arguments_for(facts)
    told = tool.facts() if tool.facts else None
    grants = grants_for(facts, tool)
    reads = confirmed_to_read(tool, told, "main", grants) is not None
    risk = risk_of(tool, told, arguments, reads=reads)
    foreign, written = foreign_for(facts), written_for(facts)
    case = Case(
        tool,
        told,
        arguments,
        "main",
        risk,
        rules_for(facts),
        grants,
        allow=[parse(text) for text in texts_for(facts, facts.run_allow)],
        sources=tuple(foreign),
        origins=foreign_values(arguments, foreign, written),
        known_hosts=written_hosts(risk.hosts, written),
        declined=facts.declined,
        reads_only=facts.only_reading,
        surface=facts.surface,
        names_own=OwnPlaces(STATE).named_in(tool, arguments, None),
    )
    verdict = decide(case)
    if facts.nobody:
        verdict = fallen_back(case, verdict)
    return verdict.action, verdict.step


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize("part", range(10))
def test_the_product_decides_as_the_table_is_worded(part: int) -> None:
    chance = random.Random(f"approvals {part}")
    wrong = []
    for _ in range(CASES // 10):
        facts = generated(chance)
        expected, given = modelled(facts), decided(facts)
        if expected != given:
            wrong.append((expected, given, facts))
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"


def test_the_generated_cases_meet_every_row() -> None:
    chance = random.Random("approvals rows")
    met = {modelled(generated(chance)) for _ in range(CASES)}
    assert met >= {(action, row) for row, actions in ROWS.items() for action in actions}


ROWS = {
    3: ["refuse"],
    4: ["refuse"],
    5: ["ask", "run", "refuse"],
    6: ["ask", "run", "refuse"],
    7: ["ask", "run", "refuse"],
    8: ["run"],
    9: ["run"],
    10: ["refuse"],
    11: ["ask", "run", "refuse"],
}
