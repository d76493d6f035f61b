"""Servers that one session has besides those of its agent."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.config.servers import ServerSpec
from openclaw.content import text_of
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.errors import UsageError
from openclaw.log import short_hash
from openclaw.mcp.old_files import MOST_UNUSED
from openclaw.mcp.session_servers import SessionServers
from parts.command_line import Home, parts_server
from parts.processes import handle_of, is_alive, server_command, wait_until_gone

FOREVER = float("inf")
ONE, OTHER = "agent:main:acp:one", "agent:main:acp:other"


def given(name: str, *options: str, **fields: Any) -> ServerSpec:
    command, *args = server_command(*options)
    return ServerSpec(name, command=command, args=tuple(args), **fields)


@asynccontextmanager
async def opened(home: Home) -> AsyncIterator[App]:
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        yield app


async def ready(engine: Engine, session: str = ONE) -> SessionServers:
    servers = engine.session_servers(session)
    assert servers is not None
    await servers.settle("main", FOREVER)
    return servers


def pids(servers: SessionServers) -> list[int]:
    found = [status.pid for status in servers.status()]
    return [pid for pid in found if pid is not None]


async def names(app: App, session: str) -> list[str]:
    one = await app.agent(app.engine.agent(), session=session)
    return [tool.name for tool in one.tools() if tool.name.endswith("__echo")]


async def called(app: App, tool: str, session: str = ONE, **arguments: Any) -> str:
    result = await app.call(tool, arguments, Conversation(session=session))
    return text_of(result.content)


async def test_turns_of_a_session_use_the_servers_it_was_given_and_those_of_others_do_not(tmp_path: Path) -> None:
    home = Home(tmp_path)
    turns = tmp_path / "turns.json"
    call = {"toolCalls": [{"name": "desk__echo", "arguments": {"text": "from the desk"}}]}
    turns.write_text(json.dumps([call, {"text": "{result}"}] * 2))
    home.write(agents={"defaults": {"model": f"scripted/{turns}"}})
    async with opened(home) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        mine = await app.reply("echo", Conversation(session=ONE))
        theirs = await app.reply("echo", Conversation(session=OTHER))
        app.engine.audit.flush()

    assert "from the desk" in mine.text
    assert "untrusted" in mine.text.lower()
    assert "There is no tool named desk__echo." in theirs.text
    lines = (home.paths.audit_dir / "calls.jsonl").read_text().splitlines()
    ends = [line for line in map(json.loads, lines) if line["event"] == "outcome"]
    assert [(end["session"], end["kind"], end["origin"], end["outcome"]) for end in ends] == [
        (short_hash(ONE), "mcp", "desk", "ok"),
        (short_hash(OTHER), "unknown", "", "unknown"),
    ]


async def test_a_changed_config_leaves_them_alone_and_its_policy_holds_for_them_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"shop": parts_server()}})
    async with opened(home) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        servers = await ready(app.engine)
        before = pids(servers)
        home.write(mcp={"servers": {"store": parts_server()}})
        hanging = asyncio.create_task(called(app, "desk__hang"))
        while not len(app.engine.running):
            await asyncio.sleep(0)
        await app.reload(home.config())
        assert (pids(servers), hanging.done()) == (before, False)
        assert "again" in await called(app, "desk__echo", text="again")
        home.write(mcp={"servers": {"store": parts_server()}}, tools={"deny": ["desk__*"]})
        await app.reload(home.config())
        assert "was taken away" in await hanging
        assert "desk__echo" not in await names(app, ONE)
        assert pids(servers) == before


async def test_they_end_when_the_session_is_released_and_so_do_their_calls(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        servers = await ready(app.engine)
        (pid,) = pids(servers)
        process = handle_of(pid)
        hanging = asyncio.create_task(app.call("desk__hang", {}, Conversation(session=ONE)))
        while not len(app.engine.running):
            await asyncio.sleep(0)
        await app.engine.remove_servers(ONE)
        assert (await hanging).is_error
        wait_until_gone(process)
        assert (servers.tools("main"), servers.absences("main"), servers.context("main")) == ((), (), "")
        assert app.engine.session_servers(ONE) is None
        assert "There is no tool named desk__echo." in await called(app, "desk__echo")
        await app.engine.remove_servers(ONE)


async def test_a_turn_that_waits_for_them_goes_on_when_they_are_removed_before_they_have_ended(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        await app.engine.give_servers(ONE, "main", [given("desk", "--initialize", "silent", "--stubborn")])
        settling = asyncio.create_task(ready(app.engine))
        await asyncio.sleep(0)
        removing = asyncio.create_task(app.engine.remove_servers(ONE))
        done, _ = await asyncio.wait({settling, removing}, return_when=asyncio.FIRST_COMPLETED)
        assert done == {settling}
        await removing


async def test_they_end_with_the_engine(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        (pid,) = pids(await ready(app.engine))
        process = handle_of(pid)
    wait_until_gone(process)


async def test_servers_given_anew_replace_those_of_before(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        await app.engine.give_servers(ONE, "main", [given("desk"), given("lamp")])
        first = dict(zip(("desk", "lamp"), pids(await ready(app.engine)), strict=True))
        gone = handle_of(first["desk"])
        await app.engine.give_servers(ONE, "main", [given("lamp")])
        assert pids(await ready(app.engine)) == [first["lamp"]]
        wait_until_gone(gone)


async def test_files_about_servers_that_nobody_has_any_more_are_bounded_and_the_oldest_go(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"shop": parts_server()}})
    async with opened(home) as app:
        manager = await app.engine.manager()
        manager.start("main")
        await manager.settle("main", FOREVER)
        await app.engine.give_servers(ONE, "main", [given("desk")])
        await ready(app.engine)
        pins = home.paths.data_dir / "mcp" / "pins"
        own = set(pins.iterdir())
        # Used before everybody else: what somebody has stays all the same.
        for number, path in enumerate((*own, *(pins / f"{number:032x}.json" for number in range(MOST_UNUSED + 3)))):
            path.touch()
            os.utime(path, (number, number))
        await app.engine.give_servers(OTHER, "main", [given("desk")])
        left = set(pins.iterdir())

    assert len(own) == 2
    assert left == own | {pins / f"{number:032x}.json" for number in range(3, MOST_UNUSED + 3)}


async def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        with pytest.raises(UsageError, match="Two servers of the session are named 'desk'"):
            await app.engine.give_servers(ONE, "main", [given("desk"), given("desk", "--stderr-lines", "1")])
        assert app.engine.session_servers(ONE) is None


async def test_a_name_that_a_configured_server_has_gets_a_suffix_also_when_that_comes_later(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"desk": parts_server()}})
    async with opened(home) as app:
        await app.engine.give_servers(ONE, "main", [given("Desk", "--stderr-lines", "1"), given("lamp")])
        servers = await ready(app.engine)
        manager = await app.engine.manager()
        manager.start("main")
        await manager.settle("main", FOREVER)
        assert await names(app, ONE) == ["desk__echo", "Desk-2__echo", "lamp__echo"]
        assert await names(app, OTHER) == ["desk__echo"]
        assert "--stderr-lines" not in await called(app, "desk__environment")
        assert "--stderr-lines" in await called(app, "Desk-2__environment")
        before = pids(servers)
        home.write(mcp={"servers": {"lamp": parts_server("--stderr-lines", "2")}})
        await app.reload(home.config())
        manager.start("main")
        await manager.settle("main", FOREVER)
        assert await names(app, ONE) == ["lamp__echo", "Desk__echo", "lamp-2__echo"]
        assert pids(servers) == before


async def test_what_is_configured_just_so_is_shared_and_stays_when_the_session_is_released(tmp_path: Path) -> None:
    agents = {"entries": {"main": {}, "other": {"mcp": {"servers": {"desk": parts_server()}}}}}
    home = Home(tmp_path, mcp={"servers": {"shop": parts_server()}}, agents=agents)
    async with opened(home) as app:
        manager = await app.engine.manager()
        manager.start("other")
        await manager.settle("other", FOREVER)
        shared = {status.name: status.pid for status in manager.status("other")}
        assert shared["desk"] is not None
        process = handle_of(shared["desk"])
        specs = [manager.server("desk", "other").spec, manager.server("shop", "main").spec]
        await app.engine.give_servers(ONE, "main", specs)
        servers = await ready(app.engine)
        # The agent of the session has the shop anyway.
        assert [(status.name, status.pid) for status in servers.status()] == [("desk", shared["desk"])]
        await app.engine.remove_servers(ONE)
        assert is_alive(process)


async def test_one_that_cannot_start_is_named_in_the_session_alone(tmp_path: Path) -> None:
    async with opened(Home(tmp_path)) as app:
        await app.engine.give_servers(ONE, "main", [ServerSpec("desk", command="no-such-program-anywhere")])
        await ready(app.engine)
        mine = await app.agent(app.engine.agent(), session=ONE)
        theirs = await app.agent(app.engine.agent(), session=OTHER)
        assert [absence.name for absence in mine.absences() if "no-such-program" in absence.reason] == ["desk__*"]
        assert [absence.name for absence in theirs.absences()] == ["run_code", "exec"]
        assert 'name="desk"' in mine.system_prompt()
        assert 'name="desk"' not in theirs.system_prompt()


async def test_where_servers_are_switched_off_a_session_has_none_either(tmp_path: Path) -> None:
    async with opened(Home(tmp_path, plugins={"entries": {"mcp-client": {"enabled": False}}})) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        await ready(app.engine)
        assert await names(app, ONE) == []


async def test_no_server_of_a_session_is_started_while_the_plugin_for_servers_is_off(tmp_path: Path) -> None:
    async with opened(Home(tmp_path, plugins={"entries": {"mcp-client": {"enabled": False}}})) as app:
        await app.engine.give_servers(ONE, "main", [given("desk")])
        servers = await ready(app.engine)
        assert [(status.name, status.state, status.pid) for status in servers.status()] == [("desk", "disabled", None)]


async def test_a_server_of_a_session_uses_secrets_of_this_machine_only_when_its_giver_may(tmp_path: Path) -> None:
    spec = given("desk", env=(("TOKEN", "secret://env/DESK_TOKEN"),))
    home = Home(tmp_path)
    home.environ["DESK_TOKEN"] = "a value"
    async with opened(home) as app:
        with pytest.raises(UsageError, match="MCP server 'desk' of the session names a secret of this machine"):
            await app.engine.give_servers(ONE, "main", [spec])
        assert app.engine.session_servers(ONE) is None
        await app.engine.give_servers(ONE, "main", [spec], may_use_secrets=True)
        assert [status.state for status in (await ready(app.engine)).status()] == ["ready"]
