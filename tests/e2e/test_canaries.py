"""Secrets of every kind, given to servers that repeat all they know wherever they can: not one byte of one is found anywhere afterwards."""

import base64
import json
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from parts import hostile_server
from parts.command_line import Home, local_model
from parts.hostile_server import WAYS, respond
from parts.leaks import files_under, found_in
from parts.model_servers import Answer, Call, ChatServer

# How many of each kind; 432 with the key of the model.
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
    "bearer": 37,
    "password": 2,
}


def canaries() -> dict[str, list[str]]:
    """Long and short ones, with and without characters that encodings change."""
    made = {kind: [f"cnry-{secrets.token_hex(9)}" for _ in range(count)] for kind, count in KINDS.items()}
    for kind in ("env", "passed", "reference"):
        made[kind][:8] = [f'c"{secrets.token_hex(6)}/é+&<>' for _ in range(8)]
    made["variable"][:8] = [f"7k{secrets.token_hex(5)}" for _ in range(8)]
    return made


@asynccontextmanager
async def parrot() -> AsyncIterator[tuple[str, list[Mapping[str, str]]]]:
    """A server over HTTP that says in every field what stood in the request: its headers and its address."""
    heard: list[Mapping[str, str]] = []

    async def serve(request: web.Request) -> web.Response:
        given = [*request.headers.values(), *request.query.values(), str(request.url)]
        heard.append(request.headers)
        packed = base64.b64encode(json.dumps(given).encode()).decode()
        said = " ".join([*given, *(quote(value, safe="") for value in given), packed])
        if request.path == "/refuses":
            return web.Response(status=403, text=said, headers={"WWW-Authenticate": "Basic"})
        if request.method != "POST":
            return web.Response(status=405)
        replies = respond(await request.json(), lambda field: f"{field}: {said}")
        return web.json_response(replies[-1]) if replies else web.Response(status=202)

    app = web.Application(client_max_size=1 << 22)
    app.router.add_route("*", "/{path}", serve)
    runner = web.AppRunner(app, max_field_size=1 << 16, max_line_size=1 << 16)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", heard
    finally:
        await runner.cleanup()


def config(made: dict[str, list[str]], origin: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The servers, and the variables of the environment that their entries name."""
    environ = {f"PASSED_{number}": value for number, value in enumerate(made["passed"])}
    environ |= {f"OURS_{number}": value for number, value in enumerate([*made["variable"], *made["variable_header"]])}
    environ |= {f"KEPT_{number}": value for number, value in enumerate(made["reference"])}
    args = [word for number, value in enumerate(made["option"]) for word in (f"--api-key-{number}", value)]
    args = [word if not word.startswith("--") else "--api-key" for word in args]
    args += [f"--token={value}" for value in made["assigned"]]
    count = len(made["variable"])
    program = {
        "command": sys.executable,
        "args": ["-S", "-E", hostile_server.__file__, "repeat", *args],
        "env": {
            **{f"SHOP_{number}_TOKEN": value for number, value in enumerate(made["env"])},
            **{f"SHOP_{number}_KEY": f"${{OURS_{number}}}" for number in range(count)},
            **{f"SHOP_{number}_VALUE": f"secret://env/KEPT_{number}" for number in range(len(made["reference"]))},
        },
        "passEnv": [f"PASSED_{number}" for number in range(len(made["passed"]))],
    }
    headers = {f"X-Shop-{number}": value for number, value in enumerate(made["header"])}
    headers |= {f"X-Ours-{number}": f"${{OURS_{count + number}}}" for number in range(len(made["variable_header"]))}
    query = "&".join(f"access_token={value}" for value in made["query"])
    web_server = {"url": f"{origin}/mcp?{query}", "headers": headers}
    servers = {"program": program, "web": web_server}
    servers |= {
        f"bearer{number}": {"url": f"{origin}/mcp", "apiKey": value, "enabled": number < 2}
        for number, value in enumerate(made["bearer"])
    }
    servers["refuses"] = {"url": f"{origin}/refuses?access_token={made['password'][0]}", "apiKey": made["password"][1]}
    return {name: {"maxRestarts": 0, **entry} for name, entry in servers.items()}, environ


@pytest.mark.timeout(400)
async def test_no_byte_of_a_secret_is_left_in_sessions_exports_pins_cache_logs_audit_metrics_or_model_requests(
    tmp_path: Path,
) -> None:
    made = canaries()
    # Those of servers that are switched off are not given to anybody: they stand in the config alone.
    key = f"sk-{secrets.token_hex(16)}"
    all_of_them = [*(value for values in made.values() for value in values), key]
    assert len(all_of_them) == 432

    calls = [Call(f"p{number}", "program__speak", {"how": how}) for number, how in enumerate(WAYS)]
    calls += [Call(f"w{number}", "web__speak", {"how": how}) for number, how in enumerate(WAYS) if how != "talk"]
    calls += [
        Call("r1", "program__resources_list"),
        Call("r2", "program__resources_read", {"uri": "hostile://one"}),
        Call("r3", "web__resources_read", {"uri": "hostile://one"}),
        Call("b1", "bearer0__speak", {"how": "text"}),
        Call("x1", "refuses__speak"),
        Call("x2", "program__speak", {"how": "no such way"}),
    ]
    async with (
        parrot() as (origin, heard),
        ChatServer([Answer(calls=calls), Answer("Done."), Answer("More.")]) as model,
    ):
        model.key = key
        servers, environ = config(made, origin)
        logging = {"level": "debug", "file": str(tmp_path / "log.txt")}
        home = Home(
            tmp_path, mcp={"servers": servers}, logging=logging, **local_model(model.url, "secret://env/MODEL_KEY")
        )
        home.environ |= {**environ, "MODEL_KEY": key}
        given = (home.state / "openclaw.json").read_bytes()
        commands = [
            ("agent", "--session-key", "s", "-m", "Read @program:hostile://one and @web:hostile://one please."),
            ("agent", "--session-key", "s", "-m", "Go on."),
            ("sessions", "export", "s"),
            ("config", "get", "mcp"),
            ("audit", "--json"),
        ]
        ran = {" ".join(words): await home.openclaw(*words) for words in commands}
        ran["chat"] = await home.chat(
            *(
                "/mcp servers --json",
                "/mcp tools --json",
                "/mcp status program",
                "/mcp status refuses --json",
                "/mcp logs program",
            ),
            *(
                "/mcp call program__speak how=text --json",
                "/mcp call web__speak how=refuse",
                "/mcp prompt program ask word=x",
            ),
        )
        requests = json.dumps(model.requests, ensure_ascii=False).encode()

    # They were given, and they were repeated: else nothing would be shown by not finding them.
    assert ran[" ".join(commands[0])].code == 0, ran
    assert made["header"][0] in {value for headers in heard for value in headers.values()}
    assert requests.count(b"[REDACTED]") > len(all_of_them)

    config_file = str(home.state / "openclaw.json")
    places = {name: data for name, data in files_under(tmp_path).items() if name != config_file}
    places |= {f"{name} (out)": done.out.encode() for name, done in ran.items()}
    places |= {f"{name} (err)": done.err.encode() for name, done in ran.items()}
    places["model requests"] = requests
    assert given == (home.state / "openclaw.json").read_bytes()
    assert found_in(all_of_them, places) == []
