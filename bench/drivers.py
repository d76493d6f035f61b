"""The harness's side of a driver: start it in its environment, tell it what to do, read what it found, end it and all it started.

contenders/driver.py is the other side; placement.py says on which processor cores both run.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from bench.contenders.driver import TEXT, Target
from bench.parts import ROOT
from bench.placement import Place, place_client, server_cores
from bench.processes import Failed, descendants, end, last_words, line_from, start

SERVERS = ROOT / "bench" / "servers"
# Without site packages a Python server starts in 15 ms.
BARE = (sys.executable, "-S", "-E")
# The longest any one command may take before its driver is given up: the slowest contender's slowest measure is far below.
PATIENCE = 30.0
# Our own servers listen within a tenth of a second.
LISTEN_SECONDS = 20.0
# Until a driver that was told to end is killed.
FAREWELL = 3.0


def _placed(place: Place) -> tuple[str, ...]:
    chosen = server_cores(place)
    return ("--cores", ",".join(map(str, chosen))) if chosen else ()


def stdio_server(*options: str, place: Place = "free") -> Target:
    return {"command": [*BARE, str(SERVERS / "echo_stdio.py"), *_placed(place), *options]}


class HttpServer:
    """The echo server over HTTP in a process of its own."""

    def __init__(self, *options: str, place: Place = "free") -> None:
        self._command = [*BARE, str(SERVERS / "echo_http.py"), *_placed(place), *options]
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Listen; on the same port as before when it was started before."""
        command = [*self._command, "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdout is not None
        self.port = int(line_from(self._process.stdout.fileno(), LISTEN_SECONDS))

    def kill(self) -> None:
        end(self._process)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def target(self, path: str) -> Target:
        return {"url": self.url(path)}


class Driver:
    """`with Driver(command) as driver: driver.open({...}); driver.calls(...)`. Has a state directory of its own."""

    def __init__(
        self, command: Sequence[str], *, env: dict[str, str] | None = None, patience: float = PATIENCE
    ) -> None:
        self._command = list(command)
        self._extra = env or {}
        self._patience = patience
        self._buffer = b""
        # Why nothing more can be asked: an answer that came too late would be taken for the next one.
        self._given_up = ""

    def __enter__(self) -> Self:
        self.home = Path(tempfile.mkdtemp(prefix="bench-"))
        self._log = open(self.home / "stderr", "w+b")
        self._process = start(
            self._command,
            environment(self.home) | self._extra,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stderr=self._log.fileno(),
        )
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Failed, OSError, ValueError):
            self.ask({"do": "close", "limit": FAREWELL}, FAREWELL + 1)
        end(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def place(self) -> None:
        """Keep it on the clients' core from now on. It has started: threads beside its main one stay free."""
        self.ask({"do": "hello"})
        place_client(self.pid)

    def ask(self, command: dict[str, Any], patience: float | None = None) -> dict[str, Any]:
        """Do one thing and wait for what came of it. Raises Failed; who is too late is ended and cannot be asked again."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._given_up:
            raise Failed(self._given_up)
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._give_up(self._last_words()) from None
        patience = self._patience if patience is None else patience
        deadline = time.monotonic() + patience
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self._give_up(f"no answer within {patience:g} s")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise self._give_up(self._last_words())
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def _give_up(self, why: str) -> Failed:
        """At once, or it would go on working beside the others."""
        self._given_up = why
        end(self._process)
        return Failed(why)

    def open(self, servers: dict[str, Target], patience: float | None = None, way: str = "open") -> float:
        """Connect to all of them, in one of the ways of a contender. Seconds it took."""
        return float(self.ask({"do": "open", "servers": servers, "way": way}, patience)["seconds"])

    def calls(
        self,
        *servers: str,
        count: int,
        seconds: float,
        in_flight: int = 1,
        tool: str = "echo",
        argument: str = "text",
        text: str = TEXT,
    ) -> dict[str, float]:
        how = {
            "servers": servers,
            "in_flight": in_flight,
            "count": count,
            "seconds": seconds,
            "tool": tool,
            "argument": argument,
            "text": text,
        }
        return self.ask({"do": "calls", "how": how})

    def call(self, server: str, tool: str = "echo", patience: float = PATIENCE, **arguments: object) -> dict[str, Any]:
        command = {"do": "call", "server": server, "tool": tool, "arguments": arguments, "limit": patience}
        return self.ask(command, patience + 1)

    def _last_words(self) -> str:
        self._log.flush()
        self._log.seek(0)
        return last_words(self._log.read())


def environment(home: Path) -> dict[str, str]:
    """What a program sees: our own environment, with its state in `home` and compiled modules kept as in any installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENCLAW"))}
    return kept | {"OPENCLAW_STATE_DIR": str(home / "state"), "XDG_RUNTIME_DIR": str(home), "NO_COLOR": "1"}


def memory(pid: int, field: str = "VmRSS") -> int:
    """Bytes of a process: VmRSS now, VmHWM at its highest."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise Failed("it is gone")


def whole_memory(pid: int) -> int:
    """Bytes of a program with everything it started beside our servers: what it keeps for its own purposes is its own."""
    total = memory(pid)
    for child in descendants(pid):
        with suppress(OSError, Failed):
            if os.fsencode(SERVERS) not in Path(f"/proc/{child}/cmdline").read_bytes():
                total += memory(child)
    return total


def forget_peak(pid: int) -> None:
    """Let the highest memory count from now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
