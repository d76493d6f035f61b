"""A program that is forked with its modules loaded is what a person gets who starts it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from parts.loaded import PROGRAM, Process, begin, is_plain, link, run, words_of


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(home)}


@pytest.mark.parametrize("words", [["--version"], ["mcp", "sttus"], ["status", "--json"]])
def test_it_says_what_a_started_one_says_and_ends_with_the_same_code(tmp_path: Path, words: list[str]) -> None:
    env = environment(tmp_path)
    forked = run(words, env=env, cwd=tmp_path)
    started = subprocess.run([*PROGRAM, *words], env=env, cwd=tmp_path, input="", capture_output=True, text=True)
    assert (forked.code, forked.out, forked.err) == (started.returncode, started.stdout, started.stderr)


@pytest.mark.linux_only("/proc")
def test_it_is_a_process_of_its_own_that_takes_signals(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    process = begin([*PROGRAM, "chat"], env=environment(tmp_path), cwd=tmp_path, stdin=reading)
    os.close(reading)
    assert isinstance(process, Process)
    assert os.readlink(f"/proc/{process.pid}/cwd") == str(tmp_path)
    process.send_signal(signal.SIGKILL)
    assert (process.wait(), process.poll()) == (-signal.SIGKILL, -signal.SIGKILL)
    os.close(writing)


def test_what_an_interpreter_reads_when_it_starts_is_left_to_one_that_starts() -> None:
    assert [is_plain({name: "1"}) for name in ("HOME", "PYTHONPATH", "LC_ALL", "LANG", "TERM")] == [
        *(True, False, False, False, True)
    ]
    assert words_of([*PROGRAM, "mcp", "servers"]) == ["mcp", "servers"]
    assert words_of(["bash", "-c", "openclaw"]) is None


@pytest.mark.posix_only("forks")
def test_a_link_of_it_says_the_same_and_neither_outlives_the_other(tmp_path: Path) -> None:
    env = environment(tmp_path)
    program = tmp_path / "openclaw"
    link(program)
    linked = subprocess.run([program, "mcp", "sttus"], env=env, cwd=tmp_path, capture_output=True, text=True)
    forked = run(["mcp", "sttus"], env=env, cwd=tmp_path)
    assert (linked.returncode, linked.stdout, linked.stderr) == (forked.code, forked.out, forked.err)
    for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)):
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [program, "mcp-server", "--local"], env=env, cwd=tmp_path, stdin=pipe, stdout=pipe
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            assert b'"id":1' in process.stdout.readline()
            process.send_signal(number)
            # Its output ends with the program itself.
            assert (process.stdout.read(), process.wait()) == (b"", code)
