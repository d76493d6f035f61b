"""`read`, `write`, `edit` and `ls` on real files."""

import os
from pathlib import Path

import pytest

from openclaw.content import Image, Text
from openclaw.errors import PathError
from openclaw.tools import files
from openclaw.tools.confine import Fence
from openclaw.tools.files import (
    EDIT_BYTES,
    HEAD_BYTES,
    IMAGE_BYTES,
    LINE_CHARS,
    LS_ENTRIES,
    READ_BYTES,
    READ_LINES,
    RESULT_CHARS,
    Reading,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def read(workspace: Path, path: str, **window: int) -> str:
    [block] = files.read(Fence(), workspace, path, **window).blocks
    assert isinstance(block, Text)
    return block.text


@pytest.mark.posix_only("the file tools")
def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")

    assert files.read(Fence(), tmp_path, "a.txt") == Reading((Text("one\ntwo\nthree"),), kept=False)


@pytest.mark.posix_only("the file tools")
def test_a_window_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")

    assert read(tmp_path, "a.txt", limit=2) == "one\ntwo\n[Lines 1 to 2; there are more. Continue with offset 3.]"
    assert read(tmp_path, "a.txt", offset=3) == "three\nfour\n"
    assert read(tmp_path, "a.txt", offset=4, limit=1) == "four\n"


@pytest.mark.posix_only("the file tools")
def test_an_offset_past_the_end_says_how_many_lines_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    with pytest.raises(PathError, match=r"^a\.txt has 2 lines: there is no line 3\.$"):
        read(tmp_path, "a.txt", offset=3)


@pytest.mark.posix_only("the file tools")
def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    assert read(tmp_path, "empty") == "[empty is empty.]"


@pytest.mark.posix_only("the file tools")
def test_a_long_file_is_cut_by_lines_and_a_wide_one_by_characters(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x\n" * (READ_LINES + 1))
    (tmp_path / "wide").write_text(("y" * 999 + "\n") * 200)

    assert read(tmp_path, "long").endswith(
        f"[Lines 1 to {READ_LINES}; there are more. Continue with offset {READ_LINES + 1}.]"
    )
    rows = RESULT_CHARS // 1_000
    assert read(tmp_path, "wide").endswith(f"[Lines 1 to {rows}; there are more. Continue with offset {rows + 1}.]")


@pytest.mark.posix_only("the file tools")
def test_one_endless_line_can_be_read_piece_by_piece(tmp_path: Path) -> None:
    text = "".join(f"{number}é" for number in range(50_000))
    (tmp_path / "line.json").write_text(text, encoding="utf-8")

    pieces, offset = "", 1
    while True:
        part = read(tmp_path, "line.json", offset=offset, limit=10)
        body, _, note = part.partition("\n[Lines")
        pieces += body
        if not note:
            break
        offset += 10

    assert pieces == text
    assert len(text) > 10 * LINE_CHARS


@pytest.mark.posix_only("the file tools")
def test_an_image_comes_as_an_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)

    assert files.read(Fence(), tmp_path, "a.png").blocks == (
        Text(f"a.png (image/png, {len(PNG)} bytes)"),
        Image(PNG, "image/png"),
    )


@pytest.mark.posix_only("the file tools")
def test_other_binary_files_are_described(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x01\x02\0\x03")

    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 and no NUL yet")

    assert read(tmp_path, "a.bin") == "a.bin is binary (application/octet-stream, 4 bytes)."
    assert read(tmp_path, "a.pdf") == "a.pdf is binary (application/pdf, 23 bytes)."


@pytest.mark.posix_only("the file tools")
def test_an_image_too_large_for_a_model_is_described(tmp_path: Path) -> None:
    with open(tmp_path / "a.png", "wb") as file:
        file.write(PNG)
        file.truncate(IMAGE_BYTES + 1)

    assert read(tmp_path, "a.png") == f"a.png is binary (image/png, {IMAGE_BYTES + 1:,} bytes)."


@pytest.mark.posix_only("the file tools")
def test_a_file_too_large_to_count_lines_in_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "a.log", "wb") as file:
        file.write(b"x" * HEAD_BYTES)
        file.truncate(READ_BYTES + 1)

    with pytest.raises(PathError, match="too large to read"):
        read(tmp_path, "a.log")


@pytest.mark.posix_only("the file tools")
def test_a_file_too_large_to_edit_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "a.log", "wb") as file:
        file.truncate(EDIT_BYTES + 1)

    with pytest.raises(PathError, match="too large to edit"):
        files.edit(Fence(), tmp_path, "a.log", "a", "b")


@pytest.mark.posix_only("the file tools")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_with_a_byte_order_mark_is_text(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("größe\n".encode(encoding))

    assert read(tmp_path, "a.txt") == "größe\n"


@pytest.mark.posix_only("the file tools")
def test_bytes_that_are_not_utf8_are_shown_as_replacements(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("café\n".encode("latin-1"))

    assert read(tmp_path, "latin.txt") == "caf\ufffd\n"


@pytest.mark.posix_only("the file tools")
def test_a_kept_result_is_marked(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "r.txt").write_text("from a server")

    reading = files.read(Fence(kept=(results,)), tmp_path / "workspace", str(results / "r.txt"))

    assert reading == Reading((Text("from a server"),), kept=True)


@pytest.mark.posix_only("the file tools")
def test_writing_makes_the_file_and_says_how_much(tmp_path: Path) -> None:
    assert files.write(Fence(), tmp_path, "new/a.txt", "größe").said == "Wrote 7 bytes to new/a.txt."
    assert (tmp_path / "new" / "a.txt").read_text(encoding="utf-8") == "größe"


def test_half_a_character_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="surrogate"):
        files.write(Fence(), tmp_path, "a.txt", "\ud800")
    assert os.listdir(tmp_path) == []


@pytest.mark.posix_only("the file tools")
def test_an_edit_replaces_the_one_place_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")

    assert files.edit(Fence(), tmp_path, "a.py", "y = 2", "y = 3").said == "Replaced line 2 of a.py."
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 3\n"


@pytest.mark.posix_only("the file tools")
def test_an_edit_that_could_mean_several_places_changes_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n" * 4)

    with pytest.raises(PathError) as caught:
        files.edit(Fence(), tmp_path, "a.py", "x = 1", "x = 2")

    assert str(caught.value) == (
        "old_text occurs 8 times in a.py (lines 1, 2, 3, 4, 5, …). "
        "Add surrounding lines to make it unique, or set replace_all."
    )
    assert (tmp_path / "a.py").read_text() == "x = 1\nx = 1\n" * 4


@pytest.mark.posix_only("the file tools")
def test_replace_all_replaces_all(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a a a")

    assert files.edit(Fence(), tmp_path, "a.py", "a", "b", replace_all=True).said == "Replaced 3 occurrences in a.py."
    assert (tmp_path / "a.py").read_text() == "b b b"


@pytest.mark.posix_only("the file tools")
def test_an_edit_that_misses_by_white_space_says_where(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    x = 1\n    y = 2\n")

    with pytest.raises(PathError) as caught:
        files.edit(Fence(), tmp_path, "a.py", "  x = 1\n  y = 2", "")

    assert str(caught.value) == (
        "old_text does not occur in a.py. A passage that differs only in white space begins at line 2."
    )


@pytest.mark.posix_only("the file tools")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nothing like it", "x", "old_text does not occur in a.py. Read the file again: it has to match exactly."),
        ("x = 1", "x = 1", "old_text and new_text are the same: there is nothing to change."),
        ("x = 1", "\ud800", "new_text holds half of a surrogate pair, which no file can hold as UTF-8."),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")

    with pytest.raises(PathError) as caught:
        files.edit(Fence(), tmp_path, "a.py", old, new)

    assert str(caught.value) == message
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


@pytest.mark.posix_only("the file tools")
def test_an_edit_keeps_line_endings_and_the_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")

    files.edit(Fence(), tmp_path, "a.txt", "one\ntwo", "1\n2")

    assert (tmp_path / "a.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nthree\r\n"


@pytest.mark.posix_only("the file tools")
def test_a_file_that_is_not_text_cannot_be_edited(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(PathError, match="is not UTF-8 text"):
        files.edit(Fence(), tmp_path, "a.bin", "a", "b")


@pytest.mark.posix_only("the file tools")
def test_a_listing_is_sorted_and_tells_kinds_apart(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12345")
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "d")
    (tmp_path / "e\nf").touch()

    assert files.ls(Fence(), tmp_path, ".") == (
        "a/\nb.txt (5 bytes)\nc -> /etc/passwd\nd (not a regular file)\ne\\nf (0 bytes)"
    )


@pytest.mark.posix_only("the file tools")
def test_a_huge_listing_is_cut(tmp_path: Path) -> None:
    for number in range(LS_ENTRIES + 2):
        (tmp_path / f"{number:05}").touch()

    lines = files.ls(Fence(), tmp_path, ".").splitlines()

    assert (len(lines), lines[-1]) == (LS_ENTRIES + 1, "[2 more entries are not shown.]")


@pytest.mark.posix_only("the file tools")
def test_an_empty_directory_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert files.ls(Fence(), tmp_path, "empty") == "[empty is empty.]"


@pytest.mark.posix_only("the file tools")
def test_a_file_is_not_a_directory_and_the_other_way_round(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(PathError, match=r"^file is not a directory"):
        files.ls(Fence(), tmp_path, "file")
    with pytest.raises(PathError, match="is a directory"):
        read(tmp_path, ".")
