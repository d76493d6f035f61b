"""After a crash, a forgotten MCP session and a restarted server: does the next call work? And for us: how fast are error and return."""

import os
import signal
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from bench.contenders.roster import FLOOR, Entrant
from bench.drivers import Driver, DriverError, HttpServer, stdio_server
from bench.results import Figure, middle
from bench.run import Run, report_of

PATIENCE = 8.0
CASES = ("next call after a crash", "next call after a forgotten session", "next call after a restart")


def measure(run: Run) -> None:
    run.say("recovery: kill -9")
    try:
        found = report_of("bench.ours.recovery", "3" if run.quick else "8", patience=120)
        # The worst of them: this is a promise, not an average.
        run.results.add(Figure("recovery", "error after kill -9", "ours", max(found["errors"]), "seconds"))
        run.results.add(
            Figure("recovery", "tools back after the first backoff", "ours", middle(found["backs"]), "seconds")
        )
    except DriverError as error:
        run.failed("recovery", "ours", error)
    for entrant in run.entrants():
        if entrant != FLOOR:
            run.say(f"recovery: {entrant.key}")
            for case in CASES:
                _next_call(run, entrant, case)


def _next_call(run: Run, entrant: Entrant, case: str) -> None:
    with HttpServer("--sessions") as http, ExitStack() as stack:
        driver = run.driver(entrant, stack, "recovery")
        if driver is None:
            return
        name = "stdio" if case == CASES[0] else "http"
        try:
            driver.open({name: stdio_server() if name == "stdio" else http.target("json/mcp")})
            driver.call(name, text="before")
        except DriverError as error:
            run.failed("recovery", entrant.key, error)
            return
        _break(case, driver, http)
        try:
            works = driver.call(name, "echo", PATIENCE, text="after")["text"].find("after") >= 0
        except DriverError as error:
            works = False
            run.results.note("recovery", f"{entrant.key}, {case}: {str(error)[:120]}")
        run.results.add(Figure("recovery", case, entrant.key, float(works), "yes"))


def _break(case: str, driver: Driver, http: HttpServer) -> None:
    if case == CASES[0]:
        for pid in _servers_of(driver.pid):
            os.kill(pid, signal.SIGKILL)
    elif case == CASES[1]:
        urllib.request.urlopen(urllib.request.Request(http.url("forget"), b"")).close()
    else:
        http.kill()
        http.start()


def _servers_of(driver: int) -> list[int]:
    """The echo servers that a driver started: they are in its session, or carry its state directory."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"echo_stdio.py" in command and parent == driver:
            found.append(int(folder.name))
    return found
