"""`scripts/setup`, as `make demo` and `make test` call it: a python and a pip that say what they were asked for take the place of those
that would fetch from the network."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from parts.processes import HANG_GUARD
from parts.terminal import CONTROL_C, Terminal

pytestmark = pytest.mark.posix_only("a script of bash, and pseudo-terminals")

CHECKOUT = Path(__file__).parent.parent
# What the script itself runs. No uv among it, wherever one is installed.
TOOLS = ["bash", "cat", "cksum", "dirname", "grep", "mktemp", "rm", "sh", "sleep", "mkdir", "cp", "chmod"]
PYTHON = """#!/bin/sh
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin && cp pip .venv/bin/python ;;
esac
"""
# Finds three packages, and is done when it is let.
PIP = """#!/bin/sh
echo "$@" >> asked
case "$*" in
    *--require-hashes*)
        echo "Collecting one"; echo "Collecting two"; echo "Collecting three"
        until test -e go; do sleep 0.1; done ;;
esac
"""


class Checkout:
    """A folder with what the script needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(CHECKOUT / "requirements", folder / "requirements")
        shutil.copy(CHECKOUT / "pyproject.toml", folder)
        (folder / "scripts").mkdir()
        shutil.copy(CHECKOUT / "scripts" / "setup", folder / "scripts")
        tools = folder / "tools"
        tools.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, tool
            (tools / tool).symlink_to(found)
        for name, text in (("tools/python3", PYTHON), ("pip", PIP)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        self.words = [str(folder / "scripts" / "setup"), "demo"]
        self.env = {"PATH": str(tools), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()

    def let_go_on(self) -> None:
        (self.folder / "go").touch()

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=HANG_GUARD, check=False
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "a checkout")


def locked(lock: str) -> set[str]:
    lines = (CHECKOUT / "requirements" / lock).read_text().splitlines()
    return {line.partition("=")[0] for line in lines if line[:1].isalpha()}


def test_the_demo_is_set_up_without_the_test_tools_and_shows_how_far_it_is(checkout: Checkout) -> None:
    packages = len(locked("demo.lock"))
    with Terminal(checkout.words, cwd=checkout.folder, env=checkout.env) as terminal:
        rows = terminal.until(lambda rows: rows and f"installing, 3 of about {packages} packages · " in rows[-1])
        assert rows[0] == f"setup: making .venv with {packages} packages (once)"
        assert rows[-1].endswith(" s · Ctrl-C stops")
        checkout.let_go_on()
        assert terminal.ends()[0] == 0
        assert terminal.screen == rows[:1]
    fetching, own = checkout.asked
    assert fetching.endswith("--require-hashes -r requirements/demo.lock")
    assert own.endswith("--no-deps --no-build-isolation -e .")
    assert not locked("demo.lock") & {"pytest", "pytest-xdist", "hypothesis", "mypy", "ruff", "fastmcp", "pyte"}
    # What is there is not made again.
    again = checkout.run()
    assert (again.returncode, again.stdout, again.stderr, len(checkout.asked)) == (0, "", "", 2)


def test_in_a_pipe_it_says_one_line(checkout: Checkout) -> None:
    checkout.let_go_on()
    done = checkout.run()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"setup: making .venv with {len(locked('demo.lock'))} packages (once)\n"


def test_who_stops_it_finds_no_finished_environment(checkout: Checkout) -> None:
    with Terminal(checkout.words, cwd=checkout.folder, env=checkout.env) as terminal:
        terminal.until(lambda rows: rows and "3 of about" in rows[-1])
        terminal.type(CONTROL_C)
        assert terminal.ends()[0] == 130
    assert not (checkout.folder / ".venv" / ".installed").exists()
    assert os.listdir(checkout.folder / ".venv") == ["bin"]


def test_what_pip_said_is_shown_when_it_fails(checkout: Checkout) -> None:
    (checkout.folder / "pip").write_text("#!/bin/sh\necho 'no route to the index'\nexit 1\n")
    done = checkout.run()
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        "no route to the index",
        "setup: installing did not work; what it said stands above.",
    ]
