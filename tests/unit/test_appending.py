"""Several may add to one file, and give it another name while it is open."""

import os
import stat
from pathlib import Path

from openclaw.appending import APPEND_RIGHTS, SHARED, open_to_append, open_to_read
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE


def test_what_two_add_stands_one_behind_the_other(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "calls.jsonl"
    writers = [open_to_append(path), open_to_append(path)]
    for number in range(4):
        os.write(writers[number % 2], b"%d\n" % number)
    # Whoever looks somewhere else in it adds to its end nevertheless.
    os.lseek(writers[0], 0, os.SEEK_SET)
    os.write(writers[0], b"4\n")
    for writer in writers:
        os.close(writer)

    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path)]
    assert (path.read_bytes(), modes) == (b"0\n1\n2\n3\n4\n", [PRIVATE_DIRECTORY, PRIVATE_FILE])


def test_a_file_is_given_another_name_while_it_is_written_and_read(tmp_path: Path) -> None:
    path, older = tmp_path / "calls.jsonl", tmp_path / "calls.jsonl.1"
    first = open_to_append(path)
    os.write(first, b"before\n")
    with open_to_read(path) as reader:
        path.replace(older)
        second = open_to_append(path)
        os.write(first, b"after\n")
        os.write(second, b"anew\n")
        is_same = os.path.samestat(os.fstat(first), older.stat())
        os.close(first)
        os.close(second)
        assert (reader.read(), path.read_bytes(), is_same) == (b"before\nafter\n", b"anew\n", True)


def test_a_file_can_be_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "clock.first"
    path.write_bytes(b"of an earlier start\n")
    writer = open_to_append(path, anew=True)
    os.write(writer, b"of this one\n")
    os.close(writer)

    assert path.read_bytes() == b"of this one\n"


def test_on_windows_nobody_may_write_elsewhere_than_at_the_end_and_others_may_rename() -> None:
    # FILE_APPEND_DATA without FILE_WRITE_DATA, and every FILE_SHARE right.
    assert (APPEND_RIGHTS & 0x4, APPEND_RIGHTS & 0x2, SHARED) == (0x4, 0, 0x7)
