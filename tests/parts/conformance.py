"""The program of the MCP conformance suite."""

import subprocess
from pathlib import Path

from parts.cache import node, npm_folder

SUITE = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
HANG_GUARD = 110.0


def run_suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node(), str(npm_folder() / SUITE), *arguments], capture_output=True, text=True, timeout=HANG_GUARD
    )
