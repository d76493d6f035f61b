"""Config, credentials and servers without agents: parts that are made once, whoever asks for them first."""

import asyncio
from pathlib import Path

from openclaw.engine import Engine
from parts.command_line import Home, parts_server


async def test_all_who_ask_at_the_same_moment_get_one_manager(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
    async with Engine(home.config(), paths=home.paths, env=home.environ, through_gateway=True) as engine:
        one, other = await asyncio.gather(engine.manager(), engine.manager())
    assert one is other
