"""Twelve popular servers that nobody here wrote, fetched for the first time, and a thirteenth that hangs.

The first turn of a single command carries the tools of all twelve to the model, with the times that hold when nothing is set; the hanging
one costs its time once, and is named always.
"""

import json
import os
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from openclaw.process.run import run
from parts.command_line import Home, local_model
from parts.model_servers import Answer, MessagesServer

pytestmark = [pytest.mark.full, pytest.mark.minutes(8), pytest.mark.timeout(1500)]

# They are fetched by the first command, which takes most of a minute on a machine that does nothing else.
FETCH_GUARD = 400.0
FROM_NPM = {
    "everything": ("@modelcontextprotocol/server-everything",),
    "filesystem": ("@modelcontextprotocol/server-filesystem", "."),
    "memory": ("@modelcontextprotocol/server-memory",),
    "thinking": ("@modelcontextprotocol/server-sequential-thinking",),
    "github": ("@modelcontextprotocol/server-github",),
    "playwright": ("@playwright/mcp",),
    "context7": ("@upstash/context7-mcp",),
    "devtools": ("chrome-devtools-mcp",),
    "notion": ("@notionhq/notion-mcp-server",),
}
FROM_PYPI = {"time": "mcp-server-time", "fetch": "mcp-server-fetch", "git": "mcp-server-git"}


async def uvx(folder: Path) -> str:
    """The launcher of Python programs, installed as a person installs it."""
    venv.create(folder, with_pip=True)
    done = await run(
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"], timeout=300, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr.decode()
    return str(folder / "bin" / "uvx")


def entries(launcher: str, folder: Path) -> dict[str, Any]:
    more: dict[str, Any] = {"cwd": str(folder)}
    found = {name: {"command": "npx", "args": ["-y", *words], **more} for name, words in FROM_NPM.items()}
    found |= {
        name: {"command": launcher, "args": ["--python", sys.executable, package], **more}
        for name, package in FROM_PYPI.items()
    }
    return {**found, "hanging": {"command": "sleep", "args": ["600"], "connectionTimeoutMs": 5000}}


async def test_the_first_turn_carries_the_tools_of_twelve_servers_that_were_never_fetched(tmp_path: Path) -> None:
    launcher = await uvx(tmp_path / "uv")
    servers = entries(launcher, tmp_path)
    healthy = set(servers) - {"hanging"}
    # A wire on which so many tools may be offered.
    async with MessagesServer([Answer("Hello.")] * 3) as model:
        sections = local_model(model.url, model.key)
        sections["models"]["providers"]["local"]["api"] = "anthropic-messages"
        # All tools in the request itself, so that it shows whose there are.
        home = Home(tmp_path, mcp={"servers": servers}, tools={"search": {"mode": "off"}}, **sections)
        # How this machine reaches the registries; the caches are in the home, which is empty.
        kept = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
        home.environ |= {name: os.environ[name] for name in kept if name in os.environ}
        for _ in range(3):
            done = await home.openclaw("agent", "-m", "hello", guard=FETCH_GUARD)
            assert (done.code, "Without hanging: it did not come up within 5 s. " in done.err) == (0, True)
            assert done.err.count("Without ") == 1
        for request in model.requests:
            offered = {tool["name"].partition("__")[0] for tool in request["tools"]}
            assert healthy <= offered
            assert 'note="it did not come up within 5 s"' in json.dumps(request["system"]).replace('\\"', '"')
        listed = {one["name"]: one for one in json.loads((await home.openclaw("mcp", "servers", "--json")).out)}
        assert {name for name, one in listed.items() if one["state"] == "ready"} == healthy
