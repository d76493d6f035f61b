"""What is large holds nobody up: sixty megabytes of structured content, a hundred thousand tools, a million keys."""

import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.errors import UsageError
from openclaw.gateway.http import object_of
from openclaw.mcp.manager import Manager
from openclaw.media import MediaStore
from openclaw.tool import Invocation
from parts.stalls import watched

pytestmark = [pytest.mark.full, pytest.mark.alone]
# Seconds of computing in one go.
LONGEST = 0.1
# To give names to all that a list offers is one step, which a busy machine stretches.
LONGEST_OF_A_LIST = 0.15
PARTS = Path(__file__).parent.parent / "parts"

STRUCTURED = """
import json, sys
shape = {"type": "object", "additionalProperties": {"type": "object"}}
tool = {"name": "big", "inputSchema": {"type": "object"}, "outputSchema": shape}
about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "big", "version": "1"}}
value = {f"key {n}": {"number": n, "text": "x" * 24} for n in range(900_000)}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {"initialize": about, "tools/list": {"tools": [tool]}, "ping": {}}
    results["tools/call"] = {"content": [], "structuredContent": value}
    found = results.get(message["method"])
    told = {"result": found} if found is not None else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


async def test_sixty_megabytes_of_structured_content_stop_nobody(tmp_path: Path) -> None:
    spec = ServerSpec("big", command=sys.executable, args=("-S", "-c", STRUCTURED), call_timeout=100.0)
    async with Manager([spec], media=MediaStore(tmp_path / "media")) as manager:
        (tool,) = manager.tools()
        async with watched() as stalls:
            result = await tool.run({}, Invocation("main", "s", tmp_path))
    assert not result.is_error
    assert stalls.worst < LONGEST


async def test_a_list_of_a_hundred_thousand_tools_stops_nobody(tmp_path: Path) -> None:
    arguments = ("-S", str(PARTS / "many_tools.py"), "100000")
    spec = ServerSpec("many", command=sys.executable, args=arguments, connect_timeout=100.0)
    async with watched() as stalls:
        async with Manager([spec], state=tmp_path) as manager:
            await manager.server("many").refresh()
            assert manager.status()[0].tools > 1_000
    assert stalls.worst < LONGEST_OF_A_LIST


async def test_a_million_keys_for_a_tool_are_refused_before_they_are_read() -> None:
    body = b'{"tool":"x","args":{' + b",".join(b'"key%d":1' % number for number in range(1_000_000)) + b"}}"
    async with watched() as stalls:
        with pytest.raises(UsageError, match="more than 100,000 keys"):
            object_of(body, dict[str, Any])
    assert stalls.worst < LONGEST
