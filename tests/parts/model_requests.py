"""What every wire is asked in tests: a greeting, a tool that nobody runs, and a request to a server from beginning to end."""

from collections.abc import Callable
from typing import Any

from openclaw.content import Message, Text, UserMessage
from openclaw.models.exchange import HttpProvider, Pace
from openclaw.models.provider import ModelEvent, ModelRequest
from openclaw.models.spec import ModelEndpoint
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from parts.model_servers import KEY, MODEL, ModelServer

USER: list[Message] = [UserMessage((Text("hi"),))]


async def _never(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    raise AssertionError("a provider never runs a tool itself")


READ = Tool("read", "Read a file.", parameters({"type": "object", "properties": {}}), _never)


async def streamed(
    connect: Callable[[ModelEndpoint, Pace], HttpProvider],
    server: ModelServer,
    messages: list[Message],
    **request: Any,
) -> list[ModelEvent]:
    """Everything one request brings, asked once."""
    provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
    events = [event async for event in provider.stream(ModelRequest(MODEL, "", messages, **request))]
    await provider.close()
    return events
