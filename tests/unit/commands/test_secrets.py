"""`openclaw secrets check` and `openclaw secrets audit`, run as a terminal runs them."""

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Command, Parsed
from openclaw.commands.secrets import audit, check
from openclaw.commands.table import tree
from openclaw.config.paths import Paths

CONFIG = """{
  mcp: {servers: {
    a: {command: "x", env: {K: "secret://env/GOOD", TOKEN: "in-plain-sight"}},
    b: {command: "x", env: {K: "secret://env/BAD", L: "secret://env/GOOD"}},
  }},
}"""


def nothing() -> AbstractAsyncContextManager[Any]:
    raise AssertionError("these commands need no app")


class Terminal:
    def __init__(self, folder: Path, config: str) -> None:
        (folder / "openclaw.json").write_text(config)
        self.file = folder / "openclaw.json"
        self.env = {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(self.file), "GOOD": "the-hidden-value"}
        self.out = ""
        self.err = ""

    async def run(self, handler: Callable[[Context, Parsed], Awaitable[int]], **flags: bool) -> int:
        console = Console(out=self._print, err=self._note)
        context = Context(console, Paths.from_env(self.env), self.env, self.file.parent, nothing, nothing, tree())
        return await handler(context, Parsed(Command("secrets", ""), (), flags))

    def _print(self, text: str) -> None:
        self.out += text

    def _note(self, text: str) -> None:
        self.err += text


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, CONFIG)


async def test_check_says_which_references_work_and_fails_when_one_does_not(terminal: Terminal) -> None:
    assert await terminal.run(check) == 1
    assert terminal.out.splitlines() == [
        "ok      secret://env/GOOD",
        "        used at openclaw.json:3 mcp.servers.a.env.K",
        "        used at openclaw.json:4 mcp.servers.b.env.L",
        "failed  secret://env/BAD cannot be resolved: the environment variable BAD is not set. "
        "Set it where OpenClaw is started.",
        "        used at openclaw.json:4 mcp.servers.b.env.K",
    ]


async def test_check_succeeds_when_every_reference_works_and_prints_no_value(terminal: Terminal) -> None:
    terminal.env["BAD"] = "another-hidden-value"
    assert await terminal.run(check, json=True) == 0
    assert json.loads(terminal.out) == {
        "ok": True,
        "references": [
            {
                "reference": "secret://env/GOOD",
                "ok": True,
                "used": ["openclaw.json:3 mcp.servers.a.env.K", "openclaw.json:4 mcp.servers.b.env.L"],
                "error": "",
            },
            {
                "reference": "secret://env/BAD",
                "ok": True,
                "used": ["openclaw.json:4 mcp.servers.b.env.K"],
                "error": "",
            },
        ],
    }
    assert "hidden-value" not in terminal.out + terminal.err


async def test_check_of_a_config_without_references_says_so(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "{}")
    assert await terminal.run(check) == 0
    assert terminal.out == "The config holds no secret references.\n"


async def test_audit_lists_plaintext_credentials_with_file_and_line(terminal: Terminal) -> None:
    assert await terminal.run(audit) == 0
    assert terminal.out == f"{terminal.file}:3  mcp.servers.a.env.TOKEN  (MCP server a)\n"
    assert "in-plain-sight" not in terminal.out + terminal.err


async def test_audit_fails_on_a_finding_only_when_asked_to(terminal: Terminal) -> None:
    assert await terminal.run(audit, json=True, check=True) == 1
    assert json.loads(terminal.out) == {
        "ok": False,
        "findings": [
            {
                "kind": "server",
                "name": "a",
                "path": "mcp.servers.a.env.TOKEN",
                "file": str(terminal.file),
                "line": 3,
            }
        ],
    }


async def test_audit_of_a_clean_config_says_so(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "{}")
    assert await terminal.run(audit, check=True) == 0
    assert terminal.out == f"No credential stands in plain sight in {terminal.file}.\n"
