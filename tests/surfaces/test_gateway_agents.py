"""Agents of one gateway are apart: what only one has, another can neither see nor call nor use up."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parts.gateways import Home, Running, home, running, stdio_server
from parts.processes import HANG_GUARD


def scripted(place: Home, name: str, *turns: dict[str, Any]) -> dict[str, Any]:
    (place.state / f"{name}.json").write_text(json.dumps(turns))
    return {"api": "scripted", "script": str(place.state / f"{name}.json"), "models": ["one"]}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Running]:
    """Agents a and b, each with a server of its own of the same kind, a credential in it, a model, a workspace and rules."""
    reach = {"toolCalls": [{"name": "mcp_theirs_environment", "arguments": {}}, {"name": "ls", "arguments": {}}]}
    with home(tmp_path) as place:
        agents, providers = {}, {}
        for name, server in (("a", "mine"), ("b", "theirs")):
            (tmp_path / name / f"file-of-{name}").mkdir(parents=True)
            own = stdio_server(env={"KEY": f"credential of {name}", "OWNER": f"agent {name}"}, maxInFlight=1)
            agents[name] = {
                "model": f"model-{name}/one",
                "workspace": str(tmp_path / name),
                "mcp": {"servers": {server: own}},
                "tools": {"deny": [] if name == "a" else ["write"]},
            }
            providers[f"model-{name}"] = scripted(place, name, reach, {"text": f"{name}: {{result}}"})
        place.save({"agents": {"entries": agents}, "models": {"mode": "replace", "providers": providers}})
        async with running(place) as one:
            await one.ready("mine", "theirs")
            yield one


async def call(gateway: Running, agent: str, tool: str, **arguments: Any) -> tuple[int, str]:
    status, answer = await gateway.post("/v1/tools/invoke", {"agent": agent, "tool": tool, "arguments": arguments})
    return status, answer["content"][0]["text"] if status == 200 else answer["error"]["message"]


async def tools_of(gateway: Running, agent: str) -> set[str]:
    _, listed = await gateway.get(f"/v1/tools?agent={agent}")
    return {tool["name"] for tool in listed["tools"]} | {absent["name"] for absent in listed["absent"]}


async def test_a_turn_of_one_agent_reaches_nothing_of_the_other(gateway: Running) -> None:
    replies = {}
    for agent in ("a", "b"):
        message = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": "look around"}]}
        replies[agent] = await gateway.post("/v1/chat/completions", message)
    made = {
        agent: {(one["name"], one["isError"]) for one in reply["openclaw"]["toolCalls"]}
        for agent, (_, reply) in replies.items()
    }
    assert made == {
        "a": {("mcp_theirs_environment", True), ("ls", False)},
        "b": {("mcp_theirs_environment", False), ("ls", False)},
    }
    said = {agent: reply["choices"][0]["message"]["content"] for agent, (_, reply) in replies.items()}
    assert ("file-of-a" in said["a"], "file-of-b" in said["a"]) == (True, False)
    assert (said["a"][:2], said["b"][:2]) == ("a:", "b:")


async def test_tools_credentials_and_rules_are_each_agents_own(gateway: Running) -> None:
    a, b = await tools_of(gateway, "a"), await tools_of(gateway, "b")
    assert not {name for name in a if "theirs" in name} | {name for name in b if "mine" in name}
    # A credential that a server repeats is masked; what stands beside it tells whose it is.
    for agent, server in (("a", "mine"), ("b", "theirs")):
        shown = (await call(gateway, agent, f"mcp_{server}_environment"))[1]
        assert (f'"OWNER": "agent {agent}"' in shown, '"KEY": "[REDACTED]"' in shown) == (True, True)
    assert (await call(gateway, "a", "mcp_theirs_environment"))[0] == 404
    assert (await call(gateway, "b", "write", path="x", content="x"))[0] == 404
    assert (await gateway.get("/v1/mcp/servers/theirs?agent=a"))[0] == 404


async def test_an_agent_that_keeps_its_own_server_busy_holds_up_no_other(gateway: Running) -> None:
    engine = gateway.gateway.app.engine
    busy = [asyncio.create_task(call(gateway, "a", "mcp_mine_hang")) for _ in range(5)]
    async with asyncio.timeout(HANG_GUARD):
        while len(engine.running) < len(busy):
            await asyncio.sleep(0)
        answer = await call(gateway, "b", "mcp_theirs_echo", text="still here")
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    assert (answer[0], "still here" in answer[1]) == (200, True)
