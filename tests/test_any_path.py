"""The tests themselves pass wherever the checkout is, and however they are started."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parts.executable import python_program

TESTS = Path(__file__).parent
# Spelled apart, so that this file is not one of them.
BY_HAND = re.compile("#" + r"!\{sys\.executable")


def test_no_test_names_its_interpreter_in_the_first_line_of_a_program_by_hand() -> None:
    found = [str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py") if BY_HAND.search(path.read_text("utf-8"))]
    assert found == [], "use parts.executable.python_program: a long path or one with a blank cannot stand there"


@pytest.mark.parametrize("folder", ["plain", "with a blank", "Bäume", "it's", "/".join(["long"] * 40)])
def test_a_program_that_tests_write_runs_whatever_its_interpreters_path_is(tmp_path: Path, folder: str) -> None:
    interpreter = tmp_path / folder / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" "$@"\n')
    interpreter.chmod(0o700)
    program = python_program(
        tmp_path / "program", "import sys\nprint(sys.argv[1:], sys.flags.isolated)", "-IS", interpreter=str(interpreter)
    )
    done = subprocess.run([program, "a b", "ö"], capture_output=True, text=True, check=True)
    assert done.stdout == "['a b', 'ö'] 1\n"


SIGNALS = "import signal; print([signal.getsignal(n) == signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])"


def test_what_a_test_starts_can_be_interrupted() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=True)
    assert done.stdout == "[False, False]\n"


def test_so_it_is_when_the_tests_run_in_the_background() -> None:
    """As `nohup make test &` starts them: with both signals ignored, which programs inherit."""

    def ignore() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    one = f"{__file__}::{test_what_a_test_starts_can_be_interrupted.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", one]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, preexec_fn=ignore, check=False)
    assert done.returncode == 0, done.stdout
