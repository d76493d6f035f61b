"""What a person types and pastes in `openclaw chat`, at a terminal: with a gateway and without one."""

import asyncio
import json
import shlex
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from parts.command_line import local_model
from parts.executable import python_program
from parts.gateways import PROGRAM, Home, gateway_process, home
from parts.talking_model import TalkingModel
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, HANG_GUARD, TAB, Terminal

PLANNED_SERVER = Path(__file__).parents[1] / "parts" / "planned_server.py"
ALT_ENTER = "\x1b\r"
CONTROL_Z = "\x1a"
EDITOR = "\x18\x05"


def chat(place: Home, *words: str, **env: str) -> Terminal:
    # Asking where the cursor is needs a terminal that answers.
    return Terminal([*PROGRAM, "chat", *words], cwd=place.state, env={**place.env, "PROMPT_TOOLKIT_NO_CPR": "1", **env})


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


@contextmanager
def at_home(folder: Path, model: TalkingModel, *, gateway: bool) -> Iterator[Home]:
    with home(folder) as place:
        place.save(local_model(model.url, model.key))
        if gateway:
            with gateway_process(place):
                yield place
        else:
            yield place


@asynccontextmanager
async def talking() -> AsyncIterator[TalkingModel]:
    async with TalkingModel() as model:
        yield model


def said(model: TalkingModel) -> list[str]:
    """What the model heard from the person last, its texts."""
    content = [one for one in model.requests[-1]["messages"] if one["role"] == "user"][-1]["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def until_logged(log: Path, line: str) -> None:
    deadline = time.monotonic() + HANG_GUARD
    while not log.exists() or line not in log.read_text():
        assert time.monotonic() < deadline, f"{line!r} was never logged"
        time.sleep(0.01)


async def in_thread(act: Callable[[], None]) -> None:
    await asyncio.to_thread(act)


@pytest.mark.parametrize("gateway", [True, False], ids=["gateway", "alone"])
async def test_rows_files_and_words_typed_ahead_reach_the_model(tmp_path: Path, gateway: bool) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=gateway) as place, chat(place) as terminal:
                (place.state / "my notes.txt").write_text("alpha")
                terminal.shows(">")
                terminal.type(f"one{ALT_ENTER}two\\{ENTER}three{ENTER}")
                terminal.shows("You said: one")
                assert said(model) == ["one\ntwo\nthree"]
                terminal.shows(">")
                terminal.type(f"read {pasted(str(place.state / 'my notes.txt'))}please{ENTER}")
                terminal.shows("You said: read")
                heard = "\n".join(said(model))
                assert "my\\ notes.txt please\n" in heard
                assert "\nalpha\n" in heard
                terminal.shows(">")
                # An answer that hangs is stopped, and what was typed meanwhile is the next line.
                terminal.type(f"hang{ENTER}")
                terminal.shows("Let me think")
                terminal.type(f"typed ahead{CONTROL_C}")
                assert "typed" not in terminal.shows("(stopped)")
                terminal.until(lambda lines: lines[-1] == "> typed ahead")
                terminal.type(ENTER)
                terminal.shows("You said: typed ahead")
                terminal.shows(">")
                terminal.type(CONTROL_D)
                assert terminal.ends()[0] == 0
                history = place.state / "py" / "history"
                assert stat.S_IMODE(history.stat().st_mode) == 0o600

        await in_thread(act)


@pytest.mark.parametrize("gateway", [True, False], ids=["gateway", "alone"])
async def test_a_conversation_is_gone_on_with_the_last_one_or_one_that_is_chosen(tmp_path: Path, gateway: bool) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=gateway) as place:
                for key, words in (("trip", "plan a trip"), ("food", "cook a soup")):
                    assert place.run("agent", "--session-key", key, "-m", words).returncode == 0
                with chat(place, "--continue") as terminal:
                    terminal.shows("Going on with “cook a soup”: 2 messages, the last ")
                    terminal.shows(">")
                    terminal.type(f"/sessions trip{ENTER}")
                    terminal.shows("Going on with “plan a trip”: 2 messages")
                    terminal.shows(">")
                    terminal.type(f"/model local{ENTER}")
                    terminal.shows("local/local-model answers from here on.")
                    terminal.shows(">")
                    terminal.type(f"and back{ENTER}")
                    terminal.shows("You said: and back")
                    asked = [one["content"] for one in model.requests[-1]["messages"][1:]]
                    assert asked == ["plan a trip", "You said: plan a trip", "and back"]
                    terminal.shows(">")
                    terminal.type(f"/resume{ENTER}")
                    terminal.until(lambda lines: any("Go on with which conversation?" in line for line in lines))
                    terminal.type("soup")
                    terminal.until(lambda lines: any("› cook a soup" in line for line in lines))
                    terminal.type(ENTER)
                    terminal.shows("Going on with “cook a soup”")
                with chat(place, "--resume") as terminal:
                    terminal.until(lambda lines: any("› plan a trip" in line for line in lines))
                    terminal.type("\x1b")
                    assert terminal.ends()[0] == 0

        await in_thread(act)


@pytest.mark.parametrize("gateway", [True, False], ids=["gateway", "alone"])
async def test_a_window_that_waits_for_another_says_so(tmp_path: Path, gateway: bool) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=gateway) as place, chat(place) as first, chat(place) as second:
                first.shows(">")
                first.type(f"hang{ENTER}")
                first.shows("Let me think")
                second.shows(">")
                second.type(f"me too{ENTER}")
                second.shows("Another window is in the middle of a turn of this conversation")
                second.until(lambda lines: "Waiting for the other window · " in lines[-1])
                first.type(CONTROL_C)
                second.shows("You said: me too")

        await in_thread(act)


async def test_the_editor_writes_the_line_and_tab_finishes_its_words(tmp_path: Path) -> None:
    editor = python_program(
        tmp_path / "editor", "import pathlib, sys\npathlib.Path(sys.argv[1]).write_text('from the\\neditor')"
    )
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=False) as place, chat(place, VISUAL=str(editor)) as terminal:
                terminal.shows(">")
                terminal.type(EDITOR)
                terminal.until(lambda lines: lines and lines[-1].strip() == "editor")
                terminal.type(ENTER)
                terminal.shows("You said: from the")
                assert said(model) == ["from the\neditor"]
                terminal.shows(">")
                terminal.type("/mcp stat")
                terminal.until(lambda lines: any("Show everything about one server" in line for line in lines))
                terminal.type(f"{TAB} nobody{ENTER}")
                terminal.shows("MCP server 'nobody' is not configured")

        await in_thread(act)


def test_a_choice_needs_a_terminal_and_one_way_to_name_a_conversation(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save({})
        piped = place.run("chat", "--resume", input="")
        twice = place.run("chat", "--continue", "--session-key", "x", input="")
    assert (piped.returncode, twice.returncode) == (2, 2)
    assert "A conversation can only be chosen at a terminal. Name it: --session-key KEY" in piped.stderr
    assert "--continue, --new, --resume and --session-key each name the conversation." in twice.stderr


@pytest.mark.parametrize("gateway", [True, False], ids=["gateway", "alone"])
async def test_tab_counts_also_before_the_words_are_there_that_it_chooses_from(tmp_path: Path, gateway: bool) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=gateway) as place, chat(place) as terminal:
                terminal.shows(">")
                # In one go, as quick fingers have it.
                terminal.type(f"/comp{TAB}")
                terminal.until(lambda lines: "> /compact" in lines)
                terminal.type(f"{CONTROL_C}/mcp conn{TAB}")
                terminal.until(lambda lines: "> /mcp connect" in lines)

        await in_thread(act)


async def test_tab_offers_nothing_where_a_server_never_says_how_a_word_goes_on(tmp_path: Path) -> None:
    """The gateway, asked meanwhile, draws no sign of waiting into what the chat reads of it."""
    plan, log = tmp_path / "plan", tmp_path / "log"
    plan.write_text(json.dumps({"complete": "never", "prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}))
    async with talking() as model:

        def act() -> None:
            with home(tmp_path) as place:
                server = {"command": sys.executable, "args": [str(PLANNED_SERVER), str(plan), str(log)]}
                place.save({**local_model(model.url, model.key), "mcp": {"servers": {"planned": server}}})
                with gateway_process(place), chat(place) as terminal:
                    terminal.shows(">")
                    terminal.type(f"/planned:greet who=an{TAB}")
                    until_logged(log, "cancelled True")
                    terminal.type(f"{CONTROL_C}/comp{TAB}")
                    terminal.until(lambda lines: "> /compact" in lines)

        await in_thread(act)


async def test_a_chat_may_begin_with_what_is_said_first(tmp_path: Path) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=False) as place, chat(place, "hello", "there") as terminal:
                terminal.shows("> hello there")
                terminal.shows("You said: hello there")
                terminal.shows(">")
                terminal.type(f"/copy{ENTER}")
                terminal.shows(f"Copied: {len('You said: hello there')} characters")

        await in_thread(act)


@pytest.mark.parametrize("gateway", [True, False], ids=["gateway", "alone"])
async def test_a_new_conversation_can_be_begun_with_and_the_one_before_stays(tmp_path: Path, gateway: bool) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=gateway) as place:
                assert place.run("agent", "--session-key", "main", "-m", "plan a trip").returncode == 0
                with chat(place, "--new") as terminal:
                    terminal.shows("A new conversation. “plan a trip” stays: /sessions goes back to it.")
                    assert "Going on with" not in terminal.shows(">")
                    terminal.type(f"hello{ENTER}")
                    terminal.shows("You said: hello")
                    assert len(model.requests[-1]["messages"]) == 2
                    terminal.shows(">")
                    terminal.type(f"/last{ENTER}")
                    terminal.shows("There is no such call: no tool was called in this conversation.")

        await in_thread(act)


async def test_a_chat_is_left_for_a_while_and_come_back_to(tmp_path: Path) -> None:
    async with talking() as model:

        def act() -> None:
            with at_home(tmp_path, model, gateway=False) as place:
                env = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1", "PS1": "shell$ "}
                with Terminal(["bash", "--norc", "--noprofile", "-i"], cwd=place.state, env=env) as shell:
                    shell.shows("shell$ ")
                    shell.type(f"{shlex.join([*PROGRAM, 'chat'])}{ENTER}")
                    shell.until(lambda lines: ">" in lines)
                    shell.type(f"half typed{CONTROL_Z}")
                    shell.until(lambda lines: lines[-1] == "shell$")
                    shell.type(f"fg{ENTER}")
                    shell.until(lambda lines: "> half typed" in lines)
                    shell.type(f" and whole{ENTER}")
                    shell.until(lambda lines: "You said: half typed and whole" in lines)

        await in_thread(act)
