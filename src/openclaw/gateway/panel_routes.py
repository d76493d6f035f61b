"""`/v1/apps…`: the panels of servers (MCP Apps) that a page shows beside calls, and what they may ask of their own server.

A panel's call is a call like any other: policy, arguments, approval, deadline and audit come before it, and whatever it says counts as the
server's text. It reaches the tools of its own server that are for panels, and no others. Off unless `mcp.apps.enabled`.
"""

from typing import Any

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.content import text_of, to_json
from openclaw.conversation import PANEL, Conversation, ForeignSources
from openclaw.errors import UsageError
from openclaw.gateway.http import OfAgent, failure, json_response, read_object, read_query
from openclaw.gateway.panel_frames import PanelFrames
from openclaw.gateway.panels import Panel, Panels
from openclaw.gateway.route import Route
from openclaw.log import short_hash
from openclaw.mcp.tools.panel import MAX_RESULT, answer_in, page_of
from openclaw.security.unframe import without_frames
from openclaw.tool import ToolResult

_LONGEST_NAME = 128
_LONGEST_URI = 2_048


class NewApp(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`call` is the id of the call beside which it is shown, in the session of `session_key`."""

    tool: str
    agent: str = ""
    session_key: str = ""
    call: str = ""


class CallOfApp(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class ReadOfApp(msgspec.Struct, forbid_unknown_fields=True):
    uri: str


class AppOfTool(msgspec.Struct):
    server: str
    uri: str


class AppList(msgspec.Struct):
    """`tools` are by their names."""

    enabled: bool
    tools: dict[str, AppOfTool]


class OpenApp(msgspec.Struct):
    """`app` is its id. `definition` is the tool's, as the server lists it; `result` is what the server answered to the call, if that is
    known."""

    app: str
    url: str
    origin: str
    server: str
    hosts: tuple[str, ...]
    border: bool
    definition: Any
    result: Any


class ClosedApp(msgspec.Struct):
    closed: bool


class PanelRoutes:
    """`frames` serves the panels; None where they are switched off, or their port could not be had."""

    def __init__(self, app: App, panels: Panels, frames: PanelFrames | None) -> None:
        self._app = app
        self._panels = panels
        self._frames = frames

    def routes(self) -> list[Route]:
        one = "/v1/apps/{id}"
        return [
            Route(
                "GET",
                "/v1/apps",
                self.list_apps,
                "Which tools of an agent have an app that the page can show",
                query=OfAgent,
                gives=AppList,
            ),
            Route("POST", "/v1/apps", self.open, "Open one", body=NewApp, gives=OpenApp),
            Route(
                "POST",
                f"{one}/call",
                self.call,
                'Call a tool of its server for it: `{"name": …, "arguments": {…}}`',
                body=CallOfApp,
                begins=True,
            ),
            Route(
                "POST",
                f"{one}/read",
                self.read,
                'Read a resource of its server for it: `{"uri": …}`',
                body=ReadOfApp,
            ),
            Route("DELETE", one, self.close, "Close it", gives=ClosedApp),
        ]

    async def list_apps(self, request: web.Request) -> web.Response:
        """Which tools of an agent have one."""
        spec = self._app.engine.agent(read_query(request, OfAgent).agent)
        found = (await self._app.engine.manager()).panels(spec.id) if self._frames is not None else {}
        tools = {name: AppOfTool(server, uri) for name, (server, uri) in found.items()}
        return json_response(AppList(self._frames is not None, tools))

    async def open(self, request: web.Request) -> web.Response:
        asked: NewApp = await read_object(request, NewApp)
        if self._frames is None:
            return failure(404, "apps_off", "Apps of servers are not shown here: see mcp.apps.enabled.")
        spec = self._app.engine.agent(asked.agent)
        manager = await self._app.engine.manager()
        found = manager.panels(spec.id).get(asked.tool)
        if found is None:
            return failure(404, "app_not_found", "This tool has no app.")
        server, uri = found
        page = page_of(await manager.server(server, spec.id).read_resource(uri), uri)
        # The page that may show it is the one that asks: the door let no other origin in.
        origin = request.headers.get("Origin") or f"http://{request.headers['Host']}"
        panel = self._panels.open(agent=spec.id, session=asked.session_key, server=server, page=page, origin=origin)
        entry = await manager.find(asked.tool, spec.id)
        shown = OpenApp(
            app=panel.id,
            url=f"{self._frames.origin}/frame/{panel.id}",
            origin=self._frames.origin,
            server=server,
            hosts=page.hosts,
            border=page.has_border,
            definition=None if entry is None else entry.definition.raw,
            result=self._panels.answer(asked.session_key, asked.call),
        )
        return json_response(shown)

    async def call(self, request: web.Request) -> web.Response:
        """Call a tool of the panel's own server. The answer is what the server gave, or a result that says why it was not called."""
        panel = self._panels.find(request.match_info["id"])
        if panel is None:
            return _closed()
        asked: CallOfApp = await read_object(request, CallOfApp)
        if not self._panels.admits(panel, is_call=True):
            return _too_many()
        manager = await self._app.engine.manager()
        tool = manager.panel_tool(panel.server, asked.name, panel.agent)
        if tool is None:
            name = asked.name[:_LONGEST_NAME]
            return failure(404, "tool_not_found", f"{panel.server} has no tool {name!r} that its app may call.")
        said = ForeignSources()
        said.add(f"mcp:{panel.server}", to_json(asked.arguments).decode())
        conversation = Conversation(panel.agent, panel.session, surface=PANEL, foreign=said)
        return json_response(_answer(await self._app.call(tool, asked.arguments, conversation)))

    async def read(self, request: web.Request) -> web.Response:
        """Read a resource of the panel's own server."""
        panel = self._panels.find(request.match_info["id"])
        if panel is None:
            return _closed()
        asked: ReadOfApp = await read_object(request, ReadOfApp)
        if not self._panels.admits(panel, is_call=False):
            return _too_many()
        if len(asked.uri) > _LONGEST_URI:
            raise UsageError(f"`uri` is longer than {_LONGEST_URI:,} characters.")
        self._noted(panel)
        manager = await self._app.engine.manager()
        contents = await manager.server(panel.server, panel.agent).read_resource(asked.uri)
        body = to_json({"contents": contents})
        if len(body) > MAX_RESULT:
            return failure(502, "too_large", f"The resource is larger than {MAX_RESULT:,} bytes.")
        return web.Response(body=body, content_type="application/json")

    async def close(self, request: web.Request) -> web.Response:
        self._panels.close(request.match_info["id"])
        return json_response(ClosedApp(True))

    def _noted(self, panel: Panel) -> None:
        facts = {"agent": panel.agent, "session": short_hash(panel.session), "origin": panel.server, "by": PANEL}
        self._app.engine.audit.noted("read", facts)


def _answer(result: ToolResult) -> Any:
    answer = answer_in(result)
    if answer is not None:
        return answer
    # It was refused, failed, or is more than a panel is given: what is said of that, in the shape of a result.
    text = without_frames(text_of(result.content))
    if len(text) > MAX_RESULT:
        return {
            "content": [{"type": "text", "text": f"The result is larger than {MAX_RESULT:,} bytes."}],
            "isError": True,
        }
    return {"content": [{"type": "text", "text": text}], "isError": result.is_error}


def _closed() -> web.Response:
    return failure(404, "app_not_found", "This app is no longer open. Show it again.")


def _too_many() -> web.Response:
    return failure(429, "too_many_requests", "The app asks too often. It may go on in a minute.")
