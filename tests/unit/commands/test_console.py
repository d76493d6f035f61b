"""How things are said at a terminal."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from msgspec import Raw

from openclaw.commands.console import Console, duration
from openclaw.commands.render import show_result
from openclaw.commands.waiting import told_of_waiting
from openclaw.config.servers import ServerSpec
from openclaw.mcp.events import Awaited, LeftOut
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Content, Result
from openclaw.media import MediaStore


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (1.4, "1 s"),
        (90, "90 s"),
        (119.9, "2 min"),
        (3_599.5, "60 min"),
        (5_400, "90 min"),
        (7_199.5, "2 h"),
        (86_400, "24 h"),
        (3 * 86_400, "3 d"),
    ],
)
def test_a_duration_is_one_number_that_says_enough(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(("screen", "said"), [(True, '{\n  "a": 1\n}\n'), (False, '{"a":1}\n')])
async def test_json_is_laid_out_on_a_screen_and_left_alone_in_a_pipe(
    tmp_path: Path, *, screen: bool, said: str
) -> None:
    printed: list[str] = []
    console = Console(printed.append, printed.append, screen=screen)
    await show_result(Result([Content("text", text='{"a":1}')]), MediaStore(tmp_path), console)
    assert "".join(printed) == said


async def test_an_embedded_resource_that_cannot_be_read_costs_nothing_else(tmp_path: Path) -> None:
    printed: list[str] = []
    content = [Content("resource", resource=Raw(b"5")), Content("text", text="after")]
    await show_result(Result(content), MediaStore(tmp_path), Console(printed.append, printed.append))
    assert "".join(printed) == "[an embedded resource that cannot be read]\nafter\n"


async def test_a_command_tells_of_the_waits_of_its_own_agent_alone() -> None:
    said: list[str] = []
    console = Console(said.append, said.append, width=0, interactive=True)
    async with Manager([]) as manager, told_of_waiting(console, manager, "main"):
        manager.events.send(Awaited("main", ("files", "mail")))
        manager.events.send(Awaited("other", ("secret-project",)))
        manager.events.send(LeftOut("main", "mail", "it did not come up within 30 s"))
    assert "".join(said) == (
        "Waiting for files, mail\nWithout mail: it did not come up within 30 s. `openclaw mcp refresh mail` tries it again.\n"
    )


async def test_keys_are_read_only_while_servers_are_awaited() -> None:
    """What is typed later is for the shell."""
    reading, over = asyncio.Event(), asyncio.Event()

    async def enter() -> None:
        reading.set()
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    said: list[str] = []
    console = Console(said.append, said.append, interactive=True, enter=enter)
    silent = ServerSpec("silent", command=sys.executable, args=("-c", "import sys; sys.stdin.read()"))
    async with Manager({"main": [silent]}, patience=0.0) as manager, told_of_waiting(console, manager, "main"):
        settling = asyncio.create_task(manager.readiness.settle("main", 60.0))
        await reading.wait()
        assert not over.is_set()
        manager.readiness.go_on("main")
        await settling
        manager.readiness.tell_left_out("main")
        await over.wait()
    assert "".join(said) == "Waiting for silent (Enter goes on without)\nWithout silent: it is still starting.\n"


WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (30, "one two three four five\n     six seven eight nine ten\n     eleven twelve thirteen …"),
        (0, WORDS),
    ],
)
def test_a_table_fits_a_screen_and_is_not_folded_in_a_pipe(width: int, shown: str) -> None:
    said: list[str] = []
    Console(said.append, said.append, width=width).table(("key", "what"), [("a", WORDS)])
    assert "".join(said) == f"key  what\na    {shown}\n"


def test_lines_are_folded_on_a_screen_and_what_others_wrote_is_not() -> None:
    said: list[str] = []
    console = Console(said.append, said.append, width=40, screen=True)
    console.line(f"  Label    {WORDS[:50]}")
    console.note(WORDS)
    console.verbatim(WORDS)
    assert "".join(said) == (
        f"  Label    one two three four five six\n           seven eight nine ten e\n{WORDS}\n{WORDS}\n"
    )


def test_in_ascii_what_is_wider_there_is_folded_as_it_is_shown() -> None:
    said: list[str] = []
    console = Console(said.append, said.append, width=20, screen=True, utf8=False)
    console.line("one two three four…")
    assert "".join(said) == "one two three\nfour...\n"


@pytest.mark.parametrize("colour", [False, True])
def test_no_line_drives_a_screen_but_by_the_styles_of_the_console(*, colour: bool) -> None:
    printed: list[str] = []
    console = Console(out=printed.append, err=printed.append, colour=colour)
    hostile = "\x1b]8;;http://a.example\x07a\x1b]8;;\x07\x1b[31mb\x1b[2J\x9b2Jc\u202ed\re"
    console.line(f"{console.good('ok')} {hostile}")
    console.note(console.bad(hostile))
    console.table(("name",), [(hostile,)])
    styled = {"\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"} if colour else set()
    assert {
        found[0] for found in re.finditer("\x1b[^m]*m?|[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202e]", "".join(printed))
    } == styled
    assert all("a" in line and "b" in line and "cd\ne" in line for line in printed[:2])
    assert "bcd e" in printed[3]
