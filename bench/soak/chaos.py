"""Who calls and who disturbs, until time is up. Every caller writes what became of each call; chance is seeded."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TextIO

from bench.drivers import memory
from bench.soak.scene import STDIO, Scene
from openclaw.mcp.tools.results import Result

CALLERS = 30
# Between the calls of one caller: a few hundred calls a second in all leave the machine room for everything else.
PAUSE = 0.05
# Half of the kills hit a server with this many calls under way.
BURST = 8
KILL_EVERY, CUT_EVERY, RESTART_EVERY, RELOAD_EVERY = 0.7, 1.5, 6.0, 4.0
SAMPLE_EVERY = 0.5
# Before the reason of a call that failed though nothing was done to its server.
UNDUE = "undue: "
# Far longer than the engine gives any call.
HUNG_AFTER = 45.0


class Chaos:
    def __init__(self, scene: Scene, log: TextIO) -> None:
        self.hung = self.undue = 0
        self.samples: list[int] = []
        self.failures: dict[str, int] = {}
        self._scene = scene
        self._log = log
        self._number = 0
        self._bursts: set[asyncio.Task[None]] = set()

    async def run(self, seconds: float) -> None:
        """Returns when time is up and every call has ended."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        # What is counted from here on happened because something was disturbed.
        await self._scene.http.tell("count", 0)
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(self._repeat(end, PAUSE, self._call_one))
            group.create_task(self._repeat(end, KILL_EVERY, self._kill))
            group.create_task(self._repeat(end, CUT_EVERY, self._cut))
            group.create_task(self._repeat(end, RESTART_EVERY, self._scene.restart))
            group.create_task(self._repeat(end, RELOAD_EVERY, self._scene.reload))
            group.create_task(self._repeat(end, SAMPLE_EVERY, self._sample, steady=True))
        await asyncio.gather(*self._bursts)

    async def _repeat(
        self, end: float, pause: float, act: Callable[[], Awaitable[None]], *, steady: bool = False
    ) -> None:
        """Again and again, about so often; `steady` exactly so often."""
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            await asyncio.sleep(pause if steady else pause * self._scene.chance.uniform(0.5, 1.5))
            await act()

    async def _call_one(self) -> None:
        await self._call(self._scene.chance.choice(self._scene.names))

    async def _call(self, server: str) -> None:
        self._number += 1
        text = f"{server}-{self._number}"
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.timeout(HUNG_AFTER):
                result = await self._scene.manager.call(f"{server}__echo", {"text": text})
        except TimeoutError:
            self.hung += 1
            self._log.write(f"error {text}\n")
            return
        if not result.is_error and _text(result) == text:
            self._log.write(f"ok {text}\n")
            return
        self._log.write(f"error {text}\n")
        excused = self._scene.is_excused(server, started, loop.time())
        self.undue += not excused
        # Without its numbers, to count the same failures together.
        reason = "".join("#" if sign.isdigit() else sign for sign in result.fault or _text(result))[:160]
        reason = reason if excused else UNDUE + reason
        self.failures[reason] = self.failures.get(reason, 0) + 1

    async def _kill(self) -> None:
        server = f"p{self._scene.chance.randrange(STDIO)}"
        if self._scene.chance.random() < 0.5:
            for _ in range(BURST):
                task = asyncio.create_task(self._call(server))
                self._bursts.add(task)
                task.add_done_callback(self._bursts.discard)
            # Once round the loop: the calls are on their way.
            await asyncio.sleep(0)
        await self._scene.kill(server)

    async def _cut(self) -> None:
        server = f"h{self._scene.chance.randrange(len(self._scene.http.addresses))}"
        task = asyncio.create_task(self._call(server))
        self._bursts.add(task)
        task.add_done_callback(self._bursts.discard)
        await asyncio.sleep(0)
        await self._scene.cut(server)

    async def _sample(self) -> None:
        self.samples.append(memory(os.getpid()))


def _text(result: Result) -> str:
    return (result.content[0].text or "") if result.content else ""
