"""The audit trail is read from its end: what happened last costs the same however long it is."""

import json
import os
from pathlib import Path

import pytest

from openclaw.security.audit import Matching
from openclaw.security.audit_file import AuditFile

# As long as no disk is: whoever reads it from its beginning does not come to an end. It takes no room, being empty.
VERY_LONG = 1 << 40


def record(number: int) -> dict[str, object]:
    return {"event": "outcome", "tool": f"Über-{number}", "call": str(number)}


def lines(*numbers: int) -> bytes:
    return b"".join(json.dumps(record(number), ensure_ascii=False).encode() + b"\n" for number in numbers)


def write(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


def test_the_last_records_of_a_very_long_trail_are_read_from_its_end(tmp_path: Path) -> None:
    with (tmp_path / "calls.jsonl").open("wb") as file:
        try:
            os.truncate(file.fileno(), VERY_LONG)
        except OSError:
            os.truncate(file.fileno(), 1 << 34)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + lines(1, 2, 3))

    assert AuditFile(tmp_path / "calls.jsonl").last_records(2) == [record(2), record(3)]


def test_files_that_were_turned_over_come_before_the_one_that_is_written_to(tmp_path: Path) -> None:
    write(tmp_path, "calls.jsonl.001", lines(1, 2))
    write(tmp_path, "calls.jsonl.002", lines(3))
    write(tmp_path, "calls.jsonl", lines(4) + b'{"torn')

    assert AuditFile(tmp_path / "calls.jsonl").last_records(3) == [record(2), record(3), record(4)]
    assert AuditFile(tmp_path / "calls.jsonl").last_records(99) == [record(number) for number in range(1, 5)]
    assert AuditFile(tmp_path / "nothing" / "calls.jsonl").last_records(3) == []


@pytest.mark.parametrize("length", [1, 100, 65_536, 65_537, 200_000])
def test_records_are_whole_wherever_a_block_ends(tmp_path: Path, length: int) -> None:
    write(tmp_path, "calls.jsonl", b"x" * length + b"\n" + lines(*range(2_000)))

    assert AuditFile(tmp_path / "calls.jsonl").last_records(5_000) == [record(number) for number in range(2_000)]


def test_a_search_counts_what_it_finds_and_says_when_it_did_not_go_through_all(tmp_path: Path) -> None:
    write(tmp_path, "calls.jsonl.001", lines(*range(10)))
    write(tmp_path, "calls.jsonl", lines(*range(10, 20)))

    assert AuditFile(tmp_path / "calls.jsonl").matching_records(2, ["ÜBER-1", "outcome"]) == Matching(
        [record(18), record(19)], 11
    )
    assert AuditFile(tmp_path / "calls.jsonl").matching_records(1, []) == Matching([record(19)], 20)
    size = len(lines(19))
    assert AuditFile(tmp_path / "calls.jsonl").matching_records(9, [], most_bytes=3 * size) == Matching(
        [record(17), record(18), record(19)], 3, is_whole=False
    )


def test_a_trail_that_is_turned_over_while_it_is_read_gives_no_record_twice(tmp_path: Path) -> None:
    write(tmp_path, "calls.jsonl.001", lines(1))
    write(tmp_path, "calls.jsonl", lines(2, 3))
    reading = AuditFile(tmp_path / "calls.jsonl").newest_lines()
    read = [next(reading)]
    (tmp_path / "calls.jsonl").rename(tmp_path / "calls.jsonl.002")
    write(tmp_path, "calls.jsonl", lines(4))

    read += reading
    assert [json.loads(line)["call"] for line in read] == ["3", "2", "1"]
