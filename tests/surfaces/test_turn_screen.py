"""How a turn looks at a terminal: Markdown that fits, what is waited for, why a call failed, and how it ends when the gateway does."""

import asyncio
import base64
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.screen.columns import in_ascii
from openclaw.commands.screen.markdown import MarkdownRows
from parts.command_line import local_model
from parts.gateways import PROGRAM, Home, gateway_process, home, stdio_server
from parts.media_server import png
from parts.model_servers import Answer, ChatServer, Hold
from parts.program import OPENCLAW, Program
from parts.talking_model import MARKDOWN, THOUGHTS, TalkingModel
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

MEDIA_SERVER = str(Path(__file__).parent.parent / "parts" / "media_server.py")


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def laid_out(width: int) -> list[str]:
    rows = MarkdownRows(colour=False)
    rows.feed(MARKDOWN)
    return rows.rows(width, last=True).certain


def waits(rows: list[str], what: str = "") -> bool:
    """Whether the last line says what is waited for."""
    return bool(rows) and what in rows[-1] and rows[-1].endswith(" s · Ctrl-C stops")


def asked(person: Program, columns: int, env: dict[str, str]) -> tuple[list[str], bytes]:
    """The screen after `openclaw agent markdown`, and all that was sent to it."""
    words = [OPENCLAW, "agent", "markdown"]
    with Terminal(words, cwd=person.workspace, env=person.env(**env), columns=columns, lines=60) as terminal:
        assert terminal.ends()[0] == 0
        return terminal.screen, terminal.received


@pytest.mark.parametrize(
    ("columns", "env"),
    [
        (60, {}),
        (100, {"NO_COLOR": "1"}),
        (200, {"LC_ALL": "C"}),
        (60, {"TERM": "dumb"}),
    ],
    ids=["60", "100 without colour", "200 in ASCII", "60 dumb"],
)
async def test_an_answer_is_laid_out_for_the_window(person: Program, columns: int, env: dict[str, str]) -> None:
    async with TalkingModel() as model:
        person.configure(json.dumps(model.config))
        screen, received = await asyncio.to_thread(asked, person, columns, env)
    expected = [in_ascii(row) if "LC_ALL" in env else row for row in laid_out(columns)]
    # A terminal that cannot draw a line again keeps what was said of waiting, wherever a slow machine made it wait.
    screen = [row for row in screen if not row.startswith("Waiting for ")]
    start = screen.index(expected[0])
    end = start + len(expected)
    assert screen[start:end] == expected
    assert screen[end].startswith("1,200 tokens in, 240 out")
    is_coloured = b"\x1b[91;49m-return 1" in received
    assert is_coloured == ("NO_COLOR" not in env and env.get("TERM") != "dumb")
    if env.get("TERM") == "dumb":
        assert b"\x1b" not in received
    if "LC_ALL" in env:
        assert received.isascii()


async def test_a_pipe_gets_the_text_as_the_model_wrote_it_and_nothing_else(person: Program) -> None:
    async with TalkingModel() as model:
        person.configure(json.dumps(model.config))
        done = await asyncio.to_thread(person.run, "agent", "markdown")
    assert (done.code, done.out, done.err) == (0, MARKDOWN, "")


def with_servers(config: dict[str, Any]) -> dict[str, Any]:
    media = {"command": sys.executable, "args": [MEDIA_SERVER], "approval": "allow"}
    return {**config, "mcp": {"servers": {"part": {**stdio_server(), "approval": "allow"}, "media": media}}}


def in_chat(place: Home, talk: Callable[[Terminal], None]) -> None:
    with gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        env = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"}
        with Terminal([*PROGRAM, "chat"], cwd=place.state, env=env, columns=100, lines=60) as terminal:
            terminal.shows(">")
            talk(terminal)
            terminal.shows(">")
            gateway.end(signal.SIGKILL)


def talk_about_tools(terminal: Terminal) -> None:
    terminal.type(f'call part__slow {{"seconds": 600, "every": 0.1}}{ENTER}')
    terminal.until(lambda rows: waits(rows, "part__slow: "))
    terminal.type(CONTROL_C)
    terminal.shows("(stopped)")
    terminal.type(f'call part__crash {{"code": 3}}{ENTER}')
    terminal.shows("← part__crash failed in ")
    assert "exited with code 3" in terminal.shows("tokens in")
    # The reason stands in a block of its own: it may repeat words of the server.
    terminal.type(f'call part__echo {{"text": 5}}{ENTER}')
    said = " ".join(terminal.shows("tokens in").split())
    assert "MCP tool error (part/echo): The server sent a value of the wrong shape" in said
    terminal.type(f"call media__picture {{}}{ENTER}")
    terminal.shows("[image saved:")
    terminal.shows("tokens in")
    terminal.type(f'call part__echo {{"text": "**not** [ours](http://x.example)"}}{ENTER}')
    terminal.shows("tokens in")
    terminal.type(f"/last{ENTER}")
    terminal.shows("→ part__echo(text=")
    terminal.shows("**not** [ours](http://x.example)")


async def test_what_tools_do_is_shown_while_they_do_it_and_whole_afterwards(tmp_path: Path) -> None:
    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save(with_servers(model.config))
            await asyncio.to_thread(in_chat, place, talk_about_tools)


SIXELS = b'\x1bPq"1;1;1;1#180;2;100;0;0#180@\x1b\\'
PICTURE = base64.b64encode(png())
# What a terminal says of itself, and what it has to be sent for the picture of the media server.
SHOWING_PICTURES = {
    "kitty": ({"TERM": "xterm-kitty"}, b"\x1b_Ga=T,f=100,m=0;" + PICTURE + b"\x1b\\"),
    "iterm2": ({"TERM_PROGRAM": "iTerm.app"}, b"preserveAspectRatio=1:" + PICTURE + b"\x07"),
    "sixel": ({"TERM": "foot"}, SIXELS),
    "none": ({"TERM": "xterm"}, b""),
}


def look_at_pictures(place: Home, env: dict[str, str]) -> list[bytes]:
    """All that is sent to a terminal for one picture: by a call, by a turn, and in a chat, where `/last` shows it once more."""
    env = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1", **env}
    sent = []
    for words in (["mcp", "call", "media__picture"], ["agent", "call media__picture {}"]):
        with Terminal([*PROGRAM, *words], cwd=place.state, env=env, columns=100) as terminal:
            assert terminal.ends()[0] == 0
            sent.append(terminal.received)
    with Terminal([*PROGRAM, "chat"], cwd=place.state, env=env, columns=100) as terminal:
        terminal.shows(">")
        terminal.type(f"call media__picture {{}}{ENTER}")
        terminal.shows("[image saved:")
        terminal.shows("tokens in")
        terminal.shows(">")
        terminal.type(f"/last{ENTER}")
        terminal.shows("[image saved:")
        terminal.shows(">")
        terminal.type(CONTROL_D)
        terminal.ends()
        sent.append(terminal.received)
    return sent


@pytest.mark.parametrize("through_gateway", [False, True], ids=["alone", "gateway"])
@pytest.mark.parametrize("kind", SHOWING_PICTURES)
async def test_a_picture_is_named_and_shown_where_the_terminal_can(
    tmp_path: Path, kind: str, through_gateway: bool
) -> None:
    env, expected = SHOWING_PICTURES[kind]

    def there(place: Home) -> list[bytes]:
        if not through_gateway:
            return look_at_pictures(place, env)
        with gateway_process(place):
            return look_at_pictures(place, env)

    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save(with_servers(model.config))
            sent = await asyncio.to_thread(there, place)
    assert [one.count(b"[image saved:") for one in sent] == [1, 1, 2]
    if expected:
        assert [one.count(expected) for one in sent] == [1, 1, 2]
    else:
        assert PICTURE not in b"".join(sent)


def hear_thoughts(person: Program) -> list[str]:
    env = person.env(PROMPT_TOOLKIT_NO_CPR="1")
    with Terminal([OPENCLAW, "chat"], cwd=person.workspace, env=env, columns=60) as terminal:
        terminal.shows(">")
        terminal.type(f"think{ENTER}")
        terminal.shows("Thought for ")
        terminal.shows("At noon.")
        terminal.shows(">")
        assert THOUGHTS[:20] not in "\n".join(terminal.screen)
        terminal.type(f"/last thoughts{ENTER}")
        terminal.shows("answer in one sentence.")
        terminal.shows(">")
        return terminal.screen


async def test_thoughts_are_one_line_and_whole_where_they_are_asked_for(person: Program) -> None:
    async with TalkingModel() as model:
        person.configure(json.dumps(model.config))
        screen = await asyncio.to_thread(hear_thoughts, person)
    assert any(
        row.startswith("Thought for ") and row.endswith(f" s ({len(THOUGHTS.split())} words).") for row in screen
    )
    assert THOUGHTS in " ".join(screen)


def fill_the_window(person: Program, lines: list[str]) -> str:
    """What is said of the conversation while these are typed, one after the other."""
    env = person.env(PROMPT_TOOLKIT_NO_CPR="1")
    with Terminal([OPENCLAW, "chat"], cwd=person.workspace, env=env, columns=100, lines=60) as terminal:
        said = terminal.shows(">")
        for line in lines:
            terminal.type(f"{line}{ENTER}")
            terminal.shows("tokens in")
            said += terminal.shows(">")
        return "\n".join(terminal.screen)


@pytest.mark.parametrize(
    ("window", "lines", "told"),
    [
        (
            8_000,
            ["long 1500", "long 1500", "hello"],
            "The conversation is long: 4 messages were summed up to make room.",
        ),
        (
            16_000,
            ['call part__huge {"bytes": 4000}'] * 9,
            "The conversation is long: old results of tools were left out to make room.",
        ),
    ],
    ids=["messages", "results"],
)
async def test_that_a_conversation_was_shortened_is_told(
    person: Program, window: int, lines: list[str], told: str
) -> None:
    async with TalkingModel() as model:
        config = with_servers(model.config)
        config["models"]["providers"]["local"]["models"][0]["contextWindow"] = window
        person.configure(json.dumps(config))
        assert told in await asyncio.to_thread(fill_the_window, person, lines)


def lose_the_gateway(place: Home) -> list[str]:
    with gateway_process(place) as gateway:
        env = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"}
        with Terminal([*PROGRAM, "chat"], cwd=place.state, env=env, columns=60, lines=40) as terminal:
            terminal.shows(">")
            terminal.type(f"hang{ENTER}")
            terminal.until(lambda rows: "Let me think" in rows and waits(rows))
            gateway.end(signal.SIGKILL)
            terminal.shows("gateway status")
            found = terminal.screen
            terminal.type(CONTROL_D)
            return found


async def test_when_the_gateway_dies_the_error_has_a_line_of_its_own(tmp_path: Path) -> None:
    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save(model.config)
            screen = await asyncio.to_thread(lose_the_gateway, place)
    assert any(row.startswith("error: The gateway ended") for row in screen)
    assert "Let me think" in screen


def drag_the_edge(person: Program) -> list[str]:
    words = [OPENCLAW, "agent", "hang"]
    with Terminal(words, cwd=person.workspace, env=person.env(), columns=60) as terminal:
        terminal.until(lambda rows: "Let me think" in rows and waits(rows))
        terminal.resize(100)
        terminal.type(CONTROL_C)
        terminal.ends()
        return terminal.screen


async def test_nothing_is_left_of_what_was_waited_for(person: Program) -> None:
    async with TalkingModel() as model:
        person.configure(json.dumps(model.config))
        screen = await asyncio.to_thread(drag_the_edge, person)
    assert [row for row in screen if "stops" in row] == []
    assert screen[0] == "Let me think"


def widen_during_a_question(words: list[str], folder: Path, env: dict[str, str]) -> list[str]:
    with Terminal(words, cwd=folder, env=env, columns=60, lines=60) as terminal:
        terminal.until(lambda rows: any("y once" in row for row in rows))
        terminal.resize(100, 60)
        terminal.type("y")
        assert terminal.ends()[0] == 0
        return terminal.screen


@pytest.mark.parametrize("where", ["here", "gateway"])
async def test_what_comes_after_the_window_was_widened_fits_it(tmp_path: Path, where: str) -> None:
    words = [*PROGRAM, "agent", "call part__crash {}"]

    def there(place: Home) -> list[str]:
        if where == "here":
            return widen_during_a_question(words, place.state, dict(place.env))
        with gateway_process(place):
            return widen_during_a_question(words, place.state, dict(place.env))

    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save({**model.config, "mcp": {"servers": {"part": stdio_server()}}})
            rows = await asyncio.to_thread(there, place)
    at = next(number for number, row in enumerate(rows) if row.startswith("It gave:"))
    # The next word would not have fitted.
    assert len(rows[at]) < 100 <= len(f"{rows[at]} {rows[at + 1].split()[0]}") + 1


def test_while_a_server_takes_its_time_to_end_the_answer_stands_and_that_is_said(person: Program) -> None:
    servers = {"part": stdio_server("--stubborn")}
    person.configure(json.dumps({"mcp": {"servers": servers}}))
    words = [OPENCLAW, "mcp", "call", "part__echo", "--yes", "text=hello"]
    with Terminal(words, cwd=person.workspace, env=person.env(), columns=100) as terminal:
        rows = terminal.until(lambda rows: waits(rows, "Ending what ran for this"))
        assert "hello" in rows
        assert terminal.ends()[0] == 0
        assert [row for row in terminal.screen if row] == ["hello"]


def type_meanwhile(words: list[str], folder: Path, env: dict[str, str]) -> list[str]:
    """The screen of a command that waits, after something was typed; it is interrupted then."""
    with Terminal(words, cwd=folder, env=env, columns=80) as terminal:
        terminal.until(waits)
        terminal.type(f"one{ENTER}{ENTER}two{ENTER}")
        seconds = terminal.screen[-1].split(" · ")[1]
        terminal.until(lambda rows: waits(rows) and seconds not in rows[-1])
        found = [row for row in terminal.screen if row]
        terminal.type(CONTROL_C)
        assert terminal.ends()[0] == 130
        assert terminal.takes_lines()
        return found


@pytest.mark.parametrize("through_gateway", [False, True], ids=["alone", "gateway"])
async def test_what_is_typed_while_a_command_waits_moves_nothing(tmp_path: Path, through_gateway: bool) -> None:
    def there(place: Home) -> list[str]:
        with gateway_process(place):
            return type_meanwhile([*PROGRAM, "agent", "silence"], place.state, dict(place.env))

    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save(model.config)
            if through_gateway:
                rows = await asyncio.to_thread(there, place)
            else:
                words = [*PROGRAM, "agent", "--local", "silence"]
                rows = await asyncio.to_thread(type_meanwhile, words, place.state, dict(place.env))
    assert len(rows) == 1
    assert waits(rows, "Waiting for local/local-model")


def ended_while_it_waits(words: list[str], folder: Path, env: dict[str, str]) -> tuple[bool, int, bool]:
    """Whether the terminal shows what is typed while a command waits, how the command ends that is told to, and the terminal then."""
    with Terminal(words, cwd=folder, env=env) as terminal:
        terminal.until(waits)
        is_shown = terminal.takes_lines()
        terminal.terminate()
        return is_shown, terminal.ends()[0], terminal.takes_lines()


@pytest.mark.parametrize("through_gateway", [False, True], ids=["alone", "gateway"])
async def test_a_command_that_is_ended_while_it_waits_leaves_the_terminal_as_it_was(
    tmp_path: Path, through_gateway: bool
) -> None:
    def there(place: Home) -> tuple[bool, int, bool]:
        with gateway_process(place):
            return ended_while_it_waits([*PROGRAM, "agent", "silence"], place.state, dict(place.env))

    async with TalkingModel() as model:
        with home(tmp_path) as place:
            place.save(model.config)
            if through_gateway:
                assert await asyncio.to_thread(there, place) == (False, -signal.SIGTERM, True)
            else:
                words = [*PROGRAM, "agent", "--local", "silence"]
                ended = await asyncio.to_thread(ended_while_it_waits, words, place.state, dict(place.env))
                assert (ended[0], ended[2]) == (False, True)


def ask_a_busy_vendor(person: Program) -> tuple[list[str], str]:
    words = [OPENCLAW, "agent", "fail 503"]
    with Terminal(words, cwd=person.workspace, env=person.env(), columns=100) as terminal:
        waiting = terminal.until(lambda rows: waits(rows, "trying again · "))
        code, _ = terminal.ends()
        assert code == 1
        return [row for row in terminal.screen if row], waiting[-1]


async def test_that_a_vendor_is_asked_again_is_told_while_one_waits_and_not_afterwards(person: Program) -> None:
    async with TalkingModel() as model:
        person.configure(json.dumps(model.config))
        screen, waiting = await asyncio.to_thread(ask_a_busy_vendor, person)
    assert "local " in waiting
    assert screen[0].startswith("stopped (error): local ")
    assert "trying again" not in "".join(screen)


def try_the_model(person: Program, command: str, told: str) -> None:
    with Terminal([OPENCLAW, *command.split()], cwd=person.workspace, env=person.env()) as terminal:
        terminal.until(lambda rows: waits(rows, told))
        terminal.type(CONTROL_C)
        assert terminal.ends()[0] == 130


@pytest.mark.parametrize(
    ("command", "told"),
    [("models test", "Asking local/local-model for a word"), ("doctor", "Asking the model and the servers")],
)
async def test_who_tries_a_model_sees_which_one_is_asked(person: Program, command: str, told: str) -> None:
    async with ChatServer([Answer([Hold()])]) as model:
        person.configure(json.dumps(local_model(model.url, model.key)))
        await asyncio.to_thread(try_the_model, person, command, told)
        await model.gone.wait()
