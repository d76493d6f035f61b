"""Questions of a command that leads its person through something, a line at a time, each with an answer that Enter takes.

Only at a terminal, and only for what can be done again: what a server or a call asks goes through an `Asker`, where Enter is never a yes.
A secret is typed unseen. The end of input stops the command.
"""

import asyncio
import sys
from collections.abc import Sequence

from openclaw.cli.keyboard import Keyboard
from openclaw.commands.console import Console
from openclaw.control.terminal_modes import line_unseen
from openclaw.errors import OpenClawError
from openclaw.security.external import clean_terminal


class StoppedError(OpenClawError):
    """The person left before everything was asked."""

    def __init__(self) -> None:
        super().__init__("Stopped. What was written before stays.", hint="It can be run again.")


class Prompts:
    """`unattended` takes the answer that Enter would, and asks nobody."""

    def __init__(self, console: Console, *, unattended: bool = False) -> None:
        self._console = console
        self._keyboard = Keyboard()
        self.unattended = unattended

    async def text(self, question: str, default: str = "") -> str:
        if self.unattended:
            return default
        # A wait of the command would leave its person typing unseen.
        with self._console.live.hidden():
            self._console.err(clean_terminal(f"{question}{f' [{default}]' if default else ''}: "))
            return await self._line() or default

    async def yes(self, question: str, *, default: bool) -> bool:
        while True:
            said = (await self.text(f"{question} [{'Y/n' if default else 'y/N'}]")).lower()
            if said in ("", "y", "yes", "n", "no"):
                return default if not said else said.startswith("y")
            self._console.note("Type y or n.")

    async def choice(self, question: str, options: Sequence[str], default: int = 0) -> int:
        """Which of the options, from 0 on. They are shown with numbers from 1 on; how only one of their lines begins does as well."""
        self._console.note(question)
        for number, option in enumerate(options, 1):
            # Two blanks: what is folded stands below the words, and not below the number.
            self._console.note(f"  {number})  {option}")
        while True:
            said = await self.text("Number", str(default + 1))
            if said.isdecimal() and 1 <= int(said) <= len(options):
                return int(said) - 1
            begin_so = [at for at, option in enumerate(options) if option.lower().startswith(said.lower())]
            if len(begin_so) == 1:
                return begin_so[0]
            self._console.note(f"Type a number from 1 to {len(options)}, or how the line of one begins.")

    async def hidden(self, question: str) -> str:
        """A secret. Nothing of it is shown, not even its length. Empty when nothing was typed."""
        # In this order: who sees the question may type at once.
        with self._console.live.hidden(), line_unseen(sys.stdin.fileno()):
            self._console.err(clean_terminal(f"{question} (nothing is shown): "))
            line = await self._line()
            self._console.err("\n")
            return line

    async def _line(self) -> str:
        try:
            line = await self._keyboard.line()
        except OSError:
            line = None
        except asyncio.CancelledError:
            # What comes next, be it the shell's, begins at the edge.
            self._console.note("")
            raise
        if line is None:
            self._console.note("")
            raise StoppedError()
        return line.strip()
