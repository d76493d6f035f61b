"""Twenty servers of both kinds and what can be done to them: killed, cut off, restarted, reconfigured.

Owns the processes beside the engine, the specs, and when each server was last disturbed. Who disturbs when is chaos.py.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.parts import ROOT
from openclaw.config.servers import ServerSpec, read_server
from openclaw.errors import OpenClawError
from openclaw.mcp.manager import Manager

PARTS = ROOT / "tests" / "parts"
STDIO, HTTP = 14, 6
# The engine itself must end every call by then.
CALL_MS = 15_000
# More than any soak has: giving up on a server is not what is looked at here.
MAX_RESTARTS = 1_000_000
# After a server was disturbed, how long a failed call may still be put down to that: connecting again, on a busy machine.
GRACE = 10.0


class Scene:
    def __init__(
        self, folder: Path, ports: list[int], control: asyncio.StreamWriter, chance: random.Random, *, leaky: bool
    ) -> None:
        self.folder = folder
        self.chance = chance
        self.kills = self.cuts = self.restarts = self.reloads = 0
        self.manager: Manager
        self._control = control
        self._ports = ports
        self._disturbed: dict[str, float] = {}
        self._removed: set[str] = set()
        # Counts the reconfigurations of each server; a new number is a new command line or URL.
        self._editions: dict[str, int] = {}
        self._leaky = leaky

    @property
    def names(self) -> list[str]:
        return [f"p{number}" for number in range(STDIO)] + [f"h{number}" for number in range(HTTP)]

    @property
    def journals(self) -> list[Path]:
        return sorted(self.folder.glob("journal-*"))

    def specs(self) -> list[ServerSpec]:
        return [read_server(name, self._entry(name)) for name in self.names if name not in self._removed]

    def _entry(self, name: str) -> dict[str, Any]:
        number, edition = int(name[1:]), self._editions.get(name, 0)
        shared = {"requestTimeoutMs": CALL_MS, "maxRestarts": MAX_RESTARTS}
        if name.startswith("h"):
            return {"url": f"http://127.0.0.1:{self._ports[number]}/mcp?edition={edition}", **shared}
        program = [str(PARTS / "stdio_server.py"), "--journal", str(self.folder / f"journal-{name}")]
        program += ["--log", "/dev/null"] * (edition % 2)
        if self._leaky and number == 0:
            program = [str(Path(__file__).parent / "leaky_server.py"), str(self.folder), *program]
        return {"command": sys.executable, "args": ["-S", "-E", *program], **shared}

    def was_left_alone(self, name: str, since: float, now: float) -> bool:
        """Whether nobody had touched a server from shortly before `since` until now."""
        return name not in self._removed and not (since - GRACE <= self._disturbed.get(name, -GRACE) <= now)

    def disturb(self, name: str) -> None:
        self._disturbed[name] = asyncio.get_running_loop().time()

    # What can be done to servers

    def kill(self, name: str) -> None:
        """-9, when it runs."""
        try:
            pid = self.manager.server(name).describe().pid
        except OpenClawError:
            return
        if pid is not None:
            self.disturb(name)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.kills += 1

    def cut(self, name: str) -> None:
        """Every connection to an HTTP server, in the middle of whatever they carry."""
        self.disturb(name)
        self._control.write(b"cut %d\n" % int(name[1:]))
        self.cuts += 1

    def restart(self) -> None:
        """An HTTP server that comes back and has forgotten everything."""
        number = self.chance.randrange(HTTP)
        self.disturb(f"h{number}")
        self._control.write(b"restart %d\n" % number)
        self.restarts += 1

    async def reload(self) -> None:
        """A new config: one server gone or back, or at another command line. The others must not notice."""
        name = self.chance.choice(self.names)
        self.disturb(name)
        if name in self._removed:
            self._removed.discard(name)
        elif len(self._removed) < 2 and self.chance.random() < 0.5:
            self._removed.add(name)
        else:
            self._editions[name] = self._editions.get(name, 0) + 1
        await self.manager.reconcile(self.specs())
        self.disturb(name)
        self.reloads += 1


@asynccontextmanager
async def http_servers(folder: Path) -> AsyncIterator[tuple[list[int], asyncio.StreamWriter]]:
    """Their ports, and where to write what shall happen to them."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.soak.http_servers", str(HTTP), str(folder / "journal-http")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ports = [int(port) for port in (await process.stdout.readline()).split()]
        yield ports, process.stdin
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
