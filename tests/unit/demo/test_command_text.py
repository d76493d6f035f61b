"""What a reader of the tour is told to type works in the folder they stand in."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.demo.command_text import folded, interpreter, program, quoted
from openclaw.typed_words import quote_word


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program in it, where the reader stands."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    own = tmp_path / ".venv" / "bin" / "openclaw"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "openclaw")


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_program_that_a_shell_finds_is_called_by_its_name(checkout: Path) -> None:
    assert program(own(checkout), {"PATH": str(checkout / ".venv" / "bin")}) == "openclaw"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_another_program_of_that_name_is_not_taken_for_ours(checkout: Path) -> None:
    (checkout / "other").mkdir()
    (checkout / "other" / "openclaw").write_text("#!/bin/sh\n")
    (checkout / "other" / "openclaw").chmod(0o755)
    assert program(own(checkout), {"PATH": str(checkout / "other")}) == ".venv/bin/openclaw"


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize("typed", [".venv/bin/openclaw", "./.venv/bin/openclaw", ".venv/../.venv/bin/openclaw"])
def test_inside_the_folder_it_is_shown_by_the_short_path_however_it_was_started(checkout: Path, typed: str) -> None:
    assert program(typed, {"PATH": "/nowhere"}) == ".venv/bin/openclaw"
    assert program(own(checkout), {"PATH": "/nowhere"}) == ".venv/bin/openclaw"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_in_its_own_folder_it_needs_the_dot(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout / ".venv" / "bin")
    assert program("./openclaw", {"PATH": "/nowhere"}) == "./openclaw"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_elsewhere_it_is_shown_by_the_whole_path_or_from_home(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert program(own(checkout), {"PATH": "/nowhere", "HOME": "/home/ada"}) == own(checkout)
    assert program(own(checkout), {"PATH": "/nowhere", "HOME": str(checkout)}) == "~/.venv/bin/openclaw"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_started_as_a_module_the_program_beside_the_interpreter_is_named(checkout: Path) -> None:
    beside = Path(sys.executable).parent / "openclaw"
    assert program("/somewhere/openclaw/__main__.py", {"PATH": "/nowhere"}) == shlex.quote(str(beside))


def test_the_interpreter_is_named_by_a_path_that_works_from_everywhere() -> None:
    assert interpreter({}) == quote_word(sys.executable)
    assert interpreter({"HOME": os.path.dirname(sys.executable)}) == "~/" + os.path.basename(sys.executable)


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("plain", "plain"),
        ("two words", quote_word("two words")),
        ("~/notes", "~/notes"),
        ("~/my notes", "~/" + quote_word("my notes")),
        ("~", quote_word("~")),
    ],
)
def test_a_word_is_quoted_and_a_home_is_still_found(word: str, typed: str) -> None:
    assert quoted(word) == typed


@settings(max_examples=100)
@given(
    words=st.lists(st.text("ab c'\"\\$&", min_size=1, max_size=20), min_size=1, max_size=12), room=st.integers(20, 80)
)
def test_a_folded_command_has_the_same_words(words: list[str], room: int) -> None:
    lines = "\n".join(folded(shlex.join(words), room))
    # A shell takes a backslash at the end of a line away together with it; shlex does not.
    assert shlex.split(lines.replace(" \\\n", " ")) == words
