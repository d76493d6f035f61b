"""What servers write to standard error: kept, bounded, and never a reason to fail."""

from pathlib import Path

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.logbook import MAX_BYTES, MAX_LINES, Logbook

SPEC = ServerSpec("a", command="a")
OTHER = ServerSpec("b", command="b")


def said(book: Logbook, spec: ServerSpec, count: int = 10) -> list[str]:
    return [line.split(" ", 1)[1] for line in book.tail(spec, count)]


@pytest.fixture(params=["files", "memory"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Logbook:
    return Logbook(tmp_path / "logs" if request.param == "files" else None)


def test_the_last_lines_of_each_server_are_kept_apart(book: Logbook) -> None:
    for number in range(5):
        book.add(SPEC, f"line {number}")
    book.add(OTHER, "another")
    assert (said(book, SPEC, 2), said(book, OTHER)) == (["line 3", "line 4"], ["another"])
    assert book.tail(ServerSpec("c", command="c"), 5) == []


def test_a_full_file_is_put_aside_whole_and_still_read_from(tmp_path: Path) -> None:
    book = Logbook(tmp_path)
    filler = "x" * 10_000
    lines = [f"{number} {filler}" for number in range(3 * MAX_BYTES // len(filler))]
    book.add(SPEC, lines[0])
    (file,) = tmp_path.iterdir()
    first = file.stat().st_ino
    for line in lines[1 : MAX_BYTES // len(filler) + 2]:
        book.add(SPEC, line)
    older = file.with_name(f"{file.name}.1")
    assert (older.stat().st_ino, said(book, SPEC, 3)) == (first, lines[: MAX_BYTES // len(filler) + 2][-3:])

    for line in lines[MAX_BYTES // len(filler) + 2 :]:
        book.add(SPEC, line)
    sizes = {one.name: one.stat().st_size <= MAX_BYTES + 2 * len(filler) for one in tmp_path.iterdir()}
    modes = {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    kept = said(book, SPEC, 1_000)
    assert (sizes, modes) == ({file.name: True, older.name: True}, {0o600})
    assert (kept, len(kept) > MAX_BYTES // len(filler)) == (lines[-len(kept) :], True)


def test_without_a_directory_only_so_many_lines_are_kept() -> None:
    book = Logbook()
    for number in range(MAX_LINES + 3):
        book.add(SPEC, str(number))
    assert said(book, SPEC, 10_000) == [str(number) for number in range(3, MAX_LINES + 3)]


def test_a_directory_that_cannot_be_written_costs_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    book = Logbook(tmp_path / "file")
    book.add(SPEC, "one")
    book.add(SPEC, "two")
    assert len(caplog.messages) == 1
    assert book.tail(SPEC, 5) == []
