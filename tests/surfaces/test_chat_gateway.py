"""`openclaw chat` beside a running gateway: the gateway answers each line, with its own servers and conversations."""

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from parts.auth_server import AuthServer
from parts.command_line import browser
from parts.gateways import PROGRAM, Home, gateway_process, home, running, stdio_server
from parts.processes import HANG_GUARD
from parts.terminal import CONTROL_D, ENTER, Terminal, complete_status, stop_an_answer_and_ask_again


def chat(place: Home, *words: str) -> Terminal:
    # Asking where the cursor is needs a terminal that answers.
    env = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"}
    return Terminal([*PROGRAM, "chat", *words], cwd=place.state, env=env)


def with_part(place: Home, *turns: dict[str, Any]) -> None:
    place.save({"mcp": {"servers": {"part": stdio_server()}}, **place.script(*turns)})


def pid_of_part(shown: str) -> int:
    found = re.search(r"Running \(PID (\d+)\)", shown)
    assert found is not None, shown
    return int(found[1])


def test_a_chat_uses_the_servers_of_the_gateway_and_local_starts_its_own(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        with_part(place)
        with gateway_process(place) as gateway:
            gateway.wait_until("'part' is ready")
            warm = pid_of_part(place.run("mcp", "status", "part").stdout)
            there = place.run("chat", input="/mcp status part\n")
            here = place.run("chat", "--local", input="/mcp status part\n")
    assert (pid_of_part(there.stdout), there.returncode) == (warm, 0)
    assert pid_of_part(here.stdout) != warm


def test_what_a_chat_does_to_a_server_is_done_for_everybody(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        with_part(place)
        with gateway_process(place) as gateway:
            gateway.wait_until("'part' is ready")
            place.run("chat", input="/mcp disconnect part\n")
            after = place.run("mcp", "servers")
            called = [
                place.run("mcp", "call", "part__echo", "text=hi"),
                place.run("chat", input="/mcp call part__echo\n"),
            ]
            place.run("mcp", "disable", "part")
            called.append(place.run("mcp", "call", "part__echo", "text=hi"))
    assert "stopped (disconnected by hand)" in after.stdout
    ways = ["Run: openclaw mcp restart part", "Run: /mcp restart part", "Run: openclaw mcp enable part"]
    assert [one.stderr.rstrip().endswith(way) for one, way in zip(called, ways, strict=True)] == [True] * 3, called


def test_a_chat_is_one_conversation_of_the_gateway_until_its_person_leaves(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        with_part(place, {"text": "One."}, {"text": "Two."}, {"text": "Never."})
        with gateway_process(place):
            chatted = place.run("chat", "--session-key", "x", input="first\n\n/frobnicate\nsecond\n/quit\nthird\n")
            kept = place.run("sessions", "show", "agent:main:x")
    assert (chatted.returncode, chatted.stdout) == (0, "One.\nTwo.\n")
    assert "There is no command /frobnicate." in chatted.stderr
    assert [word for word in ("first", "second", "third") if word in kept.stdout] == ["first", "second"]


@pytest.mark.parametrize("where", [(), ("--local",)])
def test_a_chat_with_nobody_ends_at_once(tmp_path: Path, where: tuple[str, ...]) -> None:
    with home(tmp_path) as place, gateway_process(place):
        chatted = place.run("chat", *where, "--agent", "nobody", input="hello\n")
    assert (chatted.returncode, chatted.stdout) == (2, "")
    assert chatted.stderr.startswith("error: ")
    assert chatted.stderr.count("\n") == 1


def test_at_a_terminal_ctrl_c_stops_the_answer_in_the_gateway_and_words_are_completed(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        with_part(place, {"text": "Let me think", "hold": True}, {"text": "pong"})
        with gateway_process(place), chat(place) as terminal:
            stop_an_answer_and_ask_again(terminal)
            complete_status(terminal, "agent main, model play/one")
            terminal.type(CONTROL_D)
            assert terminal.ends()[0] == 0


def test_a_chat_outlives_its_gateway(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        with_part(place, {"text": "One."}, {"text": "Two."})
        with gateway_process(place) as gateway, chat(place) as terminal:
            terminal.shows(">")
            terminal.type(f"first{ENTER}")
            terminal.shows("One.")
            terminal.shows(">")
            gateway.end(signal.SIGKILL)
            terminal.type(f"/mcp call part__echo text=alone{ENTER}")
            terminal.shows("d details: ")
            terminal.type("y")
            terminal.shows("\nalone")
            terminal.shows(">")
            terminal.type(CONTROL_D)
            assert terminal.ends()[0] == 0


@pytest.mark.parametrize("words", [("mcp", "connect"), ("line",)])
async def test_a_sign_in_that_a_gateway_needs_is_made_in_the_browser_of_whoever_asked(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with AuthServer() as server:
        with home(tmp_path) as place:
            person = Home(place.state, {**place.env, "BROWSER": browser(tmp_path)})
            line = (server.url, "--name", "files")
            asked = (*words, *line) if words[0] == "mcp" else ("line", f"/mcp connect {' '.join(line)}")
            async with running(place) as gateway:
                added = await asyncio.to_thread(person.run, *asked)
                _, files = await gateway.get("/v1/mcp/servers/files")
    assert "Signed in to files." in added.stdout
    assert re.search(rf"{server.issuer}/authorize\S+", added.stderr)
    assert (files["state"], added.returncode) == ("ready", 0)


async def test_a_sign_in_that_is_given_up_at_the_terminal_leaves_the_gateways_config_as_it_was(tmp_path: Path) -> None:
    async with AuthServer() as server:
        with home(tmp_path) as place:
            before = place.config_file.read_text()
            async with running(place) as gateway:
                process = await asyncio.create_subprocess_exec(
                    *(*PROGRAM, "mcp", "connect", server.url, "--name", "files"),
                    env={**place.env, "BROWSER": "true"},
                    cwd=place.state,
                    stderr=asyncio.subprocess.PIPE,
                )
                assert process.stderr is not None
                while b"/authorize?" not in await asyncio.wait_for(process.stderr.readline(), HANG_GUARD):
                    pass
                process.send_signal(signal.SIGINT)
                code = await asyncio.wait_for(process.wait(), HANG_GUARD)
                status, _ = await gateway.get("/v1/mcp/servers/files")
            after = place.config_file.read_text()
    assert (code, status, after) == (130, 404, before)


async def test_without_a_screen_a_server_is_added_through_the_gateway_with_the_address_to_open(tmp_path: Path) -> None:
    async with AuthServer() as server:
        with home(tmp_path) as place:
            async with running(place):
                added = await asyncio.to_thread(place.run, "mcp", "connect", server.url, "--name", "files")
            written = json.loads(place.config_file.read_text())
    assert re.search(rf"{server.issuer}/authorize\S+", added.stdout)
    assert "Then, within 10 minutes: openclaw mcp auth files --code" in added.stdout
    assert written["mcp"]["servers"] == {"files": {"url": server.url}}


def test_in_a_chat_help_and_mistakes_speak_of_what_is_typed_there(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        said = place.run("chat", input="/mcp help\n/mcp help call\n/mcp sttus\n/mcp servers --local\n")
    assert re.findall("^Usage: .*$", said.stdout, re.MULTILINE) == [
        "Usage: /mcp COMMAND",
        "Usage: /mcp call TOOL [WORDS …] [options]",
    ]
    assert "error: /mcp: there is no command 'sttus'. Did you mean \"status\"?" in said.stderr
    assert "error: /mcp servers: there is no option --local." in said.stderr
