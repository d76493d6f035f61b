"""`/v1/mcp/servers…`: what `/mcp` can do, over HTTP.

Lists and states are read from the engine; everything else is the same command that a terminal runs, with its JSON as the answer. Two things
are refused here whatever the command would say: a server that is a program (only a terminal may have one started), and words that would be
taken for options.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.commands.mcp import status_json
from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.config.agents import agent as agent_spec
from openclaw.errors import UsageError
from openclaw.gateway.command_answer import MakeContext, answer_of
from openclaw.gateway.http import failure, json_response, read_object

# What may be done to one server, and what may be read of it. Each is a word of `openclaw mcp`.
ACTIONS = ("refresh", "restart", "enable", "disable", "disconnect")
READABLE = ("tools", "resources", "prompts", "logs")


class _Connect(msgspec.Struct):
    url: str = ""
    name: str = ""
    transport: str = ""
    headers: dict[str, str] = {}
    agent: str = ""
    command: Any = None
    args: Any = None


class _Auth(msgspec.Struct):
    code: str = ""
    logout: bool = False


class _Trust(msgspec.Struct):
    """`digest` names what was shown (`changesDigest` of the server); needed when something changed."""

    digest: str = ""


class _Read(msgspec.Struct):
    uri: str


class _Prompt(msgspec.Struct):
    name: str
    arguments: dict[str, str] = {}


class ServerRoutes:
    """`context` makes what a command needs, for a surface that nobody sits at."""

    def __init__(self, app: App, context: MakeContext) -> None:
        self._app = app
        self._context = context

    def routes(self) -> list[web.RouteDef]:
        one = "/v1/mcp/servers/{name}"
        return [
            web.get("/v1/mcp/servers", self.list_servers),
            web.post("/v1/mcp/servers", self.connect),
            web.get(one, self.status),
            web.delete(one, self.remove),
            web.post(f"{one}/auth", self.auth),
            web.post(f"{one}/trust", self.trust),
            web.post(f"{one}/read", self.read),
            web.post(f"{one}/prompt", self.prompt),
            web.get(f"{one}/{{what:{'|'.join(READABLE)}}}", self.look),
            web.post(f"{one}/{{what:{'|'.join(ACTIONS)}}}", self.act),
            web.post("/v1/mcp/refresh", self.refresh),
        ]

    async def list_servers(self, request: web.Request) -> web.Response:
        found = (await self._app.engine.manager()).status(self._agent(request))
        shown = await with_sign_ins(self._app.engine, found)
        return json_response({"servers": [status_json(one) for one in shown]})

    async def status(self, request: web.Request) -> web.Response:
        manager = await self._app.engine.manager()
        found = [one for one in manager.status(self._agent(request)) if one.name == request.match_info["name"]]
        if not found:
            return _absent(request)
        (shown,) = await with_sign_ins(self._app.engine, found[:1])
        return json_response(status_json(shown))

    async def connect(self, request: web.Request) -> web.Response:
        wanted: _Connect = await read_object(request, _Connect)
        if wanted.command is not None or wanted.args is not None:
            sentence = "HTTP may not add a server that is a program. Run `openclaw mcp connect` in a terminal."
            return failure(403, "command_not_allowed", sentence)
        if not wanted.url.lower().startswith(("http://", "https://")):
            raise UsageError("`url` must be the http(s) address of an MCP server.")
        named = {"name": wanted.name, "transport": wanted.transport, "agent": wanted.agent}
        options = [f"--{key}={value}" for key, value in named.items() if value]
        options += [f"--header={key}={value}" for key, value in wanted.headers.items()]
        return await self._run("connect", options, [wanted.url])

    async def remove(self, request: web.Request) -> web.Response:
        return await self._on_one(request, "remove")

    async def act(self, request: web.Request) -> web.Response:
        return await self._on_one(request, request.match_info["what"])

    async def look(self, request: web.Request) -> web.Response:
        lines = request.query.get("lines", "")
        options = [f"--lines={lines}"] if lines and request.match_info["what"] == "logs" else []
        return await self._on_one(request, request.match_info["what"], options)

    async def auth(self, request: web.Request) -> web.Response:
        wanted: _Auth = await read_object(request, _Auth)
        options = [f"--code={wanted.code}"] if wanted.code else []
        return await self._on_one(request, "auth", [*options, *(["--logout"] if wanted.logout else [])])

    async def trust(self, request: web.Request) -> web.Response:
        wanted: _Trust = await read_object(request, _Trust) if request.can_read_body else _Trust()
        return await self._on_one(request, "trust", [f"--digest={wanted.digest}"] if wanted.digest else [])

    async def read(self, request: web.Request) -> web.Response:
        wanted: _Read = await read_object(request, _Read)
        return await self._on_one(request, "read", more=[wanted.uri])

    async def prompt(self, request: web.Request) -> web.Response:
        wanted: _Prompt = await read_object(request, _Prompt)
        words = [f"{key}={value}" for key, value in wanted.arguments.items()]
        return await self._on_one(request, "prompt", more=[wanted.name, *words])

    async def refresh(self, request: web.Request) -> web.Response:
        return await self._run("refresh", [f"--agent={self._agent(request)}"], [])

    def _agent(self, request: web.Request) -> str:
        """The agent asked about. Raises UsageError when there is none of that name."""
        return agent_spec(self._app.config, request.query.get("agent", "")).id

    async def _on_one(
        self, request: web.Request, verb: str, options: Sequence[str] = (), more: Sequence[str] = ()
    ) -> web.Response:
        agent, name = self._agent(request), request.match_info["name"]
        manager = await self._app.engine.manager()
        if name not in {one.name for one in manager.status(agent)}:
            return _absent(request)
        return await self._run(verb, [*options, f"--agent={agent}"], [name, *more])

    async def _run(self, verb: str, options: Sequence[str], words: Sequence[str]) -> web.Response:
        """Run `mcp VERB` and answer with what it prints."""
        return await answer_of(self._context, ["mcp", verb], options, words)


def _absent(request: web.Request) -> web.Response:
    name = request.match_info["name"][:128]
    return failure(404, "server_not_found", f"MCP server '{name}' is not configured. GET /v1/mcp/servers lists them.")
