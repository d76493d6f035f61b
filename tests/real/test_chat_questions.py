"""Questions of server-everything in a chat at a real pseudo-terminal: a form and a page, in this process and through a gateway."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from parts.gateways import PROGRAM, Home, gateway_process, home
from parts.peers import npm
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

pytestmark = pytest.mark.real

PAGE = {"url": "https://connect.example.com/s/1", "message": "Connect your bank."}


@contextmanager
def chat(folder: Path, *where: str) -> Iterator[Terminal]:
    """A chat whose model lets the server ask for a form twice, then for a page."""
    asked = [
        ("trigger-elicitation-request", {}),
        ("trigger-elicitation-request", {}),
        ("trigger-url-elicitation", PAGE),
    ]
    turns = [
        turn
        for name, arguments in asked
        for turn in (
            {"toolCalls": [{"name": f"everything__{name}", "arguments": arguments}]},
            {"text": "It says: {result}"},
        )
    ]
    command, *arguments = npm("mcp-server-everything", "stdio")
    with home(folder) as place:
        servers = {"everything": {"command": command, "args": arguments}}
        # What is asked about is what the server asks.
        place.save(
            place.script(*turns),
            mcp={"servers": servers, "startupGraceMs": 60_000},
            tools={"approval": {"mode": "off"}},
        )
        with nullcontext() if where else gateway_process(place), at_a_terminal(place, "chat", *where) as terminal:
            terminal.shows(">")
            yield terminal


def at_a_terminal(place: Home, *words: str) -> Terminal:
    # Asking where the cursor is needs a terminal that answers.
    return Terminal([*PROGRAM, *words], cwd=place.state, env={**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"})


@pytest.mark.parametrize("where", [(), ("--local",)])
def test_a_form_and_a_page_are_answered_and_ctrl_c_ends_the_turn_alone(tmp_path: Path, where: tuple[str, ...]) -> None:
    with chat(tmp_path, *where) as terminal:
        terminal.type(f"fill it in{ENTER}")
        terminal.shows("String (text): ")
        terminal.type(f"Yu{ENTER}")
        terminal.shows("Boolean (y/n) [left out]: ")
        terminal.type(f"y{ENTER}")
        for field in ("with default", "email", "uri", "date", "Integer (1–100) [42]", "[3.14]", "[Monica]"):
            terminal.shows(field)
            terminal.shows(": ")
            terminal.type(ENTER)
        terminal.shows("[Guitar]: ")
        terminal.type(f"2, Drums{ENTER}")
        terminal.shows("[Superman]: ")
        terminal.type(ENTER)
        for field in ("[Tuna]: ", "[Cats]: "):
            terminal.shows(field)
            terminal.type(ENTER)
        reviewed = terminal.shows("[s]end   [e]dit   [d]ecline   [Esc] not now: ")
        assert "Piano, Drums" in reviewed
        terminal.type("s")
        terminal.shows("User provided the requested information")
        terminal.shows(">")

        terminal.type(f"once more{ENTER}")
        terminal.shows("String (text): ")
        terminal.type(CONTROL_C)
        terminal.shows("(stopped)")
        terminal.shows(">")

        terminal.type(f"go on{ENTER}")
        terminal.shows(">")
        terminal.type(f"open it{ENTER}")
        # The server's words were read by now, and the call names a host that nobody wrote.
        terminal.shows("Careful: in this conversation server everything sent text that nobody checked.\r\n")
        terminal.shows("d details: ")
        terminal.type("y")
        terminal.shows("  https://connect.example.com/s/1\r\n  host: connect.example.com\r\n")
        terminal.shows("[Esc] not now: ")
        terminal.type("c")
        terminal.shows("[y] I open it myself")
        terminal.shows("[Esc] not now: ")
        terminal.type("y")
        terminal.shows("It says: ")
        terminal.shows(">")
        assert terminal.takes_lines() is False  # the line editor of the chat has it
        terminal.type(CONTROL_D)
        assert terminal.ends()[0] == 0
        assert terminal.takes_lines()
