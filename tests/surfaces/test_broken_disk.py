"""Disks that fail people: full, spoilt, or with the wrong thing in place. Every command says so in one sentence, never with a traceback."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parts.program import OPENCLAW, Program, Ran

COMMANDS = [
    ("agent", "-m", "ls"),
    ("config", "set", "tools.profile", "full"),
    ("config", "get", "tools"),
    ("sessions",),
    ("sessions", "show", "x"),
    ("sessions", "delete", "x"),
    ("status",),
    ("chat",),
]
# No file can grow past this many bytes: what a full disk looks like to a program.
FULL = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def garbage(state: Path) -> None:
    (state / "py").mkdir(parents=True)
    (state / "py" / "sessions.sqlite").write_bytes(bytes(range(256)) * 40)


def cut_short(state: Path) -> None:
    (state / "py").mkdir(parents=True)
    (state / "py" / "sessions.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)


def directories(state: Path) -> None:
    (state / "py" / "sessions.sqlite").mkdir(parents=True)
    (state / "openclaw.json").mkdir()


def file_for_the_state(state: Path) -> None:
    state.write_text("not a directory")


def file_for_the_data(state: Path) -> None:
    state.mkdir()
    (state / "py").write_text("not a directory")


def is_calm(ran: Ran) -> bool:
    """Done, or one sentence that is ours (in its place in what `status` shows), and the exit code that belongs to it."""
    said = [line for line in ran.err.splitlines() if line.startswith(("error:", "config:"))]
    said += [line for line in ran.out.splitlines() if line.lstrip().startswith("! ")]
    faults = "Traceback" in ran.err + ran.out or "Error:" in ran.err
    return not faults and (len(said) == 1) == (ran.code in (1, 2))


@pytest.mark.parametrize("spoil", [garbage, cut_short, directories, file_for_the_state, file_for_the_data])
def test_a_spoilt_state_directory_costs_one_sentence(person: Program, spoil: Callable[[Path], None]) -> None:
    spoil(person.config.parent)
    ran = {command: person.run(*command) for command in COMMANDS}
    assert {command: found for command, found in ran.items() if not is_calm(found)} == {}
    assert ran["agent", "-m", "ls"].code in (1, 2)


def test_a_full_disk_costs_one_sentence(person: Program) -> None:
    found = {}
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-c", FULL, OPENCLAW, *command],
            input="hello\n" if command == ("chat",) else "",
            capture_output=True,
            text=True,
            cwd=person.workspace,
            env=person.env(),
            check=False,
        )
        found[command] = Ran(done.returncode, done.stdout, done.stderr)
    agent, change = found["agent", "-m", "ls"], found["config", "set", "tools.profile", "full"]
    assert (agent.code, change.code) == (1, 1)
    assert agent.err.startswith("error: The session store ")
    assert change.err == f"error: {person.config} cannot be written: file too large.\n"
    assert not [command for command, ran in found.items() if "Traceback" in ran.err + ran.out]


@pytest.mark.parametrize("spoil", [garbage, cut_short])
def test_status_fails_when_the_conversations_alone_cannot_be_read(
    person: Program, spoil: Callable[[Path], None]
) -> None:
    spoil(person.config.parent)
    shown, data = person.run("status"), person.run("status", "--json")
    problem = data.data["storeProblem"]
    assert (shown.code, data.code) == (1, 1)
    assert problem.startswith("The session store ")
    assert [one["problem"] for one in data.data["agents"]] == [""]
    assert [line.strip() for line in shown.out.splitlines() if "!" in line] == [f"! {problem}"]


@pytest.mark.linux_only("/dev/full")
@pytest.mark.parametrize("words", ["tools", "--version", "-V", "mcp-server --version"])
def test_output_that_cannot_be_written_costs_one_sentence(person: Program, words: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [OPENCLAW, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, env=person.env(), check=False
        )
    assert (done.returncode, done.stderr) == (1, "error: The output cannot be written: no space left on device.\n")
