"""What servers write to standard error: kept, bounded, and never a reason to fail."""

from pathlib import Path

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.server.stderr_log import FIRST_LINES, LAST_LINES, MAX_BYTES, MAX_LINES, StderrLog, error_line_of
from parts.modes import PRIVATE_FILE

SPEC = ServerSpec("a", command="a")
OTHER = ServerSpec("b", command="b")


def said(book: StderrLog, spec: ServerSpec, count: int = 10) -> list[str]:
    return [line.split(" ", 1)[1] for line in book.tail(spec, count)]


@pytest.fixture(params=["files", "memory"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> StderrLog:
    return StderrLog(tmp_path / "logs" if request.param == "files" else None)


def test_the_last_lines_of_each_server_are_kept_apart(book: StderrLog) -> None:
    for number in range(5):
        book.add(SPEC, f"line {number}")
    book.add(OTHER, "another")
    assert (said(book, SPEC, 2), said(book, OTHER)) == (["line 3", "line 4"], ["another"])
    assert book.tail(ServerSpec("c", command="c"), 5) == []


def test_a_forgotten_server_keeps_what_is_in_files_and_nothing_in_memory(book: StderrLog, tmp_path: Path) -> None:
    book.add(SPEC, "before")
    book.add(OTHER, "another")
    book.forget(SPEC)
    book.forget(SPEC)
    kept = ["before"] if (tmp_path / "logs").exists() else []
    assert (said(book, SPEC), said(book, OTHER)) == (kept, ["another"])


def test_a_full_file_is_put_aside_whole_and_still_read_from(tmp_path: Path) -> None:
    book = StderrLog(tmp_path)
    filler = "x" * 10_000
    lines = [f"{number} {filler}" for number in range(3 * MAX_BYTES // len(filler))]
    book.add(SPEC, lines[0])
    (file,) = tmp_path.glob("*.log")
    first = file.stat().st_ino
    for line in lines[1 : MAX_BYTES // len(filler) + 2]:
        book.add(SPEC, line)
    older = file.with_name(f"{file.name}.1")
    assert (older.stat().st_ino, said(book, SPEC, 3)) == (first, lines[: MAX_BYTES // len(filler) + 2][-3:])

    for line in lines[MAX_BYTES // len(filler) + 2 :]:
        book.add(SPEC, line)
    sizes = {one.name: one.stat().st_size <= MAX_BYTES + 2 * len(filler) for one in tmp_path.glob("*.log*")}
    modes = {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    kept = said(book, SPEC, 1_000)
    assert (sizes, modes) == ({file.name: True, older.name: True}, {PRIVATE_FILE})
    assert (kept, len(kept) > MAX_BYTES // len(filler)) == (lines[-len(kept) :], True)


def test_a_full_file_that_somebody_reads_loses_no_line(tmp_path: Path) -> None:
    book = StderrLog(tmp_path)
    filler = "x" * 10_000
    lines = [f"{number} {filler}" for number in range(MAX_BYTES // len(filler) + 3)]
    book.add(SPEC, lines[0])
    (file,) = tmp_path.glob("*.log")
    # A program that is none of ours: Windows does not let the file be renamed meanwhile.
    with file.open("rb"):
        for line in lines[1:]:
            book.add(SPEC, line)
    assert said(book, SPEC, 1_000) == lines


def test_an_excerpt_of_a_flood_begins_with_what_was_said_at_the_start(book: StderrLog) -> None:
    most = FIRST_LINES + LAST_LINES
    for round in ("before", "now"):
        book.begin(SPEC)
        for number in range(most):
            book.add(SPEC, f"{round} {number}")
    lines = [f"now {number}" for number in range(most)]
    assert [line.split(" ", 1)[1] for line in book.excerpt(SPEC)] == lines
    for number in range(most, most + 33):
        book.add(SPEC, f"now {number}")
        lines.append(f"now {number}")
    shown = [line.split(" ", 1)[1] for line in book.excerpt(SPEC)]
    assert shown == [*lines[:FIRST_LINES], "33 lines left out", *lines[-LAST_LINES:]]


def test_the_first_lines_outlive_the_file_they_were_written_to_and_the_process(tmp_path: Path) -> None:
    book = StderrLog(tmp_path)
    book.begin(SPEC)
    for number in range(FIRST_LINES):
        book.add(SPEC, f"early {number}")
    for _ in range(3 * MAX_BYTES // 10_000):
        book.add(SPEC, "x" * 10_000)
    shown = [line.split(" ", 1)[1] for line in StderrLog(tmp_path).excerpt(SPEC)]
    assert shown[: FIRST_LINES + 1] == [*(f"early {number}" for number in range(FIRST_LINES)), "lines left out"]
    assert len(shown) <= FIRST_LINES + 1 + LAST_LINES


def test_without_a_directory_only_so_many_lines_are_kept() -> None:
    book = StderrLog()
    for number in range(MAX_LINES + 3):
        book.add(SPEC, str(number))
    assert said(book, SPEC, 10_000) == [str(number) for number in range(3, MAX_LINES + 3)]


def test_a_directory_that_cannot_be_written_costs_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    book = StderrLog(tmp_path / "file")
    book.add(SPEC, "one")
    book.add(SPEC, "two")
    assert len(caplog.messages) == 1
    assert book.tail(SPEC, 5) == []


@pytest.mark.parametrize(
    "lines",
    [
        ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>', "!KeyError: 'TOKEN'"],
        ["!Error: Cannot find module 'zod'", "    at Module._load (node:internal:1)", "}", "", "Node.js v24.1.0"],
        [
            "node:internal/modules:1",
            "  ^",
            "",
            "!TypeError [ERR_INVALID]: it must be a string",
            "npm notice New version",
        ],
        ["!openai.BadRequestError: no such model", "npm notice", "npm notice Changelog: somewhere"],
        ["Starting.", "!BRAVE_API_KEY environment variable is required", "Goodbye."],
        [
            "npm warn deprecated x",
            "npm error code E404",
            "!npm error 404 Not Found: x",
            "npm error A complete log of this run",
        ],
        ["!Usage: server FOLDER", "npm notice"],
        ["first", "!last"],
        ["!npm notice only"],
    ],
)
def test_of_a_servers_last_lines_the_one_that_says_what_is_wrong_is_found(lines: list[str]) -> None:
    stamp = "2026-01-01T00:00:00Z "
    (wanted,) = [line[1:] for line in lines if line.startswith("!")]
    assert error_line_of([stamp + line.removeprefix("!") for line in lines]) == stamp + wanted


def test_of_no_lines_none_says_anything() -> None:
    assert error_line_of([]) == ""
