"""What a gateway adds to a call: a plain client through it, less the same client directly at the target.

Ours is asked by `POST /v1/tools/invoke`, with its token, policy, checks and audit; the others pass MCP through. mcp-proxy and
supergateway turn stdio into HTTP and HTTP into stdio, so each is met from the side it has. Each way has a client of its own, in a
driver with its time limits; everything is on one core, like every measure of one call at a time.
"""

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench.contenders.driver import Target
from bench.contenders.entrants import FLOOR
from bench.drivers import Driver, HttpServer, environment, stdio_server
from bench.gateway import Gateway, free_port, running_gateway, write_config
from bench.parts import (
    ROOT,
    Unavailable,
    node,
    npm_program_of,
    npm_version_of,
    python_of,
    python_of_parts,
    python_version,
)
from bench.placement import place_client
from bench.processes import Failed, descendants, end, start, until_listening
from bench.results import Figure, middle
from bench.rounds import add_against, take_turns
from bench.run import Run

# As for other calls one at a time, but the slowest proxies take 30 ms for each.
COUNT, SECONDS = 400, 0.5
DIRECT = "direct"
# A client that is connected to this target through somebody.
Way = Callable[[str, Target], AbstractContextManager[Driver]]


def measure(run: Run) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        HttpServer(place="one core") as http,
        ExitStack() as stack,
    ):
        targets: dict[str, Target] = {"stdio": stdio_server(place="one core"), "http": http.target("json/mcp")}
        ways: dict[str, Way] = {DIRECT: _direct}
        if run.wants("ours"):
            run.say("gateway: starting ours")
            write_config(Path(folder), targets)
            try:
                gateway = stack.enter_context(running_gateway(Path(folder)))
                place_client(gateway.pid)
                ways["ours"] = partial(_ours, gateway)
            except (Failed, OSError) as error:
                run.failed("gateway", "ours", error)
        ways |= {who: way for who, way in OTHERS.items() if not run.who or who in run.who}
        for case, target in targets.items():
            _compare(run, case, target, ways)


def _compare(run: Run, case: str, target: Target, ways: dict[str, Way]) -> None:
    with ExitStack() as stack:
        clients: dict[str, Driver] = {}
        for who, way in list(ways.items()):
            run.say(f"gateway: connecting {who} to {case}")
            try:
                clients[who] = stack.enter_context(way(case, target))
                run.told_version(who, VERSIONS.get(who, str))
            except Unavailable as error:
                run.note("gateway", who, "skipped", str(error))
                # Trying again for the next target would only take as long again.
                del ways[who]
            except (Failed, OSError) as error:
                run.failed("gateway", who, error, case)
        taken = take_turns(
            {who: partial(client.calls, case, count=COUNT, seconds=SECONDS) for who, client in clients.items()},
            run.rounds(9, 3),
            lambda who, error: run.failed("gateway", who, error, case),
            begin=lambda who: run.say(f"gateway: {case}: {who}"),
        )
    added = {
        who: [turn["p50"] - direct["p50"] for turn, direct in zip(turns, taken[DIRECT], strict=True)]
        for who, turns in taken.items()
        if who != DIRECT and DIRECT in taken
    }
    for who, more in added.items():
        run.results.add(Figure("gateway", case, who, middle(more), "seconds", None, min(more), max(more)))
    add_against(run.results, "gateway", case, "seconds", added, TITLES)


@contextmanager
def _direct(case: str, target: Target) -> Iterator[Driver]:
    with FLOOR.driver() as driver:
        driver.open({case: target})
        _place_all(driver.pid)
        yield driver


def _place_all(pid: int) -> None:
    """A program and those it started: when they are up, so that threads beside their main ones stay free."""
    for one in (pid, *descendants(pid)):
        place_client(one)


@contextmanager
def _ours(gateway: Gateway, case: str, target: Target) -> Iterator[Driver]:
    with Driver([sys.executable, "-m", "bench.floor.invoke"], env={"BENCH_TOKEN": gateway.token}) as driver:
        driver.place()
        driver.open({case: {"url": gateway.url}})
        # The first call waits for the server.
        driver.call(case, text="first")
        yield driver


@contextmanager
def _mcp_proxy(case: str, target: Target) -> Iterator[Driver]:
    program = [str(Path(python_of("mcp-proxy")).parent / "mcp-proxy"), "--log-level", "ERROR"]
    if "url" in target:
        with _direct(case, {"command": [*program, "--transport", "streamablehttp", target["url"]]}) as driver:
            yield driver
        return
    port = free_port()
    with _listening([*program, "--port", str(port), "--", *target["command"]], port, case) as driver:
        yield driver


@contextmanager
def _supergateway(case: str, target: Target) -> Iterator[Driver]:
    program = [node(), npm_program_of("supergateway"), "--logLevel", "none"]
    if "url" in target:
        with _direct(case, {"command": [*program, "--streamableHttp", target["url"]]}) as driver:
            yield driver
        return
    port = free_port()
    # Stateful, or it would start a server for each request.
    output = ["--outputTransport", "streamableHttp", "--stateful", "--port", str(port)]
    with _listening([*program, "--stdio", shlex.join(target["command"]), *output], port, case) as driver:
        yield driver


@contextmanager
def _fastmcp(case: str, target: Target) -> Iterator[Driver]:
    port = free_port()
    module = [python_of_parts("fastmcp"), "-m", "bench.contenders.fastmcp_proxy"]
    with _listening([*module, json.dumps(target), str(port)], port, case) as driver:
        yield driver


# Of those who are nobody else's entrant.
VERSIONS: dict[str, Callable[[], str]] = {
    "mcp-proxy": lambda: f"mcp-proxy {python_version(python_of('mcp-proxy'), 'mcp-proxy')}",
    "supergateway": lambda: f"supergateway {npm_version_of('supergateway')}",
}
TITLES = {"mcp-proxy": "mcp-proxy", "supergateway": "supergateway", "fastmcp": "FastMCP"}
OTHERS: dict[str, Way] = {"mcp-proxy": _mcp_proxy, "supergateway": _supergateway, "fastmcp": _fastmcp}


@contextmanager
def _listening(command: list[str], port: int, case: str) -> Iterator[Driver]:
    """A proxy that serves MCP on this port, and a client of it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home, open(Path(home) / "log", "w+b") as log:
        process = start(command, environment(Path(home)), cwd=ROOT, stdout=log.fileno(), stderr=log.fileno())
        try:
            until_listening(port, process, Path(log.name))
            _place_all(process.pid)
            with _direct(case, {"url": f"http://127.0.0.1:{port}/mcp"}) as driver:
                yield driver
        finally:
            end(process)
