"""Locks on files: one holder among all, waited for with patience, given up with the file."""

import os
from pathlib import Path

import pytest

from openclaw.lock import acquire, release, take


@pytest.mark.posix_only("removing a file that is open")
async def test_a_lock_is_held_by_one_and_given_up_by_release(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "x.lock"
    handle = await acquire(path)
    with pytest.raises(TimeoutError):
        await acquire(path, patience=0.01)
    release(handle)
    release(await acquire(path, patience=5.0), remove=path)
    assert os.listdir(path.parent) == []


@pytest.mark.posix_only("removing a file that is open")
async def test_a_lock_on_a_file_that_was_removed_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    first = await acquire(path)
    path.unlink()
    second = await acquire(path, patience=5.0)
    release(first)
    with pytest.raises(TimeoutError):
        await acquire(path, patience=0.01)
    release(second)


@pytest.mark.posix_only("removing a file that is open")
async def test_a_lock_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        await acquire(tmp_path / "file" / "x.lock")


@pytest.mark.posix_only("removing a file that is open")
def test_a_directory_is_locked_too(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert (take(first, wait=True), take(second)) == (True, False)
    os.close(first)
    assert take(second)
    os.close(second)
