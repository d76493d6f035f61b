"""The Tab key in the three shells themselves, at a terminal: what is typed goes on as the program says."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from openclaw.program import ROOT
from parts.program import OPENCLAW, STDIO_SERVER, Program
from parts.terminal import TAB, Terminal

pytestmark = pytest.mark.full

SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
# Typed first: a prompt to wait for, and the script as the page says.
SET_UP = {
    "bash": "PS1='rea''dy> '; eval \"$(openclaw completion bash)\"\r",
    "zsh": "PS1='rea''dy> '; eval \"$(openclaw completion zsh)\"\r",
    "fish": "function fish_prompt; printf 'rea''dy> '; end; openclaw completion fish | source\r",
}


@pytest.fixture
def person(tmp_path: Path) -> Program:
    person = Program.under(tmp_path)
    server = {"command": sys.executable, "args": [STDIO_SERVER]}
    person.configure(
        json.dumps({"mcp": {"servers": {"parts": server}}, "agents": {"entries": {"main": {}, "research": {}}}})
    )
    person.run("mcp", "tools", "parts")
    person.run("agent", "--session-key", "trip to Rome", "-m", "hello")
    (person.workspace / "notes.md").write_text("")
    return person


def shell(person: Program, name: str, columns: int = 80) -> Terminal:
    assert shutil.which(name), f"{name} is missing: scripts/full_parts installs it"
    env = person.env(PATH=f"{Path(OPENCLAW).parent}{os.pathsep}{os.environ['PATH']}", LANG="C.UTF-8")
    terminal = Terminal(SHELLS[name], cwd=person.workspace, env=env, columns=columns, lines=40)
    terminal.type(SET_UP[name])
    terminal.shows("ready> ")
    return terminal


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    ("typed", "goes_on"),
    [
        ("openclaw mcp sta", "tus "),
        ("openclaw mcp status par", "ts "),
        ("openclaw mcp call parts__ech", "o "),
        ("openclaw agent --agent=res", "earch "),
        ("openclaw agent --agent res", "earch "),
        ("openclaw --log-level war", "ning "),
        ("openclaw sessions show tri", "p\\ to\\ Rome "),
        ("openclaw agent --attach no", "tes.md "),
    ],
)
def test_tab_finishes_the_word(person: Program, name: str, typed: str, goes_on: str) -> None:
    with shell(person, name) as terminal:
        terminal.type(f"echo begin; {typed}{TAB}")
        # A letter that is shown behind says that the word is finished.
        terminal.type("X")
        shown = terminal.shows("X")
        terminal.type("\x15exit\r")
    assert goes_on in shown
    assert "unrecognized" not in shown


@pytest.mark.parametrize("name", SHELLS)
def test_tab_shows_what_may_follow(person: Program, name: str) -> None:
    with shell(person, name) as terminal:
        terminal.type(f"openclaw agent --agent {TAB}{TAB}")
        shown = terminal.shows("research")
    assert "main" in shown


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_in_zsh_each_word_has_a_row_with_as_much_of_what_is_said_of_it_as_fits(person: Program, columns: int) -> None:
    with shell(person, "zsh", columns) as terminal:
        terminal.type(f"openclaw {TAB}")
        rows = terminal.until(lambda rows: any(row.startswith("ui ") for row in rows))
    below = rows[next(place for place, row in enumerate(rows) if row.startswith("ready> openclaw")) + 1 :]
    listed = {row.split()[0]: row for row in below}
    # Nothing of a row goes on in the next one.
    assert set(listed) == {command.name for command in ROOT.children if not command.hidden}
    assert len({row.index(row.split()[1]) for row in listed.values()}) == 1
    assert listed["agent"].endswith("Ask an agent and print its answer.")
