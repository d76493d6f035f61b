"""Which event loop runs a command here, and which signals it can wait for.

Owns what differs between systems in that: Windows has no uvloop, and none of its loops waits for a signal or a terminal.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

# Where uvloop is not to be had.
_OTHERS = {"win32": "asyncio"}


def new_loop(platform: str = sys.platform) -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = import_module(_OTHERS.get(platform, "uvloop")).new_event_loop()
    return loop


def on_signal(name: str, act: Callable[[], object]) -> None:
    """Call `act` in the running loop when this signal comes, where there are signals that a loop can wait for."""
    with suppress(NotImplementedError, AttributeError):
        asyncio.get_running_loop().add_signal_handler(getattr(signal, name), act)


@contextmanager
def during(name: str, act: Callable[[], object]) -> Iterator[None]:
    """The same, for a while."""
    on_signal(name, act)
    try:
        yield
    finally:
        with suppress(NotImplementedError, AttributeError):
            asyncio.get_running_loop().remove_signal_handler(getattr(signal, name))


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
