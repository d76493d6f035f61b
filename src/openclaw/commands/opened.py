"""The servers of an agent, for a command that is about them. A person at a terminal is told what is waited for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.waiting import told_of_waiting
from openclaw.config.agents import agent as agent_spec
from openclaw.engine import Engine
from openclaw.mcp.manager import Manager


@asynccontextmanager
async def opened(context: Context, parsed: Parsed) -> AsyncIterator[tuple[Engine, Manager, str]]:
    """The engine and the agent asked about."""
    async with context.open_engine() as engine:
        agent = agent_spec(engine.config, parsed.text("agent")).id
        manager = await engine.manager()
        async with told_of_waiting(context.console, manager, agent):
            yield engine, manager, agent
