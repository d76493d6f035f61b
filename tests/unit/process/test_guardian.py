"""What becomes of servers when the gateway is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from openclaw.process import guardian
from openclaw.process.watch import Watch
from parts.processes import handle_of, has_ended, is_alive, wait_until_gone

TESTS = Path(__file__).parents[2]


@contextmanager
def gateway(
    mode: str, *hows: str, under: Sequence[str] = ()
) -> Iterator[tuple["subprocess.Popen[bytes]", dict[str, list[int]]]]:
    """A real process with real servers, and the numbers of all of them."""
    command = [*under, sys.executable, "-m", "parts.gateway", mode, *hows]
    process = subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()


@pytest.mark.parametrize("how", ["child", "setsid", "chain"])
def test_a_killed_gateway_leaves_nothing_behind(how: str) -> None:
    """Servers that ignore SIGTERM and the end of their input, and their descendants, chains of them and sessions of their own."""
    with gateway("wait", how) as (process, started):
        handles = [handle_of(pid) for pid in started["pids"]]
        process.kill()
        wait_until_gone(*handles)


@pytest.mark.linux_only("a filter of system calls")
@pytest.mark.parametrize("how", ["child", "setsid"])
def test_a_kernel_without_pidfd_runs_servers_and_a_killed_gateway_leaves_nothing_behind_there(how: str) -> None:
    without_pidfd = (sys.executable, "-m", "parts.without_pidfd")
    with gateway("wait", how, under=without_pidfd) as (process, started):
        handles = [handle_of(pid) for pid in started["pids"]]
        process.kill()
        wait_until_gone(*handles)


@pytest.mark.linux_only("a filter of system calls")
def test_a_kernel_without_pidfd_ends_servers_in_order_too() -> None:
    without_pidfd = (sys.executable, "-m", "parts.without_pidfd")
    with gateway("leave", "child", under=without_pidfd) as (process, started):
        handles = [handle_of(pid) for pid in started["pids"]]
        process.communicate()
        assert process.returncode == 0
        wait_until_gone(*handles)


def test_a_server_spawned_the_moment_before_the_kill_is_found() -> None:
    with gateway("kill-at-once", "child", "child", "child") as (process, started):
        process.wait()
        assert process.returncode == -signal.SIGKILL
        for pid in started["pids"]:
            try:
                handle = handle_of(pid)
            except ProcessLookupError:
                continue  # ended already
            wait_until_gone(handle)
        assert all(has_ended(pid) for pid in started["pids"])


def test_the_guardian_itself_leaves_when_its_work_is_done() -> None:
    with gateway("wait", "child") as (process, started):
        handle = handle_of(started["guardian"])  # type: ignore[arg-type]
        process.kill()
        wait_until_gone(handle)


def test_the_guardian_outlives_signals_meant_for_everybody() -> None:
    with gateway("wait", "setsid") as (process, started):
        pid: int = started["guardian"]  # type: ignore[assignment]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
        handles = [handle_of(pid) for pid in started["pids"]]
        process.kill()
        wait_until_gone(*handles)


def test_two_gateways_do_not_touch_each_others_servers() -> None:
    with gateway("wait", "setsid") as (one, first), gateway("wait", "setsid") as (_, second):
        doomed = [handle_of(pid) for pid in first["pids"]]
        spared = [handle_of(pid) for pid in second["pids"]]
        one.kill()
        wait_until_gone(*doomed)
        assert all(is_alive(handle) for handle in spared)
        for handle in spared:
            os.close(handle)


def test_a_dead_guardian_is_replaced_before_the_next_child() -> None:
    watch = Watch()
    watch.next_mark()
    first = watch._guardian
    assert first is not None
    handle = handle_of(first)
    os.kill(first, signal.SIGKILL)
    wait_until_gone(handle)
    watch.next_mark()
    assert watch._guardian not in (first, None)
    assert watch._guardian is not None
    replaced = handle_of(watch._guardian)
    watch._forget()  # as when we die: its pipe ends
    wait_until_gone(replaced)


def test_the_guardian_leaves_at_once_when_it_is_told_that_nothing_is_left() -> None:
    watch = Watch()
    watch.next_mark()
    assert watch._guardian is not None
    handle = handle_of(watch._guardian)
    # Its pipe stays open, so that nothing else could make it leave.
    watch.leave()
    wait_until_gone(handle)
    os.waitpid(watch._guardian, 0)
    watch._forget()


def test_marks_are_found_in_the_environment_only_of_living_processes() -> None:
    mark = f"guardian-test-{os.getpid()};"
    environment = {**os.environ, guardian.VARIABLE: mark}
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], env=environment, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert guardian.find(mark.encode()) == [process.pid]
    assert guardian.find(b"another mark") == []
    assert guardian.strike(mark.encode(), (), signal.SIGKILL) == 1
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    # A zombie is not alive, although it still has a number.
    assert guardian.find(mark.encode()) == []
    process.wait()
    process.stdin.close()


@pytest.mark.parametrize("looks", [50, pytest.param(1_000, marks=pytest.mark.full)])
def test_a_process_is_found_in_the_middle_of_its_exec(looks: int) -> None:
    """For a moment it has no environment. One look in a few hundred meets that moment."""
    mark = "a mark for this test alone"
    for _ in range(looks):
        process = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], guardian.VARIABLE: mark})
        try:
            assert process.pid in guardian.find(mark.encode())
        finally:
            process.kill()
            process.wait()
