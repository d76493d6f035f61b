"""Which files a message names, and what was pasted."""

import os
from pathlib import Path

import pytest

from openclaw.commands.attaching import files_said, pasted_file, plain_path, read_file, typed_path
from openclaw.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("notes")
    (tmp_path / "my notes.txt").write_text("mine")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.b").write_text("deep")
    return tmp_path


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("look at @notes.md", ["notes.md"]),
        ("@notes.md, and again @notes.md.", ["notes.md"]),
        ('both @"my notes.txt" and (@sub/a.b)', ["my notes.txt", "a.b"]),
        ("mail me@notes.md or @nobody or @sub", []),
        ("@shop:notes.md", []),
    ],
)
def test_a_word_with_an_at_sign_that_names_a_file_sends_it_along(folder: Path, message: str, names: list[str]) -> None:
    assert [one.name for one in files_said(message, folder, ["shop"]).files] == names


@pytest.mark.posix_only("blanks with a backslash before them, which is part of paths elsewhere")
def test_a_blank_in_a_path_may_have_a_backslash_before_it(folder: Path) -> None:
    assert [one.name for one in files_said("@my\\ notes.txt", folder).files] == ["my notes.txt"]


def test_a_path_from_the_root_is_a_file_too(folder: Path) -> None:
    assert [one.data for one in files_said(f"@{folder / 'sub' / 'a.b'} please", folder).files] == [b"deep"]


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


def test_a_pasted_file_is_known_in_the_forms_in_which_terminals_paste_one(folder: Path) -> None:
    path = f"{folder}{os.sep}my notes.txt"
    forms = [path, f"'{path}' ", f'"{path}"', typed_path(path)]
    assert [pasted_file(form) for form in forms] == [path] * 4
    assert Path(pasted_file((folder / "my notes.txt").as_uri())) == Path(path)
    assert [pasted_file(other) for other in ("notes.md", "/nowhere", f"{path}\n{path}", "hello")] == [""] * 4


def test_on_windows_a_path_keeps_its_backslashes_and_one_with_a_blank_stands_in_quotes() -> None:
    paths = [r"C:\notes\trip.md", r"C:\my notes\trip.md"]
    assert [typed_path(path, windows=True) for path in paths] == [paths[0], f'"{paths[1]}"']
    assert plain_path(paths[0], windows=True) == paths[0]


def test_a_path_is_typed_so_that_it_is_one_word(folder: Path) -> None:
    typed = typed_path(f"{folder}/my notes.txt")
    assert [one.data for one in files_said(f"@{typed} please", folder).files] == [b"mine"]
