"""A tool that asks the person during a turn: a real plugin, in a gateway and in the process of a command."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from parts.gateways import PROGRAM, GatewayProcess, Home, gateway_process, home, stdio_server
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

PLUGIN = """
import asyncio
from openclaw import Question, Text, Tool, ToolResult, parameters
from openclaw.plugins import PluginHandle, ToolPlugin

async def initialize(context):
    async def forget(arguments, invocation):
        asker = invocation.conversation.asker
        can = [kind for kind in ("approval", "form", "url") if asker.can(kind)]
        context.log.warning("it asks")
        if arguments:
            await asyncio.wait_for(asker.ask(Question("approval", "Quick, now?")), arguments["seconds"])
        try:
            first = await asker.ask(Question("approval", "Forget all notes?", options=("these", "all")))
        except asyncio.CancelledError:
            context.log.warning("it was cancelled")
            raise
        second = await asker.ask(Question("approval", "Really?"))
        context.log.warning("it heard %s %s", first.action, second.action)
        return ToolResult((Text(f"{can} {first.action} {dict(first.content)} {second.action}"),))

    tool = Tool("forget", "Forgets.", parameters({"type": "object"}), forget, timeout=None)
    return PluginHandle(tools=[tool])

plugin = ToolPlugin("Forgets", "Forgets.", initialize)
"""
ALL = "['approval', 'form', 'url']"
FIRST = "Forget all notes?\r\n  1  these\r\n  2  all\r\n1–2 yes · n no: "


@contextmanager
def asking_home(folder: Path) -> Iterator[Home]:
    file = folder / "forget.py"
    file.write_text(PLUGIN)
    with home(folder) as place:
        plugins = {"load": {"paths": [str(file)]}, "entries": {"forget": {}}}
        turns: list[dict[str, Any]] = [
            {"toolCalls": [{"name": "forget", "arguments": {}}]},
            {"text": "It says: {result}"},
        ]
        # What the tool asks is what this is about, not whether it may be called.
        place.save(place.script(*turns * 5), plugins=plugins, tools={"approval": {"mode": "off"}})
        yield place


@contextmanager
def gateway_that_asks(folder: Path) -> Iterator[GatewayProcess]:
    with asking_home(folder) as place, gateway_process(place) as gateway:
        yield gateway


def at_a_terminal(place: Home, *words: str) -> Terminal:
    # Asking where the cursor is needs a terminal that answers.
    return Terminal([*PROGRAM, *words], cwd=place.state, env={**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"})


def answer_both(terminal: Terminal) -> None:
    terminal.shows(FIRST)
    terminal.type("2")
    terminal.shows("Really?\r\ny yes · n no: ")
    terminal.type("n")


def test_a_turn_in_the_gateway_asks_at_the_terminal_and_gets_the_answers(tmp_path: Path) -> None:
    with gateway_that_asks(tmp_path) as gateway, at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
        answer_both(terminal)
        code, rest = terminal.ends()
    assert (code, f"It says: {ALL} accept {{'option': 'all'}} decline" in rest.replace("\r\n", "")) == (0, True)


def test_a_turn_of_this_process_asks_at_its_terminal(tmp_path: Path) -> None:
    with asking_home(tmp_path) as place, at_a_terminal(place, "--local", "agent", "-m", "go") as terminal:
        answer_both(terminal)
        code, rest = terminal.ends()
    assert (code, f"It says: {ALL} accept {{'option': 'all'}} decline" in rest.replace("\r\n", "")) == (0, True)


@pytest.mark.parametrize("where", [(), ("--local",)])
def test_a_chat_asks_and_goes_on(tmp_path: Path, where: tuple[str, ...]) -> None:
    with gateway_that_asks(tmp_path) as gateway, at_a_terminal(gateway.home, "chat", *where) as terminal:
        terminal.shows(">")
        terminal.type(f"go{ENTER}")
        answer_both(terminal)
        terminal.shows("accept {'option': 'all'} decline")
        terminal.shows(">")
        terminal.type(f"go{ENTER}")
        terminal.shows(FIRST)
        terminal.type(CONTROL_C)
        terminal.shows("(stopped)")
        terminal.shows(">")
        terminal.type(CONTROL_D)
        assert terminal.ends()[0] == 0


@pytest.mark.parametrize("where", [(), ("--local",)])
@pytest.mark.parametrize("words", [("-m", "go"), ("-m", "go", "--json")])
def test_in_a_pipe_nobody_is_asked(tmp_path: Path, where: tuple[str, ...], words: tuple[str, ...]) -> None:
    with gateway_that_asks(tmp_path) as gateway:
        run = gateway.home.run(*where, "agent", *words, input="1\nyes\n")
    assert (run.returncode, "It says: [] cancel {} cancel" in run.stdout) == (0, True), run.stderr
    assert "Forget all notes?" not in run.stdout + run.stderr


def test_with_json_nobody_is_asked_at_a_terminal_either(tmp_path: Path) -> None:
    with (
        gateway_that_asks(tmp_path) as gateway,
        at_a_terminal(gateway.home, "agent", "-m", "go", "--json") as terminal,
    ):
        code, shown = terminal.ends()
    assert (code, "It says: [] cancel {} cancel" in shown, "Forget all notes?" in shown) == (0, True, False)


def test_a_terminal_that_leaves_ends_the_turn_that_asks(tmp_path: Path) -> None:
    with gateway_that_asks(tmp_path) as gateway:
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            terminal.shows(FIRST)
        # The same session is free again: its next turn is the next of the script.
        run = gateway.home.run("agent", "-m", "go")
        assert (run.returncode, run.stdout.startswith("It says: ")) == (0, True), run.stderr
        assert "it heard accept" not in gateway.said


def test_ctrl_c_at_a_question_ends_the_turn_in_the_gateway(tmp_path: Path) -> None:
    with gateway_that_asks(tmp_path) as gateway:
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            terminal.shows(FIRST)
            terminal.type(CONTROL_C)
            assert terminal.ends()[0] == 130
        gateway.wait_until("it was cancelled")
        # The same session is free again: its next turn is the next of the script.
        run = gateway.home.run("agent", "-m", "go")
        assert (run.returncode, run.stdout.startswith("It says: ")) == (0, True), run.stderr
        assert "it heard accept" not in gateway.said


def test_a_question_goes_away_when_the_tool_waits_no_longer(tmp_path: Path) -> None:
    with asking_home(tmp_path) as place:
        calls = [{"name": "forget", "arguments": {"seconds": 0.5}}]
        turns: list[dict[str, Any]] = [{"toolCalls": calls}, {"text": "It says: {result}"}]
        kept = json.loads(place.config_file.read_text())
        place.save(place.script(*turns), plugins=kept["plugins"], tools=kept["tools"])
        with gateway_process(place), at_a_terminal(place, "agent", "-m", "go") as terminal:
            terminal.shows("Quick, now?\r\ny yes · n no: ")
            terminal.shows("(This is no longer asked.)")
            code, rest = terminal.ends()
    assert (code, "It says: forget failed: TimeoutError" in rest) == (0, True)


@pytest.mark.parametrize("where", [(), ("--local",)])
def test_a_form_whose_time_is_over_goes_away_with_a_word_on_that(tmp_path: Path, where: tuple[str, ...]) -> None:
    form = {"message": "How many?", "requestedSchema": {"properties": {"people": {"type": "integer"}}}}
    calls = [{"name": "part__ask", "arguments": {"method": "elicitation/create", "params": form}}]
    # The form is what this is about, not whether the tool may be called.
    tools = {"approval": {"mode": "off"}}
    mcp = {"servers": {"part": stdio_server()}, "elicitation": {"timeoutMs": 500}}
    with home(tmp_path, {}) as place:
        place.save(place.script({"toolCalls": calls}, {"text": "It says: {result}"}), tools=tools, mcp=mcp)
        with gateway_process(place), at_a_terminal(place, *where, "agent", "-m", "go") as terminal:
            terminal.shows("(This is no longer asked.)")
            terminal.shows("A question of part was not answered in time.")
            code, rest = terminal.ends()
    assert (code, '"action": "cancel"' in rest) == (0, True), rest


def test_an_order_is_carried_out_without_asking(tmp_path: Path) -> None:
    with gateway_that_asks(tmp_path) as gateway:
        run = gateway.home.run("order", input='{"message": "go"}')
    assert (run.returncode, "It says: [] cancel {} cancel" in run.stdout) == (0, True), run.stderr


def test_a_question_costs_the_stub_nothing_before_it_is_asked(tmp_path: Path) -> None:
    """What shows a question is loaded with the first one."""
    program = """
import sys
before = set(sys.modules)
sys.argv = ["openclaw", "status"]
from openclaw.__main__ import main
main()
print(*sorted(name for name in set(sys.modules) - before if name.startswith(("openclaw", "msgspec", "json"))))
"""
    with gateway_that_asks(tmp_path) as gateway:
        run = subprocess.run(
            [PROGRAM[0], "-I", "-c", program], env=gateway.home.env, capture_output=True, text=True, check=True
        )
    loaded = run.stdout.splitlines()[-1].split()
    assert [name for name in loaded if "question" in name or name.startswith(("msgspec", "json"))] == []
