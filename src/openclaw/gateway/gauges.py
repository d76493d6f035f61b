"""What `/metrics` shows of the present moment: servers, and the process itself."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import get_args

from openclaw.gateway.meters import Gauge, Sample
from openclaw.mcp.status import ServerStatus, ShownState
from openclaw.version import __version__

# Each state is a row of its own, 1 for the one a server is in: numbers for states would change when a new state comes.
_STATES = get_args(ShownState)
_SERVER = ("server", "agent")
# What Linux tells of this process.
_PROC = Path("/proc/self")


def gauges(
    servers: Iterable[ServerStatus], *, started: float, watchers: int, busy: int, proc: Path = _PROC
) -> Iterator[Gauge]:
    """`started` is by the clock that never goes back; `busy` counts requests and commands that run."""
    found = list(servers)
    yield Gauge("openclaw_info", "The version that runs.", ("version",), (Sample((__version__,), 1),))
    yield _single("openclaw_uptime_seconds", "Seconds since the gateway started.", time.monotonic() - started)
    yield _single("openclaw_running", "Requests and commands that run now.", busy)
    yield _single("openclaw_event_streams", "Open event streams.", watchers)
    yield Gauge(
        "openclaw_mcp_server_state",
        "1 for the state a server is in.",
        (*_SERVER, "state"),
        [Sample((one.name, one.owner, state), float(state == one.state)) for one in found for state in _STATES],
    )
    numbers: tuple[tuple[str, str, Callable[[ServerStatus], int]], ...] = (
        ("openclaw_mcp_server_tools", "Tools a server offers.", attrgetter("tools")),
        ("openclaw_mcp_server_restarts", "Failures in a row of a server.", attrgetter("restarts")),
        ("openclaw_mcp_server_calls_running", "Calls a server works on.", attrgetter("in_flight")),
        ("openclaw_mcp_server_calls_waiting", "Calls that wait for their turn at a server.", attrgetter("queued")),
    )
    for name, help, number in numbers:
        yield Gauge(name, help, _SERVER, [Sample((one.name, one.owner), number(one)) for one in found])
    yield from _process(proc)


def _process(proc: Path) -> Iterator[Gauge]:
    times = os.times()
    seconds = times.user + times.system
    yield Gauge(
        "process_cpu_seconds_total", "Processor time used.", (), (Sample((), round(seconds, 3)),), kind="counter"
    )
    if sys.platform == "win32":
        return
    try:
        pages = int((proc / "statm").read_text().split()[1])
        files = len(os.listdir(proc / "fd"))
    except OSError:
        # Not on this system.
        return
    yield _single("process_resident_memory_bytes", "Memory in use.", pages * os.sysconf("SC_PAGE_SIZE"))
    yield _single("process_open_fds", "Open files and sockets.", files)


def _single(name: str, help: str, value: float) -> Gauge:
    return Gauge(name, help, (), (Sample((), value),))
