"""Locks by key: one holder at a time, nothing left behind."""

import asyncio
import threading
from pathlib import Path

import pytest

from openclaw.sessions.lock import FileLocks, KeyLocks


@pytest.mark.parametrize("kind", ["tasks", "files"])
async def test_tasks_get_a_lock_in_the_order_they_asked(kind: str, tmp_path: Path) -> None:
    locks = KeyLocks() if kind == "tasks" else FileLocks(tmp_path)
    order: list[int] = []

    async def take(number: int) -> None:
        async with locks.hold("k"):
            order.append(number)

    async with locks.hold("k"):
        tasks = [asyncio.create_task(take(n)) for n in range(5)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert order == [0, 1, 2, 3, 4]


@pytest.mark.posix_only("removing a file that is open")
def test_holders_that_remove_the_file_never_let_two_in(tmp_path: Path) -> None:
    """Four threads, each with a loop and locks of its own as processes have, count by reading and then writing."""
    rounds = 150
    count = [0]

    async def work() -> None:
        locks = FileLocks(tmp_path)
        for _ in range(rounds):
            async with locks.hold("k"):
                before = count[0]
                await asyncio.sleep(0)
                count[0] = before + 1

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert count == [4 * rounds]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.posix_only("removing a file that is open")
async def test_a_lock_file_left_by_a_dead_process_is_no_hindrance(tmp_path: Path) -> None:
    async with FileLocks(tmp_path).hold("k"):
        (left,) = (p.name for p in files(tmp_path))
    (tmp_path / left).touch()

    async with FileLocks(tmp_path).hold("k"):
        assert [p.name for p in files(tmp_path)] == [left]
    assert files(tmp_path) == []


def files(directory: Path) -> list[Path]:
    return list(directory.iterdir())
