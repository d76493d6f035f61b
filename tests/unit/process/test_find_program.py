"""Which file a command means."""

import os
from pathlib import Path

import pytest

from openclaw.errors import ProcessError
from openclaw.process.find_program import endings_of, find_program


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.posix_only("scripts that run by their first line")
def test_a_bare_name_is_looked_up_in_the_order_of_the_search_path(tmp_path: Path) -> None:
    first, _ = program(tmp_path / "a/tool"), program(tmp_path / "b/tool")
    assert find_program("tool", search_path=f"{tmp_path}/a:{tmp_path}/b") == str(first)


def test_a_bare_name_is_never_taken_from_the_working_directory(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    for search_path in ("", ".", ":", f"relative:{os.sep}nowhere"):
        with pytest.raises(ProcessError, match="There is no program 'tool' on the search path"):
            find_program("tool", search_path=search_path, cwd=tmp_path)


@pytest.mark.parametrize("line", ["npx -y notes", "npx @notes/mcp@latest"])
def test_a_whole_command_line_is_told_where_its_arguments_belong(line: str) -> None:
    with pytest.raises(ProcessError) as caught:
        find_program(line, search_path="")
    assert caught.value.hint == "Arguments belong in `args`: `command` is npx alone."


@pytest.mark.posix_only("scripts that run by their first line")
def test_a_path_is_relative_to_the_working_directory_of_the_child(tmp_path: Path) -> None:
    assert find_program("./bin/tool", search_path="", cwd=program(tmp_path / "bin/tool").parent.parent) == str(
        tmp_path / "bin/tool"
    )


@pytest.mark.posix_only("scripts that run by their first line")
def test_what_cannot_be_executed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "plain").write_text("")
    for name in ("tool", "plain"):
        with pytest.raises(ProcessError):
            find_program(name, search_path=str(tmp_path))
        with pytest.raises(ProcessError, match="is not an executable file"):
            find_program(f"{tmp_path}/{name}", search_path="")


@pytest.mark.posix_only("scripts that run by their first line")
def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=f"There is no program at {tmp_path}/missing"):
        find_program(f"{tmp_path}/missing", search_path="")


@pytest.mark.parametrize("command", ["", "a\0b"])
def test_a_command_that_is_no_name_is_refused(command: str) -> None:
    with pytest.raises(ProcessError):
        find_program(command, search_path="/bin")


@pytest.mark.parametrize(
    ("command", "platform", "endings"),
    [
        ("npx", "linux", [""]),
        ("npx", "win32", [".com", ".exe", ".cmd"]),
        ("npx.CMD", "win32", [""]),
        # A version is no suffix that Windows would know.
        ("python3.11", "win32", [".com", ".exe", ".cmd"]),
    ],
)
def test_on_windows_a_program_has_one_of_the_suffixes_of_pathext(
    command: str, platform: str, endings: list[str]
) -> None:
    assert endings_of(command, ".COM;.EXE;;x;.CMD", platform) == endings
