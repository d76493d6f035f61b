"""`openclaw …` in the process of the test: the real tree, dispatch, engine and files, without the start of a program.

done = await run_here(home, "mcp", "connect", "python3", "server.py", cwd=folder)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, Surface, dispatch
from openclaw.engine import Engine
from openclaw.program import ROOT
from parts.command_line import Done, Home


def context_of(home: Home, console: Console, *, cwd: Path | None = None, surface: Surface = "terminal") -> Context:
    """What a command is run with in this home."""

    @asynccontextmanager
    async def open_engine() -> AsyncIterator[Engine]:
        async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
            yield engine

    @asynccontextmanager
    async def open_app() -> AsyncIterator[App]:
        async with App(home.config(), paths=home.paths, env=home.environ) as app:
            yield app

    return Context(
        console=console,
        paths=home.paths,
        env=home.environ,
        cwd=cwd or home.folder,
        open_app=open_app,
        open_engine=open_engine,
        root=ROOT,
        surface=surface,
    )


async def run_here(
    home: Home, *words: str, cwd: Path | None = None, surface: Surface = "terminal", **console: Any
) -> Done:
    """One command to its end, in a pipe unless `console` says otherwise."""
    out: list[str] = []
    err: list[str] = []
    shown = Console(out=out.append, err=err.append, **{"width": 0, **console})
    code = await dispatch(words, context_of(home, shown, cwd=cwd, surface=surface))
    return Done(code, "".join(out), "".join(err))
