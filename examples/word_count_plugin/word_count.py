"""A whole plugin: one tool that counts words. `README.md` tells how to switch it on."""

from typing import Any

from openclaw import Invocation, Text, Tool, ToolResult, parameters
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin


async def initialize(context: PluginContext) -> PluginHandle:
    # Already checked against `config_schema` below.
    shortest = int(context.config.get("shortestWord", 1))

    async def count(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        words = [word for word in arguments["text"].split() if len(word) >= shortest]
        return ToolResult((Text(f"{len(words)} words"),), details={"words": len(words)})

    tool = Tool(
        name="word_count",
        description="Count the words of a text.",
        parameters=parameters(
            {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        ),
        run=count,
        read_only=True,
    )
    return PluginHandle(tools=[tool])


plugin = ToolPlugin(
    label="Word count",
    description="Adds a tool that counts words.",
    initialize=initialize,
    minimum_host_version="0.1",
    config_schema={
        "type": "object",
        "properties": {"shortestWord": {"type": "integer", "minimum": 1, "description": "Shorter words do not count."}},
        "additionalProperties": False,
    },
)
