"""One name is one tool: what a plugin and a server would both call the same runs the same on every surface."""

from pathlib import Path

from parts.gateways import home, running, stdio_server

PLUGIN = """
from openclaw.content import Text
from openclaw.plugins import PluginHandle, ToolPlugin
from openclaw.tool import Tool, ToolResult, parameters


async def run(arguments, invocation):
    return ToolResult((Text("from the plugin"),))


async def initialize(context):
    schema = parameters({"type": "object"})
    return PluginHandle(tools=[Tool(name, "A twin.", schema, run) for name in ("part__echo", "Part__other", "own_word")])


plugin = ToolPlugin(label="Twin", description="Twin", initialize=initialize)
"""


async def test_a_name_of_a_configured_server_is_the_servers_on_every_surface(tmp_path: Path) -> None:
    file = tmp_path / "twin.py"
    file.write_text(PLUGIN)
    plugins = {"load": {"paths": [str(file)]}, "entries": {"twin": {}}}
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}, "plugins": plugins}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            app = gateway.gateway.app
            await (await app.plugins()).loaded()
            _, listed = await gateway.get("/v1/tools")
            assert [tool["kind"] for tool in listed["tools"] if tool["name"].lower().startswith("part__echo")] == [
                "mcp"
            ]
            assert [tool["name"] for tool in listed["tools"] if tool["kind"] == "plugin"] == ["own_word"]
            absent = {one["name"]: one["reason"] for one in listed["absent"]}
            taken = "the name belongs to the MCP server part (plugin twin)"
            assert (absent["part__echo"], absent["Part__other"]) == (taken, taken)
            _, invoked = await gateway.post("/v1/tools/invoke", {"tool": "part__echo", "arguments": {"text": "hi"}})
            assert "Source: MCP Server" in invoked["content"][0]["text"]
            (offered,) = [tool for tool in (await app.agent(app.engine.agent(""))).tools() if tool.name == "part__echo"]
            assert offered.kind == "mcp"
            called = place.run("mcp", "call", "part__echo", "text=hi")
            assert (called.returncode, "from the plugin" in called.stdout) == (0, False)
