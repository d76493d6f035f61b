"""Gateways to test against: one in this process, for everything that happens over sockets, and one as a program of its own."""

import asyncio
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from openclaw.config.paths import Paths
from openclaw.gateway.feed import ConfigReloaded
from openclaw.gateway.gateway import Gateway, serve
from openclaw.gateway.reload import LogAs
from openclaw.program import ROOT
from parts import loaded
from parts.processes import HANG_GUARD, server_command

PROGRAM = loaded.PROGRAM
READY = "The gateway is up: "


def stdio_server(*options: str, **entry: Any) -> dict[str, Any]:
    """A config entry for the misbehaving server of this folder."""
    command, *args = server_command(*options)
    return {"command": command, "args": args, **entry}


@dataclass(frozen=True)
class Home:
    """A state directory with a config, and the environment that leads to it."""

    state: Path
    env: Mapping[str, str]

    @property
    def paths(self) -> Paths:
        return Paths.from_env(self.env)

    @property
    def config_file(self) -> Path:
        return self.state / "openclaw.json"

    def save(self, config: Mapping[str, Any], **more: Any) -> None:
        """Write the config as careful programs do: aside, then into place."""
        fresh = self.state / "openclaw.json.new"
        fresh.write_text(json.dumps({"gateway": {"port": 0}, **config, **more}))
        fresh.replace(self.config_file)

    def script(self, *turns: Mapping[str, Any]) -> dict[str, Any]:
        """What makes a config use a model that plays these turns."""
        (self.state / "turns.json").write_text(json.dumps(turns))
        provider = {"api": "scripted", "script": str(self.state / "turns.json"), "models": ["one"]}
        return {
            "models": {"mode": "replace", "providers": {"play": provider}},
            "agents": {"defaults": {"model": "play/one"}},
        }

    @property
    def token(self) -> str:
        return self.paths.gateway_token_file.read_text().strip()

    def run(
        self, *words: str, cwd: Path | None = None, input: str | None = None, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.CompletedProcess[str]":
        """Run `openclaw WORDS` to its end."""
        given = stdin if input is None else input
        done = loaded.run(words, env=self.env, cwd=cwd or self.state, stdin=given)
        return subprocess.CompletedProcess(words, done.code, done.out, done.err)


@contextmanager
def home(
    folder: Path, config: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None
) -> Iterator[Home]:
    state = folder / ".openclaw"
    state.mkdir(mode=0o700)
    # A socket's address is short; the folders of tests are not.
    runtime = tempfile.mkdtemp(prefix="oc-")
    environ = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "OPENCLAW_STATE_DIR": str(state),
        "XDG_RUNTIME_DIR": runtime,
        "PYTHONWARNINGS": "error",
        **(env or {}),
    }
    made = Home(state, environ)
    made.save(config or {})
    try:
        yield made
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


@dataclass(frozen=True)
class Running:
    """A gateway in this process."""

    home: Home
    gateway: Gateway
    client: aiohttp.ClientSession
    stop: asyncio.Event
    task: "asyncio.Task[None]"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.gateway.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.home.token}"}

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        return await self.send("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        return await self.send("POST", path, json=body, **options)

    async def send(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Status and body; JSON is decoded."""
        async with self.client.request(method, self.url + path, headers=self.headers, **options) as response:
            text = await response.text()
            return response.status, json.loads(text) if response.content_type == "application/json" else text

    async def ready(self, *servers: str) -> None:
        """Until these servers are ready."""
        manager = await self.gateway.app.engine.manager()
        changed = asyncio.Event()
        unsubscribe = manager.events.subscribe(lambda event: changed.set())
        try:
            async with asyncio.timeout(HANG_GUARD):
                while not {one.name for one in manager.status() if one.state == "ready"}.issuperset(servers):
                    changed.clear()
                    await changed.wait()
        finally:
            unsubscribe()

    async def reloaded(self) -> dict[str, Any]:
        """What the next reload says. Ask before saving."""
        with self.gateway.app.engine.events.reader(ConfigReloaded) as reader:
            event = await reader.next(HANG_GUARD)
        assert event is not None
        return {"ok": not event.value.problem, "problem": event.value.problem}


@asynccontextmanager
async def running(place: Home, *, log_as: LogAs = lambda section: None) -> AsyncIterator[Running]:
    stop = asyncio.Event()
    up: asyncio.Future[Gateway] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(place.paths, place.env, stop=stop, root=ROOT, ready=up.set_result, log_as=log_as))
    waited: list[asyncio.Future[Any]] = [task, up]
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED, timeout=HANG_GUARD)
    if not up.done():
        await task
    async with aiohttp.ClientSession() as client:
        try:
            yield Running(place, up.result(), client, stop, task)
        finally:
            stop.set()
            await asyncio.wait_for(task, HANG_GUARD)


class GatewayProcess:
    """`openclaw gateway run`, as a user would run it; `fresh`: with an interpreter of its own, too, which has loaded nothing for tests."""

    def __init__(self, place: Home, *words: str, fresh: bool = False) -> None:
        self.home = place
        self._said: int | None
        self._said, theirs = os.pipe()
        try:
            argv = [*PROGRAM, "gateway", "run", *words]
            begin = subprocess.Popen[bytes] if fresh else loaded.begin
            self.process = begin(argv, env=place.env, cwd=place.state, stderr=theirs)
        finally:
            os.close(theirs)
        self.said = ""

    def wait_until(self, text: str) -> str:
        """Read what it writes until `text` appears; everything it wrote so far."""
        while text not in self.said:
            assert self._read(), f"{text!r} was never said: {self.said}"
        return self.said

    def _read(self) -> bool:
        """Hear more; False where nothing more comes."""
        assert self._said is not None
        data = os.read(self._said, 65536) if select.select([self._said], [], [], HANG_GUARD)[0] else b""
        self.said += data.decode("utf-8", "replace")
        return bool(data)

    @property
    def port(self) -> int:
        return int(self.wait_until("http://127.0.0.1:").rpartition("http://127.0.0.1:")[2].partition(" ")[0])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit code."""
        self.process.send_signal(number)
        while self._said is not None and self._read():
            pass
        if self._said is not None:
            os.close(self._said)
            self._said = None
        try:
            return self.process.wait(HANG_GUARD)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(HANG_GUARD)


@contextmanager
def gateway_process(place: Home, *words: str, fresh: bool = False) -> Iterator[GatewayProcess]:
    process = GatewayProcess(place, *words, fresh=fresh)
    try:
        process.wait_until(READY)
        yield process
    finally:
        process.end()


def sse_events(lines: Sequence[bytes]) -> list[tuple[str, Any]]:
    """Named server-sent events with JSON in them."""
    found: list[tuple[str, Any]] = []
    name = ""
    for line in (raw.decode().rstrip("\n") for raw in lines):
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
    return found
