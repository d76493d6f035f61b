"""A session cut at one byte after another: whatever byte it is, every call ends once, the next one works, and nothing is left over.

Each way to be cut makes a session of its own for each byte: the server's program exits (or stops reading) there, or
over HTTP a proxy resets every connection. The bytes are counted from the first of connecting; a run ends when a session was over
before its byte came.
"""

import asyncio
import contextlib
import gc
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from openclaw.config.servers import ServerSpec
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from openclaw.process import guardian
from parts.chaos import marked
from parts.chaos_proxy import ChaosProxy
from parts.planned_server import LEGACY, MODERN, tool
from parts.processes import open_descriptors
from parts.sites import Site

# A session is connecting and this many calls; the cut comes in one of them, between them, or not at all.
CALLS = 2
# Sessions at one time. Most of the time of each is its server's start.
AT_ONCE = 6
# For a server that went deaf: nothing but the clock tells that from one that thinks.
CONNECT_SECONDS = 5.0
CALL_SECONDS = 2.0
# Started for the first child and kept for the rest of the process.
GUARDIAN_DESCRIPTORS = 1
PROGRAM = Path(__file__).parent / "cut_server.py"


class Scene(Protocol):
    """One server that will be cut off at a byte. `tool` notes its argument `text` before it answers."""

    spec: ServerSpec
    tool: str
    argument: str

    def was_cut(self) -> bool: ...

    def done(self) -> list[str]:
        """What was really done, in order."""
        ...

    async def felt(self) -> None:
        """Wait until the cut has arrived at our end."""
        ...


class Program:
    tool, argument = "shop__echo", "text"

    def __init__(self, folder: Path, revision: str, how: str, at: int) -> None:
        folder.mkdir(parents=True)
        self._cut, self._journal = folder / "cut", folder / "journal"
        self._cut.write_text(f"{how} {at}")
        self._journal.touch()
        options = ("--revisions", revision, "--journal", str(self._journal))
        self.spec = ServerSpec(
            "shop",
            command=sys.executable,
            args=("-S", "-E", str(PROGRAM), str(self._cut), *options),
            connect_timeout=CONNECT_SECONDS,
            call_timeout=CALL_SECONDS,
        )

    def was_cut(self) -> bool:
        return self._cut.with_suffix(".done").exists()

    def done(self) -> list[str]:
        return self._journal.read_text().splitlines()

    async def felt(self) -> None:
        # What a program has not read is known not to be done, so that nobody has to wait.
        return None


class Web:
    tool, argument = "shop__count", "key"

    def __init__(self, site: Site, proxy: ChaosProxy) -> None:
        self._site, self._proxy = site, proxy
        path = "sse" if site.kind == "sse" else "mcp"
        # Here every cut is felt: the default deadlines are never waited for, only there for a busy machine.
        self.spec = site.spec(url=f"http://127.0.0.1:{proxy.port}/{path}")

    def was_cut(self) -> bool:
        return self._proxy.was_cut

    def done(self) -> list[str]:
        return [line.removeprefix("count ") for line in self._site.log if line.startswith("count ")]

    async def felt(self) -> None:
        await self._proxy.until_cut()


@dataclass(frozen=True)
class Way:
    """A transport, a revision, and how the session is cut: `in`, `out` or `deaf` for programs, `up` or `down` for HTTP."""

    kind: str
    revision: str
    how: str
    # What HTTP answers with.
    answers: Literal["json", "sse"] = "json"

    def __str__(self) -> str:
        return f"{self.kind}-{self.revision}-{self.answers}-{self.how}".replace("-json", "")

    @contextlib.asynccontextmanager
    async def scene(self, folder: Path, at: int) -> AsyncIterator[Scene]:
        if self.kind == "stdio":
            yield Program(folder, self.revision, self.how, at)
            return
        async with Site(self.kind, folder) as site:
            assert site.http
            site.plan(revisions=[self.revision], tools=[tool("count")])
            site.http.plan.answers = self.answers
            async with ChaosProxy(site.http.port) as proxy:
                proxy.allow(**{self.how: at})
                yield Web(site, proxy)


WAYS = (
    *(Way("stdio", revision, how) for revision in (LEGACY[0], MODERN) for how in ("in", "out")),
    Way("stdio", LEGACY[0], "deaf"),
    *(
        Way("streamable-http", revision, how, answers)
        for revision in (LEGACY[0], MODERN)
        for answers in ("json", "sse")
        for how in ("up", "down")
    ),
    *(Way("sse", LEGACY[-1], how) for how in ("up", "down")),
)


async def run(way: Way, folder: Path, step: int) -> int:
    """Cut sessions at every `step`-th byte, from the first to the last there is. How many were cut."""
    before, tasks = open_descriptors(), asyncio.all_tasks()
    count, at = 0, 1
    with marked() as mark:
        while True:
            places = range(at, at + step * AT_ONCE, step)
            cut = await asyncio.gather(*(_session(way, folder / str(place), place) for place in places))
            count += sum(cut)
            at = places[-1] + step
            if not all(cut):
                break
        assert guardian.find(mark) == []
    assert asyncio.all_tasks() == tasks
    gc.collect()
    assert len(open_descriptors() - before) <= GUARDIAN_DESCRIPTORS
    return count


async def _session(way: Way, folder: Path, at: int) -> bool:
    """One session that is cut after byte `at`; whether it lived that long."""
    async with way.scene(folder, at) as scene:
        results: dict[str, Result] = {}
        async with Manager([scene.spec], patience=0) as manager:

            async def call(key: str) -> None:
                results[key] = await manager.call(scene.tool, {scene.argument: key})

            for number in range(CALLS):
                await call(str(number))
                if scene.was_cut():
                    break
            if scene.was_cut():
                await scene.felt()
                await call("next")
                assert not results["next"].is_error, _story(way, at, results, scene)
        done = scene.done()
        for key, result in results.items():
            is_once = done.count(key) == 1 if not result.is_error else done.count(key) <= 1
            assert (is_once, _is_clear(result)) == (True, True), _story(way, at, results, scene)
        return "next" in results


def _is_clear(result: Result) -> bool:
    """A result, or one sentence or two of ours on one line."""
    if not result.is_error:
        return True
    is_whole = result.fault.endswith(".") or result.fault.startswith("Tool call timed out after ")
    return is_whole and "\n" not in result.fault and "internal error" not in result.fault


def _story(way: Way, at: int, results: dict[str, Result], scene: Scene) -> str:
    told: dict[str, Any] = {key: result.fault or "answered" for key, result in results.items()}
    return f"{way}, cut after byte {at}: {json.dumps(told)}; done: {scene.done()}"
