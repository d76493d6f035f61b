"""The audit trail, wherever it is kept: the same promises in a file and in PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.security.audit import AuditEntry, AuditLog, AuditTrail, Matching
from openclaw.security.audit_file import AuditFile
from openclaw.security.policy import Decision
from openclaw.tool import Invocation
from parts.postgres import PostgresServer, fleet_at


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.real)])
async def trail(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AuditTrail]:
    file = AuditFile(tmp_path / "calls.jsonl")
    if request.param == "file":
        yield file
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    fleet = fleet_at(await server.new_database())
    shared = fleet.audit_trail(file)
    shared.start()
    yield shared
    await shared.end()
    await fleet.close()
    assert list(file.lines()) == []


def record(number: int) -> dict[str, Any]:
    return {"event": "outcome", "tool": f"Über-{number}", "call": str(number)}


def lines(*numbers: int) -> list[str]:
    return [f'{{"event":"outcome","tool":"Über-{number}","call":"{number}"}}\n' for number in numbers]


async def test_nothing_was_written_yet(trail: AuditTrail) -> None:
    assert (await trail.last(5), await trail.matching(5, ["x"]), [one async for one in trail.batches()]) == (
        [],
        Matching([], 0),
        [],
    )


async def test_all_lines_are_read_in_the_order_in_which_they_were_written(trail: AuditTrail) -> None:
    for start in range(0, 3_000, 100):
        trail.append(lines(*range(start, start + 100)))
    assert [one async for batch in trail.batches() for one in batch] == [record(number) for number in range(3_000)]
    assert await trail.last(2) == [record(2_998), record(2_999)]


async def test_a_search_counts_what_it_finds_in_any_case(trail: AuditTrail) -> None:
    trail.append(lines(*range(20)))
    assert await trail.matching(2, ["ÜBER-1", "outcome"]) == Matching([record(18), record(19)], 11)
    assert await trail.matching(1, []) == Matching([record(19)], 20)
    assert await trail.matching(1, ["über", "-Über-1"]) == Matching([record(9)], 9)


async def test_a_call_leaves_its_two_records(trail: AuditTrail) -> None:
    log = AuditLog(trail, clock=lambda: 0.0)
    entry = AuditEntry(ToolCall("c1", "echo", {"text": "secret words"}), Invocation(Conversation("main", "key")), None)
    log.asked(entry, Decision(True, "any"))
    log.ended(entry, "ok", 0.25, result_bytes=3)
    log.flush()
    found = await trail.last(5)
    assert [(one["event"], one["call"], one["arguments"]) for one in found] == [
        ("request", "c1", {"text": "string"}),
        ("outcome", "c1", {"text": "string"}),
    ]
