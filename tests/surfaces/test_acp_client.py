"""`openclaw acp client` as a person uses it: against an agent of the test's own, and against ours."""

import json
import sys
from pathlib import Path

import pytest

from parts import acp_agent
from parts.command_line import PROGRAM, Home
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

AGENT = (sys.executable, "-S", "-E", acp_agent.__file__)
CLIENT = (*PROGRAM, "acp", "client")


async def test_our_own_agent_answers_when_no_other_is_named(tmp_path: Path) -> None:
    look = [{"name": "ls", "arguments": {"path": "."}}]
    (tmp_path / "turns.json").write_text(json.dumps([{"text": "Wait.", "toolCalls": look}, {"text": "Good day."}]))
    home = Home(tmp_path, agents={"defaults": {"model": f"scripted/{tmp_path / 'turns.json'}"}})
    done = await home.openclaw("acp", "client", "--prompt", "Hello?")
    assert (done.code, done.out) == (0, "Wait.\nGood day.\n")
    assert done.err.startswith("OpenClaw ")
    assert done.err.endswith("(end_turn)\n")


async def test_our_own_agent_is_started_with_the_config_that_the_client_was_given(tmp_path: Path) -> None:
    (tmp_path / "turns.json").write_text(json.dumps([{"text": "Of the other."}]))
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"agents": {"defaults": {"model": f"scripted/{tmp_path / 'turns.json'}"}}}))
    done = await Home(tmp_path).openclaw("acp", "client", "--config", str(other), "--prompt", "Hello?")
    assert (done.code, done.out) == (0, "Of the other.\n")


@pytest.mark.parametrize(
    ("how", "answer"), [("allow", "HELLO\n"), ("reject", "You said no.\n"), ("ask", "You said no.\n")]
)
async def test_permissions_are_answered_as_the_command_line_says_and_never_with_a_yes_by_nobody(
    how: str, answer: str, tmp_path: Path
) -> None:
    done = await Home(tmp_path).openclaw("acp", "client", "--permissions", how, "--prompt", "hello", *AGENT)
    assert (done.code, done.out) == (0, answer)


async def test_what_an_agent_must_not_say_is_named_and_the_talk_goes_on(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("acp", "client", "--prompt", "odd", *AGENT)
    assert (done.code, done.out) == (0, "Still here.\n")
    faults = [line for line in done.err.splitlines() if line.startswith("fault: ")]
    assert ["this is no message" in faults[0], "dance" in faults[1], len(faults)] == [True, True, 2], done.err


async def test_an_agent_that_leaves_is_one_sentence(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("acp", "client", "--prompt", "leave", *AGENT)
    assert (done.code, done.err.splitlines()[-2:]) == (
        1,
        ["agent: cannot go on", "error: The agent exited with code 3."],
    )


async def test_the_wire_is_shown_line_by_line(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("acp", "client", "--wire", "--permissions", "allow", "--prompt", "x", *AGENT)
    lines = [line.partition(" ") for line in done.err.splitlines() if line.startswith(("→", "←"))]
    told = [(arrow, json.loads(line).get("method", "answer")) for arrow, _, line in lines]
    assert told == [
        ("→", "initialize"),
        ("←", "answer"),
        ("→", "session/new"),
        ("←", "answer"),
        ("→", "session/prompt"),
        ("←", "session/update"),
        ("←", "session/request_permission"),
        ("→", "answer"),
        ("←", "session/update"),
        ("←", "session/update"),
        ("←", "answer"),
    ]


async def test_a_file_of_servers_that_is_no_list_is_refused_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text('{"mcpServers": {"db": {"command": "db"}}}')
    done = await Home(tmp_path).openclaw("acp", "client", "--mcp-config", "servers.json", "--prompt", "x", *AGENT)
    assert (done.code, '{"mcpServers": [{"name": "db"' in done.err) == (2, True), done.err


def test_a_person_says_yes_cancels_and_leaves(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with Terminal([*CLIENT, *AGENT], cwd=tmp_path, env=home.environ) as terminal:
        terminal.shows("> ")
        terminal.type(f"hello{ENTER}")
        terminal.shows("d details: ")
        terminal.type("y")
        terminal.shows("HELLO")
        terminal.shows("> ")
        terminal.type(f"wait{ENTER}")
        terminal.shows("Shout (execute)")
        terminal.type(CONTROL_C)
        terminal.shows("(cancelled)")
        terminal.shows("> ")
        # Also while a question is open: it goes away, and is no yes.
        terminal.type(f"again{ENTER}")
        terminal.shows("d details: ")
        terminal.type(CONTROL_C)
        terminal.shows("permission: cancelled")
        terminal.shows("(cancelled)")
        terminal.shows("> ")
        terminal.type(f"form{ENTER}")
        terminal.shows("Your name")
        terminal.type(f"Ada{ENTER}")
        terminal.shows("not now: ")
        terminal.type("s")
        terminal.shows('"name": "Ada"')
        terminal.shows("> ")
        terminal.type(CONTROL_D)
        assert terminal.ends()[0] == 0


async def test_an_editor_is_told_how_to_start_us(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("acp", "--print-config", "zed", "--agent", "main")
    (entry,) = json.loads(done.out)["agent_servers"].values()
    assert (entry["args"][-3:], "settings.json" in done.err) == (["acp", "--agent", "main"], True)
