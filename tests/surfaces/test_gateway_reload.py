"""A config saved while the gateway runs, with callers in it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from openclaw.config.load import load_config
from openclaw.config.sections import LoggingSection
from openclaw.gateway.reload import Reloader
from parts.executable import python_program
from parts.gateways import GatewayProcess, Running, home, running, sse_events, stdio_server
from parts.loops import ShiftedLoop, own_clock
from parts.processes import HANG_GUARD, handle_of, wait_until_gone


@asynccontextmanager
async def up(folder: Path, *ready: str, **config: Any) -> AsyncIterator[Running]:
    with home(folder, config) as place:
        async with running(place) as gateway:
            await gateway.ready(*ready)
            yield gateway


async def saved(at: Running, config: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Save a config and wait until the gateway has an opinion of it."""
    told = asyncio.create_task(at.reloaded())
    await asyncio.sleep(0)
    at.home.save(config, **more)
    return await told


async def pid(gateway: Running, server: str) -> int:
    _, status = await gateway.get(f"/v1/mcp/servers/{server}")
    return int(status["pid"])


async def call(gateway: Running, tool: str, **arguments: Any) -> tuple[int, Any]:
    return await gateway.post("/v1/tools/invoke", {"tool": tool, "arguments": arguments})


def servers(**named: Any) -> dict[str, Any]:
    return {"mcp": {"servers": named}}


@pytest.mark.requirement("001-2.2-hot-reload")
@pytest.mark.requirement("002-10-hot-reload")
async def test_only_the_servers_that_changed_are_touched(tmp_path: Path) -> None:
    before = servers(kept=stdio_server(), changed=stdio_server(), removed=stdio_server())
    after = servers(
        kept=stdio_server(toolFilter={"include": ["echo"]}),
        changed=stdio_server("--stderr-lines", "1"),
        new=stdio_server(),
    )
    async with up(tmp_path, "kept", "changed", "removed", **before) as gateway:
        kept, gone = await pid(gateway, "kept"), await pid(gateway, "removed")
        handle = handle_of(gone)
        assert await saved(gateway, after) == {"ok": True, "problem": ""}
        await gateway.ready("kept", "changed", "new")
        _, listed = await gateway.get("/v1/mcp/servers")
        _, tools = await gateway.get("/v1/mcp/servers/kept/tools")
        assert [server["name"] for server in listed["servers"]] == ["kept", "changed", "new"]
        assert (await pid(gateway, "kept"), [tool["name"] for tool in tools]) == (kept, ["kept__echo"])
        await asyncio.to_thread(wait_until_gone, handle)


@pytest.mark.parametrize(("callers", "edits"), [(10, 2), pytest.param(50, 4, marks=pytest.mark.full)])
async def test_editing_under_many_callers_drops_no_call_of_an_unchanged_server(
    tmp_path: Path, callers: int, edits: int
) -> None:
    async with up(tmp_path, "part", **servers(part=stdio_server())) as gateway:
        stop = asyncio.Event()

        async def keep_calling(number: int) -> list[tuple[int, bool]]:
            outcomes = []
            while not stop.is_set():
                status, answer = await call(gateway, "part__echo", text=str(number))
                outcomes.append((status, str(number) in answer["content"][0]["text"]))
            return outcomes

        calling = [asyncio.create_task(keep_calling(number)) for number in range(callers)]
        first = await pid(gateway, "part")
        for number in range(edits):
            extra = {f"extra-{number}": stdio_server()}
            assert (await saved(gateway, servers(part=stdio_server(), **extra), tools={"deny": [f"x{number}"]}))["ok"]
        stop.set()
        outcomes = [outcome for task in calling for outcome in await task]

        assert set(outcomes) == {(200, True)}
        assert await pid(gateway, "part") == first


async def test_a_newly_denied_tools_running_calls_end_and_no_others(tmp_path: Path) -> None:
    config = servers(part=stdio_server())
    async with up(tmp_path, "part", **config) as gateway:
        engine = gateway.gateway.app.engine
        denied = [asyncio.create_task(call(gateway, "part__hang")) for _ in range(3)]
        allowed = asyncio.create_task(call(gateway, "part__slow", seconds=3))
        async with asyncio.timeout(HANG_GUARD):
            while len(engine.running) < 4:
                await asyncio.sleep(0)
        assert (await saved(gateway, config, tools={"deny": ["part__hang"]}))["ok"]
        ended = [await asyncio.wait_for(task, HANG_GUARD) for task in denied]
        still_running = not allowed.done()
        refused, _ = await call(gateway, "part__hang")
        status, answer = await allowed

    assert [(status, answer["isError"]) for status, answer in ended] == [(200, True)] * 3
    assert "taken away while it ran" in ended[0][1]["content"][0]["text"]
    assert (still_running, refused) == (True, 404)
    assert (status, answer["isError"]) == (200, False)


async def test_a_newly_denied_native_tool_ends_too(tmp_path: Path) -> None:
    config = {"tools": {"allow": ["exec", "read"]}}
    started = tmp_path / "started"
    command = ["/bin/sh", "-c", f"echo $$ > {started}; sleep 600"]
    async with up(tmp_path, **config) as gateway:
        engine = gateway.gateway.app.engine
        task = asyncio.create_task(call(gateway, "exec", command=command))
        async with asyncio.timeout(HANG_GUARD):
            while not len(engine.running) or not started.exists() or not started.read_text().strip():
                await asyncio.sleep(0.01)
        handle = handle_of(int(started.read_text()))
        assert (await saved(gateway, {"tools": {"allow": ["read"]}}))["ok"]
        status, answer = await asyncio.wait_for(task, HANG_GUARD)
        await asyncio.to_thread(wait_until_gone, handle)

    assert (status, answer["isError"]) == (200, True)
    assert answer["content"][0]["text"] == "exec was taken away while it ran; the call was cancelled."


async def test_a_turn_that_runs_meets_the_new_rule_at_its_next_call(tmp_path: Path) -> None:
    slow = {"toolCalls": [{"name": "part__slow", "arguments": {"seconds": 2}}]}
    echo = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "x"}}]}
    with home(tmp_path) as place:
        config = {**servers(part=stdio_server()), **place.script(slow, echo, {"text": "{result}"})}
        place.save(config)
        async with running(place) as gateway:
            await gateway.ready("part")
            engine = gateway.gateway.app.engine
            body = {"model": "openclaw", "messages": [{"role": "user", "content": "go"}]}
            turn = asyncio.create_task(gateway.post("/v1/chat/completions", body))
            async with asyncio.timeout(HANG_GUARD):
                while not len(engine.running):
                    await asyncio.sleep(0)
            assert (await saved(gateway, config, tools={"deny": ["part__echo"]}))["ok"]
            _, answer = await turn

    assert "part__echo is not available" in answer["choices"][0]["message"]["content"]


async def test_a_broken_file_is_reported_and_changes_nothing_until_it_is_mended(tmp_path: Path) -> None:
    config = servers(part=stdio_server())
    async with up(tmp_path, "part", **config) as gateway:
        first = await pid(gateway, "part")
        told = asyncio.create_task(gateway.reloaded())
        await asyncio.sleep(0)
        gateway.home.config_file.write_text("{\n  mcp: {servers: 5}\n}")
        answer = await told
        status = await asyncio.to_thread(gateway.home.run, "gateway", "status")
        glance = await asyncio.to_thread(gateway.home.run, "status")
        tools = await asyncio.to_thread(gateway.home.run, "mcp", "tools")

        assert (answer["ok"], "openclaw.json:2:" in answer["problem"]) == (False, True)
        assert (await call(gateway, "part__echo", text="x"))[0] == 200
        assert await pid(gateway, "part") == first
        assert (await saved(gateway, config))["ok"]
        assert (await gateway.gateway.status())["configProblem"] == ""
        mended = await asyncio.to_thread(gateway.home.run, "mcp", "tools")
    assert "not in use as saved" in status.stdout
    noted = "note: the config is not in use as saved, but as it was before: "
    assert (tools.returncode, "part__echo" in tools.stdout, tools.stderr.startswith(noted)) == (0, True, True)
    assert ("openclaw.json:2:" in tools.stderr, mended.stdout, mended.stderr) == (True, tools.stdout, "")
    assert (glance.returncode, "not in use as saved" in glance.stdout) == (2, True)


async def test_a_file_that_is_taken_away_changes_nothing(tmp_path: Path) -> None:
    config = servers(part=stdio_server())
    async with up(tmp_path, "part", **config) as gateway:
        first = await pid(gateway, "part")
        told = asyncio.create_task(gateway.reloaded())
        await asyncio.sleep(0)
        gateway.home.config_file.unlink()
        answer = await told
        assert (answer["ok"], "is gone" in answer["problem"]) == (False, True)
        assert await pid(gateway, "part") == first
        assert (await saved(gateway, config))["ok"]
        assert await pid(gateway, "part") == first


async def test_an_included_file_counts_also_when_it_is_what_is_broken(tmp_path: Path) -> None:
    async with up(tmp_path) as gateway:
        part = gateway.home.state / "servers.json5"
        part.write_text("{ servers: { part: { comand: 'x' ")
        assert not (await saved(gateway, {"mcp": {"$include": "./servers.json5"}}))["ok"]
        told = asyncio.create_task(gateway.reloaded())
        await asyncio.sleep(0)
        part.write_text(json.dumps({"servers": {"part": stdio_server()}}))
        assert (await told)["ok"]
        await gateway.ready("part")
        told = asyncio.create_task(gateway.reloaded())
        await asyncio.sleep(0)
        part.write_text(json.dumps({"servers": {"other": stdio_server()}}))
        assert (await told)["ok"]
        await gateway.ready("other")


async def test_a_new_token_holds_at_once_and_cuts_off_who_came_with_the_old(tmp_path: Path) -> None:
    async with up(tmp_path) as gateway:
        old = gateway.headers
        stream = await gateway.client.get(f"{gateway.url}/v1/events", headers=old)
        assert sse_events([await stream.content.readline(), await stream.content.readline()])[0][0] == "snapshot"
        auth = {"port": 0, "auth": {"token": "a-new-token"}}
        assert (await saved(gateway, {}, gateway=auth))["ok"]
        with pytest.raises(aiohttp.ClientPayloadError):
            await asyncio.wait_for(stream.read(), HANG_GUARD)
        async with gateway.client.get(f"{gateway.url}/v1/models", headers=old) as refused:
            assert refused.status == 401
        new = {"Authorization": "Bearer a-new-token"}
        async with gateway.client.get(f"{gateway.url}/v1/models", headers=new) as welcome:
            assert welcome.status == 200


async def test_a_token_that_cannot_be_used_leaves_the_old_one_in_place(tmp_path: Path) -> None:
    async with up(tmp_path) as gateway:
        assert not (await saved(gateway, {}, gateway={"port": 0, "auth": {"token": ""}}))["ok"]
        assert (await gateway.get("/v1/models"))[0] == 200
        async with gateway.client.get(f"{gateway.url}/v1/models", headers={"Authorization": "Bearer "}) as refused:
            assert refused.status == 401


async def test_the_port_moves_and_stays_when_the_new_one_is_taken(tmp_path: Path) -> None:
    async with up(tmp_path) as gateway:
        first = gateway.gateway.port
        taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        answer = await saved(gateway, {}, gateway={"port": port})
        assert (answer["ok"], f"Port {port} is taken" in answer["problem"]) == (False, True)
        another = port + 1 if port < 65535 else port - 1
        end = f". The old port stays. Use another one: openclaw config set gateway.port {another}"
        assert answer["problem"].endswith(end)
        assert (gateway.gateway.port, (await gateway.get("/v1/models"))[0]) == (first, 200)
        taken.close()
        await taken.wait_closed()
        assert (await saved(gateway, {"env": {"vars": {"A": "1"}}}, gateway={"port": port}))["ok"]
        assert (gateway.gateway.port, (await gateway.get("/v1/models"))[0]) == (port, 200)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", first)


async def test_agents_and_models_are_those_of_the_new_file(tmp_path: Path) -> None:
    body = {"model": "openclaw/second", "messages": [{"role": "user", "content": "hi"}]}
    with home(tmp_path) as place:
        place.save(place.script({"text": "never said"}))
        async with running(place) as gateway:
            assert (await gateway.post("/v1/chat/completions", body))[0] == 404
            config = place.script({"text": "new words"})
            config["agents"]["entries"] = {"main": {}, "second": {}}
            config["models"]["providers"]["play"]["models"] = ["one", "two"]
            assert (await saved(gateway, config))["ok"]
            _, models = await gateway.get("/v1/models")
            status, answer = await gateway.post("/v1/chat/completions", body)

    assert [model["id"] for model in models["data"]][2:] == ["openclaw/main", "openclaw/second"]
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "new words")


async def test_a_server_that_will_not_leave_holds_up_no_later_change(tmp_path: Path) -> None:
    async with up(tmp_path, "slow", **servers(slow=stdio_server("--stubborn"))) as gateway:
        handle = handle_of(await pid(gateway, "slow"))
        assert (await saved(gateway, {}))["ok"]
        assert (await saved(gateway, servers(part=stdio_server())))["ok"]
        await gateway.ready("part")
        await asyncio.to_thread(wait_until_gone, handle)


async def test_the_engine_goes_by_its_new_settings_and_its_servers_stay(tmp_path: Path) -> None:
    part = stdio_server()
    async with up(tmp_path, "part", **servers(part=part)) as gateway:
        first = await pid(gateway, "part")
        after = {"mcp": {"servers": {"part": part}, "toolNames": "mcp_prefix_tool", "startupGraceMs": 10}}
        assert (await saved(gateway, after))["ok"]
        assert (await call(gateway, "mcp_part_echo", text="x"))[0] == 200
        assert (await call(gateway, "part__echo", text="x"))[0] == 404
        assert (await pid(gateway, "part"), gateway.gateway.app.engine.startup_grace) == (first, 0.01)


async def test_what_needs_a_restart_is_named_until_it_is_taken_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with up(tmp_path) as gateway:
        assert (await saved(gateway, {"session": {"store": "memory"}}))["ok"]
        assert (await saved(gateway, {"session": {"store": "memory"}, "env": {"vars": {"A": "1"}}}))["ok"]
        told = [record.getMessage() for record in caplog.records if "restart" in record.getMessage()]
        shown = await asyncio.to_thread(gateway.home.run, "gateway", "status")
        glance = await asyncio.to_thread(gateway.home.run, "status")
        assert (await saved(gateway, {}))["ok"]
        again = (await gateway.gateway.status())["restartNeeded"]

    assert told == ["A restart is needed for: session.store."]
    assert "! restart needed for: session.store\n" in shown.stdout
    assert "! restart needed for: session.store\n" in glance.stdout
    assert again == ()


async def test_a_log_level_saved_before_a_command_changed_the_engines_config_is_not_missed(tmp_path: Path) -> None:
    told: list[LoggingSection] = []
    async with up(tmp_path) as running:
        gateway, place = running.gateway, running.home
        reloader = Reloader(gateway.app, gateway.http, log_as=told.append)
        place.save({"logging": {"level": "debug"}})
        # As `mcp enable` does: it reads the whole file again, and the watcher comes later.
        await gateway.app.engine.reload(load_config(place.paths, place.env))
        await reloader.reload()
        await reloader.close()

    assert told == [LoggingSection(level="debug")]


class Heard(logging.Handler):
    """What is logged as an error, as it comes."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put_nowait(record.getMessage())


@own_clock
async def test_a_fault_of_ours_while_a_config_is_taken_over_is_logged_at_once_and_the_config_is_watched_again(
    tmp_path: Path, loop: ShiftedLoop
) -> None:
    levels = list[str | None]()

    def log_as(section: LoggingSection) -> None:
        levels.append(section.level)
        if len(levels) == 1:
            raise ValueError("a fault of ours")

    heard = Heard()
    logging.getLogger().addHandler(heard)
    try:
        with home(tmp_path) as place:
            async with running(place, log_as=log_as) as gateway:
                place.save({"logging": {"level": "debug"}})
                told = await heard.lines.get()
                await loop.pass_time(10.0)
                taken = await saved(gateway, {"logging": {"level": "warning"}})
    finally:
        logging.getLogger().removeHandler(heard)

    assert told == "The gateway's own fault in its task config-watch: ValueError. It begins again in 10 s."
    assert (taken, levels) == ({"ok": True, "problem": ""}, ["debug", "warning"])


# Prints its second argument; the first time it waits until whoever listens at the port of the first one ends the connection.
WAITS_ONCE = """import os, socket, sys
port, token = sys.argv[1:]
try:
    os.mkdir(sys.argv[0] + ".once")
except FileExistsError:
    pass
else:
    with socket.create_connection(("127.0.0.1", int(port))) as asked:
        asked.recv(1)
print(token)"""


async def test_a_command_given_while_a_saved_file_is_being_read_is_not_undone_by_it(tmp_path: Path) -> None:
    off = servers(part=stdio_server(enabled=False))
    asked: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    listener = await asyncio.start_server(lambda reader, writer: asked.put_nowait(writer), "127.0.0.1", 0)
    async with listener, up(tmp_path, **off) as gateway:
        port = listener.sockets[0].getsockname()[1]
        # The token is the same as before; whoever asks for it the first time has to wait.
        helper = python_program(tmp_path / "helper", WAITS_ONCE, "-IS")
        provider = {
            "source": "exec",
            "command": str(helper),
            "args": [str(port), gateway.home.token],
            "jsonOnly": False,
        }
        told = asyncio.create_task(gateway.reloaded())
        await asyncio.sleep(0)
        gateway.home.save(
            off,
            gateway={"port": 0, "auth": {"token": "secret://exec/slow/token"}},
            secrets={"providers": {"slow": provider}},
        )
        async with asyncio.timeout(HANG_GUARD):
            waiting = await asked.get()
            await gateway.post("/v1/mcp/servers/part/enable")
            waiting.close()
            assert await told == {"ok": True, "problem": ""}
        status, answer = await call(gateway, "part__echo", text="hello")

    assert status == 200
    assert "hello" in answer["content"][0]["text"]


def test_log_lines_are_what_the_file_says_while_it_runs(tmp_path: Path) -> None:
    config = servers(part=stdio_server())
    with home(tmp_path, {**config, "logging": {"level": "error"}}) as place:
        process = GatewayProcess(place)
        try:
            process.wait_until("The gateway is up: http")
            place.save({**config, "logging": {"level": "debug", "json": True, "file": "gateway.log"}})
            process.wait_until('"message": "The changed config is in use."')
            assert place.run("mcp", "call", "part__echo", "text=hi").returncode == 0
            process.wait_until("called echo in")
        finally:
            process.end()
        kept = (tmp_path / "gateway.log").read_text().splitlines()

    assert " INFO " not in process.said
    assert {"debug", "info"} <= {json.loads(line)["level"] for line in kept}
