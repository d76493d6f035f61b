"""Which tools an agent is offered, when that changes, and why others are missing: over every transport."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp import web

from openclaw.config.servers import ServerSpec
from openclaw.errors import DeadlineError, RpcError, UsageError
from openclaw.event_hub import Event
from openclaw.mcp.events import DefinitionsChanged, ServerEvent, StateChanged, ToolsChanged
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.pins import Upgrade, digest_of
from openclaw.mcp.tools.registry import STEP
from openclaw.mcp.tools.results import Result
from openclaw.security.unframe import without_frames
from openclaw.tool import Absence
from openclaw.transport.base import Transport
from parts.http_faults import hold
from parts.http_server import HttpServer, Message
from parts.planned_server import MODERN, tool
from parts.sites import Site

E = TypeVar("E", bound=ServerEvent)


def names(manager: Manager, agent: str = "") -> list[str]:
    return [t.name for t in manager.tools(agent)]


async def heard(manager: Manager, kind: type[E], act: Callable[[], Awaitable[object]]) -> E:
    """The first event of a kind after `act`."""
    found: asyncio.Future[E] = asyncio.get_running_loop().create_future()

    def sink(event: Event[E]) -> None:
        if not found.done():
            found.set_result(event.value)

    unsubscribe = manager.events.subscribe(sink, kind)
    try:
        await act()
        return await found
    finally:
        unsubscribe()


def announcing(manager: Manager, method: str = "notifications/tools/list_changed") -> Callable[[], Awaitable[object]]:
    return lambda: manager.call("shop__announce", {"method": method})


async def test_a_long_list_is_read_page_by_page(site: Site) -> None:
    site.plan(tools=[tool(f"t{n:02}") for n in range(10)], page=3)
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert names(manager) == [f"shop__t{n:02}" for n in range(10)]


@pytest.mark.requirement("000-3.1-tools-come-and-go")
@pytest.mark.requirement("002-10-rediscovery")
async def test_tools_come_and_go_when_the_server_says_its_list_changed(site: Site) -> None:
    site.plan(tools=[tool("announce"), tool("old")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        site.plan(tools=[tool("announce"), tool("new")])
        event = await heard(manager, ToolsChanged, announcing(manager))
        assert event == ToolsChanged("shop", ("shop__new",), ("shop__old",))
        assert names(manager) == ["shop__announce", "shop__new"]


async def test_lists_keep_their_distance_however_often_changes_are_announced(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with Site("streamable-http", tmp_path) as site, Manager([site.spec()]) as manager:
        assert site.http
        began = loop.time()
        for _ in range(60):
            await manager.call("shop__announce", {"method": "notifications/tools/list_changed"})
        # Two when it came up, one at once, and then one a second (DISCOVERY_PAUSE).
        assert site.http.methods().count("tools/list") <= 3 + (loop.time() - began)
        assert manager.status()[0].state == "ready"


async def test_the_newest_revision_subscribes_to_changes(tmp_path: Path) -> None:
    for kind in ("memory", "stdio", "streamable-http"):
        async with Site(kind, tmp_path / kind) as site:
            site.plan(tools=[tool("announce")], revisions=[MODERN])
            async with Manager([site.spec()], dependencies=site.dependencies) as manager:
                await site.logged('listen {"toolsListChanged": true}')
                site.plan(tools=[tool("announce"), tool("new")], revisions=[MODERN])
                event = await heard(manager, ToolsChanged, announcing(manager))
                assert event == ToolsChanged("shop", ("shop__new",), ())


@pytest.mark.requirement("000-12.2-discovery")
@pytest.mark.requirement("002-10-rediscovery")
async def test_a_server_that_says_nothing_is_listed_again_after_the_interval(site: Site) -> None:
    site.plan(tools=[tool("one")])
    async with Manager([site.spec(discovery_interval=0.05)], dependencies=site.dependencies) as manager:

        async def change() -> None:
            site.plan(tools=[tool("one"), tool("two")])

        assert await heard(manager, ToolsChanged, change) == ToolsChanged("shop", ("shop__two",), ())


@pytest.mark.requirement("002-10-rediscovery")
async def test_a_list_is_read_again_when_the_life_the_server_gave_it_is_over(site: Site) -> None:
    site.plan(tools=[tool("one")], ttl=50)
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:

        async def change() -> None:
            site.plan(tools=[tool("one"), tool("two")])

        assert await heard(manager, ToolsChanged, change) == ToolsChanged("shop", ("shop__two",), ())


async def test_a_list_that_is_refused_leaves_what_was_known(site: Site) -> None:
    site.plan(tools=[tool("one")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        site.plan(tools=[tool("one")], list="refuse")
        with pytest.raises(RpcError, match="Out of order"):
            await manager.server("shop").refresh()
        assert (names(manager), manager.status()[0].state) == (["shop__one"], "ready")


async def test_a_list_that_never_comes_ends_the_refresh_that_asked_for_it(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        async with Manager([site.spec(connect_timeout=1.0)]) as manager:
            site.http.fault("tools/list", hold())
            with pytest.raises(DeadlineError):
                await manager.server("shop").refresh()


async def test_a_server_whose_first_list_is_refused_is_up_without_tools(site: Site) -> None:
    site.plan(list="refuse")
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert (names(manager), manager.status()[0].state) == ([], "ready")


async def test_a_subscription_that_the_server_ends_is_asked_for_again(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        site.plan(tools=[tool("announce")], revisions=[MODERN], hang_up=True)
        async with Manager([site.spec()]) as manager:
            await site.logged('listen {"toolsListChanged": true}')
            # What changes while nobody listens is found by listing again.
            site.plan(tools=[tool("announce"), tool("new")], revisions=[MODERN])

            async def wait() -> None:
                while site.log.count('listen {"toolsListChanged": true}') < 2:
                    await asyncio.sleep(0.01)

            event = await heard(manager, ToolsChanged, wait)
            assert event == ToolsChanged("shop", ("shop__new",), ())


@pytest.mark.requirement("002-10-rediscovery")
async def test_refreshing_lists_again_at_once(site: Site) -> None:
    site.plan(tools=[tool("one")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        site.plan(tools=[tool("one"), tool("two")])
        await manager.server("shop").refresh()
        assert names(manager) == ["shop__one", "shop__two"]


@pytest.mark.requirement("000-10-unknown-tool")
async def test_a_tool_the_server_does_not_know_any_more_is_taken_out(site: Site) -> None:
    site.plan(tools=[tool("count"), tool("echo")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        site.plan(tools=[tool("echo")])
        result = await manager.call("shop__count", {})
        assert result == Result.failed(
            "The server no longer has this tool. It was taken out of the list, which is read again."
        )
        assert names(manager) == ["shop__echo"]


@pytest.mark.parametrize("words", ["Unknown tool: gone", "MCP error -32602: Tool gone not found"])
async def test_a_failed_result_that_means_an_unknown_tool_is_understood(site: Site, words: str) -> None:
    site.plan(tools=[tool("gone")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        answer = {"content": [{"type": "text", "text": words}], "isError": True}
        result = await manager.call("shop__gone", {"answer": answer})
        assert result.fault.startswith("The server no longer has this tool.")


@pytest.mark.parametrize(
    ("code", "words"), [(-32602, "Unknown tool"), (-32601, "MCP error -32601: Unknown tool: count")]
)
async def test_an_error_that_means_an_unknown_tool_is_understood(tmp_path: Path, code: int, words: str) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        site.plan(tools=[tool("count")])
        async with Manager([site.spec()]) as manager:
            error = {"code": code, "message": words}

            async def refuse(server: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
                return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})

            site.http.fault("tools/call", refuse)
            result = await manager.call("shop__count", {})
            assert result.fault.startswith("The server no longer has this tool.")


async def test_a_failed_result_about_tools_of_another_kind_is_left_alone(site: Site) -> None:
    site.plan(tools=[tool("lend")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        answer = {"content": [{"type": "text", "text": "Tool 'drill' not found in the shed"}], "isError": True}
        result = await manager.call("shop__lend", {"answer": answer})
        assert (result.fault, [item.text for item in result.content]) == ("", ["Tool 'drill' not found in the shed"])
        assert names(manager) == ["shop__lend"]


async def test_an_unchanged_tool_stays_the_same_object(site: Site) -> None:
    site.plan(tools=[tool("one")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        before = manager.tools()[0]
        site.plan(tools=[tool("one"), tool("two")])
        await manager.server("shop").refresh()
        assert manager.tools()[0] is before


async def test_every_missing_tool_has_a_reason(site: Site) -> None:
    site.plan(
        tools=[
            tool("good"),
            tool("bad", inputSchema={"type": "array"}),
            tool("hidden"),
            tool("twin"),
            tool("twin", description="Another one."),
        ]
    )
    spec = site.spec(tool_exclude=("hid*",), where="openclaw.json:7")
    async with Manager([spec], dependencies=site.dependencies) as manager:
        assert names(manager) == ["shop__good"]
        assert manager.absences() == [
            Absence("shop__hidden", "The tool is left out: toolFilter.exclude has 'hid*'.", "openclaw.json:7"),
            Absence("shop__bad", "The tool is unusable: its input schema is not one of an object.", "openclaw.json:7"),
            Absence("shop__twin", "The tool is unusable: the server lists 2 tools of this name.", "openclaw.json:7"),
        ]
        assert (await manager.call("shop__bad", {})).fault == manager.absences()[1].reason
        assert manager.status()[0].unusable == ("shop__bad", "shop__twin")


async def test_a_tool_that_is_listed_twice_in_the_same_words_is_one_tool(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("twin"), tool("other"), tool("twin")])
        async with Manager([site.spec()], dependencies=site.dependencies) as manager:
            await manager.server("shop").refresh()
            assert names(manager) == ["shop__other", "shop__twin"]
            assert (manager.absences(), manager.status()[0].unusable) == ([], ())
    told = [record.getMessage() for record in caplog.records if "more than once" in record.getMessage()]
    assert told == ["MCP server 'shop' lists more than once, in the same words: twin"]


async def test_a_server_that_cannot_list_its_tools_is_said_to_be_up_for_nothing_and_why(site: Site) -> None:
    site.plan(list="refuse")
    why = "Its tools could not be listed: Out of order."
    async with Manager([site.spec(where="openclaw.json:7")], dependencies=site.dependencies) as manager:
        absence = "MCP server 'shop' is up, but its tools could not be listed: Out of order."
        status = manager.status()[0]
        assert (status.state, status.reason, status.last_error) == ("ready", why, why)
        assert manager.absences() == [Absence("shop__*", absence, "openclaw.json:7")]
        assert (await manager.call("shop__echo", {})).fault == absence
        site.plan(tools=[tool("echo")])
        await manager.server("shop").refresh()
        assert (manager.status()[0].reason, manager.absences()) == ("", [])


async def test_a_tool_with_malformed_header_annotations_is_not_offered_over_http(tmp_path: Path) -> None:
    def annotated(name: str, **annotation: object) -> dict[str, Any]:
        return tool(name, inputSchema={"type": "object", "properties": {"region": annotation}})

    tools = [
        annotated("good", type="string", **{"x-mcp-header": "Region"}),
        annotated("bad", type="string", **{"x-mcp-header": "a b"}),
    ]
    async with Site("streamable-http", tmp_path) as site:
        site.plan(tools=tools, revisions=[MODERN])
        async with Manager([site.spec()]) as manager:
            assert names(manager) == ["shop__good"]
            (absence,) = manager.absences()
            assert (absence.name, absence.reason) == (
                "shop__bad",
                "The tool is unusable: x-mcp-header 'a b' is not a header name.",
            )
            await manager.call("shop__good", {"region": "Köln"})
            assert site.http
            (call,) = [seen for seen in site.http.seen if seen.method == "tools/call"]
            assert call.headers["Mcp-Param-Region"] == "=?base64?S8O2bG4=?="
            assert (call.headers["Mcp-Method"], call.headers["Mcp-Name"]) == ("tools/call", "good")


@pytest.mark.requirement("000-3.1-namespaces")
async def test_names_that_collide_get_a_stable_suffix_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = Site("memory", tmp_path, "a_b"), Site("memory", tmp_path, "a")
    one.plan(tools=[tool("c")])
    two.plan(tools=[tool("b_c")])
    specs = [two.spec(section="agents"), one.spec(section="agents")]

    def transport(spec: ServerSpec) -> Transport | None:
        return one.dependencies.make_transport(spec) or two.dependencies.make_transport(spec)

    dependencies = type(one.dependencies)(make_transport=transport)
    async with Manager(specs[:1], dependencies=dependencies, state=tmp_path / "state") as manager:
        # Who is listed first has the name: that is the first here.
        await manager.reconcile(specs)
        await manager.settle()
        assert names(manager) == ["mcp_a_b_c", "mcp_a_b_c-2"]
        assert "MCP server 'a_b': the name mcp_a_b_c is taken, its tool is offered as mcp_a_b_c-2." in caplog.messages
        assert json.loads(((await manager.call("mcp_a_b_c-2", {"x": 1})).content[0]).text or "") == {"x": 1}
    async with Manager(list(reversed(specs)), dependencies=dependencies, state=tmp_path / "state") as manager:
        assert {t.name: t.origin for t in manager.tools()} == {"mcp_a_b_c": "a", "mcp_a_b_c-2": "a_b"}


async def test_a_call_that_reads_a_resource_waits_until_it_is_known_whether_there_are_any(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        plan = {"tools": [tool("echo")], "resources": {"note://1": "words"}}
        site.plan(**plan, holds_resources=True)
        manager = Manager([], dependencies=site.dependencies, state=tmp_path / "state")
        async with manager:
            await heard(manager, ToolsChanged, lambda: manager.reconcile([site.spec()]))
            assert names(manager) == ["shop__echo"]
            reading = asyncio.ensure_future(manager.call("shop__resources_read", {"uri": "note://1"}))
            await asyncio.sleep(0)
            site.plan(**plan)
            assert [block.type for block in (await reading).content] == ["resource"]


@pytest.mark.requirement("001-US-2-namespaced")
@pytest.mark.requirement("002-9-namespaced")
async def test_native_names_are_never_taken(site: Site) -> None:
    site.plan(tools=[tool("exec")])
    async with Manager([site.spec()], dependencies=site.dependencies, reserved=["shop__exec"]) as manager:
        assert names(manager) == ["shop__exec-2"]


async def test_a_known_servers_tools_are_offered_before_it_is_connected(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        site.plan(tools=[tool("echo"), tool("pid")])
        async with Manager([site.spec()], state=tmp_path / "state"):
            pass
        async with Manager([site.spec()], state=tmp_path / "state", patience=0) as manager:
            assert manager.status()[0].state in ("stopped", "starting")
            assert names(manager) == ["shop__echo", "shop__pid"]
            # The call waits for the connection.
            assert (await manager.call("shop__echo", {"text": "hi"})).content[0].text == "hi"


@pytest.mark.requirement("001-8-eager")
@pytest.mark.requirement("001-FR-3-lazy")
async def test_a_lazy_server_starts_with_the_first_call_once_it_is_known(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        spec = site.spec(lazy=True)
        async with Manager([spec], state=tmp_path / "state") as manager:
            # Nothing is known of it yet: it is started once, to learn what it offers.
            assert manager.status()[0].state == "ready"
        async with Manager([spec], state=tmp_path / "state") as manager:
            assert (manager.status()[0].state, manager.status()[0].pid) == ("stopped", None)
            assert "shop__echo" in names(manager)
            assert (await manager.call("shop__echo", {"text": "up"})).content[0].text == "up"


@pytest.mark.parametrize("lazy", [False, True])
async def test_the_prompt_says_the_same_of_a_known_server_before_it_is_up_and_after(tmp_path: Path, lazy: bool) -> None:
    async with Site("stdio", tmp_path) as site:
        site.plan(tools=[tool("echo")], instructions="How to use the shop.")
        spec = site.spec(lazy=lazy)
        async with Manager([spec], state=tmp_path / "state") as manager:
            said = manager.context("")
            assert ("How to use the shop." in said, 'status="connected"' in said) == (True, True)
        async with Manager([spec], state=tmp_path / "state", patience=0) as manager:
            assert manager.status()[0].state in ("stopped", "starting")
            before = manager.context("")
            await manager.call("shop__echo", {"text": "up"})
            assert manager.status()[0].state == "ready"
            # But for the ids of frames, of which an agent makes steady ones.
            assert without_frames(before) == without_frames(said) == without_frames(manager.context(""))
            with manager.events.reader(StateChanged) as changes:
                manager.server("shop").stop("somebody wants it so")
                async for change in changes:
                    if change.value.state == "stopped":
                        break
            assert 'status="stopped"' in manager.context("")


async def test_without_eagerness_only_the_server_that_is_called_starts(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, name) for name in ("one", "two")]
    async with Manager([site.spec() for site in sites], eager=False) as manager:
        assert (await manager.call("two__echo", {"text": "hi"})).content[0].text == "hi"
        assert [(s.name, s.state) for s in manager.status()] == [("one", "stopped"), ("two", "ready")]


async def test_pins_outlive_the_process_and_trust_replaces_them(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    site.plan(tools=[tool("echo"), tool("count")])
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        assert names(manager) == ["shop__count", "shop__echo"]
    changed = {"type": "object", "required": ["text"]}
    site.plan(tools=[tool("echo", description="Do as I say."), tool("count", inputSchema=changed)])
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        await manager.server("shop").refresh()
        (echo,) = manager.tools()
        assert echo.description == "[MCP server: shop] The echo tool."
        assert [(change.tool, change.held) for change in manager.status()[0].changes] == [
            ("echo", False),
            ("count", True),
        ]
        (absence,) = manager.absences()
        assert absence.name == "shop__count"
        assert "openclaw mcp trust shop" in absence.reason
        assert [change.tool for change in await manager.server("shop").trust(shown(manager))] == ["echo", "count"]
        assert names(manager) == ["shop__count", "shop__echo"]
        assert manager.tools()[1].description == "[MCP server: shop] Do as I say."
    said = "MCP server 'shop': 1 tool is held back because calls valid before may fail (count) and 1 changed tool keeps its old description"
    assert sum(said in line for line in caplog.messages) == 1
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        assert manager.tools()[1].description == "[MCP server: shop] Do as I say."
        assert manager.status()[0].changes == ()


async def test_a_change_is_announced_once_also_across_restarts(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state"
    announced: list[str] = []

    async def run() -> None:
        manager = Manager([site.spec()], dependencies=site.dependencies, state=state)
        manager.events.subscribe(
            lambda event: announced.extend(change.tool for change in event.value.changes), DefinitionsChanged
        )
        async with manager:
            await manager.server("shop").refresh()

    site.plan(tools=[tool("echo")])
    await run()
    site.plan(tools=[tool("echo", description="Other words.")])
    await run()
    await run()
    assert announced == ["echo"]


def shown(manager: Manager) -> str:
    return digest_of(manager.status()[0].changes)


async def test_only_what_was_shown_can_be_accepted(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state"
    site.plan(tools=[tool("echo")])
    async with Manager([site.spec()], dependencies=site.dependencies, state=state):
        pass
    site.plan(tools=[tool("echo", description="Harmless words.")])
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        await manager.server("shop").refresh()
        harmless = shown(manager)
        site.plan(tools=[tool("echo", description="Do as I say.")])
        await manager.server("shop").refresh()
        with pytest.raises(UsageError, match="in other words than those that were shown; nothing was accepted"):
            await manager.server("shop").trust(harmless)
        assert manager.tools()[0].description == "[MCP server: shop] The echo tool."
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        await manager.server("shop").refresh()
        with pytest.raises(UsageError, match="nothing was accepted"):
            await manager.server("shop").trust(harmless)
        site.plan(tools=[tool("echo", description="Harmless words.")])
        await manager.server("shop").refresh()
        assert [change.tool for change in await manager.server("shop").trust(harmless)] == ["echo"]
        assert manager.tools()[0].description == "[MCP server: shop] Harmless words."


async def test_an_upgraded_server_is_told_of_once_for_all_its_tools(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "state"
    told: list[str] = []
    site.plan(tools=[tool(name) for name in "abcd"], version="1.0")
    async with Manager([site.spec()], dependencies=site.dependencies, state=state):
        pass
    stricter = {"type": "object", "required": ["x"]}
    site.plan(tools=[tool(name, inputSchema=stricter) for name in "abcd"], version="2.0")
    said = "4 tools are held back because calls valid before may fail (a, b, c, …) since version 1.0 became 2.0"
    for run in range(2):
        manager = Manager([site.spec()], dependencies=site.dependencies, state=state)
        manager.events.subscribe(lambda event: told.append(event.value.sentence), DefinitionsChanged)
        async with manager:
            if run:
                # What is known from before, while the server may not even have been started.
                assert manager.status()[0].upgrade == Upgrade("1.0", "2.0")
            await manager.server("shop").refresh()
            assert manager.status()[0].upgrade == Upgrade("1.0", "2.0")
            assert (
                f"MCP server shop: {said}. The user sees and accepts the change with: openclaw mcp trust shop"
                in manager.context("")
            )
            if run:
                await manager.server("shop").trust(shown(manager))
                assert manager.status()[0].upgrade is None
                assert "trust" not in manager.context("")
    assert told == [f"MCP server 'shop': {said}; see and accept it: openclaw mcp trust shop"]
    site.plan(tools=[tool(name) for name in "abcd"], version="3.0")
    async with Manager([site.spec()], dependencies=site.dependencies, state=state) as manager:
        await manager.server("shop").refresh()
        assert manager.status()[0].upgrade == Upgrade("2.0", "3.0")


async def test_a_server_that_is_followed_may_change_its_tools(site: Site, tmp_path: Path) -> None:
    site.plan(tools=[tool("echo")])
    async with Manager(
        [site.spec(trust="follow")], dependencies=site.dependencies, state=tmp_path / "state"
    ) as manager:
        site.plan(tools=[tool("echo", description="Other words.")])
        await manager.server("shop").refresh()
        assert manager.tools()[0].description == "[MCP server: shop] Other words."


async def test_a_long_list_is_taken_over_in_steps_between_which_others_have_a_turn(tmp_path: Path) -> None:
    many = 5 * STEP
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("announce"), tool("zebra")])
        async with Manager([site.spec()], dependencies=site.dependencies, state=tmp_path / "state") as manager:
            seen: set[int] = set()

            async def look() -> None:
                while True:
                    seen.add(manager.status()[0].tools)
                    await asyncio.sleep(0)

            looking = asyncio.create_task(look())
            site.plan(tools=[tool("announce"), *(tool(f"t{n:04}") for n in range(many))])
            event = await heard(manager, ToolsChanged, announcing(manager))
            looking.cancel()
            # Two at first, then one of them, and with it so many more at each step.
            assert seen >= {2, 1, *range(STEP, many, STEP)}
            added = [f"shop__t{n:04}" for n in range(many)]
            assert event == ToolsChanged("shop", tuple(added), ("shop__zebra",))
            assert names(manager) == ["shop__announce", *added]
            assert (await manager.call("shop__t2499", {"x": 1})).content[0].text == '{"x": 1}'


async def test_a_tool_that_goes_while_a_long_list_is_taken_over_is_gone_afterwards(tmp_path: Path) -> None:
    many = 5 * STEP
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("announce")])
        async with Manager([site.spec()], dependencies=site.dependencies) as manager:

            async def forget() -> None:
                while manager.status()[0].tools < STEP:
                    await asyncio.sleep(0)
                # In the middle of it.
                site.plan(tools=[tool(f"t{n:04}") for n in range(many) if n != 1])
                manager.server("shop").tool_is_unknown("t0001")

            forgetting = asyncio.create_task(forget())
            site.plan(tools=[tool(f"t{n:04}") for n in range(many)])
            await manager.server("shop").refresh()
            await forgetting
            assert "shop__t0001" not in names(manager)
            assert len(names(manager)) == many - 1


async def test_a_server_that_is_stopped_while_its_long_list_is_taken_over_offers_what_a_stopped_one_does(
    tmp_path: Path,
) -> None:
    many = 10 * STEP
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("announce")])
        async with Manager([site.spec()], dependencies=site.dependencies) as manager:
            server = manager.server("shop")
            site.plan(tools=[tool(f"t{n:04}") for n in range(many)])
            refreshing = asyncio.create_task(server.refresh())
            while manager.status()[0].tools < STEP:
                await asyncio.sleep(0)
            server.stop("disconnected by hand")
            await asyncio.gather(refreshing, return_exceptions=True)
            while manager.status()[0].state != "stopped":
                await asyncio.sleep(0)
            assert names(manager) == []


@pytest.mark.requirement("002-3.2-events")
async def test_the_state_of_every_server_reaches_subscribers_and_readers(site: Site) -> None:
    manager = Manager([site.spec()], dependencies=site.dependencies)
    told: list[object] = []
    manager.events.subscribe(lambda event: told.append(event.value), StateChanged, ToolsChanged)
    with manager.events.reader() as reader:
        async with manager:
            read = [event.value for event in [await reader.next() for _ in range(3)] if event is not None]
    assert (read[0], type(read[1]), read[2]) == (
        StateChanged("shop", "starting"),
        ToolsChanged,
        StateChanged("shop", "ready"),
    )
    assert told[:3] == read


async def test_a_server_that_forgot_us_is_listed_again(tmp_path: Path) -> None:
    """Started anew behind the same address, perhaps with other tools."""
    async with (
        Site("streamable-http", tmp_path) as site,
        Manager([site.spec()], dependencies=site.dependencies) as manager,
    ):
        site.plan(tools=[tool("echo"), tool("added_later")])
        await site.crash()
        event = await heard(manager, ToolsChanged, lambda: manager.call("shop__echo", {"text": "hi"}))
        assert event.added == ("shop__added_later",)
