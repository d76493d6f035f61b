"""Warm calls one at a time, wherever client and server run: on one core, on two, and as the system likes. Against echo servers of both
eras, and against real ones: server-everything, a FastMCP 4 server and a server of the TypeScript SDK 2, over stdio and HTTP.

The two floors, OpenClaw and whoever is fastest of the others; the rest is with them on one core (calls.py). Everybody is warm: Node
optimises what was called tens of thousands of times. p50, p99, and the processor time that a call takes of its client, which survives a
busy machine.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.contenders.driver import Target
from bench.contenders.entrants import FAST_FLOOR, FLOORS, MCPORTER, OURS, TS_SDK
from bench.drivers import SERVERS, Driver, HttpServer, environment, stdio_server
from bench.gateway import free_port
from bench.parts import ROOT, Unavailable, node, npm_modules, npm_program, npm_version, python_of_parts
from bench.placement import PLACES, Place, arrange
from bench.processes import Failed, descendants, end, start, until_listening
from bench.rounds import Warmth, add_against, add_figures, take_turns
from bench.run import HARNESS, Run

WHO = frozenset({*(floor.key for floor in FLOORS), OURS.key, TS_SDK.key, MCPORTER.key})
# Whom a case is compared with, by the names that targets use.
OTHERS = {FAST_FLOOR.key: "the fast floor", TS_SDK.key: "the TypeScript SDK", MCPORTER.key: "mcporter"}
COUNT, SECONDS = 1_000, 0.15
# Forty thousand calls of the first case, and some of each other one.
WARM_TURNS, MORE_WARM_TURNS, QUICK_WARM_TURNS = 40, 8, 4
ROUNDS, QUICK_ROUNDS = 7, 3
ECHO, MODERN_ECHO = "stdio", "stdio-2026"
JSON, MODERN_JSON, EVENTS, MODERN_EVENTS = "json", "json-2026", "events", "events-2026"
EVERYTHING, EVERYTHING_HTTP = "everything", "everything-http"
FASTMCP, FASTMCP_HTTP = "fastmcp", "fastmcp-http"
TYPESCRIPT, TYPESCRIPT_HTTP = "typescript", "typescript-http"
CASES = (
    *(ECHO, MODERN_ECHO, JSON, MODERN_JSON, EVENTS, MODERN_EVENTS),
    *(EVERYTHING, EVERYTHING_HTTP, FASTMCP, FASTMCP_HTTP, TYPESCRIPT, TYPESCRIPT_HTTP),
)
# The same server in the new era and in the old.
ERAS = {MODERN_ECHO: ECHO, MODERN_JSON: JSON, MODERN_EVENTS: EVENTS}
OLD_ERA = "2025-11-25"
Taken = dict[str, float]


def placed(case: str, place: Place) -> str:
    return f"{case}, {place}"


def measure(run: Run) -> None:
    with HttpServer("--modern") as modern, HttpServer() as http:
        echo: dict[str, Target] = {
            ECHO: stdio_server(),
            MODERN_ECHO: {**stdio_server("--modern"), "modern": True},
            JSON: http.target("json/mcp"),
            MODERN_JSON: {**modern.target("json/mcp"), "modern": True},
            EVENTS: http.target("events/mcp"),
            MODERN_EVENTS: {**modern.target("events/mcp"), "modern": True},
        }
        together: list[tuple[str, ...]] = [(old, new) for new, old in ERAS.items()]
        _group(run, echo, together, (http.pid, modern.pid))
    for name, http_name, command, version in (
        (EVERYTHING, EVERYTHING_HTTP, _everything, "@modelcontextprotocol/server-everything"),
        (FASTMCP, FASTMCP_HTTP, _fastmcp, ""),
        (TYPESCRIPT, TYPESCRIPT_HTTP, _typescript, "@modelcontextprotocol/server"),
    ):
        try:
            stdio, serving = command("stdio", 0), partial(command, "http")
            if version:
                # FastMCP is among those who are measured.
                run.told_version(version, partial(npm_version, version))
        except Unavailable as error:
            run.note("placed", name, "skipped", str(error))
            continue
        try:
            with _listening(serving) as (url, pid):
                targets: dict[str, Target] = {name: {"command": stdio}, http_name: {"url": url}}
                _group(run, targets, [(name,), (http_name,)], (pid,))
        except (Failed, OSError) as error:
            run.failed("placed", HARNESS, error, http_name)


def _everything(transport: str, port: int) -> list[str]:
    return [node(), npm_program("mcp-server-everything"), "stdio" if transport == "stdio" else "streamableHttp"]


def _fastmcp(transport: str, port: int) -> list[str]:
    return [python_of_parts("fastmcp"), str(SERVERS / "fastmcp_echo.py"), transport, str(port)]


def _typescript(transport: str, port: int) -> list[str]:
    folder = str(Path(npm_modules()).parent)
    return [node(), str(SERVERS / "typescript_echo.mjs"), folder, transport, str(port)]


@contextmanager
def _listening(command: "partial[list[str]]") -> Iterator[tuple[str, int]]:
    """A server of a real program on a port of its own: its address and process."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home, open(Path(home) / "log", "w+b") as log:
        port = free_port()
        env = environment(Path(home)) | {"PORT": str(port)}
        process = start(command(port), env, cwd=ROOT, stdout=log.fileno(), stderr=log.fileno())
        try:
            until_listening(port, process, Path(log.name))
            yield f"http://127.0.0.1:{port}/mcp", process.pid
        finally:
            end(process)


def _group(run: Run, targets: dict[str, Target], together: list[tuple[str, ...]], servers: tuple[int, ...]) -> None:
    """`together` are the cases whose rounds are the same."""
    with run.opened("placed", targets, only=WHO, case=next(iter(targets))) as drivers:
        for number, cases in enumerate(together):
            _cases(run, cases, drivers, servers, is_first=not number)


def _cases(
    run: Run, cases: tuple[str, ...], drivers: dict[str, Driver], servers: tuple[int, ...], *, is_first: bool
) -> None:
    def turn(case: str, place: Place, driver: Driver) -> Taken:
        arrange(place, driver.pid, (*servers, *descendants(driver.pid)))
        argument = "message" if case.startswith(EVERYTHING) else "text"
        return driver.calls(case, count=COUNT, seconds=SECONDS, argument=argument)

    turns: dict[tuple[str, Place, str], partial[Taken]] = {}
    for case in cases:
        for who, driver in drivers.items():
            run.say(f"placed: {case}: warming up {who}")
            least = QUICK_WARM_TURNS if run.quick else WARM_TURNS if is_first else MORE_WARM_TURNS
            warmth: Warmth[Taken] = Warmth(lambda given: given["p50"], least)
            try:
                warmth.reach(partial(turn, case, "one core", driver))
            except (Failed, OSError) as error:
                run.failed("placed", who, error, case)
                continue
            turns |= {(case, place, who): partial(turn, case, place, driver) for place in PLACES}
    run.say(f"placed: {', '.join(cases)}: in turns")
    taken = take_turns(
        turns,
        run.rounds(ROUNDS, QUICK_ROUNDS),
        lambda key, error: run.failed("placed", key[2], error, placed(key[0], key[1])),
    )
    for case in cases:
        for place in PLACES:
            own = {key[2]: given for key, given in taken.items() if key[:2] == (case, place)}
            _add(run, placed(case, place), own)
            if case in ERAS:
                old = taken.get((ERAS[case], place, OURS.key), [])
                values = {OURS.key: _field(own.get(OURS.key, []), "p50"), OLD_ERA: _field(old, "p50")}
                add_against(run.results, "placed", placed(case, place), "seconds", values, {OLD_ERA: OLD_ERA})


def _field(given: list[Taken], field: str) -> list[float]:
    return [one[field] for one in given]


def _add(run: Run, label: str, own: dict[str, list[Taken]]) -> None:
    for field, ending in (("p50", ""), ("p99", " p99"), ("cpu", " cpu")):
        values = {who: _field(given, field) for who, given in own.items()}
        add_figures(run.results, "placed", f"{label}{ending}", "seconds", values)
        if field != "p99":
            add_against(run.results, "placed", f"{label}{ending}", "seconds", values, OTHERS)
