"""One keyboard for all who wait at this process's terminal."""

import asyncio
import os
import sys
from collections.abc import Iterator

import pytest

from openclaw.cli.keyboard import Keyboard

if sys.platform != "win32":
    import pty

pytestmark = pytest.mark.posix_only("a pseudo-terminal")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written here is typed at standard input."""
    keys, keyboard = pty.openpty()
    with os.fdopen(keyboard) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keys
        monkeypatch.undo()
    os.close(keys)


async def waiting(task: asyncio.Task[str | None] | asyncio.Task[None]) -> None:
    """Until the task has begun to wait."""
    await asyncio.sleep(0)
    assert not task.done()


async def test_a_line_goes_to_who_came_last_and_the_next_one_to_who_waits_still(keys: int) -> None:
    keyboard = Keyboard()
    going_on = asyncio.create_task(keyboard.enter())
    await waiting(going_on)
    question = asyncio.create_task(keyboard.line())
    await waiting(question)

    os.write(keys, b"yes\n")
    assert await question == "yes\n"
    assert not going_on.done()
    os.write(keys, b"\n")
    await going_on


async def test_who_is_cancelled_leaves_the_keyboard_to_the_others(keys: int) -> None:
    keyboard = Keyboard()
    first = asyncio.create_task(keyboard.line())
    await waiting(first)
    second = asyncio.create_task(keyboard.line())
    await waiting(second)

    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    os.write(keys, b"mine\n")
    assert await first == "mine\n"


async def test_the_end_of_input_is_no_line(keys: int) -> None:
    line = asyncio.create_task(Keyboard().line())
    await waiting(line)
    os.write(keys, b"\x04")
    assert await line is None
