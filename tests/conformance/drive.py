"""Take OpenClaw through one scenario of the MCP conformance suite.

The product does everything: a temporary home with an `openclaw.json` that names the suite's server, the engine that reads it, and for
sign-ins the command line in a process of its own, as a person without a browser would use it. This file only decides which tools to
call. The suite gives the scenario and what a client needs to know for it in the environment (`MCP_CONFORMANCE_*`).
"""

import asyncio
import http.client
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from openclaw.config.agents import agent
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.content import ToolCall, text_of
from openclaw.conversation import Answer, Conversation, Question, QuestionKind
from openclaw.engine import Engine
from openclaw.errors import OpenClawError
from openclaw.mcp.manager import Manager
from openclaw.mcp.prompts import get_prompt, list_prompts
from openclaw.mcp.resources import list_resources, read_resource
from openclaw.mcp.tools.definition import schema_of
from openclaw.skills.served import ServedSkills
from openclaw.tool import Invocation

SERVER = "mock"
# The default agent.
AGENT = "main"
# The document a server would fetch; the suite knows this address and never does.
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
# More than any scenario needs; the product itself gives up earlier.
MAX_SIGN_INS = 6
SIGN_IN_SECONDS = 30


class ScenarioError(Exception):
    """The scenario went another way than a client's should."""


# What is configured


def server_entry(url: str, context: Mapping[str, Any], *, auth: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"url": url}
    if not auth:
        return entry
    if "idp_id_token" in context:
        names = ("client_id", "client_secret", "idp_client_id", "idp_id_token", "idp_issuer", "idp_token_endpoint")
        entry["auth"] = {"grant": "enterprise", **{_camel(name): context[name] for name in names}}
    elif "private_key_pem" in context:
        entry["auth"] = {
            "grant": "client_credentials",
            "clientId": context["client_id"],
            "privateKey": context["private_key_pem"],
            "signingAlg": context["signing_algorithm"],
        }
    elif "client_id" in context:
        entry["auth"] = {"clientId": context["client_id"], "clientSecret": context["client_secret"]}
        if SCENARIO.startswith("auth/client-credentials"):
            entry["auth"]["grant"] = "client_credentials"
    else:
        entry["auth"] = {"clientMetadataUrl": CLIENT_METADATA}
    return entry


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def write_config(home: Path, entry: Mapping[str, Any]) -> None:
    folder = home / ".openclaw"
    folder.mkdir()
    # A key of its own keeps the keychain of whoever runs this out of it.
    document = {"mcp": {"servers": {SERVER: entry}}, "tokenStore": {"key": "secret://env/CONFORMANCE_KEY"}}
    (folder / "openclaw.json").write_text(json.dumps(document))


# What is called


async def call(manager: Manager, tool: str, arguments: Mapping[str, Any]) -> None:
    invocation = Invocation(Conversation(AGENT, "conformance", asker=Agreeing()))
    result = await manager.call(f"{SERVER}__{tool}", arguments, agent=AGENT, invocation=invocation)
    if result.is_error:
        raise ScenarioError(f"{tool}: {result.fault or [block.text for block in result.content]}")


async def only_list(manager: Manager) -> None:
    if manager.status(AGENT)[0].state != "ready":
        raise ScenarioError(f"not connected: {manager.status(AGENT)[0].shown}")


async def add_numbers(manager: Manager) -> None:
    await call(manager, "add_numbers", {"a": 5, "b": 3})


async def reconnect(manager: Manager) -> None:
    await call(manager, "test_reconnection", {})


async def accept_defaults(manager: Manager) -> None:
    await call(manager, "test_client_elicitation_defaults", {})


async def input_rounds(manager: Manager) -> None:
    """One exchange of several rounds, with another call in the middle of the next one."""
    await call(manager, "test_mrtr_echo_state", {})
    await asyncio.gather(call(manager, "test_mrtr_no_state", {}), call(manager, "test_mrtr_unrelated", {}))
    await call(manager, "test_mrtr_no_result_type", {})


async def everything(manager: Manager) -> None:
    """Each kind of request that has headers of its own."""
    await call(manager, "test_headers", {})
    await call(manager, "my-hyphenated-tool", {})
    server = manager.server(SERVER, AGENT)
    for resource in await server.use(list_resources):
        await server.use(partial(read_resource, uri=resource.uri))
    for prompt in await server.use(list_prompts):
        await server.use(partial(get_prompt, entry=prompt, arguments={}))


async def given_calls(manager: Manager) -> None:
    """Exactly as they are given: one passes null for a boolean, which the manager refuses and a server is sent."""
    server = manager.server(SERVER, AGENT)
    for wanted in CONTEXT["toolCalls"]:
        result = await server.call_tool(wanted["name"], wanted["arguments"], timeout=30.0, max_total=30.0)
        if result.is_error:
            raise ScenarioError(f"{wanted['name']}: {result.fault}")


async def every_tool(manager: Manager) -> None:
    for entry in manager.entries(AGENT):
        if not entry.is_utility:
            schema = msgspec.json.decode(schema_of(entry.definition.details()))
            await call(manager, entry.definition.name, dict.fromkeys(schema.get("required", []), "x"))


async def echo_schema(manager: Manager) -> None:
    schemas = {entry.definition.name: schema_of(entry.definition.details()) for entry in manager.entries(AGENT)}
    schema = msgspec.json.decode(schemas["json_schema_2020_12_tool"])
    await call(manager, "json_schema_echo", {"schema": schema})


SCENARIOS: dict[str, Callable[[Manager], Awaitable[None]]] = {
    "initialize": only_list,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": accept_defaults,
    "sse-retry": reconnect,
    "request-metadata": only_list,
    "sep-2322-client-request-state": input_rounds,
    "http-standard-headers": everything,
    "http-custom-headers": given_calls,
    "http-invalid-tool-headers": every_tool,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2640-client-no-prefetch": only_list,
}


async def load_skill(engine: Engine, manager: Manager) -> None:
    """As a model does that was allowed to: the skill, and a file of it only when there was a skill."""
    served = ServedSkills([manager.skills], AGENT, decide=engine.decide)
    (tool,) = served.tools(AGENT)
    (name,) = served.offered()
    for arguments in ({"skill": name}, {"skill": name, "file": "references/FORMS.md"}):
        conversation = Conversation(AGENT, "conformance", says_yes=True)
        result = await engine.invoke(tool, ToolCall("1", tool.name, arguments), Invocation(conversation, "1"))
        if result.is_error:
            raise ScenarioError(text_of(result.content))


class Agreeing:
    """A person who agrees to whatever is proposed, and adds nothing to it."""

    def can(self, kind: QuestionKind) -> bool:
        return kind in ("form", "url")

    async def ask(self, question: Question) -> Answer:
        return Answer("accept")


# Signing in


async def signed_in_use(engine: Engine) -> None:
    """List the tools and call the first, signing in whenever that is asked for."""
    manager = await engine.manager()
    name = agent(engine.config, "").id
    manager.start(name)
    await manager.settle(name, float("inf"))
    for _ in range(MAX_SIGN_INS):
        status = manager.status(name)[0]
        if status.state == "needs-auth":
            await sign_in(engine.env)
            with suppress(OpenClawError):
                # Its status says why, and whether somebody has to sign in once more.
                await manager.server(SERVER, name).refresh()
        elif status.state != "ready":
            raise ScenarioError(f"{status.state}: {status.reason}")
        else:
            tool = next(entry.name for entry in manager.entries(name) if not entry.is_utility)
            result = await manager.call(tool, {}, agent=name)
            if not result.is_error:
                return
            await asyncio.sleep(0)
            if manager.status(name)[0].state == "needs-auth":
                continue
            # A call may want more rights than its server's others.
            if result.needs_sign_in:
                await sign_in(engine.env)
            else:
                raise ScenarioError(f"{tool}: {result.fault or [block.text for block in result.content]}")
    raise ScenarioError(f"still asked to sign in after {MAX_SIGN_INS} times")


async def sign_in(env: Mapping[str, str]) -> None:
    """As somebody without a browser on this machine: get the address, open it elsewhere, paste the one it ends at."""
    started = json.loads(await command(env, "mcp", "auth", SERVER, "--json"))
    callback = await asyncio.to_thread(redirect_of, started["authorizationUrl"])
    await command(env, "mcp", "auth", SERVER, "--code", callback)


async def command(env: Mapping[str, str], *words: str) -> str:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openclaw", *words),
        env=dict(env),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await program.communicate()
    if program.returncode:
        raise ScenarioError(f"openclaw {words[0]} {words[1]}: {err.decode()}")
    return out.decode()


def redirect_of(url: str) -> str:
    """Where a browser would be sent from there."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SIGN_IN_SECONDS)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        location = response.getheader("Location")
        if location is None:
            raise ScenarioError(f"the sign-in page answered {response.status} and sent nobody on")
        return location
    finally:
        connection.close()


async def main(url: str) -> None:
    is_auth = SCENARIO.startswith("auth/")
    with tempfile.TemporaryDirectory() as home:
        write_config(Path(home), server_entry(url, CONTEXT, auth=is_auth))
        env = {**os.environ, "HOME": home, "CONFORMANCE_KEY": "only for this run of the suite"}
        paths = Paths.from_env(env)
        config = load_config(paths, env)
        async with Engine(config, paths=paths, env=env) as engine:
            if is_auth:
                await signed_in_use(engine)
                return
            manager = await engine.manager()
            manager.start(AGENT)
            await manager.settle(AGENT, float("inf"))
            if SCENARIO.startswith("sep-2640-client-verify-"):
                await load_skill(engine, manager)
            else:
                await SCENARIOS[SCENARIO](manager)


if __name__ == "__main__":
    SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
    CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    try:
        asyncio.run(main(sys.argv[-1]))
    except (ScenarioError, OpenClawError) as error:
        sys.exit(str(error))
