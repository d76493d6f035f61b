"""The clients and the judge that try our agent, tried themselves: on an agent made with the TypeScript SDK, and on wrong talks."""

import json
from pathlib import Path
from typing import Any

import pytest

from parts import acp_judge
from parts.acp_clients import KITS, Kit, acpx, new_session, prompt, run_script, told_text
from parts.acp_judge import Said, faults
from parts.cache import node, npm_folder

pytestmark = pytest.mark.real

PARTS = Path(__file__).parent.parent / "parts"


@pytest.fixture
def example() -> list[str]:
    """The command line of the agent made with the TypeScript SDK."""
    return [node(), str(PARTS / "acp_agent.mjs"), str(npm_folder())]


@pytest.mark.parametrize("kit", KITS)
@pytest.mark.parametrize(
    ("permission", "answer", "stop"),
    [
        ("allow_once", "HELLO", "end_turn"),
        ("reject_once", "You said no.", "end_turn"),
        ("", "You said no.", "cancelled"),
    ],
)
async def test_a_client_runs_a_script_and_no_message_has_a_fault(
    kit: Kit, permission: str, answer: str, stop: str, example: list[str], tmp_path: Path
) -> None:
    script = {"permission": permission, "steps": [new_session(tmp_path), prompt("hello"), prompt("refuse")]}
    told = await run_script(kit, script, example, tmp_path)
    refused = {"error": {"code": -32603, "message": "The model is not to be reached."}}
    assert (told["results"][1:], told_text(told["updates"]), len(told["asked"])) == (
        [{"stopReason": stop}, refused],
        answer,
        1,
    )


@pytest.mark.parametrize("kit", KITS)
async def test_a_client_cancels_where_its_script_says(kit: Kit, example: list[str], tmp_path: Path) -> None:
    script = {"cancelOn": "tool_call", "steps": [new_session(tmp_path), prompt("wait"), prompt("talk")]}
    told = await run_script(kit, script, example, tmp_path)
    assert told["results"][1:] == [{"stopReason": "cancelled"}, {"stopReason": "end_turn"}]


async def test_acpx_goes_through_the_tap_like_the_others(example: list[str], tmp_path: Path) -> None:
    code, lines, errors = await acpx(tmp_path, example, "--approve-all", "exec", "hello")
    assert (code, errors, lines[-1]["result"]) == (0, "", {"stopReason": "end_turn"})
    assert acp_judge.tape_faults(tmp_path / "tape.jsonl") == []
    (talk,) = acp_judge.processes(acp_judge.tape(tmp_path / "tape.jsonl"))
    assert lines == [said.message for said in talk]


INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
INITIALIZED = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}
PROMPT = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}
DONE = {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}
CALL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look"}
ENDED = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


def update(value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": value}}


def permission(options: list[Any], call: str = "t") -> dict[str, Any]:
    params = {"sessionId": "s", "toolCall": {"toolCallId": call}, "options": options}
    return {"jsonrpc": "2.0", "id": 9, "method": "session/request_permission", "params": params}


YES = {"jsonrpc": "2.0", "id": 9, "result": {"outcome": {"outcome": "selected", "optionId": "y"}}}


def talk(*turn: tuple[str, Any], after: tuple[Any, ...] = ()) -> list[Said]:
    """A handshake, and one turn with these messages in it and those after it."""
    whole = [("client", INITIALIZE), ("agent", INITIALIZED), ("client", PROMPT), *turn, ("agent", DONE)]
    said = [*whole, *(("agent", message) for message in after)]
    return [Said(side, message if isinstance(message, str) else json.dumps(message)) for side, message in said]


def agent(*messages: Any) -> list[tuple[str, Any]]:
    return [("agent", message) for message in messages]


def test_a_talk_that_keeps_every_rule_has_no_fault() -> None:
    turn = [*agent(update(CALL), permission(OPTIONS)), ("client", YES), *agent(update(ENDED), update(CHUNK))]
    assert faults(talk(*turn)) == []


@pytest.mark.parametrize(
    ("turn", "fault"),
    [
        (agent("hello"), "not a message"),
        (agent([update(CHUNK)]), "not a message"),
        (agent(update({**CHUNK, "sessionUpdate": "agentMessageChunk"})), "SessionNotification.update"),
        (agent(update({**CHUNK, "message_id": "m"})), "SessionNotification.update"),
        (agent(update({**CALL, "kind": "reading"})), "SessionNotification.update"),
        (agent(update({"sessionUpdate": "current_mode_update", "modeId": "ask"})), "SessionNotification.update"),
        (agent({"jsonrpc": "2.0", "method": "session/updates"}), "no notification session/updates"),
        (agent({**update(CHUNK), "extra": 1}), "unknown member 'extra'"),
        (agent({"jsonrpc": "2.0", "id": 7, "result": {}}), "an answer to nothing"),
        (agent({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "stopped"}}), "PromptResponse.stopReason"),
        (agent(DONE), "a second one"),
        (agent(update(CALL)), "session/prompt was answered while tool call t was under way"),
        (agent(update(CALL), update(CALL), update(ENDED)), "announced twice"),
        (agent(update(ENDED)), "told of before it was announced"),
        (agent(update(CALL), update(ENDED), update(ENDED)), "told of after it had ended"),
        ([*agent(permission(OPTIONS)), ("client", YES)], "which was not announced"),
        ([*agent(update(CALL), permission(OPTIONS[:1])), ("client", YES), *agent(update(ENDED))], "without a yes"),
        (agent(update(CALL), permission(OPTIONS), update(ENDED)), "session/request_permission (9) was not answered"),
        (agent(update({"sessionUpdate": "notice", "severity": "info", "title": "x"})), "does not declare it"),
        (
            agent(
                {"jsonrpc": "2.0", "id": 3, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/x"}}
            ),
            "does not declare it",
        ),
        (agent(update({**CHUNK, "sessionUpdate": "user_message_chunk"})), "outside a replay"),
    ],
)
def test_what_breaks_a_rule_is_named(turn: list[tuple[str, Any]], fault: str) -> None:
    assert fault in "\n".join(faults(talk(*turn)))


def test_words_after_the_answer_are_a_fault() -> None:
    assert "while no prompt is open" in "\n".join(faults(talk(after=(update(CHUNK),))))


def test_only_who_is_judged_is_blamed() -> None:
    bad = talk(("client", "garbage"))
    assert (len(faults(bad)), faults(bad, judged=("agent",))) == (1, [])
