"""Which event loop runs a command here, and which signals it can wait for.

Owns what differs between systems in that: Windows has no uvloop, and none of its loops waits for a signal or a terminal. There a plain
handler wakes the loop, and Ctrl-Break stands for SIGTERM, which nobody can send.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_WITHOUT_UVLOOP = ("win32",)


def new_loop(platform: str = sys.platform) -> asyncio.AbstractEventLoop:
    if platform in _WITHOUT_UVLOOP:
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


# What is heard on Windows in place of a signal that it does not have.
_INSTEAD = {"SIGTERM": "SIGBREAK"}


def on_signal(name: str, act: Callable[[], object]) -> None:
    """Call `act` in the running loop when this signal comes. Nothing happens for one that the system does not have."""
    number = _number(name)
    if number is None:
        return
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, act)
    except NotImplementedError:
        # The loop hears of a signal all the same, for the interpreter wakes it.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))


def _number(name: str) -> int | None:
    """The signal of this system that is meant; None when it has none."""
    number = getattr(signal, _INSTEAD.get(name, ""), None) or getattr(signal, name, None)
    return None if number is None else int(number)


# What each signal does for a while, the latest last.
_acting: dict[str, list[Callable[[], object]]] = {}
# What it did before the first of them came: whoever goes last gives it back.
_before: dict[str, Any] = {}


@contextmanager
def during(name: str, act: Callable[[], object]) -> Iterator[None]:
    """The same, for a while; then it does what it did before."""
    acting = _acting.setdefault(name, [])
    number = _number(name)
    if number is not None and not acting:
        _before[name] = signal.getsignal(number)
    acting.append(act)
    on_signal(name, act)
    try:
        yield
    finally:
        acting.remove(act)
        if acting:
            on_signal(name, acting[-1])
        elif number is not None:
            with suppress(NotImplementedError):
                asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, _before.pop(name))


@contextmanager
def when_typed(terminal: int, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` when a line can be read from a terminal, where a loop can wait for one."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        loop.add_reader(terminal, act)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            loop.remove_reader(terminal)
