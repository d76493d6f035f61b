"""Opening the sign-in page: one program, one argument, no shell."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from openclaw.auth.browser import browser_command, open_browser
from openclaw.errors import ProcessError
from openclaw.process.batch_files import check_batch_file
from parts.executable import python_program

URL = "https://login.example/authorize?a=b&c=%24%28id%29"


@pytest.mark.parametrize(
    ("platform", "env", "expected"),
    [
        ("linux", {"DISPLAY": ":0"}, ["xdg-open", URL]),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, ["xdg-open", URL]),
        ("linux", {}, None),
        ("linux", {"WSL_DISTRO_NAME": "Debian"}, ["wslview", URL]),
        ("darwin", {}, ["open", URL]),
        ("darwin", {"SSH_CONNECTION": "x"}, None),
        ("win32", {}, ["rundll32", "url.dll,FileProtocolHandler", URL]),
        ("linux", {"BROWSER": "firefox"}, ["firefox", URL]),
        ("linux", {"BROWSER": "firefox --new-window %s:chromium"}, ["firefox", "--new-window", URL]),
        ("linux", {"BROWSER": "'unclosed", "DISPLAY": ":0"}, ["xdg-open", URL]),
    ],
)
def test_which_program_opens_an_address(platform: str, env: dict[str, str], expected: list[str] | None) -> None:
    """A19."""
    assert browser_command(URL, env, platform) == expected


@pytest.mark.parametrize("url", ["-x", "file:///x", "", "javascript:x", " https://x"])
def test_only_web_addresses_are_opened(url: str) -> None:
    """A19."""
    with pytest.raises(ProcessError):
        browser_command(url, {"DISPLAY": ":0"})


def test_on_windows_no_batch_file_gets_an_address_that_cmd_would_read_as_commands() -> None:
    program, *arguments = browser_command(URL, {"BROWSER": r"C:\helpers\browser.cmd"}, "win32") or []
    with pytest.raises(ProcessError, match="is a batch file"):
        check_batch_file(program, arguments)


def spy(folder: Path, code: int = 0) -> str:
    """A browser that writes down what it was started with."""
    program = folder / "browser"
    script = f"import json, os, sys\njson.dump([sys.argv[1:], sorted(os.environ)], open({str(folder / 'seen')!r}, 'w'))\nsys.exit({code})\n"
    return str(python_program(program, script))


@pytest.mark.requirement("000-9.3-browser")
async def test_the_browser_gets_the_address_as_one_argument_and_none_of_our_secrets(tmp_path: Path) -> None:
    """A19."""
    env = {"BROWSER": spy(tmp_path), "PATH": "/usr/bin:/bin", "API_TOKEN": "x", "DISPLAY": ":0"}
    assert await open_browser(URL, env)
    arguments, names = json.loads((tmp_path / "seen").read_text())
    assert arguments == [URL]
    assert {"DISPLAY", "API_TOKEN"} & set(names) == {"DISPLAY"}


async def test_a_browser_that_fails_is_told_from_one_that_opens(tmp_path: Path) -> None:
    assert not await open_browser(URL, {"BROWSER": spy(tmp_path, 3), "PATH": "/usr/bin:/bin"})
    assert not await open_browser(URL, {"BROWSER": str(tmp_path / "none"), "PATH": "/usr/bin:/bin"})


async def test_without_a_screen_nothing_is_started() -> None:
    assert not await open_browser(URL, {"PATH": "/usr/bin:/bin"})


async def test_a_browser_that_stays_open_is_not_waited_for_nor_ended(tmp_path: Path) -> None:
    """It belongs to the person: it has to outlive the command that opened it."""
    program, pipe = tmp_path / "browser", tmp_path / "pipe"
    os.mkfifo(pipe)
    # Stays until somebody has written to the pipe, then says so.
    program.write_text(
        f'#!/bin/sh\nread line < "{pipe}"\necho "$line" > "{tmp_path}/answer.tmp"\nmv "{tmp_path}/answer.tmp" "{tmp_path}/answer"\n'
    )
    program.chmod(0o700)
    assert await open_browser(URL, {"BROWSER": str(program), "PATH": "/usr/bin:/bin"}, patience=0.1)
    with pipe.open("w") as stream:
        stream.write("alive\n")
    while not (tmp_path / "answer").exists():
        await asyncio.sleep(0.01)
    assert (tmp_path / "answer").read_text() == "alive\n"
