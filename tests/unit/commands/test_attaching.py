"""Which files a message names, and what was pasted."""

from pathlib import Path

import pytest

from openclaw.commands.attaching import files_said, pasted_file, read_file, typed_path
from openclaw.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("notes")
    (tmp_path / "my notes.txt").write_text("mine")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.b").write_text("deep")
    return tmp_path


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("look at @notes.md", ["notes.md"]),
        ("@notes.md, and again @notes.md.", ["notes.md"]),
        ('both @"my notes.txt" and (@sub/a.b)', ["my notes.txt", "a.b"]),
        ("@my\\ notes.txt", ["my notes.txt"]),
        ("mail me@notes.md or @nobody or @sub", []),
        ("@shop:notes.md", []),
    ],
)
def test_a_word_with_an_at_sign_that_names_a_file_sends_it_along(folder: Path, message: str, names: list[str]) -> None:
    assert [one.name for one in files_said(message, folder, ["shop"]).files] == names


def test_a_word_that_looks_like_a_file_and_is_none_is_told_of(folder: Path) -> None:
    message = (
        "compare @nosuch.txt, (@old/notes) and @notes.md, ask @nobody about @nosuch.txt or me@home.net and @shop:x.y"
    )
    assert files_said(message, folder, ["shop"]).missed == ("nosuch.txt", "old/notes")


@pytest.mark.parametrize("path", ["./nothing.md", "/nowhere/at/all", "~/nothing.md"])
def test_what_can_be_nothing_but_a_path_must_be_there(folder: Path, path: str) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        files_said(f"read @{path} please", folder)


def test_a_folder_is_no_file(folder: Path) -> None:
    with pytest.raises(UsageError, match="--attach sub: it is not a file"):
        read_file(folder, "sub", "--attach sub")


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_pasted_file_is_known_in_the_forms_in_which_terminals_paste_one(folder: Path) -> None:
    path = f"{folder}/my notes.txt"
    forms = (path, f"'{path}' ", path.replace(" ", "\\ "), "file://" + path.replace(" ", "%20"))
    assert [pasted_file(form) for form in forms] == [path] * 4
    assert [pasted_file(other) for other in ("notes.md", "/nowhere", f"{path}\n{path}", "hello")] == [""] * 4


def test_a_path_is_typed_so_that_it_is_one_word(folder: Path) -> None:
    typed = typed_path(f"{folder}/my notes.txt")
    assert [one.data for one in files_said(f"@{typed} please", folder).files] == [b"mine"]
