"""Memory of a client connected to 20 servers with 1,000 tools, once they are listed; and of a gateway of ours that idles with them.

With everything the client started that is not a server: our guardian counts as ours.
"""

import tempfile
import time
from pathlib import Path

from bench.contenders.driver import Target
from bench.contenders.entrants import FLOORS, OURS
from bench.drivers import stdio_server, whole_memory
from bench.gateway import running_gateway, write_config
from bench.processes import Failed
from bench.results import Figure, middle
from bench.run import Run

SERVERS, TOOLS_EACH = 20, 50
CASE = f"{SERVERS} servers, {SERVERS * TOOLS_EACH:,} tools"
ROUNDS = 3
# For whatever a client still does after it said that it is ready.
SETTLE = 1.0


def measure(run: Run) -> None:
    servers = {f"s{number}": stdio_server("--tools", str(TOOLS_EACH)) for number in range(SERVERS)}
    for entrant in run.entrants("memory"):
        if entrant in FLOORS:
            continue
        run.say(f"memory: {entrant.key}")
        taken: list[float] = []
        try:
            for _ in range(run.rounds(ROUNDS, 1)):
                with entrant.driver() as driver:
                    driver.open(servers)
                    time.sleep(SETTLE)
                    taken.append(whole_memory(driver.pid))
            run.results.add(Figure("memory", CASE, entrant.key, middle(taken), "bytes", None, min(taken), max(taken)))
        except (Failed, OSError) as error:
            run.failed("memory", entrant.key, error)
    if run.wants(OURS.key):
        _gateway(run, servers)


def _gateway(run: Run, servers: dict[str, Target]) -> None:
    run.say("memory: idle gateway")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder)
        write_config(home, servers)
        try:
            with running_gateway(home) as gateway:
                time.sleep(5 * SETTLE)
                run.results.add(Figure("memory", "idle gateway", OURS.key, whole_memory(gateway.pid), "bytes"))
        except (Failed, OSError) as error:
            run.failed("memory", OURS.key, error, "idle gateway")
