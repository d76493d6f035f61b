"""The MCP client works over stdio and HTTP where no library but its own three can be imported."""

import asyncio
import json
import os
import sys
from pathlib import Path

from parts.http_server import HttpServer, Plan

ROOT = Path(__file__).parents[2]
CLOCK = ROOT / "docs" / "examples" / "clock_server.py"
CORE = ("openclaw", "msgspec", "jsonschema_rs", "uvloop")

# A program as its author writes it, behind a finder that knows nothing else.
PROGRAM = """
import asyncio, importlib.abc, json, sys

class CoreAlone(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first not in CORE and first not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

CORE = sys.argv[1].split()
sys.meta_path.insert(0, CoreAlone())

from openclaw.mcp import Manager, Server

async def main():
    servers = [Server("clock", command=sys.executable, args=[sys.argv[2]]), Server("web", url=sys.argv[3])]
    async with Manager(servers) as manager:
        now = await manager.call("clock__now", {"format": "at %%"})
        echo = await manager.call("web__echo", {"text": "hello"})
        wrong = await manager.call("clock__now", {"format": 7})
        print(json.dumps([now.text, echo.is_error, wrong.is_error, len(manager.tools()) > 2]))

asyncio.run(main())
"""


async def test_the_client_alone_needs_three_libraries(tmp_path: Path) -> None:
    async with HttpServer(Plan()) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, " ".join(CORE), str(CLOCK), server.url),
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENCLAW_HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    assert json.loads(out) == ["at %", False, True, True]
