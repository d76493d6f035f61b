"""Noticing that a config file was saved, on real files."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from openclaw.control.config_watch import ConfigWatch, look_at


@asynccontextmanager
async def watching(files: Callable[[], list[Path]]) -> AsyncIterator[asyncio.Queue[None]]:
    changes: asyncio.Queue[None] = asyncio.Queue()

    async def changed() -> None:
        changes.put_nowait(None)

    task = asyncio.create_task(ConfigWatch(files, changed, seen=look_at(files())).run())
    try:
        yield changes
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_every_way_of_saving_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    async with watching(lambda: [file]) as changes:
        file.write_text("{}")
        await changes.get()
        file.write_text('{"a": 1}')
        await changes.get()
        fresh = tmp_path / "fresh"
        fresh.write_text('{"b": 1}')
        # Same size and time as before: only its identity tells.
        status = file.stat()
        os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
        fresh.replace(file)
        await changes.get()
        file.unlink()
        await changes.get()


async def test_a_file_that_joins_is_watched_from_then_on_and_is_no_change_itself(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    second.write_text("1")
    files = [first]
    async with watching(lambda: files) as changes:
        first.write_text("22")
        await changes.get()
        files.append(second)
        second.write_text("333")
        await changes.get()

    assert changes.empty()


def test_a_directory_that_cannot_be_entered_is_a_missing_file(tmp_path: Path) -> None:
    assert look_at([tmp_path / "none" / "file"]) == {tmp_path / "none" / "file": None}


async def test_who_catches_up_finds_a_change_taken_over_once_however_many_ask(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    taken: list[str] = []

    async def changed() -> None:
        await asyncio.sleep(0)
        taken.append(file.read_text())

    watch = ConfigWatch(lambda: [file], changed, seen=look_at([file]))
    await watch.catch_up()
    assert taken == []
    file.write_text("{}")
    await asyncio.gather(*(watch.catch_up() for _ in range(3)))
    assert taken == ["{}"]
    file.write_text("{a: 1}")
    await watch.catch_up()
    assert taken == ["{}", "{a: 1}"]
