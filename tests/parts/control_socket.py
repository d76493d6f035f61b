"""The gateway's end of a control socket with a command of our own behind it: no gateway, no agent."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from openclaw.commands.console import Console
from openclaw.gateway.control import ControlServer
from openclaw.gateway.request import CommandRequest

Work = Callable[[CommandRequest, Console], Awaitable[int]]


class OneCommand:
    """A runner that does the same thing for everybody."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.stopped = asyncio.Event()

    def refusal(self, request: CommandRequest) -> str | None:
        return None

    async def run(self, request: CommandRequest, console: Console) -> int:
        return await self.work(request, console)

    async def status(self) -> Mapping[str, Any]:
        return {"pid": os.getpid()}

    def stop(self) -> None:
        self.stopped.set()

    def drain(self, limit: float, grace: float) -> None:
        self.stopped.set()

    async def page(self, *, revoke: bool) -> Mapping[str, Any]:
        return {"revoked": 0} if revoke else {"ticket": "once"}


@contextmanager
def short_folder() -> Iterator[Path]:
    """A socket's address is short; the folders of tests are not."""
    folder = Path(mkdtemp(prefix="oc-"))
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def serving(
    work: Work, place: Path | None = None, *, unix: bool = sys.platform != "win32"
) -> AsyncIterator[tuple[ControlServer, OneCommand, Path]]:
    """A control socket, at an address of its own unless one is given, that does `work` for everybody."""
    with short_folder() as folder:
        runner = OneCommand(work)
        place = place or folder / "openclaw" / "x.sock"
        server = ControlServer(place, runner, unix=unix)
        await server.start()
        try:
            yield server, runner, place
        finally:
            server.leave()
            await server.finish(0)
            assert not place.exists()
