"""A place where a planned server can be reached over one transport, for tests that run over all of them.

async with Site("stdio", folder) as site:
    site.plan(tools=[...])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager: ...
    site.log      # what the server really did
    await site.crash()   # as kill -9 would; a call afterwards has to work
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from openclaw.config.servers import ServerSpec
from openclaw.errors import TransportError
from openclaw.mcp.connect import Dependencies
from openclaw.transport.base import Outgoing, Transport
from openclaw.transport.memory import MemoryTransport
from parts import planned_server
from parts.http_server import HttpServer
from parts.http_server import Plan as HttpPlan
from parts.planned_server import Message, PlannedServer

KINDS = ("memory", "stdio", "streamable-http", "sse")


class Site:
    def __init__(self, kind: str, folder: Path, name: str = "shop") -> None:
        self.kind = kind
        self.name = name
        folder.mkdir(parents=True, exist_ok=True)
        self._plan = folder / f"{name}.plan.json"
        self._log = folder / f"{name}.log"
        self._log.touch()
        self.http: _Web | None = None
        self.plan()
        self.http = _Web(PlannedServer(self._plan, self._log)) if kind in ("streamable-http", "sse") else None
        self._memory: set[asyncio.Event] = set()
        self.dependencies = Dependencies(make_transport=self._transport)

    async def __aenter__(self) -> "Site":
        if self.http:
            await self.http.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.http:
            await self.http.stop()

    def plan(self, **fields: Any) -> None:
        """What the server offers from now on."""
        fresh = self._plan.with_suffix(".new")
        fresh.write_text(json.dumps(fields))
        os.replace(fresh, self._plan)
        if self.http is not None:
            self.http.plan.revisions = tuple(fields.get("revisions", planned_server.LEGACY))

    def spec(self, **fields: Any) -> ServerSpec:
        if self.http:
            url = self.http.url if self.kind == "streamable-http" else self.http.sse_url
            return ServerSpec(self.name, **{"transport": self.kind, "url": url, **fields})
        program = str(Path(__file__).parent / "planned_server.py")
        arguments = ("-S", "-E", program, str(self._plan), str(self._log))
        return ServerSpec(self.name, **{"command": sys.executable, "args": arguments, **fields})

    @property
    def log(self) -> list[str]:
        return self._log.read_text().splitlines()

    async def logged(self, line: str) -> None:
        """Wait until the server has done something."""
        while line not in self.log:
            await asyncio.sleep(0.005)

    async def told_of_cancellation(self) -> None:
        """Wait until the server has heard that a call is not wanted any more."""
        if self.http:
            http = self.http
            await http.until(lambda: "notifications/cancelled" in http.methods())
        else:
            await self.logged("cancelled True")

    async def crash(self, pid: int | None = None) -> None:
        """The server dies without a word, and is there again for who connects anew."""
        if self.kind == "stdio":
            assert pid is not None
            # On Windows every signal but two ends a process at once.
            os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        elif self.http:
            await self.http.stop()
            await self.http.start()
        else:
            for dead in self._memory:
                dead.set()

    def _transport(self, spec: ServerSpec) -> Transport | None:
        return MemoryTransport(self._serve) if self.kind == "memory" and spec.name == self.name else None

    async def _serve(self, far: Transport) -> None:
        """One run of the server in this process."""
        server, dead = PlannedServer(self._plan, self._log), asyncio.Event()
        receiver = _Receiver(server)
        self._memory.add(dead)
        try:
            async with far.open(receiver) as link:

                async def deliver(message: Message) -> None:
                    # Who asked may be gone by now.
                    with contextlib.suppress(TransportError):
                        await link.send(Outgoing(json.dumps(message).encode()))

                def send(message: Message) -> None:
                    task = asyncio.ensure_future(deliver(message))
                    receiver.sending.add(task)
                    task.add_done_callback(receiver.sending.discard)

                receiver.send = send
                ends = [asyncio.ensure_future(dead.wait()), asyncio.ensure_future(receiver.gone.wait())]
                try:
                    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for end in ends:
                        end.cancel()
        finally:
            self._memory.discard(dead)
            for task in [*receiver.tasks.values(), *receiver.sending]:
                task.cancel()


class _Receiver:
    """The server's end of an in-process link."""

    def __init__(self, server: PlannedServer) -> None:
        self.send: Any = None
        self.tasks: dict[Any, asyncio.Task[None]] = {}
        self.sending: set[asyncio.Task[None]] = set()
        self.gone = asyncio.Event()
        self._server = server

    def received(self, data: bytes, origin: int | None) -> None:
        message = json.loads(data)
        if message.get("params", {}).get("name") == "die" and message.get("method") == "tools/call":
            self._server.done(f"die {message['params'].get('arguments', {}).get('key', '')}")
            self.gone.set()
        else:
            planned_server.receive(self._server, message, self.send, self.tasks)

    def awaits(self, request_id: int) -> bool:
        return False

    def failed(self, request_id: int, error: Exception) -> None:
        return None

    def closed(self, error: Exception | None) -> None:
        self.gone.set()


class _Web(HttpServer):
    """The HTTP server of these parts, with a planned server behind it."""

    def __init__(self, server: PlannedServer) -> None:
        super().__init__(HttpPlan(revisions=tuple(planned_server.LEGACY)))
        self._server = server

    def cut(self) -> None:
        """Reset every connection that is open; the server itself goes on."""
        server = self._runner.server if self._runner else None
        for connection in list(server.connections if server else ()):
            if connection.transport is not None:
                connection.transport.abort()

    async def _work(self, message: Message, stream: Any) -> None:
        def send(answer: Message) -> None:
            if "id" in answer or "progressToken" in answer.get("params", {}):
                stream.add(answer)
            else:
                self.announce(answer)

        if message["method"] == "subscriptions/listen":
            self._shared = stream
        await planned_server.respond(self._server, message, send)
        if stream.number not in (int(key) for key in self._legacy):
            stream.finish()
