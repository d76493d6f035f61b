"""What commands list and explain, at a narrow, a usual and a wide terminal: no row is wider than the window, whoever wrote
its words."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.gateways import PROGRAM, Home, gateway_process, home, stdio_server
from parts.terminal import Terminal

LONG = {
    "a-server-with-a-long-name-as-some-have": stdio_server(
        "--with-a-long-option", "/and/a/path/that/goes/on/and/on/for/a/while"
    ),
    "gone": {"command": "a-program-that-is-not-there", "args": ["--with", "a few", "words"]},
    "far": {"url": "http://127.0.0.1:9/a/path/that/goes/on/and/on/for/a/while/mcp", "enabled": False},
    "part": stdio_server(),
}
COMMANDS = """
status
doctor
mcp servers
mcp status part
mcp status gone
mcp tools
mcp tools part
mcp resources
mcp prompts
mcp call part__slow --help
mcp import
tools list
tools explain part__slow
tools explain nothing_of_this_name
sessions list
audit tail
approvals list
skills list
models list
keys list
secrets audit
gateway status
config validate
--help
mcp --help
agent --help
mistyped
mcp call part__slo
mcp status nobody
config get nothing.is.here
mcp call --yes part__crash
""".strip().splitlines()
# A path, an address or a command is there to be copied: it stands whole on a row of its own.
WHOLE = re.compile(r" *(?:\S+|`[^`]*`\S?)")
STYLE = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as found:
        found.save(
            {"mcp": {"servers": LONG}, "tools": {"deny": ["a_tool_that_nobody_has_ever_heard_of_under_this_name"]}}
        )
        with gateway_process(found) as gateway:
            gateway.wait_until("'part' is ready")
            found.run(
                "agent", "--session-key", "a key that is as long as keys of conversations may be", "-m", "word " * 60
            )
            yield found


@pytest.mark.parametrize(
    ("columns", "env"),
    [(60, {"LC_ALL": "C.UTF-8"}), (100, {"LC_ALL": "C.UTF-8", "NO_COLOR": "1"}), (200, {"LC_ALL": "C"})],
    ids=["60", "100 without colour", "200 in ASCII"],
)
def test_no_row_is_wider_than_the_window(place: Home, columns: int, env: dict[str, str]) -> None:
    too_wide = []
    for command in COMMANDS:
        words = [*PROGRAM, *command.split()]
        with Terminal(words, cwd=place.state, env={**place.env, **env}, columns=columns) as terminal:
            # What is shown while one waits is drawn over, from the beginning of its row.
            rows = re.split(r"\r?\n|\r", terminal.ends()[1])
            too_wide += [f"{command}: {row}" for row in rows if len(row) > columns and not WHOLE.fullmatch(row)]
            assert "NO_COLOR" not in env or not STYLE.search(terminal.received)
            assert env["LC_ALL"] != "C" or terminal.received.isascii()
    assert too_wide == []
