"""`openclaw acp` with the debug client of the OpenClaw in TypeScript, as a person uses it at a terminal.

It says that it has files and terminals, and has neither: it gives nothing, and takes what it does not write. All that is then done here.
Once it has asked about a permission it hears nothing that is typed any more, so that each question has a client of its own, which is
killed.
"""

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from parts import acp_judge
from parts.acp_clients import tapped, until_all_are_gone
from parts.cache import full_npm_file, node
from parts.command_line import local_model
from parts.executable import python_program
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer
from parts.order_process import OPENCLAW, environment, write_config
from parts.responses_server import ResponsesServer
from parts.terminal import ENTER, Terminal

pytestmark = [pytest.mark.full, pytest.mark.minutes(2)]

WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}


def agent(folder: Path) -> Path:
    """What the client starts: our agent, with somebody who writes down everything in between, and not with the client's state directory."""
    words = tapped(folder / "tape.jsonl", OPENCLAW)
    body = f"import os, sys\ndel os.environ['OPENCLAW_STATE_DIR']\nos.execv({words[0]!r}, [*{words!r}, *sys.argv[1:]])"
    return python_program(folder / "agent", body)


def client(folder: Path) -> Terminal:
    program = [node(), str(full_npm_file("openclaw/openclaw.mjs")), "acp", "client"]
    words = [*program, "--cwd", str(folder / "work"), "--server", str(agent(folder))]
    env = environment(folder, OPENCLAW_STATE_DIR=str(folder / "theirs"), NO_COLOR="1")
    return Terminal(words, cwd=folder / "work", env=env, columns=200)


async def talk(folder: Path, model: ModelServer, wire: str, person: Callable[[Terminal], None]) -> list[str]:
    """What the agent asked of the client, once the person is done and nothing runs any more."""

    def at_the_terminal() -> None:
        with client(folder) as terminal:
            terminal.shows("> ")
            person(terminal)

    (folder / "work").mkdir()
    (folder / "work" / "a.txt").write_text("to be read\n")
    write_config(folder, local_model(model.url, model.key, wire) | {"tools": {"allow": ["*", "exec"]}})
    await asyncio.to_thread(at_the_terminal)
    await until_all_are_gone(folder)
    assert model.refused == []
    # A client that was killed leaves something unanswered, and this one answers requests with null that it does not know.
    faults = acp_judge.tape_faults(folder / "tape.jsonl", whole=False)
    assert [fault for fault in faults if not fault.startswith("client: ")] == []
    said = acp_judge.sent(acp_judge.tape(folder / "tape.jsonl"), "agent")
    return [message["method"] for message in said if message and "method" in message and "id" in message]


@pytest.mark.parametrize("wire", WIRES)
async def test_two_turns_at_the_other_openclaw_read_a_file_that_its_client_does_not_give(
    wire: str, tmp_path: Path
) -> None:
    turns = (Answer("", calls=[Call("call_1", "read", {"path": "a.txt"})]), Answer("It is short."), Answer("Bye."))

    def person(terminal: Terminal) -> None:
        for message, answer in (("Read it.", "It is short."), ("Thanks.", "Bye.")):
            terminal.type(f"{message}{ENTER}")
            terminal.shows(answer)
            terminal.shows("[end_turn]")
            terminal.shows("> ")
        terminal.type(f"exit{ENTER}")
        # It ends us by a signal, and with our exit code.
        assert terminal.ends()[0] in (0, 128 + signal.SIGTERM)

    async with WIRES[wire](turns) as model:
        asked = await talk(tmp_path, model, wire, person)
    assert asked == ["fs/read_text_file"]
    assert "to be read" in json.dumps(model.requests[-1])


@pytest.mark.parametrize(
    ("tool", "arguments", "key", "is_written", "asked"),
    [
        ("write", {"path": "b.txt", "content": "b\n"}, "y", True, "fs/write_text_file"),
        ("write", {"path": "b.txt", "content": "b\n"}, "n", False, ""),
        ("exec", {"command": ["cp", "a.txt", "b.txt"]}, "y", True, "terminal/create"),
    ],
)
async def test_what_a_person_at_the_other_openclaw_allows_is_done_and_what_they_refuse_is_not(
    tool: str, arguments: dict[str, object], key: str, is_written: bool, asked: str, tmp_path: Path
) -> None:
    def person(terminal: Terminal) -> None:
        terminal.type(f"Go on.{ENTER}")
        terminal.shows("(y/N) ")
        terminal.type(f"{key}{ENTER}")
        terminal.shows("Done with it.")
        terminal.shows("[end_turn]")

    async with ChatServer([Answer("", calls=[Call("call_1", tool, arguments)]), Answer("Done with it.")]) as model:
        methods = await talk(tmp_path, model, "openai-completions", person)
    assert (tmp_path / "work" / "b.txt").exists() is is_written
    assert [one for one in methods if one in ("session/request_permission", asked)] == [
        "session/request_permission",
        *([asked] if asked else []),
    ]
