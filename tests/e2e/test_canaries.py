"""Secrets of every kind, given to servers that repeat all they know wherever they can: not one byte of one is found anywhere afterwards."""

import asyncio
import base64
import json
import secrets
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web

from parts import hostile_server
from parts.auth_server import AuthServer, Issued
from parts.command_line import Done, Home
from parts.hostile_server import WAYS, respond
from parts.leaks import files_under, found_in
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer
from parts.processes import HANG_GUARD
from parts.served import served

# How many of each kind; 432 with the keys of two models and of the token store.
KINDS = {
    "env": 48,
    "variable": 48,
    "passed": 48,
    "reference": 48,
    "option": 40,
    "assigned": 40,
    "header": 40,
    "variable_header": 40,
    "query": 40,
    "bearer": 35,
    "password": 2,
}
# Enough for every way that one takes; the rest is for who has time.
FEW = dict.fromkeys(KINDS, 3) | {"password": 2}


def canaries(kinds: Mapping[str, int]) -> dict[str, list[str]]:
    """Long and short ones, with and without characters that encodings change."""
    made = {kind: [f"cnry-{secrets.token_hex(9)}" for _ in range(count)] for kind, count in kinds.items()}
    for kind in ("env", "passed", "reference"):
        made[kind][: kinds[kind] // 3] = [f'c"{secrets.token_hex(6)}/é+&<>' for _ in range(kinds[kind] // 3)]
    made["variable"][: kinds["variable"] // 3] = [f"7k{secrets.token_hex(5)}" for _ in range(kinds["variable"] // 3)]
    return made


def spelled(values: Sequence[str]) -> str:
    """All of them, plain and encoded, as one text."""
    packed = base64.b64encode(json.dumps(list(values)).encode()).decode()
    return " ".join([*values, *(quote(value, safe="") for value in values), packed])


@asynccontextmanager
async def parrot() -> AsyncIterator[tuple[str, list[Mapping[str, str]]]]:
    """A server over HTTP that says in every field what stood in the request: its headers and its address."""
    heard: list[Mapping[str, str]] = []

    async def serve(request: web.Request) -> web.Response:
        given = [*request.headers.values(), *request.query.values(), str(request.url)]
        heard.append(request.headers)
        said = spelled(given)
        if request.path == "/refuses":
            return web.Response(status=403, text=said, headers={"WWW-Authenticate": "Basic"})
        if request.method != "POST":
            return web.Response(status=405)
        replies = respond(await request.json(), lambda field: f"{field}: {said}")
        return web.json_response(replies[-1]) if replies else web.Response(status=202)

    app = web.Application(client_max_size=1 << 22)
    app.router.add_route("*", "/{path}", serve)
    async with served(app, max_field_size=1 << 16, max_line_size=1 << 16) as origin:
        yield origin, heard


class Gossip(AuthServer):
    """An authorization server and the MCP server behind it that tell each other everything, and everybody else too."""

    def __init__(self) -> None:
        super().__init__()
        # A client that has to prove itself, and whose registration can be taken back: two more secrets.
        self.plan.manageable = True
        # Token requests that are refused.
        self.refusals = 1

    def heard(self) -> list[str]:
        """Tokens, codes, verifiers, secrets of clients: all that was given out, and all that came."""
        private = ("code", "code_verifier", "refresh_token", "client_secret")
        came = [seen.form[name] for seen in self.seen for name in private if name in seen.form]
        return [*dict.fromkeys([*sorted(self.secrets), *came])]

    def _metadata(self) -> dict[str, Any]:
        known = super()._metadata()
        scopes = [*known["scopes_supported"], *self.heard()]
        return {**known, "scopes_supported": scopes, "token_endpoint_auth_methods_supported": ["client_secret_post"]}

    async def _rpc(self, message: dict[str, Any]) -> web.Response:
        replies = respond(message, lambda field: f"{field}: {spelled(self.heard())}")
        return web.json_response(replies[-1]) if replies else web.Response(status=202)

    def _challenge(self, status: int, scope: str | None, error: str | None) -> web.Response:
        refused = super()._challenge(status, f"{scope} {' '.join(self.heard())}", error)
        refused.headers["WWW-Authenticate"] += f', error_description="{" ".join(self.heard())}"'
        refused.text = spelled(self.heard())
        return refused

    def token_answer(self, form: dict[str, str], headers: dict[str, str]) -> web.Response:
        if self.refusals:
            self.refusals -= 1
            said = spelled(self.heard())
            return web.json_response({"error": said, "error_description": said, "error_uri": said}, status=400)
        return super().token_answer(form, headers)

    def _give(self, issued: Issued, *, renewable: bool) -> web.Response:
        # The first is good for nothing, and has to be renewed at once.
        self.plan.token_life = 3600 if self.access else 0.001
        answer = json.loads(super()._give(issued, renewable=renewable).text or "")
        return web.json_response({**answer, "scope": f"{answer['scope']} {' '.join(self.heard())}"})


def servers(made: dict[str, list[str]], origin: str, guarded: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The servers, and the variables of the environment that their entries name."""
    environ = {f"PASSED_{number}": value for number, value in enumerate(made["passed"])}
    environ |= {f"OURS_{number}": value for number, value in enumerate([*made["variable"], *made["variable_header"]])}
    environ |= {f"KEPT_{number}": value for number, value in enumerate(made["reference"])}
    args = [word for value in made["option"] for word in ("--api-key", value)]
    args += [f"--token={value}" for value in made["assigned"]]
    count = len(made["variable"])
    program: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-S", "-E", hostile_server.__file__, "repeat", *args],
        "env": {
            **{f"SHOP_{number}_TOKEN": value for number, value in enumerate(made["env"])},
            **{f"SHOP_{number}_KEY": f"${{OURS_{number}}}" for number in range(count)},
            **{f"SHOP_{number}_VALUE": f"secret://env/KEPT_{number}" for number in range(len(made["reference"]))},
        },
        "passEnv": [f"PASSED_{number}" for number in range(len(made["passed"]))],
        # What it repeats is different at each start, and so are its tools.
        "trust": "follow",
    }
    headers = {f"X-Shop-{number}": value for number, value in enumerate(made["header"])}
    headers |= {f"X-Ours-{number}": f"${{OURS_{count + number}}}" for number in range(len(made["variable_header"]))}
    query = "&".join(f"access_token={value}" for value in made["query"])
    web_server: dict[str, Any] = {"url": f"{origin}/mcp?{query}", "headers": headers}
    named = {"program": program, "web": web_server, "guarded": {"url": guarded}}
    # Those of servers that are switched off are not given to anybody: they stand in the config alone.
    named |= {
        f"bearer{number}": {"url": f"{origin}/mcp", "apiKey": value, "enabled": number < 2}
        for number, value in enumerate(made["bearer"])
    }
    named["refuses"] = {"url": f"{origin}/refuses?access_token={made['password'][0]}", "apiKey": made["password"][1]}
    return {name: {"maxRestarts": 0, **entry} for name, entry in named.items()}, environ


def models(chat: ModelServer, messages: ModelServer) -> dict[str, Any]:
    """The sections of a config with an agent on each wire."""
    known = [{"id": "local-model", "input": ["text", "image"]}]
    providers = {
        "chat": {"baseUrl": chat.url, "apiKey": "secret://env/CHAT_KEY", "api": "openai-completions", "models": known},
        "messages": {"baseUrl": messages.url, "apiKey": messages.key, "api": "anthropic-messages", "models": known},
    }
    entries = {"main": {"model": "chat/local-model"}, "other": {"model": "messages/local-model"}}
    return {"models": {"mode": "replace", "providers": providers}, "agents": {"entries": entries}}


CALLS = (
    *(Call(f"p{number}", "program__speak", {"how": how}) for number, how in enumerate(WAYS)),
    *(Call(f"w{number}", "web__speak", {"how": how}) for number, how in enumerate(WAYS) if how != "talk"),
    Call("r1", "program__resources_list"),
    Call("r2", "program__resources_read", {"uri": "hostile://one"}),
    Call("r3", "web__resources_read", {"uri": "hostile://one"}),
    Call("b1", "bearer0__speak", {"how": "text"}),
    Call("x1", "refuses__speak"),
    Call("x2", "program__speak", {"how": "no such way"}),
)
GUARDED = (
    *(Call(f"g{number}", "guarded__speak", {"how": how}) for number, how in enumerate(WAYS)),
    Call("h1", "guarded__resources_read", {"uri": "hostile://one"}),
    Call("h2", "program__speak", {"how": "text"}),
)


async def by_commands(home: Home) -> dict[str, Done]:
    """A conversation and some questions, each in a process of its own, and no gateway."""
    commands = [
        ("agent", "--session-key", "s", "-m", "Call them."),
        ("agent", "--session-key", "s", "-m", "Go on."),
        ("sessions", "export", "s"),
        ("config", "get", "mcp"),
    ]
    ran = {" ".join(words): await home.openclaw(*words) for words in commands}
    assert ran[" ".join(commands[0])].code == 0, ran
    ran["chat"] = await home.chat(
        *("/mcp servers --json", "/mcp tools --json", "/mcp status program", "/mcp status refuses --json"),
        *("/mcp logs program", "/mcp call program__speak how=text --json", "/mcp call web__speak how=refuse"),
        *("/mcp prompt program ask word=x", "Read @program:hostile://one and @web:hostile://one please."),
    )
    return ran


async def by_a_gateway(home: Home, guarded: Gossip) -> dict[str, bytes]:
    """Everything a gateway shows and says, with a sign-in that is refused once, and tokens that are renewed."""
    seen: dict[str, bytes] = {}

    async def run(*words: str) -> Done:
        done = await home.openclaw(*words)
        seen[f"{' '.join(words[:4])} {len(seen)}"] = f"{done.out}\n{done.err}".encode()
        return done

    started = await run("gateway", "start")
    assert started.code == 0, started
    address = json.loads((await home.openclaw("gateway", "status", "--json")).out)["url"]
    token = home.paths.gateway_token_file.read_text().strip()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(run, "gateway", "stop")
        client = await stack.enter_async_context(
            aiohttp.ClientSession(address, headers={"Authorization": f"Bearer {token}"})
        )

        async def ask(method: str, path: str, body: Any = None) -> int:
            async with client.request(method, path, json=body) as response:
                seen[f"{method} {path} {len(seen)}"] = await response.read() + str(response.headers).encode()
                return response.status

        async def watch() -> None:
            async with client.get("/v1/events", timeout=aiohttp.ClientTimeout(None)) as response:
                seen["events"] = b""
                async for data in response.content.iter_any():
                    seen["events"] += data

        watching = asyncio.create_task(watch())
        for expected in (1, 0):
            # The address holds the state, and is for the person: it is not looked at.
            begun = json.loads((await home.openclaw("mcp", "auth", "guarded", "--no-browser", "--json")).out)
            callback = await guarded.browse(begun["authorizationUrl"])
            ended = await home.openclaw("mcp", "auth", "guarded", "--code", callback)
            seen[f"mcp auth {expected}"] = f"{ended.out}\n{ended.err}".encode()
            assert ended.code == expected, ended
        turn = {"model": "openclaw/main", "messages": [{"role": "user", "content": "Call them."}], "stream": True}
        assert await ask("POST", "/v1/chat/completions", turn) == 200
        assert await ask("POST", "/v1/responses", {"model": "openclaw/other", "input": "Call them."}) == 200
        assert await ask("POST", "/v1/chat/completions", {**turn, "model": "openclaw/other", "stream": False}) == 200
        for path in ("/metrics", "/v1/mcp/servers", "/v1/tools?agent=main", "/v1/mcp/servers/guarded", "/health"):
            assert await ask("GET", path) == 200
        for what in ("tools", "resources", "prompts", "logs"):
            await ask("GET", f"/v1/mcp/servers/guarded/{what}")
        await ask("POST", "/v1/tools/invoke", {"tool": "guarded__speak", "arguments": {"how": "structured"}})
        typed = await home.chat("See @guarded:hostile://one please.", "/guarded:ask word=x")
        seen["chat"] = f"{typed.out}\n{typed.err}".encode()
        await run("agent", "--agent", "other", "--session-key", "o", "-m", "And now?")
        await run("sessions", "export", "agent:other:o")
        # One that nobody ends: its verifier is on the disk.
        await home.openclaw("mcp", "auth", "guarded", "--no-browser", "--json")
        for words in (
            *(("status",), ("gateway", "status"), ("doctor",), ("config", "get", "mcp"), ("audit", "--json")),
            *(("mcp", "status", "guarded", "--json"), ("mcp", "logs", "guarded"), ("mcp", "servers")),
            ("mcp", "auth", "guarded", "--logout"),
        ):
            await run(*words)
        await run("gateway", "stop")
        await asyncio.wait_for(watching, HANG_GUARD)
    return seen


@pytest.mark.requirement("001-NFR-3-secrets")
@pytest.mark.requirement("002-5.2-memory")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "kinds",
    [pytest.param(FEW, id="a few"), pytest.param(KINDS, id="432", marks=[pytest.mark.full, pytest.mark.minutes(3)])],
)
async def test_no_byte_of_a_secret_is_left_in_sessions_exports_pins_cache_logs_audit_metrics_or_model_requests(
    tmp_path: Path, kinds: Mapping[str, int]
) -> None:
    made = canaries(kinds)
    keys = [f"sk-{secrets.token_hex(16)}", f"cnry-{secrets.token_hex(16)}", secrets.token_hex(32)]
    given = [*(value for values in made.values() for value in values), *keys]
    assert kinds is FEW or len(given) == 432

    replies = [Answer(calls=CALLS), *[Answer("Done.")] * 3, Answer(calls=GUARDED)]
    others = [Answer(calls=GUARDED), Answer("Done."), Answer(calls=GUARDED)]
    async with (
        parrot() as (origin, heard),
        Gossip() as guarded,
        ChatServer(replies, key=keys[0]) as chat,
        MessagesServer(others, key=keys[1]) as messages,
    ):
        entries, environ = servers(made, origin, guarded.url)
        logging = {"level": "debug", "file": str(tmp_path / "log.txt")}
        home = Home(
            tmp_path,
            gateway={"port": 0},
            mcp={"servers": entries},
            logging=logging,
            tokenStore={"key": "secret://env/STORE_KEY"},
            **models(chat, messages),
        )
        home.environ |= {**environ, "CHAT_KEY": keys[0], "STORE_KEY": keys[2]}
        before = (home.state / "openclaw.json").read_bytes()
        ran = await by_commands(home)
        places = await by_a_gateway(home, guarded)
        for name, model in (("chat", chat), ("messages", messages)):
            assert model.refused == []
            places[f"requests to {name}"] = json.dumps(model.requests, ensure_ascii=False).encode()

    # They were given, and they were repeated: else nothing would be shown by not finding them.
    assert made["header"][0] in {value for headers in heard for value in headers.values()}
    assert places["requests to chat"].count(b"[REDACTED]") > len(given)
    assert {secret.split("-")[0] for secret in guarded.secrets} == {"access", "refresh", "code", "client", "management"}
    assert all(field in places["requests to chat"] for field in (b"read_text: ", b"prompt_resource: "))
    assert [seen.form["grant_type"] for seen in guarded.at("/token")] == [*["authorization_code"] * 2, "refresh_token"]

    files = files_under(tmp_path)
    token = files.pop(str(home.paths.gateway_token_file)).decode().strip()
    assert files.pop(str(home.state / "openclaw.json")) == before
    places |= files
    places |= {f"{name} (out)": done.out.encode() for name, done in ran.items()}
    places |= {f"{name} (err)": done.err.encode() for name, done in ran.items()}
    assert any(name.endswith("gateway.log") for name in places)
    assert b"openclaw" in next(data for name, data in places.items() if name.startswith("GET /metrics"))
    assert found_in([*given, *guarded.heard(), token], places) == []
