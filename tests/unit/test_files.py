"""Files of ours: private, replaced whole, and never half written."""

import os
import stat
import threading
from pathlib import Path

import pytest

from openclaw.errors import StoreError
from openclaw.files import create, make_directory, private_key, replace
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("durable", [True, False])
def test_a_new_file_and_its_directories_are_for_their_owner_alone(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "a" / "b" / "f"
    old = os.umask(0)
    try:
        replace(file, b"new", durable=durable)
    finally:
        os.umask(old)
    assert (file.read_bytes(), mode(file), mode(file.parent), mode(tmp_path / "a")) == (
        b"new",
        PRIVATE_FILE,
        PRIVATE_DIRECTORY,
        PRIVATE_DIRECTORY,
    )
    assert os.listdir(file.parent) == ["f"]


@pytest.mark.posix_only("modes of files")
def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_directory(tmp_path)
    assert mode(tmp_path) == 0o755


@pytest.mark.posix_only("modes of files")
def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    file.chmod(0o640)
    replace(file, b"new")
    assert (file.read_text(), mode(file), os.listdir(tmp_path)) == ("new", 0o640, ["f"])


@pytest.mark.posix_only("symbolic links")
def test_a_linked_file_is_written_through_the_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "real.json"
    real.write_text("old")
    link = tmp_path / "openclaw.json"
    link.symlink_to(real)
    replace(link, b"new")
    assert (link.is_symlink(), real.read_text()) == (True, "new")


@pytest.mark.posix_only("modes of files and symbolic links")
@pytest.mark.parametrize("place", ["file/openclaw.json", "directory"])
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "directory").mkdir()
    with pytest.raises(StoreError, match=f"{place} cannot be written: "):
        replace(tmp_path / place, b"{}")
    assert sorted(os.listdir(tmp_path)) == ["directory", "file"]


@pytest.mark.posix_only("reading a file in the very moment in which it is replaced")
def test_a_reader_never_sees_a_half_written_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    versions = [b"a" * 100_000, b"b" * 50_000]
    replace(file, versions[0])

    def write() -> None:
        for turn in range(50):
            replace(file, versions[turn % 2])

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while writer.is_alive():
        seen.add(file.read_bytes())
    writer.join()
    assert seen <= set(versions)


@pytest.mark.posix_only("symbolic links")
def test_a_created_file_takes_nobodys_place(tmp_path: Path) -> None:
    file, link = tmp_path / "f", tmp_path / "link"
    create(file, [b"mine"])
    link.symlink_to(tmp_path / "elsewhere")
    for path in (file, link):
        with pytest.raises(FileExistsError):
            create(path, [b"theirs"])
    assert (file.read_bytes(), mode(file), (tmp_path / "elsewhere").exists()) == (b"mine", PRIVATE_FILE, False)


def test_a_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "own" / "key"
    key = private_key(file)
    assert (len(key), private_key(file), private_key(tmp_path / "other") == key) == (32, key, False)
    assert (mode(file), os.listdir(file.parent)) == (PRIVATE_FILE, ["key"])


def test_many_who_ask_for_a_key_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    found: list[bytes] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(private_key(tmp_path / "key"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (8, 1)


def test_what_is_no_key_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(StoreError, match="is not a key") as refused:
        private_key(tmp_path / "key")
    assert "Remove it" in refused.value.hint
