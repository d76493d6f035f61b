"""Seeing whether a process does anything."""

import os
import subprocess
import sys
from pathlib import Path

from openclaw.process.activity import Activity, activity_of


def process(proc: Path, pid: int, state: str, times: str, *, name: str = "server", children: str = "") -> None:
    """A process as the system shows it; `times` are its own and its ended children's, within and without the system."""
    folder = proc / str(pid) / "task" / str(pid)
    folder.mkdir(parents=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} 1 2 3 4 5 6 7 8 9 10 {times} 20 0 1 0")
    (folder / "children").write_text(children)


def test_the_times_of_a_process_and_all_it_started_are_read(tmp_path: Path) -> None:
    process(tmp_path, 10, "S", "1 2 3 4", children="11 12 ")
    process(tmp_path, 11, "S", "5 0 0 0", children="13 ")
    process(tmp_path, 12, "Z", "0 1 0 0")
    process(tmp_path, 13, "S", "0 0 0 0", name="a) R (b")
    process(tmp_path, 99, "R", "7 7 7 7")
    assert activity_of(10, tmp_path) == Activity({10: 10, 11: 5, 12: 1, 13: 0}, is_busy=False)


def test_one_at_work_makes_all_of_them_busy(tmp_path: Path) -> None:
    process(tmp_path, 10, "S", "0 0 0 0", children="11 12 ")
    process(tmp_path, 11, "S", "0 0 0 0")
    process(tmp_path, 12, "D", "0 0 0 0")
    assert activity_of(10, tmp_path) == Activity({10: 0, 11: 0, 12: 0}, is_busy=True)


def test_a_child_that_ends_while_it_is_looked_for_is_left_out(tmp_path: Path) -> None:
    process(tmp_path, 10, "S", "1 0 0 0", children="11 ")
    assert activity_of(10, tmp_path) == Activity({10: 1}, is_busy=False)


def test_nothing_is_known_of_a_process_that_is_not_there(tmp_path: Path) -> None:
    assert activity_of(10, tmp_path) is None


def test_where_children_are_not_shown_the_process_itself_still_is(tmp_path: Path) -> None:
    process(tmp_path, 10, "R", "1 0 0 0")
    (tmp_path / "10" / "task" / "10" / "children").unlink()
    assert activity_of(10, tmp_path) == Activity({10: 1}, is_busy=True)


def test_we_are_busy_looking() -> None:
    activity = activity_of(os.getpid())
    assert activity is not None
    assert activity.is_busy


def test_a_process_that_waits_for_input_comes_to_rest() -> None:
    waiting = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        before, now = None, activity_of(waiting.pid)
        while now is None or now.is_busy or now != before:
            before, now = now, activity_of(waiting.pid)
        assert list(now.ticks) == [waiting.pid]
    finally:
        waiting.communicate(b"\n")
