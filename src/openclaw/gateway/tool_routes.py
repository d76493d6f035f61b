"""`/v1/tools` and `/v1/tools/invoke`: what an agent has, and one call of it without a model.

A call passes what every call passes: policy (that of the gateway too), the tool's own schema, its deadline, the audit trail. Texts of
servers come framed, as a model gets them, unless who asks shows them to a person.
"""

from typing import Any

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.content import text_of
from openclaw.conversation import Conversation
from openclaw.gateway.http import OfAgent, failure, json_response, read_object, read_query
from openclaw.gateway.route import Route
from openclaw.gateway.run_events import shown_block
from openclaw.tool import Tool

# The conversation a call belongs to when it names none.
_SESSION = "http:tools"
_LONGEST_NAME = 128


class NewCall(msgspec.Struct, rename="camel"):
    tool: str
    arguments: dict[str, Any] = {}
    args: dict[str, Any] = {}
    agent: str = ""
    session_key: str = _SESSION
    framed: bool = True


class ToolList(msgspec.Struct):
    """Each tool with its `inputSchema`, and each that is missing with the `reason`."""

    agent: str
    tools: list[dict[str, Any]]
    absent: list[dict[str, Any]]


class CallResult(msgspec.Struct, rename="camel"):
    ok: bool
    content: list[Any]
    is_error: bool


class ToolRoutes:
    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/v1/tools",
                self.list_tools,
                "The tools of an agent, and those it has not with the reason",
                query=OfAgent,
                gives=ToolList,
                head=True,
            ),
            Route(
                "POST",
                "/v1/tools/invoke",
                self.invoke,
                "Call one tool, without a model",
                body=NewCall,
                gives=CallResult,
                begins=True,
            ),
        ]

    async def list_tools(self, request: web.Request) -> web.Response:
        """What the agent has now; servers that are still starting are not waited for."""
        spec = self._app.engine.agent(read_query(request, OfAgent).agent)
        one = await self._app.agent(spec)
        absent = [{"name": item.name, "reason": item.reason, "where": item.where} for item in one.absences()]
        return json_response(ToolList(spec.id, [_tool(tool) for tool in one.tools()], absent))

    async def invoke(self, request: web.Request) -> web.Response:
        call: NewCall = await read_object(request, NewCall)
        spec = self._app.engine.agent(call.agent)
        arguments = call.arguments or call.args
        conversation = Conversation(spec.id, call.session_key, surface="http")
        tool = await self._app.tool(call.tool, spec.id)
        if tool is None:
            # It may be one of a server that is still starting.
            await (await self._app.engine.manager()).settle(spec.id, self._app.engine.startup_grace)
            tool = await self._app.tool(call.tool, spec.id)
        if tool is None:
            missing = await self._app.unknown(call.tool[:_LONGEST_NAME], arguments, conversation)
            return failure(404, "tool_not_found", text_of(missing.content))
        result = await self._app.call(tool, arguments, conversation)
        content = [block if call.framed else shown_block(block) for block in result.content]
        return json_response(CallResult(not result.is_error, content, result.is_error))


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "origin": tool.origin,
        "description": tool.description,
        "readOnly": tool.read_only,
        "inputSchema": tool.parameters,
    }
