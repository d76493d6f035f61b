"""Twenty servers of both kinds and what can be done to them: killed, cut off, restarted, reconfigured.

Owns the processes beside the engine, the specs, and when each server was disturbed. A disturbance lasts from the moment it is asked for
until it is complete: a killed process is dead, a connection is closed, a restarted server listens again. A call may fail only when a
disturbance fell into its own time; the first call after one must be answered. Who disturbs when is chaos.py.
"""

import asyncio
import math
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from bench.parts import ROOT
from openclaw.config.servers import ServerSpec, read_server
from openclaw.errors import OpenClawError
from openclaw.mcp.manager import Manager

PARTS = ROOT / "tests" / "parts"
STDIO = 14
# The engine itself must end every call by then.
CALL_MS = 15_000
# Seconds. A call may wait for a server to connect before its own time begins, longer than either on a busy machine.
LONGEST_CALL = 120.0
# More than any soak has: giving up on a server is not what is looked at here.
MAX_RESTARTS = 1_000_000
# Between two looks at whether a killed process is dead.
LOOK_AGAIN = 0.001


class HttpServers:
    """Their addresses, and the way to disturb them: `http_servers.py` answers when it has done what it was told."""

    def __init__(self, process: asyncio.subprocess.Process, addresses: list[str]) -> None:
        self.addresses = addresses
        # How often a stream was resumed by Last-Event-ID, an MCP session begun, an HTTP+SSE stream opened.
        self.resumed = self.sessions = self.legacy_streams = 0
        self._process = process
        self._one_at_a_time = asyncio.Lock()

    async def tell(self, word: str, number: int) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        async with self._one_at_a_time:
            self._process.stdin.write(f"{word} {number}\n".encode())
            counts = await self._process.stdout.readline()
            self.resumed, self.sessions, self.legacy_streams = map(int, counts.split())


class Scene:
    def __init__(self, folder: Path, http: HttpServers, chance: random.Random, *, leaky: bool) -> None:
        self.folder = folder
        self.http = http
        self.chance = chance
        self.kills = self.cuts = self.restarts = self.reloads = 0
        self.manager: Manager
        self._disturbances: list[Disturbance] = []
        # Servers that a reload took away, with the disturbance that lasts until they are back.
        self._removed: dict[str, Disturbance] = {}
        # Counts the reconfigurations of each server; a new number is a new command line or URL.
        self._editions: dict[str, int] = {}
        self._leaky = leaky

    @property
    def names(self) -> list[str]:
        return [f"p{number}" for number in range(STDIO)] + [f"h{number}" for number in range(len(self.http.addresses))]

    @property
    def journals(self) -> list[Path]:
        return sorted(self.folder.glob("journal-*"))

    def specs(self) -> list[ServerSpec]:
        return [read_server(name, self._entry(name)) for name in self.names if name not in self._removed]

    def _entry(self, name: str) -> dict[str, Any]:
        number, edition = int(name[1:]), self._editions.get(name, 0)
        shared = {"requestTimeoutMs": CALL_MS, "maxRestarts": MAX_RESTARTS}
        if name.startswith("h"):
            return {"url": f"{self.http.addresses[number]}?edition={edition}", **shared}
        program = [str(PARTS / "stdio_server.py"), "--journal", str(self.folder / f"journal-{name}")]
        program += ["--log", "/dev/null"] * (edition % 2)
        if self._leaky and number == 0:
            program = [str(Path(__file__).parent / "leaky_server.py"), str(self.folder), *program]
        return {"command": sys.executable, "args": ["-S", "-E", *program], **shared}

    def is_excused(self, name: str, since: float, until: float) -> bool:
        """Whether something was done to a server while a call to it was under way."""
        old = until - LONGEST_CALL
        self._disturbances = [known for known in self._disturbances if known.until > old]
        return any(known.server == name and known.overlaps(since, until) for known in self._disturbances)

    def _disturb(self, name: str) -> "Disturbance":
        """A disturbance that begins now and goes on until it is told to be over."""
        begun = Disturbance(name, _now())
        self._disturbances.append(begun)
        return begun

    # What can be done to servers

    async def kill(self, name: str) -> None:
        """-9, when it runs; returns when it is dead."""
        try:
            pid = self.manager.server(name).status().pid
        except OpenClawError:
            return
        if pid is None:
            return
        disturbance = self._disturb(name)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
        while _is_alive(pid):
            await asyncio.sleep(LOOK_AGAIN)
        disturbance.until = _now()

    async def cut(self, name: str) -> None:
        """Every connection to an HTTP server, in the middle of whatever they carry."""
        await self._tell("cut", name)
        self.cuts += 1

    async def restart(self) -> None:
        """An HTTP server that comes back and has forgotten everything."""
        await self._tell("restart", f"h{self.chance.randrange(len(self.http.addresses))}")
        self.restarts += 1

    async def _tell(self, word: str, name: str) -> None:
        disturbance = self._disturb(name)
        await self.http.tell(word, int(name[1:]))
        disturbance.until = _now()

    async def reload(self) -> None:
        """A new config: one server gone or back, or at another command line. The others must not notice."""
        name = self.chance.choice(self.names)
        disturbance = self._removed.pop(name, None) or self._disturb(name)
        if disturbance.is_removal:
            pass
        elif len(self._removed) < 2 and self.chance.random() < 0.5:
            disturbance.is_removal = True
            self._removed[name] = disturbance
        else:
            self._editions[name] = self._editions.get(name, 0) + 1
        await self.manager.reconcile(self.specs())
        if name not in self._removed:
            disturbance.until = _now()
        self.reloads += 1


class Disturbance(msgspec.Struct):
    server: str
    since: float
    until: float = math.inf
    # The config names the server no longer; it is over when another one names it again.
    is_removal: bool = False

    def overlaps(self, since: float, until: float) -> bool:
        return self.since <= until and since <= self.until


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_alive(pid: int) -> bool:
    """Whether a process still runs: a dead one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state not in (b"Z", b"X")


@asynccontextmanager
async def http_servers(folder: Path) -> AsyncIterator[HttpServers]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.soak.http_servers", str(folder / "journal-http")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
    )
    assert process.stdout is not None
    try:
        yield HttpServers(process, (await process.stdout.readline()).decode().split())
    finally:
        process.kill()
        await process.wait()
        # Lets the transport of its pipes close before descriptors are counted.
        process._transport.close()  # type: ignore[attr-defined]


def leftovers(folder: Path) -> list[int]:
    """Processes that name this soak's folder on their command line, and are not ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
