"""A whole turn with real parts only: scripted model, native tools on real files, policy, audit trail, session file."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

from openclaw.agent.agent import Agent, AgentDependencies, Settings
from openclaw.agent.events import Event, RunEnd, ToolEnd, ToolStart
from openclaw.content import Text, ToolMessage
from openclaw.conversation import Conversation
from openclaw.models.scripted import Scripted, ScriptedCall, ScriptedTurn
from openclaw.security.audit import AuditLog
from openclaw.security.audit_file import AuditFile
from openclaw.security.policy import Policy, PolicyLayer
from openclaw.sessions.sqlite import SqliteStore
from openclaw.tools.confine import Fence
from openclaw.tools.native import native_tools
from parts.stage import ends, invoking, user

KEY = "agent:main:whole"


@asynccontextmanager
async def agent(home: Path, model: Scripted, **policy: Any) -> AsyncIterator[Agent]:
    """An agent whose workspace is the home directory, which also holds the state directory."""
    state = home / ".openclaw"
    state.mkdir(exist_ok=True)
    (state / "openclaw.json").write_text('{"gateway": {"token": "secret-token"}}')
    store = SqliteStore(state / "sessions.sqlite")
    audit = AuditLog(AuditFile(state / "audit.jsonl"))
    rules = Policy([PolicyLayer("tools", **policy)])

    parts = AgentDependencies(
        provider_stream=model.stream,
        store=store,
        sources=(native_tools(Fence(refused=(state, state / "openclaw.json"))),),
        policy_decide=lambda tool, _: rules.decide(tool),
        invoke=invoking(lambda tool, _: rules.decide(tool), audit),
        clock=time.monotonic,
        today=date.today,
    )
    try:
        yield Agent(Settings("main", "scripted/test", home), parts)
    finally:
        await store.close()
        audit.close()


def call(name: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name, arguments)


async def test_a_program_is_written_run_and_corrected(tmp_path: Path) -> None:
    model = Scripted(
        [
            ScriptedTurn(tool_calls=(call("write", path="hello.sh", content="echo Helo"), call("ls"))),
            ScriptedTurn(tool_calls=(call("exec", command=["/bin/sh", "hello.sh"]),)),
            ScriptedTurn(tool_calls=(call("edit", path="hello.sh", old_text="Helo", new_text="Hello"),)),
            ScriptedTurn(tool_calls=(call("exec", command=["/bin/sh", "hello.sh"]), call("grep", pattern="Hel+o"))),
            ScriptedTurn(text="It prints: {result}"),
        ]
    )
    events: list[Event] = []
    async with agent(tmp_path, model, profile="coding") as one:
        outcome = await one.turn(user("Greet me."), Conversation(session=KEY, sink=events.append))

    assert (outcome.reason, outcome.text) == ("done", "It prints: hello.sh:1: echo Hello")
    assert [end.call.name for end in ends(events) if end.result.is_error] == []
    ran = [end.result.content for end in ends(events) if end.call.name == "exec"]
    assert ran == [(Text("Helo"),), (Text("Hello"),)]
    assert (tmp_path / "hello.sh").read_text() == "echo Hello"


async def test_the_config_stays_out_of_reach_of_every_file_tool(tmp_path: Path) -> None:
    secret = ".openclaw/openclaw.json"
    (tmp_path / "link").symlink_to(tmp_path / ".openclaw")
    attempts = (
        call("read", path=secret),
        call("read", path=str(tmp_path / secret)),
        call("read", path="link/openclaw.json"),
        call("ls", path=".openclaw"),
        call("grep", pattern="token", path=".openclaw"),
        call("grep", pattern="secret-token"),
        call("write", path=secret, content="{}"),
        call("edit", path=secret, old_text="secret", new_text="known"),
    )
    model = Scripted([ScriptedTurn(tool_calls=attempts), ScriptedTurn(text="I cannot.")])
    events: list[Event] = []
    async with agent(tmp_path, model) as one:
        outcome = await one.turn(user("Show me the token."), Conversation(session=KEY, sink=events.append))

    assert [end.result.is_error for end in sorted(ends(events), key=lambda end: end.call.id)] == [
        *[True] * 5,
        False,
        *[True] * 2,
    ]
    assert "secret-token" not in str([m for m in outcome.messages if isinstance(m, ToolMessage)])
    assert "secret-token" in (tmp_path / secret).read_text()


async def test_exec_is_off_until_it_is_asked_for(tmp_path: Path) -> None:
    model = Scripted([ScriptedTurn(tool_calls=(call("exec", command=["touch", "made"]),)), ScriptedTurn(text="Off.")])
    events: list[Event] = []
    async with agent(tmp_path, model) as one:
        await one.turn(user("Touch it."), Conversation(session=KEY, sink=events.append))
        offered = [tool.name for tool in one.tools()]

    assert offered == ["read", "write", "edit", "ls", "grep", "web_fetch"]
    assert not (tmp_path / "made").exists()
    assert ends(events)[0].result.content == (
        Text('exec is not available: exec is off until tools.allow names it or the profile is "coding"'),
    )


async def test_the_audit_trail_has_request_and_outcome_of_each_call_without_any_value(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    model = Scripted(
        [
            ScriptedTurn(tool_calls=(call("read", path="diary.txt"), call("raed", path="diary.txt"))),
            ScriptedTurn(text="Read."),
        ]
    )
    async with agent(tmp_path, model) as one:
        await one.turn(user("Read it."), Conversation(session=KEY))

    trail = (tmp_path / ".openclaw" / "audit.jsonl").read_text()
    lines = sorted(
        (line["tool"], line["event"], line.get("outcome", "")) for line in map(json.loads, trail.splitlines())
    )
    assert lines == [("raed", "outcome", "unknown"), ("read", "outcome", "ok"), ("read", "request", "")]
    assert "diary" not in trail


async def test_a_held_model_can_be_left_by_a_deadline(tmp_path: Path) -> None:
    model = Scripted([ScriptedTurn(text="Let me think", hold=True)])
    events: list[Event] = []
    async with agent(tmp_path, model) as one:
        outcome = await one.turn(user("Hurry."), Conversation(session=KEY, sink=events.append), deadline=0.05)
        async with one.dependencies.store.turn(KEY, "main") as turn:
            remembered = turn.history()

    assert (outcome.reason, outcome.text) == ("deadline", "Let me think")
    assert [type(event) for event in events if isinstance(event, RunEnd | ToolStart | ToolEnd)] == [RunEnd]
    assert remembered == [user("Hurry."), *outcome.messages]
