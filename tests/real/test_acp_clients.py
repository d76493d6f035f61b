"""`openclaw acp` with clients that nobody here wrote, over every model wire: a server that the client hands over is used after a yes, the
conversation goes on in another process, and a no starts nothing. Every message of both sides is held against the published schema.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from parts import acp_judge
from parts.acp_clients import (
    KITS,
    Kit,
    acpx,
    new_session,
    prompt,
    run_script,
    told_text,
    typescript,
    until_all_are_gone,
)
from parts.cache import python_of
from parts.command_line import local_model, parts_server
from parts.model_servers import Answer, Call, ChatServer, Hold, MessagesServer, ModelServer
from parts.order_process import OPENCLAW, environment, write_config
from parts.responses_server import ResponsesServer

pytestmark = pytest.mark.real

AGENT = [*OPENCLAW, "acp"]
WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}
NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kolkata"}
# Two turns, each with a call of the tool.
TURNS = (
    Answer("Let me see.", calls=[Call("call_1", "clock__convert_time", NOON)]),
    Answer("Half past five."),
    Answer("", calls=[Call("call_2", "clock__convert_time", {**NOON, "time": "13:00"})]),
    Answer("Half past six."),
)


def clock() -> dict[str, Any]:
    """A server from the official collection, as a client hands it over."""
    arguments = ["-m", "mcp_server_time", "--local-timezone", "UTC"]
    return {"name": "clock", "command": python_of("servers"), "args": arguments, "env": []}


def touching(file: Path) -> dict[str, Any]:
    """A server that is seen to have been started: it makes a file, and is none."""
    program = f"import pathlib; pathlib.Path({str(file)!r}).touch()"
    return {"name": "clock", "command": sys.executable, "args": ["-c", program], "env": []}


@pytest.fixture(params=WIRES)
async def model(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ModelServer]:
    """A model on this machine that holds its vendor's rules, and a home whose config names it."""
    async with WIRES[request.param](TURNS) as server:
        # A busy machine starts a server slowly, and a model does not wait for long.
        patient = {"mcp": {"startupGraceMs": 60_000}}
        write_config(tmp_path, local_model(server.url, server.key, request.param) | patient)
        yield server
    assert server.refused == []


def said_to(model: ModelServer) -> str:
    """All that the model was last asked with."""
    return json.dumps(model.requests[-1])


def settled(updates: Sequence[Any]) -> dict[str, str]:
    """How each tool call ended, by its id."""
    ends = [u for u in updates if u["sessionUpdate"] in ("tool_call", "tool_call_update") and u.get("status")]
    return {update["toolCallId"]: update["status"] for update in ends}


def yes(asked: Sequence[Any]) -> list[str]:
    return [question["toolCall"]["title"] for question in asked]


@pytest.mark.parametrize("kit", KITS)
async def test_a_server_that_the_client_hands_over_is_used_after_a_yes_and_again_in_the_second_turn(
    kit: Kit, model: ModelServer, tmp_path: Path
) -> None:
    steps = [new_session(tmp_path, clock()), prompt("What time is it?"), prompt("And an hour later?")]
    told = await run_script(kit, {"permission": "allow_once", "steps": steps}, AGENT, tmp_path)
    assert told["results"][1:] == [{"stopReason": "end_turn"}] * 2
    assert told_text(told["updates"]) == "Let me see.Half past five.Half past six."
    assert {settled(told["updates"])[call] for call in ("call_1", "call_2")} == {"completed"}, told["updates"]
    assert "clock" in yes(told["asked"])[0]
    # The second turn has the first one in its history, the call and its result included.
    assert ["17:30" in said_to(model), "18:30" in said_to(model), len(model.requests)] == [True, True, 4]


@pytest.mark.parametrize("kit", KITS)
async def test_the_conversation_goes_on_in_another_process(kit: Kit, model: ModelServer, tmp_path: Path) -> None:
    first = [new_session(tmp_path, clock()), prompt("What time is it?")]
    told = await run_script(kit, {"permission": "allow_once", "steps": first}, AGENT, tmp_path)
    session = told["results"][0]["sessionId"]
    again = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": [clock()]}
    second = [["session/resume", again], prompt("And an hour later?")]
    told = await run_script(kit, {"permission": "allow_once", "steps": second}, AGENT, tmp_path)
    assert (told["results"][1], told_text(told["updates"])) == ({"stopReason": "end_turn"}, "Half past six.")
    assert ["17:30" in said_to(model), "18:30" in said_to(model)] == [True, True]
    # And once more, to see all of it as it was.
    told = await run_script(kit, {"steps": [["session/load", again]]}, AGENT, tmp_path)
    replayed = [u for u in told["updates"] if u["sessionUpdate"] in ("user_message_chunk", "agent_message_chunk")]
    assert [update["content"]["text"] for update in replayed] == [
        *("What time is it?", "Let me see.", "Half past five."),
        *("And an hour later?", "Half past six."),
    ]
    assert settled(told["updates"]) == {"call_1": "completed", "call_2": "completed"}


@pytest.mark.parametrize("kit", KITS)
async def test_a_no_starts_nothing_and_the_turn_ends_well(kit: Kit, model: ModelServer, tmp_path: Path) -> None:
    steps = [new_session(tmp_path, touching(tmp_path / "started")), prompt("What time is it?")]
    told = await run_script(kit, {"permission": "reject_once", "steps": steps}, AGENT, tmp_path)
    assert (told["results"][1], told_text(told["updates"])) == (
        {"stopReason": "end_turn"},
        "Let me see.Half past five.",
    )
    assert (len(told["asked"]), (tmp_path / "started").exists()) == (1, False)


def tool_names(request: dict[str, Any]) -> set[str]:
    """The tools of servers that a model was offered, on every wire."""
    names = {str((tool.get("function") or tool)["name"]) for tool in request.get("tools", ())}
    return {name for name in names if "__" in name}


@pytest.mark.parametrize("kit", KITS)
async def test_two_sessions_see_the_tools_of_their_own_servers_alone(kit: Kit, tmp_path: Path) -> None:
    other = {**parts_server("--reading", "echo"), "name": "parts", "env": []}
    async with ChatServer([Answer("One."), Answer("Two.")]) as model:
        write_config(tmp_path, local_model(model.url, model.key) | {"mcp": {"startupGraceMs": 60_000}})
        steps = [new_session(tmp_path, clock()), prompt("a"), new_session(tmp_path, other), prompt("b")]
        told = await run_script(kit, {"permission": "allow_once", "steps": steps}, AGENT, tmp_path)
    assert told_text(told["updates"]) == "One.Two."
    first, second = (tool_names(request) for request in model.requests)
    assert {name.partition("__")[0] for name in first} == {"clock"}
    assert {name.partition("__")[0] for name in second} == {"parts"}


@pytest.mark.parametrize("kit", KITS)
async def test_a_cancel_while_the_person_is_asked_ends_the_turn_as_cancelled(
    kit: Kit, model: ModelServer, tmp_path: Path
) -> None:
    """The client never answers the question; the prompt after it starts clean."""
    steps = [new_session(tmp_path, clock()), prompt("What time is it?")]
    script = {"permission": "silent", "cancelOn": "tool_call", "steps": steps}
    told = await run_script(kit, script, AGENT, tmp_path)
    assert told["results"][1] == {"stopReason": "cancelled"}


def servers_file(home: Path, server: dict[str, Any]) -> str:
    file = home / "servers.json"
    file.write_text(json.dumps({"mcpServers": [server]}))
    return str(file)


def asked(tape: Path) -> list[tuple[str, str]]:
    """What acpx was asked, and what it chose: the title, and the kind of the option."""
    said = acp_judge.tape(tape)
    questions = {
        m["id"]: m["params"] for m in acp_judge.sent(said, "agent") if m and m.get("method", "").endswith("permission")
    }
    chosen = []
    for message in acp_judge.sent(said, "client"):
        if message and message.get("id") in questions and "result" in message:
            params, outcome = questions[message["id"]], message["result"]["outcome"]
            kinds = {option["optionId"]: option["kind"] for option in params["options"]}
            chosen.append((params["toolCall"]["title"], kinds.get(outcome.get("optionId"), outcome["outcome"])))
    return chosen


async def test_acpx_gets_an_answer_that_used_its_server_after_a_permission(model: ModelServer, tmp_path: Path) -> None:
    words = ("--approve-all", "--mcp-config", servers_file(tmp_path, clock()), "exec", "What time is it?")
    code, lines, errors = await acpx(tmp_path, AGENT, *words)
    assert (code, lines[-1].get("result")) == (0, {"stopReason": "end_turn"}), errors
    assert acp_judge.tape_faults(tmp_path / "tape.jsonl") == []
    (talk,) = acp_judge.processes(acp_judge.tape(tmp_path / "tape.jsonl"))
    assert told_text(acp_judge.updates(talk)) == "Let me see.Half past five."
    assert (settled(acp_judge.updates(talk))["call_1"], "17:30" in said_to(model)) == ("completed", True)
    assert ("clock" in asked(tmp_path / "tape.jsonl")[0][0], asked(tmp_path / "tape.jsonl")[0][1]) == (
        True,
        "allow_once",
    )


async def test_acpx_goes_on_with_a_session_in_a_fresh_process(model: ModelServer, tmp_path: Path) -> None:
    usual = ("--approve-all", "--ttl", "1", "--mcp-config", servers_file(tmp_path, clock()))
    for words in (("sessions", "new"), ("prompt", "What time is it?"), ("prompt", "And an hour later?")):
        code, _, errors = await acpx(tmp_path, AGENT, *usual, *words)
        assert code == 0, errors
        # It keeps the agent for a second, and then nothing is left of either.
        await until_all_are_gone(tmp_path)
    tape = acp_judge.tape(tmp_path / "tape.jsonl")
    assert acp_judge.tape_faults(tmp_path / "tape.jsonl", whole=False) == []
    assert told_text(acp_judge.updates(tape)) == "Let me see.Half past five.Half past six."
    methods = [message.get("method") for message in acp_judge.sent(tape, "client")]
    assert [method for method in methods if method not in (None, "initialize")] == [
        *("session/new", "session/resume", "session/prompt", "session/resume", "session/prompt"),
    ]
    assert ["17:30" in said_to(model), "18:30" in said_to(model)] == [True, True]


async def test_acpx_that_denies_everything_starts_nothing_and_its_turn_ends_well(
    model: ModelServer, tmp_path: Path
) -> None:
    servers = servers_file(tmp_path, touching(tmp_path / "started"))
    words = ("--deny-all", "--mcp-config", servers, "exec", "What time is it?")
    _, lines, errors = await acpx(tmp_path, AGENT, *words)
    assert lines[-1].get("result") == {"stopReason": "end_turn"}, errors
    assert acp_judge.tape_faults(tmp_path / "tape.jsonl") == []
    assert [kind for _, kind in asked(tmp_path / "tape.jsonl")] == ["reject_once"]
    assert not (tmp_path / "started").exists()


async def test_nothing_is_left_of_a_client_that_vanishes(tmp_path: Path) -> None:
    """Killed in the middle of an answer: the agent and its servers end by themselves."""
    async with ChatServer([Answer(["Let me ", Hold()])]) as model:
        write_config(tmp_path, local_model(model.url, model.key))
        steps = [new_session(tmp_path, clock()), prompt("What time is it?")]
        script = {"permission": "allow_once", "steps": steps}
        client = await asyncio.create_subprocess_exec(
            *typescript(script), *AGENT, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env=environment(tmp_path)
        )
        await model.waiting.wait()
        client.kill()
        await client.wait()
        await until_all_are_gone(tmp_path)
