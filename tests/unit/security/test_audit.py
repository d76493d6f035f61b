"""The audit trail: what a record holds, what it never holds, and what it survives."""

import asyncio
import json
import logging
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.event_hub import EventHub
from openclaw.log import short_hash
from openclaw.redact import remember
from openclaw.security.audit import TOGETHER, AuditEntry, AuditLog, CallRecorded, shape
from openclaw.security.audit_file import AuditFile
from openclaw.security.policy import Decision
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE

WRITER = Path(__file__).parents[2] / "parts" / "audit_writer.py"
INVOCATION = Invocation(Conversation("main", "agent:main:private-key"))


async def nothing(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return ToolResult(())


TOOL = Tool("mcp_github_search", "", parameters({}), nothing, kind="mcp", origin="github")


def call(**arguments: Any) -> ToolCall:
    return ToolCall("call-1", TOOL.name, arguments)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.requirement("001-7-audit")
def test_a_call_leaves_a_request_and_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / "py" / "audit.jsonl"
    log = AuditLog(AuditFile(path), clock=lambda: 1_700_000_000.25)
    decision = Decision(True, 'allow "mcp_*"', "openclaw.json:3 tools.allow")
    entry = AuditEntry(call(query="secret words", limit=3), INVOCATION, TOOL)
    log.asked(entry, decision)
    log.ended(entry, "ok", 0.1234567, result_bytes=42)
    log.close()
    common = {
        "time": "2023-11-14T22:13:20.250Z",
        "agent": "main",
        "session": short_hash("agent:main:private-key"),
        "call": "call-1",
        "kind": "mcp",
        "origin": "github",
        "tool": "mcp_github_search",
        "arguments": {"query": "string", "limit": "number"},
    }
    assert records(path) == [
        {**common, "event": "request", "allowed": True, "rule": decision.rule, "where": decision.where},
        {**common, "event": "outcome", "outcome": "ok", "durationMs": 123.457, "resultBytes": 42},
    ]
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (
        PRIVATE_FILE,
        PRIVATE_DIRECTORY,
    )


def test_a_call_of_an_unknown_tool_is_recorded_too(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    log.ended(AuditEntry(ToolCall("c", "nope\x1b[31m\n", {}), INVOCATION, None), "unknown", 0.0)
    (record,) = records(tmp_path / "audit.jsonl")
    assert (record["tool"], record["kind"], record["outcome"]) == ("nope\\n", "unknown", "unknown")


def test_no_argument_value_session_key_or_secret_is_written(tmp_path: Path) -> None:
    remember("audited-secret-1")
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    log.asked(
        AuditEntry(call(text="private-text", nested={"audited-secret-1": ["private-item"]}), INVOCATION, TOOL),
        Decision(False, "no"),
    )
    written = (tmp_path / "audit.jsonl").read_text()
    for private in ("private-text", "private-item", "private-key", "audited-secret-1"):
        assert private not in written


def test_an_argument_named_like_a_credential_keeps_its_shape(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    log.ended(AuditEntry(call(token="abc", password="def"), INVOCATION, TOOL), "ok", 0.0)
    (record,) = records(tmp_path / "audit.jsonl")
    assert record["arguments"] == {"token": "string", "password": "string"}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "boolean"),
        (3, "number"),
        (2.5, "number"),
        ("text", "string"),
        ([1, "a"], "array(2)"),
        ({}, {}),
        ({"a": {"b": [1]}}, {"a": {"b": "array(1)"}}),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, {"a": {"b": {"c": {"d": "object(1)"}}}}),
        ({"x" * 100: 1}, {"x" * 64 + "… (36 more characters)": "number"}),
        ({"a\nb": object()}, {"a\\nb": "object"}),
    ],
)
def test_a_shape_tells_kinds_and_no_contents(value: Any, kind: Any) -> None:
    assert shape(value) == kind


def test_a_shape_of_many_members_stays_short() -> None:
    found = shape({f"k{number}": number for number in range(100)})
    assert len(found) == 33
    assert found["…"] == "68 more"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_shape_is_json(value: Any) -> None:
    json.dumps(shape(value)).encode()


def test_a_full_file_is_turned_over_and_the_oldest_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(AuditFile(path, max_bytes=1_000, keep=2))
    for number in range(40):
        log.ended(AuditEntry(ToolCall(str(number), "t", {}), INVOCATION, TOOL), "ok", 0.0)
    log.close()
    files = [*sorted(tmp_path.glob("audit.jsonl.*")), path]
    assert len(files) == 3
    numbers = [int(record["call"]) for file in files for record in records(file)]
    assert numbers == list(range(numbers[0], 40))
    assert all(file.stat().st_size < 1_000 + 400 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {PRIVATE_FILE}


def test_a_full_file_that_somebody_reads_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(AuditFile(path, max_bytes=1_000, keep=99))
    log.ended(AuditEntry(ToolCall("0", "t", {}), INVOCATION, TOOL), "ok", 0.0)
    # A program that is none of ours: Windows does not let the file be renamed meanwhile.
    with path.open("rb"):
        for number in range(1, 20):
            log.ended(AuditEntry(ToolCall(str(number), "t", {}), INVOCATION, TOOL), "ok", 0.0)
    for number in range(20, 40):
        log.ended(AuditEntry(ToolCall(str(number), "t", {}), INVOCATION, TOOL), "ok", 0.0)
    log.close()
    found = [record["call"] for file in tmp_path.glob("audit.jsonl*") for record in records(file)]
    assert sorted(found, key=int) == [str(number) for number in range(40)]


def test_a_file_left_full_by_an_earlier_run_is_turned_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("x" * 2_000 + "\n")
    log = AuditLog(AuditFile(path, max_bytes=1_000))
    log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
    assert len(records(path)) == 1


def test_several_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    writers = [subprocess.Popen([sys.executable, WRITER, path, "many", str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = [record["call"] for file in tmp_path.glob("audit.jsonl*") for record in records(file)]
    assert sorted(found) == sorted(f"{writer}-{number}" for writer in range(3) for number in range(200))


@pytest.mark.posix_only("signals")
def test_a_call_under_way_when_the_process_is_killed_has_left_its_request(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    killed = subprocess.run([sys.executable, WRITER, path, "killed", "-"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [(r["call"], r["event"]) for r in records(path)] == [("1", "request"), ("1", "outcome"), ("2", "request")]


async def test_in_an_event_loop_records_are_written_together_and_told_when_they_are(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    events = EventHub()
    log = AuditLog(AuditFile(path), events=events)
    told: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
    events.subscribe(lambda event: told.put_nowait(event.value.record), CallRecorded)
    first = AuditEntry(call(text="x"), INVOCATION, TOOL)
    log.asked(first, Decision(True, "any"))
    log.ended(first, "ok", 0.0)
    assert not path.exists()
    both = [await told.get(), told.get_nowait()]
    assert [record["event"] for record in both] == ["request", "outcome"]
    assert records(path) == both


async def test_calls_that_ended_before_something_else_happened_are_told_before_it(tmp_path: Path) -> None:
    events = EventHub()
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"), events=events)
    with events.reader() as reader:
        log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
        events.send("something else")
        told = [await reader.next(), await reader.next()]
    assert [type(event.value) for event in told if event is not None] == [CallRecorded, str]


async def test_many_records_do_not_wait_for_the_clock(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    for _ in range(TOGETHER):
        log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
    assert len(records(tmp_path / "audit.jsonl")) == TOGETHER
    log.close()


async def test_records_stand_in_the_order_things_happened(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    one, two = (AuditEntry(ToolCall(name, TOOL.name, {}), INVOCATION, TOOL) for name in "12")
    log.asked(one, Decision(True, "any"))
    log.ended(one, "ok", 0.0)
    log.asked(two, Decision(True, "any"))
    log.close()
    found = [(record["call"], record["event"]) for record in records(tmp_path / "audit.jsonl")]
    assert found == [("1", "request"), ("1", "outcome"), ("2", "request")]


async def test_calls_that_are_written_together_are_worded_like_calls_that_are_written_alone(tmp_path: Path) -> None:
    other = Tool("mcp_files_read", "", parameters({}), nothing, kind="mcp", origin="files")
    elsewhere = Invocation(Conversation("main", "agent:main:another"))
    yes, no = Decision(True, "any"), Decision(False, 'deny "mcp_*"', "openclaw.json:4")
    one, two = {"query": "a", "limit": 3}, {"limit": 3, "query": "a"}
    calls: list[tuple[str, Tool, dict[str, Any], Invocation, Decision]] = [
        ("1", TOOL, one, INVOCATION, yes),
        ("2", other, one, INVOCATION, yes),
        ("3", TOOL, one, INVOCATION, yes),
        ("4", other, two, INVOCATION, yes),
        ("5", TOOL, two, INVOCATION, yes),
        ("6", TOOL, {"query": ["a"]}, INVOCATION, yes),
        ("7", TOOL, {"query": ["a", "b"]}, INVOCATION, yes),
        ("8", TOOL, {"query": None}, elsewhere, yes),
        ("9", TOOL, {"query": None}, INVOCATION, no),
        ('"1\\0', TOOL, {"query": None}, INVOCATION, no),
    ]
    paths = [tmp_path / "together.jsonl", tmp_path / "alone.jsonl"]
    together, alone = (AuditLog(AuditFile(path), clock=lambda: 1_700_000_000.25) for path in paths)
    for log in (together, alone):
        for id, tool, arguments, invocation, decision in calls:
            entry = AuditEntry(ToolCall(id, tool.name, arguments), invocation, tool)
            log.asked(entry, decision)
            if log is alone:
                log.flush()
            log.ended(entry, "ok", 0.25, result_bytes=7)
            if log is alone:
                log.flush()
        log.close()
    assert [record["call"] for record in records(paths[0])] == [call[0] for call in calls for _ in range(2)]
    assert records(paths[0]) == records(paths[1])


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5),
            st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.none(), max_size=3) | st.just({}),
            max_size=3,
        ),
        max_size=20,
    )
)
@settings(max_examples=100, deadline=None)
def test_arguments_seen_before_are_told_as_if_they_were_new(given: list[dict[str, Any]]) -> None:
    told: list[Mapping[str, Any]] = []
    events = EventHub()
    log = AuditLog(AuditFile(Path("/dev/null/nowhere")), events=events)
    events.subscribe(lambda event: told.append(event.value.record), CallRecorded)
    for arguments in given:
        log.ended(AuditEntry(call(**arguments), INVOCATION, TOOL), "ok", 0.0)
    assert [record["arguments"] for record in told] == [shape(arguments) for arguments in given]


def test_a_secret_learned_later_is_masked_in_parts_that_were_clean_before(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    open_call = AuditEntry(call(learned_later_7=1), INVOCATION, TOOL)
    log.asked(open_call, Decision(True, "rule-of-learned_later_7"))
    remember("learned_later_7")
    log.ended(open_call, "ok", 0.0)
    log.asked(AuditEntry(call(learned_later_7=1), INVOCATION, TOOL), Decision(True, "rule-of-learned_later_7"))
    first, *later = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert ["learned_later_7" in line for line in (first, *later)] == [True, False, False]


async def test_an_id_with_a_secret_is_masked_whenever_the_records_of_its_call_are_written(tmp_path: Path) -> None:
    remember("secret_of_an_id_7")
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    ids = ["plain", "call-secret_of_an_id_7", 'with "quotes"', "x" * 300]
    entries = [AuditEntry(ToolCall(id, TOOL.name, {"limit": 3}), INVOCATION, TOOL) for id in ids]
    for entry in entries:
        log.asked(entry, Decision(True, "any"))
    log.flush()
    for entry in entries:
        log.ended(entry, "ok", 0.0)
    log.close()
    asked, ended = records(tmp_path / "audit.jsonl")[:4], records(tmp_path / "audit.jsonl")[4:]
    assert [record["call"] for record in asked] == [record["call"] for record in ended]
    plain, secret, quoted, long = (record["call"] for record in asked)
    assert (plain, quoted) == ("plain", 'with "quotes"')
    assert "secret_of_an_id_7" not in secret
    assert len(long) < 300
    assert {str(record["arguments"]) for record in (*asked, *ended)} == {"{'limit': 'number'}"}


async def test_closing_writes_what_is_left(tmp_path: Path) -> None:
    log = AuditLog(AuditFile(tmp_path / "audit.jsonl"))
    log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
    log.close()
    assert [record["outcome"] for record in records(tmp_path / "audit.jsonl")] == ["ok"]


@pytest.mark.posix_only("the words of POSIX for what went wrong")
def test_a_trail_that_cannot_be_written_costs_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "audit.jsonl"
    log = AuditLog(AuditFile(path))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"The audit trail at {path} cannot be written: Not a directory."
    ]


def test_the_trail_goes_on_when_the_obstacle_is_gone(tmp_path: Path) -> None:
    obstacle = tmp_path / "logs"
    obstacle.write_text("in the way")
    log = AuditLog(AuditFile(obstacle / "audit.jsonl"))
    log.ended(AuditEntry(call(), INVOCATION, TOOL), "ok", 0.0)
    obstacle.unlink()
    log.ended(AuditEntry(call(), INVOCATION, TOOL), "error", 0.0)
    assert [record["outcome"] for record in records(obstacle / "audit.jsonl")] == ["error"]


@pytest.mark.posix_only("limits of processes")
def test_a_record_cut_off_by_a_full_disk_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    subprocess.run([sys.executable, WRITER, path, "full", "-"], check=True, capture_output=True)
    *_, cut, last = path.read_bytes().splitlines()
    assert json.loads(last)["outcome"] == "kept"
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)
