"""The event loop of a command, on every system."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from openclaw.control.event_loop import during, new_loop, on_signal, when_typed


class Plain(asyncio.SelectorEventLoop):
    """What Windows has: a loop that waits for no signal and no terminal."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        raise NotImplementedError

    def remove_signal_handler(self, sig: int) -> bool:
        raise NotImplementedError

    def add_reader(self, fd: object, callback: Callable[..., object], *args: object) -> None:
        raise NotImplementedError

    def remove_reader(self, fd: object) -> bool:
        raise NotImplementedError


@pytest.mark.posix_only("signals of POSIX")
@pytest.mark.parametrize(("platform", "module"), [("linux", "uvloop"), ("darwin", "uvloop"), ("win32", "asyncio")])
def test_the_loop_is_the_fastest_that_the_system_has(platform: str, module: str) -> None:
    with closing(new_loop(platform)) as loop:
        assert type(loop).__module__.partition(".")[0] == module


def test_where_a_loop_waits_for_no_signal_and_no_terminal_a_command_runs_all_the_same() -> None:
    async def command() -> str:
        on_signal("SIGTERM", lambda: None)
        on_signal("SIGNONE", lambda: None)
        with during("SIGINT", lambda: None), when_typed(0, lambda: None):
            return "ran"

    with asyncio.Runner(loop_factory=Plain) as runner:
        assert runner.run(command()) == "ran"


@pytest.mark.posix_only("signals of POSIX")
def test_a_loop_that_waits_for_no_signal_is_woken_by_a_handler() -> None:
    before = signal.getsignal(signal.SIGUSR1)

    async def command() -> None:
        came = asyncio.Event()
        with during("SIGUSR1", came.set):
            os.kill(os.getpid(), signal.SIGUSR1)
            await came.wait()

    with asyncio.Runner(loop_factory=Plain) as runner:
        runner.run(command())
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.posix_only("signals of POSIX")
async def test_a_signal_is_acted_on_while_it_is_waited_for() -> None:
    came = asyncio.Event()
    before = signal.getsignal(signal.SIGUSR1)
    with during("SIGUSR1", came.set):
        os.kill(os.getpid(), signal.SIGUSR1)
        await came.wait()
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.posix_only("signals of POSIX")
async def test_a_signal_does_what_it_did_before_once_the_last_who_waited_for_it_has_gone() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    came = asyncio.Event()
    first, second = during("SIGUSR1", lambda: None), during("SIGUSR1", came.set)
    with ExitStack() as stack:
        with first:
            stack.enter_context(second)
        # The first has gone, and the second still waits.
        os.kill(os.getpid(), signal.SIGUSR1)
        await came.wait()
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.posix_only("signals of POSIX")
async def test_what_is_typed_is_acted_on() -> None:
    reading, writing = os.pipe()
    typed = asyncio.Event()
    try:
        with when_typed(reading, typed.set):
            os.write(writing, b"\n")
            await typed.wait()
    finally:
        os.close(reading)
        os.close(writing)
