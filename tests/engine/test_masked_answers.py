"""What a server repeats of the secrets it was given never gets past the connection."""

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from textwrap import dedent

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.errors import RpcError
from openclaw.mcp.client import Client
from openclaw.mcp.connect import Dependencies, Listener, connect
from openclaw.mcp.manager import Manager
from openclaw.redact import MASK, redact

SECRET = "given-4711-to-the-server"

# Repeats the variable it was given in everything it says.
PARROT = """
    import json, os, sys
    said = os.environ["SHOP_TOKEN"]

    def write(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    for line in sys.stdin:
        asked = json.loads(line)
        method, id = asked["method"], asked.get("id")
        if method == "initialize":
            info = {"name": said, "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info, "instructions": said}
            write(id=id, result=result)
        elif method == "tools/list":
            tool = {"name": "echo", "description": said, "inputSchema": {"type": "object", "title": said}}
            write(id=id, result={"tools": [tool]})
        elif method == "tools/call":
            token = asked["params"]["_meta"]["progressToken"]
            write(method="notifications/message", params={"level": "info", "data": said})
            write(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": said})
            if asked["params"]["name"] == "fail":
                write(id=id, error={"code": -1, "message": said, "data": [said]})
            elif asked["params"]["name"] == "break":
                write(id=id, result={"content": said})
            else:
                big = asked["params"]["arguments"].get("size", 0) * "x"
                content = [{"type": "text", "text": said + big}]
                write(id=id, result={"content": content, "structuredContent": {said: said}})
        elif id is not None:
            write(id=id, error={"code": -32601, "message": "no"})
"""


class Heard:
    def __init__(self) -> None:
        self.notifications: list[str] = []
        self.progress: list[str] = []


async def parrot(stack: AsyncExitStack, folder: Path, heard: Heard) -> Client:
    program = folder / "parrot.py"
    program.write_text(dedent(PARROT))
    spec = ServerSpec("shop", command=sys.executable, args=("-S", "-E", str(program)), env=(("SHOP_TOKEN", SECRET),))
    listener = Listener(
        lambda method, params: heard.notifications.append(bytes(params).decode()),
        lambda reason: None,
        lambda line: None,
    )
    return await connect(stack, spec, Dependencies(), listener)


@pytest.mark.parametrize("size", [0, 3_000_000])
async def test_a_secret_is_masked_in_every_answer_error_and_notification_of_a_server(tmp_path: Path, size: int) -> None:
    heard = Heard()
    async with AsyncExitStack() as stack:
        client = await parrot(stack, tmp_path, heard)
        assert client.agreement.server_info["name"] == MASK
        assert client.agreement.instructions == MASK
        tools = await client.collect("tools")
        assert json.loads(bytes(tools.items[0])) == {
            "name": "echo",
            "description": MASK,
            "inputSchema": {"type": "object", "title": MASK},
        }
        result = await client.call_tool(
            "echo",
            {"size": size},
            timeout=60,
            max_total=60,
            on_progress=lambda progress, total, message: heard.progress.append(message),
        )
        assert [item.text for item in result.content] == [MASK + size * "x"]
        assert json.loads(bytes(result.structured_content)) == {MASK: MASK}
        with pytest.raises(RpcError) as refusal:
            await client.call_tool("fail", {}, timeout=60, max_total=60)
        assert (refusal.value.message, refusal.value.data) == (MASK, [MASK])
    assert heard.progress == [MASK]
    assert [json.loads(text)["data"] for text in heard.notifications] == [MASK, MASK]


async def test_an_answer_that_cannot_be_read_is_complained_of_without_the_secret_in_it(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        client = await parrot(stack, tmp_path, Heard())
        with pytest.raises(Exception, match="wrong shape") as refusal:
            await client.call_tool("break", {}, timeout=60, max_total=60)
        assert SECRET not in str(refusal.value)


# Has the words that an entry may hold in its own tools, and in what they answer.
DATABASE = """
    import json, sys
    schema = {"type": "object", "properties": {"name": {"enum": ["postgres", "title"]}}, "required": ["name"]}
    for line in sys.stdin:
        asked = json.loads(line)
        method, id = asked["method"], asked.get("id")
        if method == "initialize":
            info = {"name": "postgres", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": "postgres_query", "title": "title", "inputSchema": schema}]}
        elif method == "tools/call":
            said = f"{asked['params']['name']} asked postgres for its {asked['params']['arguments']['name']}"
            result = {"content": [{"type": "text", "text": said}], "structuredContent": {"name": "title"}}
        else:
            result = {}
        if id is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"""


def database(folder: Path, *args: str, **env: str) -> ServerSpec:
    program = folder / "database.py"
    program.write_text(dedent(DATABASE))
    arguments = ("-S", "-E", str(program), *args)
    return ServerSpec("db", command=sys.executable, args=arguments, env=tuple(env.items()))


@pytest.mark.parametrize(
    ("args", "env"),
    [
        ((), {"POSTGRES_PASSWORD": "postgres"}),
        ((), {"PARTITION_KEY": "name"}),
        (("--key", "title"), {}),
        (("postgres://postgres:postgres@127.0.0.1/db",), {}),
        ((), {"SORT_KEY": "inputSchema"}),
        ((), {"API_TOKEN": "tools", "X_KEY": "content", "Y_KEY": "object", "Z_KEY": "text", "A_SECRET": "type"}),
    ],
    ids=str,
)
async def test_an_ordinary_word_in_the_place_of_a_credential_breaks_no_tool(
    tmp_path: Path, args: tuple[str, ...], env: dict[str, str]
) -> None:
    async with Manager([database(tmp_path, *args, **env)]) as manager:
        (tool,) = manager.tools()
        assert (tool.name, tool.label) == ("db__postgres_query", "MCP: db/postgres_query")
        assert json.loads(bytes(tool.parameters))["properties"] == {"name": {"enum": ["postgres", "title"]}}
        result = await manager.call("db__postgres_query", {"name": "title"})
        assert [block.text for block in result.content] == ["postgres_query asked postgres for its title"]
        assert json.loads(bytes(result.structured_content)) == {"name": "title"}


async def test_a_word_that_is_surely_secret_is_masked_in_what_a_server_says_and_its_tools_keep_their_names(
    tmp_path: Path,
) -> None:
    async def resolve(value: str) -> str:
        return value.replace("secret://env/DB", "postgres")

    spec = database(tmp_path, DB="secret://env/DB")
    async with Manager([spec], dependencies=Dependencies(resolve=resolve)) as manager:
        assert [tool.name for tool in manager.tools()] == ["db__postgres_query"]
        result = await manager.call("db__postgres_query", {"name": "postgres"})
        assert [block.text for block in result.content] == [f"{MASK}_query asked {MASK} for its {MASK}"]
    assert redact("postgres") == MASK
