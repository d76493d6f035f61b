"""A gateway with a plugin that blocks: it serves everybody else, and it ends when it is told to."""

import http.client
import json
from contextlib import closing
from pathlib import Path

import pytest

from parts.gateways import gateway_process, home

# Blocks where it is told to, for longer than any test waits.
PLUGIN = """
import time
from openclaw.content import Text
from openclaw.plugins import PluginHandle, ToolPlugin
from openclaw.tool import Tool, ToolResult, parameters

async def initialize(context):
    def block(where):
        if context.config["where"] == where:
            context.log.warning("it blocks now")
            time.sleep(600)

    async def stop():
        block("on_shutdown")

    async def slow(arguments, invocation):
        block("tool")

    block("initialize")
    context.log.warning("it is there")
    tool = Tool("slow", "Does it.", parameters({"type": "object"}), slow, timeout=2.0)
    return PluginHandle(tools=[tool], on_shutdown=stop)

plugin = ToolPlugin("Blocks", "Blocks.", initialize)
"""


@pytest.mark.parametrize("where", ["initialize", "tool", "on_shutdown"])
def test_a_gateway_serves_and_ends_with_a_plugin_that_blocks(tmp_path: Path, where: str) -> None:
    file = tmp_path / "blocks.py"
    file.write_text(PLUGIN)
    entries = {"blocks": {"config": {"where": where}}}
    with (
        home(tmp_path, {"plugins": {"load": {"paths": [str(file)]}, "entries": entries}}) as place,
        gateway_process(place) as gateway,
        closing(http.client.HTTPConnection("127.0.0.1", gateway.port)) as connection,
    ):
        gateway.wait_until("it blocks now" if where == "initialize" else "it is there")
        if where == "tool":
            told = {"Authorization": f"Bearer {place.token}", "Content-Type": "application/json"}
            connection.request("POST", "/v1/tools/invoke", json.dumps({"tool": "slow", "arguments": {}}), told)
            gateway.wait_until("it blocks now")
        served = place.run("gateway", "status")
        assert (served.returncode, gateway.end()) == (0, 0), gateway.said
    assert "it blocks now" in gateway.said
