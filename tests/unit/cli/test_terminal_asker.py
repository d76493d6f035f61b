"""The person at this process's terminal: asked, and no longer asked."""

import asyncio
import os
import sys
from contextlib import suppress

import pytest

from openclaw.cli.keyboard import Keyboard
from openclaw.cli.terminal_asker import TerminalAsker
from openclaw.control.dialogue_steps import Screen
from openclaw.conversation import Question

if sys.platform != "win32":
    import pty

pytestmark = pytest.mark.posix_only("a pseudo-terminal")


async def never(address: str) -> bool:
    raise AssertionError("unreachable")


async def test_a_cancelled_question_stays_cancelled_when_the_terminal_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, keyboard = pty.openpty()
    eyes, screen = pty.openpty()
    with os.fdopen(keyboard) as stdin:
        stderr = os.fdopen(screen, "w")
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        asked = asyncio.create_task(
            TerminalAsker(never, Keyboard(), Screen).ask(Question("approval", "Forget all notes?"))
        )
        shown = b""
        while b"n no" not in shown:
            shown += await asyncio.to_thread(os.read, eyes, 4096)
        os.close(eyes)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        monkeypatch.undo()
        with suppress(OSError):
            stderr.close()
    os.close(keys)


async def test_what_is_asked_is_shown_again_below_what_is_printed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, keyboard = pty.openpty()
    eyes, screen = pty.openpty()
    with os.fdopen(keyboard) as stdin, os.fdopen(screen, "w") as stderr:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        asker = TerminalAsker(never, Keyboard(), Screen)
        asked = asyncio.create_task(asker.ask(Question("approval", "Forget all notes?")))
        shown = b""
        while not shown.endswith(b"n no: "):
            shown += await asyncio.to_thread(os.read, eyes, 4096)
        # Two lines in one breath, the first of them in two pieces.
        for text in ("<- it ", "is done\n", "and so is that\n"):
            asker.make_room()
            stderr.write(text)
            stderr.flush()
            asker.printed(text)
        below = b""
        while not below.endswith(b"n no: "):
            below += await asyncio.to_thread(os.read, eyes, 4096)
        assert below == b"\r\n<- it is done\r\nand so is that\r\n" + shown
        os.write(keys, b"y")
        assert (await asked).is_yes
        asker.printed("more\n")
        assert await asyncio.to_thread(os.read, eyes, 4096) == b"y\r\n"
        monkeypatch.undo()
    os.close(keys)
    os.close(eyes)


async def test_what_is_printed_while_a_question_waits_gets_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, keyboard = pty.openpty()
    eyes, screen = pty.openpty()
    with os.fdopen(keyboard) as stdin, os.fdopen(screen, "w") as stderr:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        asker = TerminalAsker(never, Keyboard(), Screen)
        asker.make_room()
        asked = asyncio.create_task(asker.ask(Question("approval", "Forget all notes?")))
        shown = b""
        while not shown.endswith(b"n no: "):
            shown += await asyncio.to_thread(os.read, eyes, 4096)
        asker.make_room()
        asker.make_room()
        assert await asyncio.to_thread(os.read, eyes, 4096) == b"\r\n"
        os.write(keys, b"y")
        assert (await asked).is_yes
        asker.make_room()
        assert await asyncio.to_thread(os.read, eyes, 4096) == b"y\r\n"
        monkeypatch.undo()
    os.close(keys)
    os.close(eyes)
