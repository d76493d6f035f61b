"""Signatures of tools that others wrote, and one call of a server from npm that is not in the config."""

import asyncio
import shlex
from pathlib import Path

import pytest

from parts.gateways import home
from parts.peers import npm

pytestmark = pytest.mark.real


async def test_a_server_from_npm_is_listed_explained_and_called_without_a_config(tmp_path: Path) -> None:
    program = shlex.join(npm("mcp-server-everything", "stdio"))
    with home(tmp_path) as place:
        listed = await asyncio.to_thread(place.run, "mcp", "tools", "--yes", "--stdio", program)
        words = ("mcp", "call", "--yes", "--stdio", program, "get-sum")
        shown = await asyncio.to_thread(place.run, *words, "--help")
        called = await asyncio.to_thread(place.run, *words, "a=2", "b=40")
    assert "get-sum(a: number, b: number)\n" in listed.stdout
    assert "  a  number, required\n" in shown.stdout
    assert (called.returncode, "42" in called.stdout) == (0, True), called.stderr
