"""`openclaw chat` at a terminal, as a person types: Ctrl-C, Ctrl-D, completion and history."""

import asyncio
import json
from pathlib import Path

import pytest

from parts.command_line import local_model
from parts.model_servers import Answer, ChatServer, Hold
from parts.program import OPENCLAW, Program
from parts.terminal import (
    BACK,
    CONTROL_C,
    CONTROL_D,
    ENTER,
    UP,
    Terminal,
    complete_status,
    stop_an_answer_and_ask_again,
)


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def chat(person: Program) -> Terminal:
    # Asking where the cursor is needs a terminal that answers.
    env = person.env(PROMPT_TOOLKIT_NO_CPR="1", OLLAMA_HOST="127.0.0.1:9")
    return Terminal([OPENCLAW, "chat"], cwd=person.workspace, env=env)


def interrupted(person: Program) -> tuple[int, str]:
    with chat(person) as terminal:
        stop_an_answer_and_ask_again(terminal)
        terminal.type(CONTROL_D)
        return terminal.ends()


async def test_ctrl_c_stops_the_answer_and_not_the_program_and_ctrl_d_leaves(person: Program) -> None:
    async with ChatServer([Answer(["Let me think", Hold()]), Answer("pong")]) as server:
        person.configure(json.dumps(local_model(server.url, server.key)))
        code, _ = await asyncio.to_thread(interrupted, person)
    assert code == 0


def test_ctrl_c_at_the_prompt_clears_the_line(person: Program) -> None:
    with chat(person) as terminal:
        terminal.shows(">")
        terminal.type(f"half a thou{CONTROL_C}")
        terminal.shows(">")
        terminal.type(f"/status{ENTER}")
        assert "half" not in terminal.shows("agent main, model builtin/offline").rpartition("/status")[2]


def test_slash_words_are_completed_and_lines_of_the_last_time_come_back(person: Program) -> None:
    with chat(person) as terminal:
        terminal.shows(">")
        complete_status(terminal, "agent main, model builtin/offline")
        terminal.type(CONTROL_D)
        assert terminal.ends()[0] == 0
    with chat(person) as terminal:
        terminal.shows(">")
        # Lines of the last time are read once the prompt stands; a letter that is shown says that it does.
        terminal.type("x")
        terminal.shows("x")
        terminal.type(f"{BACK}{UP}{ENTER}")
        terminal.shows("agent main, model builtin/offline")


def test_a_line_that_carries_a_credential_is_not_written_down(person: Program) -> None:
    typed = (
        "/mcp connect http://127.0.0.1:9/mcp --header Authorization=Opaque-4711",
        "/mcp auth shop --code=http://127.0.0.1:1/callback?code=4711",
        "my key is sk-" + "ant-api03-" + "a7B9" * 12,
        "/help",
    )
    with chat(person) as terminal:
        for line in typed:
            terminal.shows(">")
            terminal.type(f"{line}{ENTER}")
        terminal.shows("/mcp        Manage")
        terminal.shows(">")
        terminal.type(CONTROL_D)
        terminal.ends()
    kept = next((person.home / ".openclaw").rglob("*history*")).read_text()
    assert [line[1:] for line in kept.splitlines() if line.startswith("+")] == ["/help"]
