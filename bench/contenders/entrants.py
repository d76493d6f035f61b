"""Who is measured: two floors, ours, and the alternatives, each with the command that starts its driver in its own environment."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.drivers import PATIENCE, Driver
from bench.parts import ROOT, node, npm_modules, npm_version, python_of, python_of_parts, python_version
from bench.processes import finished

HERE = Path(__file__).parent
GIT_SECONDS = 10.0


@dataclass(frozen=True)
class Entrant:
    key: str
    title: str
    # Raises parts.Unavailable.
    command: Callable[[], list[str]]
    env: Callable[[], dict[str, str]] = field(default=dict)
    # For one command.
    patience: float = PATIENCE
    # Its own call that opens a whole list of servers, as its documentation writes it; empty when it has none.
    opens_lists: str = ""
    # Raises processes.Failed, OSError.
    version: Callable[[], str] = str

    def driver(self) -> Driver:
        return Driver(self.command(), env=self.env(), patience=self.patience)


def _python(
    key: str, title: str, module: str, package: str, python: Callable[[], str], opens_lists: str = ""
) -> Entrant:
    return Entrant(
        key,
        title,
        lambda: [python(), "-m", module],
        opens_lists=opens_lists,
        version=lambda: f"{package} {python_version(python(), package)}",
    )


def _node(key: str, title: str, script: str, package: str, opens_lists: str = "") -> Entrant:
    return Entrant(
        key,
        title,
        lambda: [node(), str(HERE / script)],
        lambda: {"BENCH_MODULES": npm_modules()},
        opens_lists=opens_lists,
        version=lambda: f"{package} {npm_version(package)}",
    )


def our_version() -> str:
    """That of the package, and the commit where there is one."""
    version = python_version(sys.executable, "openclaw-host")
    if not (ROOT / ".git").exists():
        return version
    describe = ["git", "describe", "--always", "--dirty"]
    return f"{version} at {finished(describe, dict(os.environ), cwd=ROOT, patience=GIT_SECONDS).strip()}"


FLOOR = Entrant(
    "floor", "plain client: asyncio, json (the floor)", lambda: [sys.executable, "-m", "bench.floor.driver"]
)
FAST_FLOOR = Entrant(
    "fast-floor",
    "plain client: uvloop, msgspec (the fast floor)",
    lambda: [sys.executable, "-m", "bench.floor.fast"],
)
FLOORS = (FLOOR, FAST_FLOOR)
OURS = Entrant(
    "ours",
    "OpenClaw",
    lambda: [sys.executable, "-m", "bench.ours.driver"],
    opens_lists="its config",
    version=our_version,
)
TS_SDK = _node("ts-sdk", "TypeScript SDK", "ts_sdk.mjs", "@modelcontextprotocol/client")
LANGCHAIN = _python(
    "langchain",
    "langchain-mcp-adapters",
    "bench.contenders.langchain",
    "langchain-mcp-adapters",
    partial(python_of, "langchain"),
    "get_tools()",
)
MCPORTER = _node("mcporter", "mcporter", "mcporter.mjs", "mcporter", "createRuntime({ servers })")
ALTERNATIVES = (
    TS_SDK,
    MCPORTER,
    _python("python-sdk", "Python SDK", "bench.contenders.python_sdk", "mcp", partial(python_of, "python-sdk")),
    _python(
        "fastmcp",
        "FastMCP",
        "bench.contenders.fastmcp",
        "fastmcp",
        partial(python_of_parts, "fastmcp"),
        "Client({'mcpServers': …})",
    ),
    _python(
        "mcp-use",
        "mcp-use",
        "bench.contenders.mcp_use",
        "mcp-use",
        partial(python_of, "mcp-use"),
        "create_all_sessions()",
    ),
    LANGCHAIN,
    _python(
        "pydantic-ai",
        "pydantic-ai",
        "bench.contenders.pydantic_ai",
        "pydantic-ai-slim",
        partial(python_of, "pydantic-ai"),
    ),
    _python(
        "openai-agents",
        "openai-agents",
        "bench.contenders.openai_agents",
        "openai-agents",
        partial(python_of, "openai-agents"),
        "MCPServerManager(…, connect_in_parallel=True)",
    ),
)
EVERYBODY = (*FLOORS, OURS, *ALTERNATIVES)
