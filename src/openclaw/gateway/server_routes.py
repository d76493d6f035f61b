"""`/v1/mcp/servers…`: what `/mcp` can do, over HTTP.

Lists and states are read from the engine; everything else is the same command that a terminal runs, with its JSON as the answer. Two things
are refused here whatever the command would say: a server that is a program (only a terminal may have one started), and words that would be
taken for options.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.commands.mcp import status_json
from openclaw.commands.sign_in import as_json
from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.config.agents import agent as agent_spec
from openclaw.errors import UsageError
from openclaw.gateway.command_answer import MakeContext, answer_of
from openclaw.gateway.http import MOST_NUMBER, OfAgent, failure, json_response, read_object, read_query
from openclaw.gateway.route import Route
from openclaw.gateway.sign_ins import SignIns

# What may be done to one server, and what may be read of it. Each is a word of `openclaw mcp`.
ACTIONS = ("refresh", "restart", "enable", "disable", "disconnect")
READABLE = ("tools", "resources", "prompts", "logs")


_ONE = "/v1/mcp/servers/{name}"


class LookWanted(OfAgent):
    lines: Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER, description="of logs: the last so many lines")] | None = (
        None
    )


class ServerList(msgspec.Struct):
    """Each server is what `openclaw mcp status --json` prints of it."""

    servers: list[dict[str, Any]]


class NewServer(msgspec.Struct):
    """`command` and `args` are refused: a program is added at a terminal."""

    url: str = ""
    name: str = ""
    transport: str = ""
    headers: dict[str, str] = {}
    agent: str = ""
    command: Any = None
    args: Any = None


class SignInStep(msgspec.Struct):
    """Nothing begins a sign-in; `code` is the address it ended at. With `listen` the browser may come back to this machine by itself, and
    `wait` is told how that went."""

    code: str = ""
    logout: bool = False
    listen: bool = False
    wait: bool = False


class Trusted(msgspec.Struct):
    """`digest` names what was shown (`changesDigest` of the server); needed when something changed."""

    digest: str = ""


class ResourceWanted(msgspec.Struct):
    uri: str


class PromptWanted(msgspec.Struct):
    name: str
    arguments: dict[str, str] = {}


class ServerRoutes:
    """`context` makes what a command needs, for a surface that nobody sits at."""

    def __init__(self, app: App, context: MakeContext, sign_ins: SignIns) -> None:
        self._app = app
        self._context = context
        self._sign_ins = sign_ins

    def routes(self) -> list[Route]:
        return [*self._state_routes(), *self._deed_routes()]

    def _state_routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/v1/mcp/servers",
                self.list_servers,
                "Every server and its state",
                query=OfAgent,
                gives=ServerList,
                head=True,
            ),
            Route("GET", _ONE, self.status, "One server, everything about it", query=OfAgent, head=True),
            Route(
                "GET",
                f"{_ONE}/{{what:{'|'.join(READABLE)}}}",
                self.look,
                "What it offers, and what it wrote to standard error (`?lines=N`: the last N lines)",
                query=LookWanted,
                gives=list[Any],
                head=True,
            ),
        ]

    def _deed_routes(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/v1/mcp/servers",
                self.connect,
                'Add a server with an address: `{"url": …, "name": …, "transport": …, "headers": {…}, "agent": …}`',
                body=NewServer,
            ),
            Route("DELETE", _ONE, self.remove, "Take it out of the config", query=OfAgent),
            Route(
                "POST",
                f"{_ONE}/auth",
                self.auth,
                'Begin a sign-in: the answer has the address to open. `{"code": CALLBACK_URL}` finishes it,'
                ' `{"logout": true}` forgets it. With `{"listen": true}` a browser on this machine comes back by itself,'
                ' and `{"wait": true}` answers when it has',
                body=SignInStep,
                query=OfAgent,
            ),
            Route(
                "POST",
                f"{_ONE}/trust",
                self.trust,
                'Accept how its tools changed, as it was shown: `{"digest": …}` is `changesDigest` of the server',
                body=Trusted,
                query=OfAgent,
            ),
            Route("POST", f"{_ONE}/read", self.read, 'One resource: `{"uri": …}`', body=ResourceWanted, query=OfAgent),
            Route(
                "POST",
                f"{_ONE}/prompt",
                self.prompt,
                'One prompt, filled in: `{"name": …, "arguments": {…}}`',
                body=PromptWanted,
                query=OfAgent,
            ),
            Route(
                "POST",
                f"{_ONE}/{{what:{'|'.join(ACTIONS)}}}",
                self.act,
                "What [`openclaw mcp`](mcp-command.md) does under the same word",
                query=OfAgent,
                gives=Any,
            ),
            Route(
                "POST",
                "/v1/mcp/refresh",
                self.refresh,
                "List the tools of all servers anew",
                query=OfAgent,
                gives=list[Any],
            ),
        ]

    async def list_servers(self, request: web.Request) -> web.Response:
        found = (await self._app.engine.manager()).status(self._agent(request))
        shown = await with_sign_ins(self._app.engine, found)
        return json_response(ServerList([status_json(one) for one in shown]))

    async def status(self, request: web.Request) -> web.Response:
        manager = await self._app.engine.manager()
        found = [one for one in manager.status(self._agent(request)) if one.name == request.match_info["name"]]
        if not found:
            return _absent(request)
        (shown,) = await with_sign_ins(self._app.engine, found[:1])
        return json_response(status_json(shown))

    async def connect(self, request: web.Request) -> web.Response:
        wanted: NewServer = await read_object(request, NewServer)
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
        lines = read_query(request, LookWanted).lines
        options = [f"--lines={lines}"] if lines is not None and request.match_info["what"] == "logs" else []
        return await self._on_one(request, request.match_info["what"], options)

    async def auth(self, request: web.Request) -> web.Response:
        wanted: SignInStep = await read_object(request, SignInStep)
        if wanted.listen or wanted.wait:
            return await self._sign_in(request, wait=wanted.wait)
        options = [f"--code={wanted.code}"] if wanted.code else []
        return await self._on_one(request, "auth", [*options, *(["--logout"] if wanted.logout else [])])

    async def _sign_in(self, request: web.Request, *, wait: bool) -> web.Response:
        name, agent = request.match_info["name"], self._agent(request)
        if wait:
            return json_response(as_json(await self._sign_ins.ended(name, agent)))
        started = await self._sign_ins.begin(name, agent)
        shown = {"authorizationUrl": started.authorization_url, "host": started.host, "warning": started.warning}
        return json_response(shown)

    async def trust(self, request: web.Request) -> web.Response:
        wanted: Trusted = await read_object(request, Trusted) if request.can_read_body else Trusted()
        return await self._on_one(request, "trust", [f"--digest={wanted.digest}"] if wanted.digest else [])

    async def read(self, request: web.Request) -> web.Response:
        wanted: ResourceWanted = await read_object(request, ResourceWanted)
        return await self._on_one(request, "read", more=[wanted.uri])

    async def prompt(self, request: web.Request) -> web.Response:
        wanted: PromptWanted = await read_object(request, PromptWanted)
        words = [f"{key}={value}" for key, value in wanted.arguments.items()]
        return await self._on_one(request, "prompt", more=[wanted.name, *words])

    async def refresh(self, request: web.Request) -> web.Response:
        return await self._run("refresh", [f"--agent={self._agent(request)}"], [])

    def _agent(self, request: web.Request) -> str:
        """The agent asked about. Raises UsageError when there is none of that name."""
        return agent_spec(self._app.config, read_query(request, OfAgent).agent).id

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
