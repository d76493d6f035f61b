"""The example of the how-to page runs as it stands."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "embed_engine.py"


def test_the_embedding_example_lists_calls_and_reports() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=60, check=True)
    year = str(datetime.now(UTC).year)
    assert done.stdout.splitlines() == [
        "event: StateChanged",
        "event: ToolsChanged",
        "event: StateChanged",
        "clock__now - [MCP server: clock] The time in UTC. ['format']",
        f"answer: {year} error: False",
        f"as the server sent it: {{'content': [{{'type': 'text', 'text': '{year}'}}], 'isError': False}}",
        'error: True - The arguments do not fit their schema: format is not of type "string".',
        "clock ready 2025-11-25 1 tool(s)",
    ]
    assert done.stderr == ""
