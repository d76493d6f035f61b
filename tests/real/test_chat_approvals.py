"""Approvals in a chat at a real pseudo-terminal, with server-filesystem: a write asks, a yes for good is remembered and listed, and ends
with the tool's definition and when it is taken back; in this process and through a gateway."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from parts import reworded
from parts.gateways import PROGRAM, Home, gateway_process, home
from parts.peers import npm
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

pytestmark = pytest.mark.real

KEYS = "n no · r no, with a reason · d details: "


@dataclass(frozen=True)
class Room:
    """A chat whose model writes a note each time it is spoken to."""

    place: Home
    notes: Path
    terminal: Terminal

    def asks(self, number: int) -> str:
        """What is shown when it is told to write, up to the keys."""
        self.terminal.type(f"write {number}{ENTER}")
        return self.terminal.shows(KEYS)

    def says(self, *told: str) -> None:
        """The end of a turn."""
        for text in told:
            self.terminal.shows(text)
        self.terminal.shows(">")

    def written(self) -> list[str]:
        return sorted(file.name for file in self.notes.iterdir())

    def grants(self) -> list[str]:
        return self.place.run("approvals", "grants").stdout.splitlines()


@contextmanager
def room(folder: Path, *where: str) -> Iterator[Room]:
    notes = folder / "notes"
    notes.mkdir()

    def write(number: int) -> tuple[dict[str, object], ...]:
        arguments = {"path": str(notes / f"{number}.txt"), "content": "milk"}
        return {"toolCalls": [{"name": "files__write_file", "arguments": arguments}]}, {"text": "It says: {result}"}

    command = [sys.executable, "-S", "-E", reworded.__file__, str(folder / "words"), *npm("mcp-server-filesystem")]
    with home(folder) as place:
        place.save(
            place.script(*(turn for number in range(1, 7) for turn in write(number))),
            mcp={"servers": {"files": {"command": command[0], "args": [*command[1:], str(notes)]}}},
        )
        environ = {**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"}
        with (
            nullcontext() if where else gateway_process(place),
            Terminal([*PROGRAM, "chat", *where], cwd=place.state, env=environ, columns=300) as terminal,
        ):
            terminal.shows(">")
            yield Room(place, notes, terminal)


@pytest.mark.parametrize("where", [(), ("--local",)])
def test_a_yes_for_good_is_remembered_until_the_tool_is_another_or_it_is_taken_back(
    tmp_path: Path, where: tuple[str, ...]
) -> None:
    with room(tmp_path, *where) as chat:
        assert "files wants to call write_file" in chat.asks(1)
        chat.terminal.type("a")
        chat.says("Successfully wrote")

        # Without a question.
        chat.terminal.type(f"write 2{ENTER}")
        assert KEYS not in chat.terminal.shows("Successfully wrote")
        chat.says()
        line = chat.grants()[1]
        assert line.split()[1:3] == ["files", "write_file"]

        # What the server says of its tool is something else from now on.
        (tmp_path / "words").write_text("It may also send it to others.")
        chat.terminal.type(f"/mcp refresh files{ENTER}")
        chat.says("files")
        assert "You allowed calls of this tool before. Its server has changed it since." in chat.asks(3)
        chat.terminal.type("n")
        chat.says("It says: files__write_file was not called: the person declined.")

        # And what it was before again.
        (tmp_path / "words").write_text("")
        chat.terminal.type(f"/mcp refresh files{ENTER}")
        chat.says("files")
        chat.terminal.type(f"write 4{ENTER}")
        assert KEYS not in chat.terminal.shows("Successfully wrote")
        chat.says()

        assert chat.place.run("approvals", "revoke", line.split()[0]).returncode == 0
        chat.asks(5)
        chat.terminal.type(CONTROL_C)
        chat.says("(stopped)")
        assert chat.grants() == ["Nothing is allowed for good. A question offers that with `a` or `t`."]
        # The turn ended, and nothing else did.
        chat.terminal.type(f"go on{ENTER}")
        chat.says("It says: The call was cancelled.")
        chat.asks(6)
        chat.terminal.type("y")
        chat.says()
        assert chat.written() == ["1.txt", "2.txt", "4.txt", "6.txt"]
        chat.terminal.type(CONTROL_D)
        assert chat.terminal.ends()[0] == 0
