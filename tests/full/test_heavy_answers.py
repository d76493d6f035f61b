"""What is large holds nobody up: sixty megabytes of structured content, a hundred thousand tools, a million keys."""

import asyncio
import sys
from pathlib import Path

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.conversation import Conversation
from openclaw.mcp.manager import Manager
from openclaw.media import MediaStore
from openclaw.redact import remember
from openclaw.tool import Invocation
from parts.gateways import Running, home, running, stdio_server
from parts.stalls import watched

pytestmark = [pytest.mark.full, pytest.mark.alone]
# Seconds of computing in one go.
LONGEST = 0.1
PARTS = Path(__file__).parent.parent / "parts"

STRUCTURED = """
import json, sys
shape = {"type": "object", "additionalProperties": {"type": "object", "required": ["number"]}}
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
    # As in every gateway: what is known to be secret is looked for.
    for number in range(20):
        remember(f"token-{number}-of-a-server-that-is-known")
    spec = ServerSpec("big", command=sys.executable, args=("-S", "-c", STRUCTURED), call_timeout=100.0)
    async with Manager([spec], media=MediaStore(tmp_path / "media")) as manager:
        (tool,) = manager.tools()
        async with watched() as stalls:
            result = await tool.run({}, Invocation(Conversation("main", "s", workspace=tmp_path)))
    # Held against its schema, too: nothing says otherwise.
    assert (result.is_error, len(result.content)) == (False, 1)
    assert stalls.worst < LONGEST


# As many as can be held: with nothing but a name. In the second form all of them want the same one.
BARE = """
import json, sys
same = sys.argv[1:] == ["same"]
names = [chr(0x4e00 + n // 350) + chr(0x4e00 + n % 350) if same else f"t{n:06}" for n in range(100_000)]
listed = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bare", "version": "1"}}
called = {"content": [{"type": "text", "text": "done"}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        results = {"initialize": about, "tools/list": listed, "ping": {}, "tools/call": called}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}), flush=True)
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("arguments", "held", "last"),
    [
        pytest.param((str(PARTS / "many_tools.py"), "100000"), 14_149, "many__tool_14148", id="described"),
        pytest.param(("-c", BARE), 100_000, "many__t099999", id="bare"),
        pytest.param(("-c", BARE, "same"), 100_000, "many__---100000", id="of one name"),
    ],
)
async def test_a_list_of_a_hundred_thousand_tools_stops_nobody(
    tmp_path: Path, arguments: tuple[str, ...], held: int, last: str
) -> None:
    spec = ServerSpec("many", command=sys.executable, args=("-S", *arguments), connect_timeout=100.0)
    async with watched() as stalls:
        async with Manager([spec], state=tmp_path) as manager:
            await manager.server("many").refresh()
            assert manager.status()[0].tools == held
            assert not (await manager.call(last, {"path": "x"})).is_error
    assert stalls.worst < LONGEST


# The other side of a request, in a process of its own: only what the gateway computes counts.
SENDER = """
import sys, urllib.error, urllib.request
url, token, prefix, word, count, suffix = sys.argv[1:]
words = [word % number if "%" in word else word for number in range(int(count))]
body = prefix + ("," if "%" in word else "").join(words) + suffix
request = urllib.request.Request(url, body.encode(), {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
try:
    with urllib.request.urlopen(request) as answer:
        print(answer.status, answer.read(2000).decode())
except urllib.error.HTTPError as error:
    print(error.status, error.read().decode())
"""


async def answer_to(gateway: Running, prefix: str, word: str, count: int, suffix: str) -> str:
    url = f"{gateway.url}/v1/tools/invoke"
    arguments = [url, gateway.home.token, prefix, word, str(count), suffix]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SENDER, *arguments, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    return said.decode()


@pytest.mark.parametrize(
    ("word", "count", "status"),
    [
        pytest.param('"key%d":1', 1_000_000, "400", id="a million keys"),
        pytest.param('"key%d":1', 99_000, "200", id="as many keys as may be"),
        pytest.param('"key%d":{"of":[]}', 49_000, "200", id="as many objects as may be"),
    ],
)
async def test_very_many_keys_for_a_tool_stop_nobody(tmp_path: Path, word: str, count: int, status: str) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            # Whatever is loaded or compiled on first use.
            await answer_to(gateway, '{"tool":"part__echo","args":{', '"key%d":1', 1, "}}")
            async with watched() as stalls:
                answer = await answer_to(gateway, '{"tool":"part__echo","args":{', word, count, "}}")
    assert answer.startswith(status)
    assert stalls.worst < LONGEST


async def test_a_long_text_that_is_full_of_quotes_and_colons_stops_nobody(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            await answer_to(gateway, '{"tool":"part__echo","args":{"text":"', "x", 1, '"}}')
            async with watched() as stalls:
                answer = await answer_to(gateway, '{"tool":"part__echo","args":{"text":"', r"\":,", 2_000_000, '"}}')
    assert answer.startswith("200")
    assert stalls.worst < LONGEST
