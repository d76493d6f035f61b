"""The gateway as a process: one at a time, started and stopped in every way, with nothing left behind."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.log import LARGEST_FILE
from parts.gateways import PROGRAM, GatewayProcess, Home, gateway_process, home, running, stdio_server
from parts.processes import HANG_GUARD, handle_of, wait_until_gone

CONFIG = {"mcp": {"servers": {"part": stdio_server()}}}
# One that leaves only when it is killed.
STUBBORN = {"mcp": {"servers": {"part": stdio_server(), "stubborn": stdio_server("--stubborn")}}}


@contextmanager
def up(folder: Path, config: dict[str, Any] = CONFIG) -> Iterator[GatewayProcess]:
    """A gateway whose servers are ready."""
    with home(folder, config) as place, gateway_process(place) as gateway:
        for name in config["mcp"]["servers"]:
            gateway.wait_until(f"'{name}' is ready")
        yield gateway


def server_handles(place: Home) -> list[int]:
    servers = json.loads(place.run("gateway", "status", "--json").stdout)["servers"]
    return [handle_of(server["pid"]) for server in servers]


def test_a_second_gateway_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    with home(tmp_path) as place, gateway_process(place) as first:
        other = tmp_path / "other.json"
        other.write_text('{"gateway": {"port": 0}}')
        for words in (("gateway", "run"), ("gateway", "run", "--config", str(other))):
            second = place.run(*words)
            assert (second.returncode, f"(pid {first.process.pid})" in second.stderr) == (1, True), second.stderr
        assert place.run("gateway", "status").returncode == 0


@pytest.mark.requirement("001-US-3-shutdown")
@pytest.mark.requirement("002-4.5-shutdown")
def test_sigterm_ends_gateway_and_servers_and_leaves_no_file(tmp_path: Path) -> None:
    with up(tmp_path, STUBBORN) as gateway:
        handles = server_handles(gateway.home)
        place = gateway.home.paths.control_socket
        assert place.exists()
        assert gateway.end(signal.SIGTERM) == 0

        wait_until_gone(*handles)
        assert not place.exists()
        status = gateway.home.run("gateway", "status")
        assert (status.returncode, status.stdout) == (1, "No gateway runs. Start it: openclaw gateway start\n")


def test_sigterm_lets_a_running_call_finish(tmp_path: Path) -> None:
    with up(tmp_path) as gateway:
        with subprocess.Popen(
            [*PROGRAM, "mcp", "call", "part__slow", "seconds=2"],
            env=gateway.home.env,
            stdout=subprocess.PIPE,
            text=True,
        ) as call:
            while json.loads(gateway.home.run("gateway", "status", "--json").stdout)["requests"] == 0:
                pass
            gateway.process.send_signal(signal.SIGTERM)
            gateway.wait_until("The gateway stops.")
            # Who comes now does the work alone.
            alone = gateway.home.run("mcp", "call", "part__echo", "text=alone")
            assert alone.stdout == "alone\n"
            out, _ = call.communicate(timeout=HANG_GUARD)
        assert (call.returncode, out) == (0, "slowly\n")
        assert gateway.process.wait(HANG_GUARD) == 0


def test_a_second_signal_does_not_wait_for_calls(tmp_path: Path) -> None:
    with up(tmp_path) as gateway:
        handles = server_handles(gateway.home)
        with subprocess.Popen(
            [*PROGRAM, "mcp", "call", "part__hang"], env=gateway.home.env, stderr=subprocess.PIPE, text=True
        ) as call:
            while json.loads(gateway.home.run("gateway", "status", "--json").stdout)["requests"] == 0:
                pass
            gateway.process.send_signal(signal.SIGINT)
            gateway.wait_until("The gateway stops.")
            gateway.end(signal.SIGINT)
            _, told = call.communicate(timeout=HANG_GUARD)
        assert (call.returncode, "The gateway is stopping" in told) == (1, True)
        wait_until_gone(*handles)


def test_a_killed_gateway_leaves_no_server_and_can_be_started_again(tmp_path: Path) -> None:
    with up(tmp_path, STUBBORN) as gateway:
        handles = server_handles(gateway.home)
        gateway.end(signal.SIGKILL)
        assert gateway.home.paths.control_socket.exists()
        # The socket that is left behind fools nobody.
        assert gateway.home.run("gateway", "status").returncode == 1
        wait_until_gone(*handles)
        with gateway_process(gateway.home) as again:
            again.wait_until("'part' is ready")
            assert gateway.home.run("mcp", "call", "part__echo", "text=back").stdout == "back\n"
            assert gateway.home.run("gateway", "status").returncode == 0


def test_a_gateway_that_hangs_does_not_hang_its_callers(tmp_path: Path) -> None:
    with up(tmp_path) as gateway:
        gateway.process.send_signal(signal.SIGSTOP)
        try:
            call = gateway.home.run("mcp", "call", "part__echo", "text=patience")
        finally:
            gateway.process.send_signal(signal.SIGCONT)
        assert (call.stdout, call.stderr) == (
            "patience\n",
            "note: the gateway does not answer, so this runs without it.\n",
        )


def test_a_hangup_of_a_service_reads_the_config_again(tmp_path: Path) -> None:
    with home(tmp_path) as place, gateway_process(place) as gateway:
        gateway.process.send_signal(signal.SIGHUP)
        gateway.wait_until("The changed config is in use.")
        assert place.run("gateway", "status").returncode == 0


def test_start_detaches_and_stop_ends_it(tmp_path: Path) -> None:
    with home(tmp_path, CONFIG) as place:
        try:
            started = place.run("gateway", "start")
            assert started.returncode == 0, started.stderr
            status = json.loads(place.run("gateway", "status", "--json").stdout)
            pid = status["pid"]
            handle = handle_of(pid)
            assert os.getsid(pid) == pid
            assert f"pid {pid}, http://127.0.0.1:{status['port']}" in started.stdout
            restarted = place.run("gateway", "restart")
            assert f"pid {pid}," not in restarted.stdout
            wait_until_gone(handle)
        finally:
            stopped = place.run("gateway", "stop")
        assert (stopped.returncode, stopped.stdout.startswith("The gateway has stopped (pid ")) == (0, True)
        assert place.run("gateway", "stop").stdout == "No gateway runs.\n"
        log = place.paths.logs_dir / "gateway.log"
        assert log.stat().st_mode & 0o777 == 0o600
        assert place.token not in log.read_text()


def test_the_status_as_json_says_whether_one_runs(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        without = place.run("gateway", "status", "--json")
        with gateway_process(place) as gateway:
            found = json.loads(place.run("gateway", "status", "--json").stdout)

    assert (without.returncode, json.loads(without.stdout)) == (1, {"running": False, "pid": None})
    assert (found["running"], found["pid"], found["requests"]) == (True, gateway.process.pid, 0)


def test_a_gateway_is_found_from_another_runtime_directory(tmp_path: Path) -> None:
    """The lock names its socket: a cron job or another login has other variables."""
    with home(tmp_path, CONFIG) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        for changed in (
            {"XDG_RUNTIME_DIR": str(tmp_path / "elsewhere")},
            {"XDG_RUNTIME_DIR": "", "TMPDIR": "/nowhere"},
        ):
            far = Home(place.state, {**place.env, **changed})
            status = json.loads(far.run("gateway", "status", "--json").stdout)
            (server,) = json.loads(far.run("mcp", "servers", "--json").stdout)
            assert (status["running"], server["pid"]) == (True, status["servers"][0]["pid"])
        stopped = far.run("gateway", "stop")

    assert (stopped.returncode, gateway.process.wait(HANG_GUARD)) == (0, 0)


def test_a_gateway_of_another_config_is_not_taken_for_ours(tmp_path: Path) -> None:
    with home(tmp_path, CONFIG) as place, gateway_process(place):
        other = tmp_path / "other.json"
        other.write_text("{}")
        run = place.run("gateway", "status", "--config", str(other))

    assert (run.returncode, "serves another config" in run.stdout) == (1, True)


def test_the_log_turns_over_while_the_gateway_runs_and_few_old_ones_are_kept(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        log = place.paths.logs_dir / "gateway.log"
        log.parent.mkdir(mode=0o700, parents=True)
        for name in ("gateway.log.1", "gateway.log.2", "gateway.log.3"):
            log.with_name(name).write_text(name)
        with log.open("w") as file:
            # The first lines that it writes make it too long.
            file.truncate(LARGEST_FILE - 10)
        try:
            assert place.run("gateway", "start").returncode == 0
        finally:
            place.run("gateway", "stop")
        kept = {file.name: file.stat().st_size for file in log.parent.glob("gateway.log*")}
        assert set(kept) == {"gateway.log", "gateway.log.1", "gateway.log.2", "gateway.log.3"}
        assert (kept["gateway.log.1"] > LARGEST_FILE, kept["gateway.log"] < 10_000) == (True, True)
        assert [log.with_name(f"gateway.log.{n}").read_text() for n in (2, 3)] == ["gateway.log.1", "gateway.log.2"]
        assert "The gateway stops." in log.read_text()


@pytest.mark.parametrize("size", [LARGEST_FILE - 10, LARGEST_FILE + 1])
def test_a_start_that_fails_says_why_also_when_the_log_turns_over_meanwhile(tmp_path: Path, size: int) -> None:
    with socket.socket() as taken, home(tmp_path) as place:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # A folder is no log file: the warning about it makes the log turn over before the line that says why.
        place.save({"gateway": {"port": port}, "logging": {"file": str(tmp_path)}})
        log = place.paths.logs_dir / "gateway.log"
        log.parent.mkdir(mode=0o700, parents=True)
        with log.open("w") as file:
            file.truncate(size)
        run = place.run("gateway", "start")

    assert (run.returncode, f"Port {port} is taken by " in run.stderr) == (1, True), run.stderr


def test_a_taken_port_is_named_before_any_server_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken, home(tmp_path) as place:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        seen = tmp_path / "seen"
        servers = {"part": stdio_server("--log", str(seen))}
        place.save({"gateway": {"port": port}, "mcp": {"servers": servers}})
        run = place.run("gateway", "run")
        started = place.run("gateway", "start")

    assert (run.returncode, started.returncode) == (1, 1)
    assert f"error: Port {port} is taken by " in run.stderr
    assert f"(pid {os.getpid()})" in run.stderr
    assert f"Port {port} is taken by " in started.stderr
    assert not seen.exists()


def test_a_broken_config_stops_the_start_with_its_place(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.config_file.write_text('{\n  "gateway": {"prot": 1}\n}')
        for words in (("gateway", "run"), ("gateway", "start")):
            run = place.run(*words)
            assert (run.returncode, "openclaw.json:2:" in run.stderr, "port" in run.stderr) == (2, True, True)


async def test_while_it_stops_http_finishes_what_runs_and_takes_nothing_new(tmp_path: Path) -> None:
    with home(tmp_path, CONFIG) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            engine = gateway.gateway.app.engine
            kept = await gateway.client.get(f"{gateway.url}/v1/models", headers=gateway.headers)
            await kept.read()
            slow = {"tool": "part__slow", "arguments": {"seconds": 1}}
            call = asyncio.create_task(gateway.post("/v1/tools/invoke", slow))
            async with asyncio.timeout(HANG_GUARD):
                while not len(engine.running):
                    await asyncio.sleep(0)
            # A connection for each of those that are refused.
            await asyncio.gather(*(gateway.get("/v1/models") for _ in range(2)))
            events = await gateway.client.get(f"{gateway.url}/v1/events", headers=gateway.headers)
            gateway.stop.set()
            # An event stream ends by itself; nobody has to wait for it.
            await asyncio.wait_for(events.read(), HANG_GUARD)
            refused = await gateway.get("/v1/models")
            # A proxy may say 503, too, of what it has passed on.
            other = await gateway.get("/v1/fleet/servers/digest")
            finished = await call
            await asyncio.wait_for(gateway.task, HANG_GUARD)

    assert [(status, told["error"]["code"]) for status, told in (refused, other)] == [
        (503, "stopping"),
        (409, "stopping"),
    ]
    assert (finished[0], finished[1]["isError"]) == (200, False)


@pytest.mark.requirement("001-NFR-1-parallel")
async def test_start_waits_for_no_server(tmp_path: Path) -> None:
    silent = stdio_server("--initialize", "silent")
    with home(tmp_path, {"mcp": {"servers": {"silent": silent, "part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            _, listed = await gateway.get("/v1/mcp/servers/silent")
            assert listed["state"] == "starting"
            await gateway.ready("part")
            _, listed = await gateway.get("/v1/mcp/servers/silent")
            assert listed["state"] == "starting"


@pytest.mark.requirement("001-FR-3-startup")
@pytest.mark.requirement("001-US-3-start")
@pytest.mark.requirement("002-4.5-boot")
async def test_servers_of_every_agent_are_started_and_shared(tmp_path: Path) -> None:
    agents = {
        "main": {},
        "research": {"mcp": {"servers": {"own": stdio_server()}}},
    }
    config = {"mcp": {"servers": {"part": stdio_server()}}, "agents": {"entries": agents}}
    with home(tmp_path, config) as place:
        async with running(place) as gateway:
            await gateway.ready("part", "own")
            pids = set()
            for agent in ("main", "research"):
                _, listed = await gateway.get(f"/v1/mcp/servers?agent={agent}")
                pids.add(next(one["pid"] for one in listed["servers"] if one["name"] == "part"))
            status, _ = await gateway.get("/v1/mcp/servers/own?agent=main")
    assert (len(pids), status) == (1, 404)


def test_install_writes_a_unit_and_says_what_it_wrote(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        first, second = place.run("gateway", "install"), place.run("gateway", "install")
    unit = tmp_path / ".config" / "systemd" / "user" / "openclaw-py-gateway.service"
    text = unit.read_text()

    assert first.stdout.splitlines()[0] == f"Wrote {unit}"
    assert second.stdout.splitlines()[0] == f"Replaced {unit}"
    assert "systemctl --user enable --now openclaw-py-gateway.service" in first.stdout
    assert f'"--config" "{place.config_file}"' in text
    assert f'Environment="OPENCLAW_STATE_DIR={place.state}"' in text


def test_nothing_of_ours_is_readable_by_others(tmp_path: Path) -> None:
    with up(tmp_path) as gateway:
        gateway.home.run("mcp", "call", "part__echo", "text=x")
        places = [gateway.home.paths.data_dir, gateway.home.paths.gateway_token_file, gateway.home.paths.control_socket]
        assert [place.stat().st_mode & 0o077 for place in places] == [0, 0, 0]
