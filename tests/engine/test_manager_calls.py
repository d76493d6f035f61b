"""Calls through the manager, over every transport: results, errors, deadlines, progress, cancellation, bounds."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.content import File, Framed, Text, text_of
from openclaw.conversation import Conversation
from openclaw.mcp.manager import Manager
from openclaw.mcp.placing import EndServers
from openclaw.mcp.tools.results import Result
from openclaw.media import MediaStore
from openclaw.tool import Invocation
from parts import media_server
from parts.planned_server import tool
from parts.processes import HANG_GUARD, handle_of, wait_until_gone
from parts.sites import Site


def words(result: Result) -> str:
    assert not result.fault, result.fault
    return "\n".join(item.text or "" for item in result.content)


@pytest.mark.requirement("000-11.2-call")
@pytest.mark.requirement("001-FR-2-discovered")
@pytest.mark.requirement("001-NFR-4-integration")
@pytest.mark.requirement("002-3.7-tools")
async def test_a_servers_tools_are_listed_and_called(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert [t.name for t in manager.tools()][:3] == ["shop__announce", "shop__count", "shop__die"]
        result = await manager.call("shop__echo", {"text": "Grüße 🦞"})
        assert (words(result), result.is_error) == ("Grüße 🦞", False)


@pytest.mark.requirement("000-11.2-result")
@pytest.mark.requirement("001-FR-2-description")
@pytest.mark.requirement("001-US-5-framed")
@pytest.mark.requirement("002-3.5-label")
async def test_a_bridged_tool_gives_a_framed_result(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        (echo,) = [t for t in manager.tools() if t.name == "shop__echo"]
        result = await echo.run({"text": "hello"}, Invocation(Conversation("main", "s")))
        assert (echo.label, echo.description) == ("MCP: shop/echo", "[MCP server: shop] The echo tool.")
        (block,) = result.content
        assert isinstance(block, Text)
        assert isinstance(block.text, Framed)
        assert "This is output from MCP server 'shop'." in block.text
        assert result.details["externalContent"]["tool"] == "echo"


class SlowDisk(MediaStore):
    """Keeps nothing until it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._loop = asyncio.get_running_loop()
        self.is_asked = asyncio.Event()
        self.may_write = threading.Event()

    def save(self, data: bytes | str, mime: str, name: str = "") -> File:
        self._loop.call_soon_threadsafe(self.is_asked.set)
        assert self.may_write.wait(HANG_GUARD)
        return super().save(data, mime, name)


async def test_a_slow_disk_that_keeps_a_result_holds_up_nobody_else(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    spec = ServerSpec("media", command=sys.executable, args=(media_server.__file__,))
    async with Manager([spec], media=disk) as manager:
        await manager.settle("main", HANG_GUARD)
        (sound,) = [t for t in manager.tools() if t.name == "media__sound"]
        heard = asyncio.ensure_future(sound.run({}, Invocation(Conversation("main", "s"))))
        await disk.is_asked.wait()
        disk.may_write.set()
        result = await heard
    assert [type(block) for block in result.content] == [Text, File]


async def test_calls_run_side_by_side(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        stalled = [asyncio.ensure_future(manager.call("shop__stall", {"key": str(n)})) for n in range(5)]
        for number in range(5):
            await site.logged(f"stall {number}")
        assert words(await manager.call("shop__echo", {"text": "through"})) == "through"
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)


@pytest.mark.requirement("001-FR-6-invalid")
@pytest.mark.requirement("002-6-invalid")
@pytest.mark.requirement("002-6-principle")
async def test_a_failed_result_and_a_refusal_are_error_results(site: Site) -> None:
    site.plan(tools=[tool("fail"), tool("odd")])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        failed = await manager.call("shop__fail", {})
        assert (words(failed), failed.is_error) == ("It went wrong.", True)
        invalid = await manager.call("shop__odd", {"answer": {"content": "not a list"}})
        assert invalid.is_error
        assert "wrong shape" in words(invalid)


@pytest.mark.requirement("000-10-timeout")
@pytest.mark.requirement("001-FR-6-timeout")
@pytest.mark.requirement("002-6-timeout")
async def test_a_deadline_ends_the_call_names_the_milliseconds_and_tells_the_server(site: Site) -> None:
    async with Manager([site.spec(call_timeout=0.2)], dependencies=site.dependencies) as manager:
        result = await manager.call("shop__stall", {"key": "late"})
        assert result == Result.failed("Tool call timed out after 200ms", timed_out=True)
        await site.told_of_cancellation()


async def test_progress_extends_a_call_and_is_shown_in_clean_words(site: Site) -> None:
    shown: list[str] = []
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        if site.http:
            site.http.plan.answers = "sse"
        (tool,) = (one for one in manager.tools() if one.name == "shop__steps")
        result = await tool.run({"n": 2}, Invocation(Conversation("main"), progress=shown.append))
        assert "stepped" in text_of(result.content)
        assert shown == ["step (1 of 2)", "step (2 of 2)"]


async def test_a_program_hears_of_progress_in_numbers(site: Site) -> None:
    heard: list[tuple[float, float | None, str]] = []
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        if site.http:
            site.http.plan.answers = "sse"
        await manager.call("shop__steps", {"n": 2}, on_progress=lambda *step: heard.append(step))
        assert heard == [(1.0, 2.0, "step"), (2.0, 2.0, "step")]


async def test_a_call_that_makes_progress_ends_at_the_limit_on_all_of_it_and_names_that_limit(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        spec = site.spec(call_timeout=30.0, max_total_timeout=0.3)
        async with Manager([spec], dependencies=site.dependencies) as manager:
            result = await manager.call("shop__steps", {"n": 1, "stop": True})
            assert result == Result.failed("Tool call timed out after 300ms", timed_out=True)


async def test_a_cancelled_call_is_cancelled_at_the_server(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        call = asyncio.ensure_future(manager.call("shop__stall", {"key": "x"}))
        await site.logged("stall x")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await site.told_of_cancellation()
        assert not manager.server("shop").is_busy


async def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent(site: Site) -> None:
    schema = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
    site.plan(tools=[tool("count", inputSchema=schema)])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        result = await manager.call("shop__count", {})
        assert result.is_error
        assert "key" in result.fault
        assert site.log == []


async def test_structured_content_is_checked_against_the_output_schema(site: Site) -> None:
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    site.plan(tools=[tool("shape", outputSchema=shape)])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        good = await manager.call("shop__shape", {"value": {"n": 1}})
        bad = await manager.call("shop__shape", {"value": {"n": "one"}})
        assert (bytes(good.structured_content).replace(b" ", b""), good.is_error) == (b'{"n":1}', False)
        assert bad.is_error
        assert "does not fit the tool's own output schema" in words(bad)


async def test_a_server_takes_so_many_calls_at_a_time_and_the_rest_wait(site: Site) -> None:
    async with Manager([site.spec(max_in_flight=2)], dependencies=site.dependencies) as manager:
        stalled = [asyncio.ensure_future(manager.call("shop__stall", {"key": str(n)})) for n in range(3)]
        await site.logged("stall 0")
        await site.logged("stall 1")
        (status,) = manager.status()
        assert (status.in_flight, status.queued) == (2, 1)
        assert "stall 2" not in site.log
        stalled[0].cancel()
        await site.logged("stall 2")
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)


async def test_one_at_a_time_when_the_server_wants_no_parallel_calls(site: Site) -> None:
    async with Manager([site.spec(parallel_calls=False, call_timeout=0.2)], dependencies=site.dependencies) as manager:
        first = asyncio.ensure_future(manager.call("shop__stall", {"key": "0"}))
        await site.logged("stall 0")
        second = await manager.call("shop__echo", {"text": "x"})
        assert second.is_error or words(second) == "x"
        assert (await first).fault == "Tool call timed out after 200ms"


async def test_a_full_queue_is_an_error_that_says_so(site: Site) -> None:
    async with Manager([site.spec(max_in_flight=1)], dependencies=site.dependencies) as manager:
        calls = [asyncio.ensure_future(manager.call("shop__stall", {"key": str(n)})) for n in range(1001)]
        await site.logged("stall 0")
        refused = await manager.call("shop__echo", {"text": "no room"})
        assert refused.fault == "The server is busy: 1 calls run and 1000 wait. Try again later."
        for task in calls:
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.requirement("001-FR-4-chatter")
async def test_servers_words_go_to_the_log_and_to_nobody_else(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        said = asyncio.Event()

        class Ears(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "disk almost full" in record.getMessage():
                    said.set()

        ears = Ears()
        logging.getLogger("openclaw.mcp").addHandler(ears)
        try:
            result = await manager.call("shop__talk", {"data": "disk almost full"})
            await said.wait()
        finally:
            logging.getLogger("openclaw.mcp").removeHandler(ears)
        assert words(result) == "talked"
        assert "disk almost full" not in manager.context("")


async def test_a_tool_that_does_not_exist_is_one_clear_sentence(site: Site) -> None:
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert await manager.call("shop__nothing", {}) == Result.failed("There is no tool named shop__nothing.")


async def test_a_name_that_fits_no_server_starts_none(tmp_path: Path) -> None:
    site = Site("memory", tmp_path)
    async with Manager([site.spec()], dependencies=site.dependencies, eager=False) as manager:
        result = await manager.call("shpo__echo", {})
        assert result == Result.failed("There is no tool named shpo__echo.")
        assert manager.status()[0].state == "stopped"


@pytest.mark.requirement("001-2.1-sessions")
async def test_an_isolated_server_gives_every_conversation_its_own_connection(tmp_path: Path) -> None:
    async with (
        Site("stdio", tmp_path) as site,
        Manager([site.spec(isolation="session")], dependencies=site.dependencies) as manager,
    ):

        async def pid(session: str) -> str:
            return words(await manager.call("shop__pid", {}, session=session))

        one, two = await pid("one"), await pid("two")
        assert len({one, two, str(manager.status()[0].pid)}) == 3
        assert await pid("one") == one
        await manager.end_session("one")
        assert await pid("one") != one
        assert await pid("two") == two


class Homes:
    """Those of a fleet, which note who enters and leaves."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.end: EndServers | None = None

    def on_wanted(self, end: EndServers) -> None:
        self.end = end

    async def enter(self, session: str) -> None:
        self.told.append(f"enter {session}")

    async def leave(self, session: str, is_used: Callable[[], bool]) -> None:
        # Others are first, as when a database is asked.
        await asyncio.sleep(0)
        if not is_used():
            self.told.append(f"leave {session}")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by a person", "for another gateway"])
async def test_a_conversation_that_begins_again_while_its_servers_end_begins_when_they_have_ended(
    tmp_path: Path, elsewhere: bool
) -> None:
    homes = Homes()
    async with Site("stdio", tmp_path) as site:
        dependencies = structs.replace(site.dependencies, homes=homes)
        async with Manager([site.spec(isolation="session")], dependencies=dependencies) as manager:

            async def pid() -> int:
                return int(words(await manager.call("shop__pid", {}, session="one")))

            first = await pid()
            process = handle_of(first)
            assert homes.end is not None
            ends = homes.end("one", True) if elsewhere else manager.end_session("one")
            ending = asyncio.ensure_future(ends)
            # It has been begun, and whoever asked for it has left.
            await asyncio.sleep(0)
            ending.cancel()
            second = await pid()
            wait_until_gone(process)
            assert second != first
            assert homes.told == ["enter one", "leave one", "enter one"]
            await asyncio.gather(ending, return_exceptions=True)


async def test_the_connection_of_an_idle_conversation_is_closed(tmp_path: Path) -> None:
    options = ServersOptions(session_idle_ttl=0.1)
    async with (
        Site("stdio", tmp_path) as site,
        Manager([site.spec(isolation="session")], options=options) as manager,
    ):
        pid = int(words(await manager.call("shop__pid", {}, session="one")))
        await asyncio.to_thread(wait_until_gone, handle_of(pid))
        assert int(words(await manager.call("shop__pid", {}, session="one"))) != pid


async def test_a_new_conversation_takes_the_place_of_the_one_idle_longest(tmp_path: Path) -> None:
    # One for all, and one each for two conversations.
    options = ServersOptions(max_concurrent_servers=3)
    async with (
        Site("stdio", tmp_path) as site,
        Manager([site.spec(isolation="session")], options=options) as manager,
    ):

        async def pid(session: str) -> int:
            return int(words(await manager.call("shop__pid", {}, session=session)))

        one, two = await pid("one"), await pid("two")
        assert await pid("one") == one
        two_process = handle_of(two)
        three = await pid("three")
        wait_until_gone(two_process)
        assert [await pid("one"), await pid("three")] == [one, three]


async def test_a_conversation_in_the_middle_of_a_call_keeps_its_place(tmp_path: Path) -> None:
    options = ServersOptions(max_concurrent_servers=1)
    async with (
        Site("stdio", tmp_path) as site,
        Manager([site.spec(isolation="session")], options=options) as manager,
    ):
        waiting = asyncio.ensure_future(manager.call("shop__stall", {"key": "k"}, session="one"))
        await site.logged("stall k")
        refused = await manager.call("shop__pid", {}, session="two")
        assert refused.fault.startswith(
            "MCP server 'shop' waits because as many servers run as maxConcurrentServers allows"
        )
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_calls_are_logged_with_their_time_at_debug_level(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "openclaw.mcp")
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        await manager.call("shop__echo", {"text": "x"})
        await manager.call("shop__fail", {})
    lines = [line for line in caplog.messages if " called " in line]
    assert [line.split(" in ")[0] for line in lines] == [
        "MCP server 'shop': called echo",
        "MCP server 'shop': called fail",
    ]
    assert lines[1].endswith(" ms, with an error")
