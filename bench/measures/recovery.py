"""After a crash, a forgotten MCP session and a restarted server: does the next call work? And for us: how fast are error and return."""

import os
import signal
import urllib.request
from pathlib import Path

from bench.contenders.entrants import FLOORS, LANGCHAIN, Entrant
from bench.drivers import Driver, HttpServer, stdio_server
from bench.processes import Failed, descendants
from bench.results import Figure
from bench.run import Run, report_of

# The longest a next call may take: longer than any backoff after a first failure.
PATIENCE = 8.0
# Every server waits for its first backoff in turn.
KILL_PATIENCE = 120.0
# Of what a contender says about its failure.
MOST_WORDS = 120
# langchain-mcp-adapters as its documentation begins: a session for each call, and so nothing that could break between two.
PER_CALL = "langchain, get_tools()"
CASES = ("next call after a crash", "next call after a forgotten session", "next call after a restart")


def measure(run: Run) -> None:
    if run.wants("ours"):
        _kill_ours(run)
    for entrant in run.entrants("recovery"):
        if entrant not in FLOORS:
            _cases(run, entrant, entrant.key, "open")
        if entrant == LANGCHAIN:
            _cases(run, entrant, PER_CALL, "open_list")


def _cases(run: Run, entrant: Entrant, who: str, way: str) -> None:
    for case in CASES:
        run.say(f"recovery: {case}: {who}")
        try:
            _next_call(run, entrant, who, way, case)
        except (Failed, OSError) as error:
            run.failed("recovery", who, error, case)


def _kill_ours(run: Run) -> None:
    run.say("recovery: kill -9: ours")
    try:
        found = report_of("bench.ours.recovery", "3" if run.quick else "8", patience=KILL_PATIENCE)
    except Failed as error:
        run.failed("recovery", "ours", error)
        return
    # The worst of them: this is a promise, not an average.
    run.results.add(Figure("recovery", "error after kill -9", "ours", max(found["errors"]), "seconds"))
    run.results.add(Figure("recovery", "tools back after the first backoff", "ours", max(found["backs"]), "seconds"))


def _next_call(run: Run, entrant: Entrant, who: str, way: str, case: str) -> None:
    with HttpServer("--sessions") as http, entrant.driver() as driver:
        name = "stdio" if case == CASES[0] else "http"
        driver.open({name: stdio_server() if name == "stdio" else http.target("json/mcp")}, way=way)
        driver.call(name, text="before")
        _break(case, driver, http)
        try:
            works = driver.call(name, "echo", PATIENCE, text="after")["text"].find("after") >= 0
        except Failed as error:
            works = False
            run.note("recovery", who, "failed", str(error)[:MOST_WORDS], case)
        run.results.add(Figure("recovery", case, who, float(works), "yes"))


def _break(case: str, driver: Driver, http: HttpServer) -> None:
    if case == CASES[0]:
        for pid in descendants(driver.pid):
            if b"echo_stdio.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
    elif case == CASES[1]:
        urllib.request.urlopen(urllib.request.Request(http.url("forget"), b""), timeout=PATIENCE).close()
    else:
        http.kill()
        http.start()
