"""Notices that a config file was saved: its time, size or identity changed, or it came or went.

Looks at a handful of files a few times a second, which costs nothing measurable and works on every file system. A file that is being
written is left alone until it has stopped changing.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path

# A change takes effect within a second: one look, one pause, and the work itself.
LOOK_EVERY = 0.25
SETTLE = 0.1

# Identity, size and time of a file; None when there is none.
Look = tuple[int, int, int, int] | None


def look_at(files: Iterable[Path]) -> dict[Path, Look]:
    return {file: _look(file) for file in files}


def _look(file: Path) -> Look:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class ConfigWatch:
    """Calls `changed` after each change. `files` is asked again each time: a config may name others by then.

    `seen` is how they were when they were read: what was saved since then is the first change.
    """

    def __init__(
        self, files: Callable[[], Iterable[Path]], changed: Callable[[], Awaitable[None]], *, seen: Mapping[Path, Look]
    ) -> None:
        self._files = files
        self._changed = changed
        self._seen = dict(seen)
        # One change at a time: who catches up waits for the one that is being taken over.
        self._taking_over = asyncio.Lock()

    async def run(self) -> None:
        """Look, without end."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = look_at(self._files())
            if now == self._seen:
                continue
            while (settled := await self._after_a_pause()) != now:
                now = settled
            await self.catch_up()

    async def catch_up(self) -> None:
        """Look now, and take over what was saved, for somebody who must not work with what was before. A file that is still being written
        is looked at again when the rest of it is there."""
        async with self._taking_over:
            now = look_at(self._files())
            if now == self._seen:
                return
            self._seen = now
            await self._changed()
            # Files that are new to us are taken as they are: they were just read.
            self._seen = {file: self._seen.get(file, look) for file, look in look_at(self._files()).items()}

    async def _after_a_pause(self) -> dict[Path, Look]:
        await asyncio.sleep(SETTLE)
        return look_at(self._files())
