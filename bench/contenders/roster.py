"""Who is measured: the floor, ours, and the alternatives, each with the command that starts its driver in its own environment."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.drivers import PATIENCE, Driver
from bench.parts import node, npm_modules, python_of, python_of_parts

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entrant:
    key: str
    title: str
    # Raises parts.Unavailable.
    command: Callable[[], list[str]]
    env: Callable[[], dict[str, str]] = field(default=dict)
    # For one command.
    patience: float = PATIENCE

    def driver(self) -> Driver:
        return Driver(self.command(), env=self.env(), patience=self.patience)


def _module(python: Callable[[], str], module: str) -> Callable[[], list[str]]:
    return lambda: [python(), "-m", module]


def _script(name: str) -> Callable[[], list[str]]:
    return lambda: [node(), str(HERE / name)]


def _modules() -> dict[str, str]:
    return {"BENCH_MODULES": npm_modules()}


def _ours() -> str:
    return sys.executable


FLOOR = Entrant("floor", "plain client (the floor)", _module(_ours, "bench.floor.driver"))
OURS = Entrant("ours", "OpenClaw", _module(_ours, "bench.ours.driver"))
TS_SDK = Entrant("ts-sdk", "TypeScript SDK", _script("ts_sdk.mjs"), _modules)
ALTERNATIVES = (
    TS_SDK,
    Entrant("mcporter", "mcporter", _script("mcporter.mjs"), _modules),
    Entrant("python-sdk", "Python SDK", _module(_ours, "bench.contenders.python_sdk")),
    Entrant("fastmcp", "FastMCP", _module(lambda: python_of_parts("fastmcp"), "bench.contenders.fastmcp")),
    Entrant("mcp-use", "mcp-use", _module(lambda: python_of("mcp-use"), "bench.contenders.mcp_use")),
    Entrant(
        "langchain", "langchain-mcp-adapters", _module(lambda: python_of("langchain"), "bench.contenders.langchain")
    ),
    Entrant("pydantic-ai", "pydantic-ai", _module(lambda: python_of("pydantic-ai"), "bench.contenders.pydantic_ai")),
    Entrant(
        "openai-agents", "openai-agents", _module(lambda: python_of("openai-agents"), "bench.contenders.openai_agents")
    ),
)
EVERYBODY = (FLOOR, OURS, *ALTERNATIVES)
