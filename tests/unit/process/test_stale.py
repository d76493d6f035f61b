"""Finding processes of ours that were left behind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform != "win32":
    from openclaw.process.guardian import VARIABLE
    from openclaw.process.stale import Stale, stale
    from openclaw.process.watch import watch

pytestmark = pytest.mark.linux_only("/proc")


@contextmanager
def sleeper(marks: str) -> Iterator[int]:
    """A process that carries these marks and has said that it runs."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", "print(flush=True); input()"],
        env={**os.environ, VARIABLE: marks},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def test_what_carries_a_mark_that_nobody_guards_is_left_over() -> None:
    with sleeper("0123456789abcdef.1;") as pid:
        found = [one for one in stale() if one.pid == pid]
        name = os.path.basename(os.path.realpath(f"/proc/{pid}/exe"))
        assert [one.pid for one in found] == [pid]
        assert name.startswith(found[0].name[:6])
    assert pid not in {one.pid for one in stale()}


def test_what_has_a_guardian_is_not() -> None:
    with sleeper(watch().next_mark()) as pid, sleeper(f"0123456789abcdef.1;{watch().next_mark()}") as nested:
        assert not {pid, nested} & {one.pid for one in stale()}


def test_other_peoples_processes_are_nobodys_business() -> None:
    with sleeper("") as pid:
        assert pid not in {one.pid for one in stale()}
    assert Stale(os.getpid(), "python") not in stale()


def test_where_there_is_no_proc_nothing_is_told(tmp_path: Path) -> None:
    assert stale(tmp_path / "nowhere") == []
