"""Which servers a turn waits for: those that are coming up, told from those that hang by what their processes do."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from openclaw.config.servers import EngineOptions, ServerSpec
from openclaw.mcp.access import UnavailableError
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import Awaited
from parts.processes import STDIO_SERVER
from parts.sites import Site

FOREVER = float("inf")
# So long that only signs of life decide.
PATIENT = EngineOptions(startup_grace=600.0)

# More processor time than any pause that is allowed between signs of life.
COMPUTE = "import time\nwhile time.process_time() < 1.0: pass\n"
SERVE = f"import runpy, sys\nsys.argv = ['server']\nrunpy.run_path({str(STDIO_SERVER)!r}, run_name='__main__')\n"
IN_A_CHILD = f"import subprocess, sys\nsubprocess.call([sys.executable, '-S', '-E', '-c', {COMPUTE + SERVE!r}])\n"
# Says nothing and does nothing.
HANG = "import sys\nfor line in sys.stdin: pass"


def program(name: str, text: str) -> ServerSpec:
    return ServerSpec(name, command=sys.executable, args=("-S", "-E", "-c", text))


def states(manager: Manager) -> dict[str, str]:
    return {status.name: status.state for status in manager.status()}


@pytest.mark.parametrize("text", [COMPUTE + SERVE, IN_A_CHILD], ids=["itself", "in-a-child"])
async def test_a_slow_starter_that_computes_is_waited_for(tmp_path: Path, text: str) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [site.spec(), program("slow", text)]
        async with Manager(specs, options=PATIENT, patience=0) as manager:
            await manager.settle("", FOREVER)
            assert states(manager) == {"shop": "ready", "slow": "ready"}


@pytest.mark.parametrize(
    "text",
    ["import sys\nfor line in sys.stdin: pass", "import subprocess\nsubprocess.call(['sleep', '600'])"],
    ids=["reads-and-is-mute", "waits-for-a-child-that-sleeps"],
)
async def test_a_turn_goes_on_without_a_program_that_does_nothing(tmp_path: Path, text: str) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [program("hanging", text), site.spec()]
        async with Manager(specs, options=PATIENT, patience=0) as manager:
            await manager.settle("", FOREVER)
            # Its attempt to connect has not ended.
            assert states(manager) == {"hanging": "starting", "shop": "ready"}


async def test_a_turn_goes_on_without_a_remote_server_that_takes_connections_and_says_nothing(tmp_path: Path) -> None:
    # Nobody takes the connections from the system, which accepts them all the same.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/mcp"
        async with Site("stdio", tmp_path) as site:
            specs = [ServerSpec("hanging", transport="streamable-http", url=url), site.spec()]
            async with Manager(specs, options=PATIENT, patience=0) as manager:
                await manager.settle("", FOREVER)
                assert states(manager) == {"hanging": "starting", "shop": "ready"}


async def test_a_program_that_computes_for_ever_is_waited_for_no_longer_than_the_grace(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [program("busy", "while True: pass"), site.spec()]
        async with Manager(specs, options=EngineOptions(startup_grace=0.3), patience=0) as manager:
            await manager.settle("", FOREVER)
            assert states(manager) == {"busy": "starting", "shop": "ready"}


async def test_a_turn_of_the_gateway_goes_on_without_it_before_its_patience_ends(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [program("hanging", "import time; time.sleep(600)"), site.spec()]
        async with Manager(specs, options=PATIENT, patience=0) as manager:
            told: list[Awaited] = []
            manager.events.subscribe(lambda event: told.append(event) if isinstance(event, Awaited) else None)
            await manager.settle("", PATIENT.startup_grace)
            assert told[-1] == Awaited("", ("hanging",), given_up=True)


async def test_who_waits_for_one_server_waits_for_no_other_that_hangs(tmp_path: Path) -> None:
    async with Site("stdio", tmp_path) as site:
        specs = [program("hanging", HANG), site.spec()]
        async with Manager(specs, options=PATIENT, patience=0) as manager:
            await manager.arrivals.started("", "shop")
            assert states(manager) == {"hanging": "starting", "shop": "ready"}


async def test_a_look_at_all_servers_ends_though_the_only_one_hangs() -> None:
    async with Manager([program("hanging", HANG)], options=PATIENT, patience=0) as manager:
        await manager.arrivals.seen("")
        assert states(manager) == {"hanging": "starting"}


async def test_who_waits_for_a_server_that_is_taken_out_waits_no_longer() -> None:
    async with Manager([program("hanging", HANG)], options=PATIENT, patience=0) as manager:
        waiting = asyncio.create_task(manager.arrivals.started(""))
        await asyncio.sleep(0)
        await manager.reconcile([])
        await waiting


async def test_nobody_waits_for_a_server_that_waits_for_its_place_and_the_tools_it_is_known_for_stay(
    tmp_path: Path,
) -> None:
    one, two = Site("stdio", tmp_path, "one"), Site("stdio", tmp_path, "two")
    state, options = tmp_path / "state", EngineOptions(max_concurrent_servers=1)
    async with Manager([two.spec()], state=state) as manager:
        known = [entry.name for entry in manager.entries()]
    async with Manager([one.spec(), two.spec()], options=options, state=state, patience=0) as manager:
        await manager.arrivals.started("")
        assert [status.shown for status in manager.status()][1] == "stopped (limit)"
        assert [entry.name for entry in manager.entries() if entry.spec.name == "two"] == known
        with pytest.raises(UnavailableError, match="maxConcurrentServers"):
            await manager.server("two").refresh()
        assert "maxConcurrentServers" in (await manager.call("two__echo", {"text": "x"})).fault


async def test_a_server_that_a_text_names_gets_its_place_before_the_others(tmp_path: Path) -> None:
    one, two = Site("stdio", tmp_path, "one"), Site("stdio", tmp_path, "two")
    options = EngineOptions(max_concurrent_servers=1)
    async with Manager([one.spec(), two.spec()], options=options, eager=False) as manager:
        manager.start(first="run two__echo")
        await manager.arrivals.started("")
        assert states(manager) == {"one": "stopped", "two": "ready"}
