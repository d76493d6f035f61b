"""A server that its launcher has to fetch first: no command ends the fetching, none waits for it without end, and nothing stays behind."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from openclaw.mcp.fetching import may_fetch
from parts.command_line import Home
from parts.processes import STDIO_SERVER, handle_of, has_ended, is_alive, wait_until_gone

# Fetches until `there` exists; then it is the server. Writes its number, and that it has filled its cache.
LAUNCHER = f"""#!/bin/sh
test -e cached || {{
    echo $$ > fetching.new; mv fetching.new fetching
    while ! test -e there; do echo "fetching" >&2; sleep 0.1; done
    touch cached
}}
exec {shlex.join([sys.executable, "-S", "-E", str(STDIO_SERVER)])}
"""


@pytest.mark.parametrize(
    ("words", "fetches"),
    [
        ("npx -y some-server", True),
        ("/usr/bin/uvx some-server", True),
        ("docker run -i --rm some/image", True),
        ("pnpm dlx some-server", True),
        ("uv tool run some-server", True),
        ("docker ps", False),
        ("node npx", False),
        ("python -m npx", False),
    ],
)
def test_launchers_are_known_by_their_names(words: str, fetches: bool) -> None:
    command, *args = words.split()
    assert may_fetch(command, args) == fetches


async def test_a_first_fetch_outlasts_the_command_that_began_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "npx").write_text(LAUNCHER)
    (programs / "npx").chmod(0o700)
    entry = {"command": "npx", "args": ["-y", "some-server"], "cwd": str(tmp_path), "connectionTimeoutMs": 1500}
    home = Home(tmp_path, mcp={"servers": {"slow": entry}})
    home.environ["PATH"] = f"{programs}{os.pathsep}{home.environ['PATH']}"
    first = await home.openclaw("agent", "-m", "hello")
    assert (first.code, "Without slow: it did not come up within 1.5 s." in first.err) == (0, True)
    fetching = handle_of(int((tmp_path / "fetching").read_text()))
    assert is_alive(fetching)
    assert not (tmp_path / "cached").exists()
    (tmp_path / "there").touch()
    await asyncio.to_thread(wait_until_gone, fetching)
    assert (tmp_path / "cached").exists()
    assert "slow__echo" in (await home.openclaw("mcp", "tools")).out


async def test_a_program_that_is_no_launcher_ends_with_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"import os, sys; open({str(pid)!r}, 'w').write(str(os.getpid())); sys.stdin.read(); sys.stdin.read()"
    entry = {"command": sys.executable, "args": ["-c", program], "connectionTimeoutMs": 1500}
    home = Home(tmp_path, mcp={"servers": {"slow": entry}})
    await home.openclaw("agent", "-m", "hello")
    assert has_ended(int(pid.read_text()))
