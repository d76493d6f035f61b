"""A TCP proxy for tests that breaks connections on command: after so many bytes, in slivers, or by falling silent.

    async with ChaosProxy(port) as proxy:
        proxy.plan = Chaos(cut_down=100)      # for connections made from now on
        ... connect to proxy.port instead
        proxy.allow(down=100)                 # over all connections; then all are reset, once

`down` is towards the client, `up` towards the server. It changes no byte.
"""

import asyncio
from dataclasses import dataclass

# Turns of the loop from the system's taking a connection to ours.
ACCEPT_ROUNDS = 5


@dataclass(frozen=True)
class Chaos:
    # Bytes of one direction after which the connection is reset.
    cut_up: int | None = None
    cut_down: int | None = None
    # Bytes of one direction after which nothing more is passed on, while everything stays open.
    stall_up: int | None = None
    stall_down: int | None = None
    # Bytes passed on at a time; 0 passes on what came.
    sliver: int = 0
    # Seconds between them.
    pause: float = 0.0
    # Reset a connection as soon as it is accepted.
    refuse: bool = False


class ChaosProxy:
    def __init__(self, port: int, plan: Chaos | None = None) -> None:
        self.plan = plan or Chaos()
        self.port = 0
        self.connections = 0
        # Connections up to this number are silent for good.
        self._frozen = 0
        self.bytes_up = 0
        self.bytes_down = 0
        # What may still pass in each direction before everything is cut; and whether that has happened.
        self._allowed: dict[str, int] = {}
        self.was_cut = False
        self._cut_off: set[asyncio.Task[None]] = set()
        self._target = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "ChaosProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._server is not None
        self._server.close()
        # Connections that were taken but not yet handed over come in the next rounds of the loop.
        for _ in range(ACCEPT_ROUNDS):
            await asyncio.sleep(0)
        self.cut()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Reset every connection that is open."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def freeze(self) -> None:
        """Pass nothing more on over the connections that are open, and leave them open."""
        self._frozen = self.connections

    def allow(self, **bytes_left: int) -> None:
        """Let so many bytes pass `up` or `down` from now on, over whichever connections, then reset them all. Later ones are left alone."""
        self._allowed = bytes_left

    async def until_cut(self) -> None:
        """Wait until the connections that were cut are closed, and whoever held one was told."""
        if self._cut_off:
            await asyncio.wait(self._cut_off)
        for _ in range(ACCEPT_ROUNDS):
            await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Held from here on: a task that is cancelled before its first step runs no `finally` of its own.
        self._writers.add(writer)
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plan = self.plan
        self.connections += 1
        number = self.connections
        ends = [writer]
        try:
            if not plan.refuse:
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
                ends.append(far_writer)
                self._writers.add(far_writer)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_on(number, reader, far_writer, plan, up=True))
                    group.create_task(self._pass_on(number, far_reader, writer, plan, up=False))
        except* (OSError, _Cut):
            pass
        finally:
            for end in ends:
                self._writers.discard(end)
                end.transport.abort()

    async def _pass_on(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plan: Chaos, *, up: bool
    ) -> None:
        cut, stall = (plan.cut_up, plan.stall_up) if up else (plan.cut_down, plan.stall_down)
        limit = min((bound for bound in (cut, stall) if bound is not None), default=None)
        passed, direction = 0, "up" if up else "down"
        while limit is None or passed < limit:
            data = await reader.read(65536)
            if number <= self._frozen:
                break
            if not data:
                raise _Cut
            if limit is not None:
                data = data[: limit - passed]
            data = data[: self._allowed.get(direction, len(data))]
            step = plan.sliver or len(data)
            for start in range(0, len(data), step):
                writer.write(data[start : start + step])
                await writer.drain()
                if plan.sliver:
                    # Lets the other side read this much before more comes.
                    await asyncio.sleep(plan.pause)
            passed += len(data)
            if up:
                self.bytes_up += len(data)
            else:
                self.bytes_down += len(data)
            if direction in self._allowed:
                self._allowed[direction] -= len(data)
                if not self._allowed[direction]:
                    self._allowed, self.was_cut, self._cut_off = {}, True, set(self._tasks)
                    self.cut()
                    raise _Cut
        if cut is not None and passed >= cut:
            raise _Cut
        await asyncio.Event().wait()


class _Cut(Exception):
    pass
