"""Start-up, sharing, limits and new configurations: one server's trouble is nobody else's."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.config.servers import AuthSpec, ServersOptions, ServerSpec
from openclaw.content import ToolCall, text_of
from openclaw.conversation import Conversation
from openclaw.errors import SecretError, UsageError
from openclaw.event_hub import Event
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.events import StateChanged
from openclaw.mcp.manager import Manager
from openclaw.mcp.readiness import named_in
from openclaw.mcp.reconcile import shared_spec
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.results import Result
from openclaw.security.audit import AuditLog
from openclaw.security.audit_file import AuditFile
from openclaw.tool import Invocation, ToolResult
from openclaw.tools.invoke import Invoke
from openclaw.tools.running import RunningCalls
from parts.planned_server import tool
from parts.processes import handle_of, is_alive, server_command, wait_until_gone
from parts.sites import Site
from parts.stage import ALLOWED


def words(result: Result) -> str:
    assert not result.fault, result.fault
    return "\n".join(item.text or "" for item in result.content)


def names(manager: Manager, agent: str = "") -> list[str]:
    return [t.name for t in manager.tools(agent)]


HANGING = ServerSpec("hanging", command=sys.executable, args=("-S", "-c", "import time; time.sleep(600)"))


async def until(manager: Manager, condition: Callable[[], bool]) -> None:
    changed = asyncio.Event()
    unsubscribe = manager.events.subscribe(lambda event: changed.set())
    try:
        while not condition():
            changed.clear()
            await changed.wait()
    finally:
        unsubscribe()


@pytest.mark.requirement("000-6.4-connect-all")
@pytest.mark.requirement("001-8-eager")
@pytest.mark.requirement("001-NFR-1-parallel")
@pytest.mark.requirement("002-3.7-failed-log")
@pytest.mark.requirement("002-6-no-start")
@pytest.mark.requirement("002-7-manager")
async def test_one_hanging_missing_or_refusing_server_delays_no_other(tmp_path: Path) -> None:
    sites = [Site("stdio", tmp_path, f"s{n}") for n in range(17)]
    bad = [
        HANGING,
        ServerSpec("missing", command="no-such-program-anywhere"),
        ServerSpec("refusing", transport="streamable-http", url="http://127.0.0.1:9/mcp"),
    ]
    async with Manager([*bad, *(site.spec() for site in sites)], patience=0) as manager:
        results = await asyncio.gather(*(manager.call(f"s{n}__echo", {"text": str(n)}) for n in range(17)))
        assert [words(result) for result in results] == [str(n) for n in range(17)]
        states = {status.name: status.state for status in manager.status()}
        assert (states["hanging"], states["missing"], states["refusing"]) == ("starting", "failed", "unreachable")


@pytest.mark.requirement("000-11.3-servers")
async def test_settling_waits_only_as_long_as_asked(tmp_path: Path) -> None:
    async with Manager([HANGING], patience=0) as manager:
        await manager.settle("", 0.01)
        assert manager.status()[0].state == "starting"
        assert manager.context("") == (
            '<available-mcp-servers>\n  <server name="hanging" tools="0" status="starting"/>\n</available-mcp-servers>'
        )
        (absence,) = manager.absences()
        assert (absence.name, absence.reason) == ("hanging__*", "MCP server 'hanging' is starting.")


async def test_who_looks_for_a_tool_waits_for_the_servers_that_its_name_tells_of_alone(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site, Manager([HANGING, site.spec()], patience=0) as manager:
        await manager.readiness.listed("", text="shop__hangingly")
        assert [status.state for status in manager.status()] == ["starting", "ready"]
        assert not manager.server("hanging").is_overdue
    async with Manager([replace(HANGING, connect_timeout=0.1)], patience=0) as manager:
        await manager.readiness.listed("", text="hanging__echo")
        assert manager.server("hanging").is_overdue


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("git__log please", {"git"}),
        ("mcp_git_log", {"git"}),
        ("ask Git, and my-notes.", {"git", "my-notes"}),
        ("digital legit gits", set()),
        ("a.b? or a-b", {"a.b"}),
        ("", set()),
    ],
)
def test_a_server_is_named_by_a_word_or_within_the_name_of_a_tool(text: str, names: set[str]) -> None:
    assert named_in(text, ["git", "my-notes", "a.b"]) == names


@pytest.mark.requirement("000-12.1-connect-timeout")
@pytest.mark.requirement("001-FR-1-timeout")
async def test_a_connect_timeout_ends_a_server_that_never_answers() -> None:
    async with Manager([replace(HANGING, connect_timeout=0.2)]) as manager:
        (status,) = manager.status()
        assert status.state == "restarting"
        assert status.reason.startswith("The server did not come up within 0.2 s.")


@pytest.mark.requirement("000-12.1-enabled")
@pytest.mark.requirement("001-FR-1-enabled")
@pytest.mark.requirement("002-3.7-disabled-log")
@pytest.mark.requirement("002-3.7-failed-log")
@pytest.mark.requirement("002-3.7-shutdown-log")
@pytest.mark.requirement("002-3.7-status")
async def test_disabled_and_faulty_servers_are_shown_and_not_started(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    specs = [
        ServerSpec("off", command="x", enabled=False, where="openclaw.json:3"),
        ServerSpec("unset", command="x", fault="The variable TOKEN is not set."),
    ]
    async with Manager(specs) as manager:
        assert [(s.name, s.state, s.reason) for s in manager.status()] == [
            ("off", "disabled", ""),
            ("unset", "failed", "The variable TOKEN is not set."),
        ]
        assert [absence.reason for absence in manager.absences()] == [
            "MCP server 'off' is disabled.",
            "MCP server 'unset' is not started: The variable TOKEN is not set.",
        ]
        with pytest.raises(UsageError, match="MCP server 'off' is disabled"):
            manager.server("off")
    assert "MCP server 'off' is disabled, skipping" in caplog.messages
    assert "MCP server 'unset' failed to start: The variable TOKEN is not set." in caplog.messages
    assert caplog.messages[-1] == "MCP manager shut down"


@pytest.mark.requirement("002-3.7-ready-log")
async def test_the_log_says_how_many_servers_came_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    site = Site("memory", tmp_path)
    async with Manager([site.spec(), ServerSpec("missing", command="no-such-program")], dependencies=site.dependencies):
        pass
    assert "MCP manager started: 1/2 servers ready" in caplog.messages


@pytest.mark.requirement("000-3.1-one-connection")
@pytest.mark.requirement("001-2.1-sessions")
async def test_agents_with_equal_servers_share_one_process_and_see_their_own_names(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        site.plan(tools=[tool("pid"), tool("echo")])
        mine = site.spec(section="agents", owner="research", tool_include=("pid",))
        async with Manager({"": [site.spec()], "research": [mine]}) as manager:
            assert names(manager) == names(manager, "anybody") == ["shop__echo", "shop__pid"]
            assert names(manager, "research") == ["mcp_shop_pid"]
            pids = [
                words(await manager.call("shop__pid", {})),
                words(await manager.call("mcp_shop_pid", {}, agent="research")),
            ]
            assert pids[0] == pids[1]
            assert (await manager.call("shop__pid", {}, agent="research")).is_error
            assert [(s.name, s.owner, s.tools) for s in manager.status()] == [("shop", "", 2), ("shop", "research", 1)]


@pytest.mark.requirement("000-12.2-limit")
async def test_a_server_past_the_limit_waits_until_one_is_stopped(tmp_path: Path) -> None:
    one, two = Site("stdio", tmp_path, "one"), Site("stdio", tmp_path, "two")
    options = ServersOptions(max_concurrent_servers=1)
    async with Manager([one.spec(), two.spec()], options=options, patience=0) as manager:
        await until(manager, lambda: manager.status()[0].state == "ready")
        waiting = manager.status()[1]
        assert (waiting.shown, waiting.pid) == ("stopped (limit: maxConcurrentServers is 1)", None)
        manager.server("one").stop("disconnected")
        await until(manager, lambda: manager.status()[1].state == "ready")
        assert words(await manager.call("two__echo", {"text": "mine now"})) == "mine now"


@pytest.mark.requirement("000-6.4-config-change")
@pytest.mark.requirement("001-2.2-hot-reload")
@pytest.mark.requirement("002-7-manager")
async def test_reconciling_touches_only_what_changed(tmp_path: Path) -> None:
    sites = {name: Site("stdio", tmp_path, name) for name in ("kept", "changed", "removed", "added")}
    kept, changed, removed, added = (site.spec() for site in sites.values())
    async with Manager([kept, changed, removed]) as manager:
        before = {s.name: s.pid for s in manager.status()}
        handles = [handle_of(before[name] or 0) for name in ("changed", "removed")]
        running = asyncio.ensure_future(manager.call("kept__stall", {"key": "k"}))
        await sites["kept"].logged("stall k")
        await manager.reconcile([kept, replace(changed, env=(("MODE", "new"),)), added])
        wait_until_gone(*handles)
        await until(manager, lambda: all(s.state == "ready" for s in manager.status()))
        after = {s.name: s.pid for s in manager.status()}
        assert list(after) == ["kept", "changed", "added"]
        assert after["kept"] == before["kept"]
        assert after["changed"] != before["changed"]
        assert not running.done()
        assert {name.partition("__")[0] for name in names(manager)} == {"kept", "changed", "added"}
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_replaced_server_begins_when_the_old_one_has_ended_and_never_waits_for_the_limit(
    tmp_path: Path,
) -> None:
    sites = [Site("stdio", tmp_path, name) for name in ("one", "two")]
    one, two = (site.spec() for site in sites)
    options = ServersOptions(max_concurrent_servers=2)
    async with Manager([one, two], options=options) as manager:
        before = [status.pid for status in manager.status()]
        assert before[1] is not None
        old = handle_of(before[1])
        shown: list[str] = []

        def note(event: Event[StateChanged]) -> None:
            if event.value.server == "two":
                shown.append(manager.status()[1].shown)

        manager.events.subscribe(note, StateChanged)
        changing = asyncio.ensure_future(manager.reconcile([one, replace(two, env=(("MODE", "new"),))]))
        await until(manager, lambda: bool(shown))
        assert words(await manager.call("two__echo", {"text": "new"})) == "new"
        await changing
        assert not is_alive(old)
        after = [status.pid for status in manager.status()]
        await until(manager, lambda: manager.status()[1].state == "ready")
        assert after[0] == before[0]
        assert shown == ["starting", f"Running (PID {after[1]})"]


async def test_a_server_replaced_twice_in_a_row_runs_as_configured_last(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [site.spec(env=(("MODE", str(number)),)) for number in range(3)]
        async with Manager([specs[0]], options=ServersOptions(max_concurrent_servers=1)) as manager:
            await asyncio.gather(*(manager.reconcile([spec]) for spec in specs[1:]))
            assert words(await manager.call("shop__echo", {"text": "last"})) == "last"
            assert manager.server("shop").spec == shared_spec(specs[2])


async def invoked(
    manager: Manager, running: RunningCalls, audit: Path, name: str, arguments: dict[str, Any], agent: str = ""
) -> ToolResult:
    """A call as agents make it."""
    log = AuditLog(AuditFile(audit))
    invoke = Invoke(policy_decide=lambda tool, agent: ALLOWED, audit=log, clock=monotonic, running=running)
    tool = next(tool for tool in manager.tools(agent) if tool.name == name)
    return await invoke(tool, ToolCall("c", name, arguments), Invocation(Conversation(agent), "c"))


async def test_a_new_filter_needs_no_restart_and_ends_the_calls_it_denies_and_no_others(tmp_path: Path) -> None:
    running = RunningCalls()
    async with Site("stdio", tmp_path) as site, Manager([site.spec()], revoke=running.revoke) as manager:
        pid = manager.status()[0].pid
        assert pid is not None
        handle = handle_of(pid)
        denied = asyncio.ensure_future(invoked(manager, running, tmp_path / "audit", "shop__stall", {"key": "denied"}))
        await site.logged("stall denied")
        fine = asyncio.ensure_future(invoked(manager, running, tmp_path / "audit", "shop__echo", {"text": "fine"}))
        await manager.reconcile([site.spec(tool_exclude=("stall",))])
        taken = "shop__stall was taken away while it ran; the call was cancelled."
        assert (await denied) == ToolResult.error(taken)
        await site.told_of_cancellation()
        assert "fine" in text_of((await fine).content)
        assert "shop__stall" not in names(manager)
        assert is_alive(handle)
        assert manager.status()[0].pid == pid
        await manager.reconcile([])
        wait_until_gone(handle)


async def test_a_denied_agents_calls_are_ended_and_another_agents_go_on(site: Site, tmp_path: Path) -> None:
    running = RunningCalls()
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        calls = {
            agent: asyncio.ensure_future(
                invoked(manager, running, tmp_path / "audit", "shop__stall", {"key": agent}, agent)
            )
            for agent in ("a", "b")
        }
        await site.logged("stall a")
        await site.logged("stall b")
        assert running.revoke(lambda agent, tool: agent == "a") == 1
        assert (await calls["a"]).is_error
        assert not calls["b"].done()
        calls["b"].cancel()
        await asyncio.gather(calls["b"], return_exceptions=True)


@pytest.mark.requirement("001-FR-5-lazy")
@pytest.mark.requirement("001-US-5-runtime")
@pytest.mark.requirement("001-US-5-secrets")
@pytest.mark.requirement("001-US-6-spawn")
@pytest.mark.requirement("002-3.3-secrets")
async def test_secrets_are_resolved_when_the_server_starts_and_shown_nowhere(tmp_path: Path) -> None:
    asked: list[str] = []

    async def resolve(value: str) -> str:
        asked.append(value)
        return value.replace("secret://env/TOKEN", "s3cr3t-value")

    command, *args = server_command()
    spec = ServerSpec("env", command=command, args=tuple(args), env=(("TOKEN", "secret://env/TOKEN"), ("PLAIN", "p")))
    async with Manager([spec], dependencies=Dependencies(resolve=resolve)) as manager:
        seen = words(await manager.call("env__environment", {}))
        assert '"TOKEN": "[REDACTED]"' in seen
        assert asked == ["secret://env/TOKEN"]
        assert "s3cr3t-value" not in repr(manager.status())


@pytest.mark.requirement("001-US-6-fails")
@pytest.mark.requirement("002-5.2-closed")
@pytest.mark.requirement("002-6-secret")
async def test_a_secret_that_cannot_be_resolved_stops_its_server_alone(tmp_path: Path) -> None:
    async def resolve(value: str) -> str:
        raise SecretError("The secret 'linkedin-email' does not exist.", hint="Create it.")

    site = Site("memory", tmp_path)
    bad = ServerSpec("bad", command="x", env=(("E", "secret://gcp/linkedin-email"),))
    dependencies = Dependencies(resolve=resolve, make_transport=site.dependencies.make_transport)
    async with Manager([bad, site.spec()], dependencies=dependencies) as manager:
        assert [(s.name, s.state) for s in manager.status()] == [("bad", "failed"), ("shop", "ready")]
        assert manager.status()[0].reason == "The secret 'linkedin-email' does not exist. Create it."


async def test_who_signs_in_gets_the_address_resolved_and_its_own_secrets_to_look_up_when_needed(
    tmp_path: Path,
) -> None:
    async with Site("streamable-http", tmp_path) as site:
        assert site.http
        address = site.http.url

        async def resolve(value: str) -> str:
            return {"secret://x/address": address}.get(value, "a value")

        auth = AuthSpec(client_id="id", client_secret="secret://x/client")
        seen: list[ServerSpec] = []
        dependencies = Dependencies(resolve=resolve, authorize=seen.append)
        async with Manager([site.spec(url="secret://x/address", auth=auth)], dependencies=dependencies) as manager:
            assert manager.status()[0].state == "ready"
        assert [(spec.url, spec.auth) for spec in seen] == [(address, auth)]


async def test_without_a_resolver_a_secret_reference_is_refused() -> None:
    async with Manager([ServerSpec("bad", command="x", env=(("E", "secret://gcp/x"),))]) as manager:
        assert manager.status()[0].state == "failed"
        assert "secret:// reference cannot be resolved" in manager.status()[0].reason


@pytest.mark.requirement("001-FR-5-redacted")
async def test_status_shows_where_a_server_is_without_its_credentials() -> None:
    spec = ServerSpec(
        "web",
        transport="streamable-http",
        url="https://user:pass@127.0.0.1:1/mcp?key=abc",
        api_key="tvly-0123456789abcdef",
        where="openclaw.json:4",
    )
    async with Manager([spec], patience=0) as manager:
        (status,) = manager.status()
        assert status == ServerStatus(
            name="web",
            state=status.state,
            transport="streamable-http",
            target="https://127.0.0.1:1/mcp",
            auth="api-key",
            where="openclaw.json:4",
        )
        assert "tvly" not in repr(status)


async def test_a_reload_that_is_given_up_cuts_no_server_short_and_the_next_one_still_waits_for_it(
    tmp_path: Path,
) -> None:
    diary = tmp_path / "diary"
    script = (
        "import sys, time\nprint('{}', flush=True)\n"
        "with open(sys.argv[1], 'a', buffering=1) as diary:\n    diary.write('began\\n')\n"
        "    sys.stdin.read()\n    diary.write('was told\\n')\n    time.sleep(0.5)\n    diary.write('ended\\n')"
    )
    first = ServerSpec("slow", command=sys.executable, args=("-S", "-c", script, str(diary)))
    second = replace(first, args=(*first.args, "second"))

    async def has_written(text: str) -> None:
        while not diary.exists() or diary.read_text() != text:
            await asyncio.sleep(0.01)

    async with Manager([first], patience=0) as manager:
        await has_written("began\n")
        reloading = asyncio.create_task(manager.reconcile({"": (second,)}))
        await has_written("began\nwas told\n")
        reloading.cancel()
        await asyncio.wait([reloading])
        await has_written("began\nwas told\nended\nbegan\n")
