"""A server that its launcher has to fetch first: no command ends the fetching, none waits for it without end, and nothing stays behind."""

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from openclaw.mcp.fetching import may_fetch
from parts.command_line import PROGRAM, Home
from parts.processes import STDIO_SERVER, handle_of, has_ended, is_alive, wait_until_gone
from parts.terminal import ENTER, Terminal

# Fetches until `there` exists; then it is the server. Writes its number, and that it has filled its cache.
LAUNCHER = f"""#!/bin/sh
test -e cached || {{
    echo $$ >> begun; echo $$ > fetching.new; mv fetching.new fetching
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
    home = _home_with_slow(tmp_path, connect_ms=1500)
    first = await home.openclaw("agent", "-m", "hello")
    assert (first.code, "Without slow: it did not come up within 1.5 s." in first.err) == (0, True)
    fetching = handle_of(int((tmp_path / "fetching").read_text()))
    assert is_alive(fetching)
    assert not (tmp_path / "cached").exists()
    (tmp_path / "there").touch()
    await asyncio.to_thread(wait_until_gone, fetching)
    assert (tmp_path / "cached").exists()
    # The next turn waits for it as for any healthy server.
    second = await home.openclaw("agent", "-m", "slow__echo")
    assert (second.code, "Without slow" in second.err, "← slow__echo done" in second.err) == (0, False, True)


async def test_only_the_first_command_leaves_a_launcher_behind(tmp_path: Path) -> None:
    home = _home_with_slow(tmp_path, connect_ms=1500)
    for command in (("agent", "-m", "hello"), ("mcp", "servers"), ("agent", "-m", "hello")):
        await home.openclaw(*command)
    await _has_one_left(tmp_path)


async def test_a_launcher_that_hangs_is_waited_for_twice_and_then_named_at_every_turn(tmp_path: Path) -> None:
    home = _home_with_slow(tmp_path, connect_ms=1500)
    told = [(await home.openclaw("agent", "-m", "hello")).err for _ in range(3)]
    begun = [int(line) for line in (tmp_path / "begun").read_text().split()]
    await _all_end(tmp_path, [pid for pid in begun if not has_ended(pid)])
    assert ["Without slow: it did not come up within 1.5 s." in err for err in told] == [True] * 3
    assert len(begun) >= 2


async def test_a_launcher_that_a_person_went_on_without_is_left_behind_once_too(tmp_path: Path) -> None:
    home = _home_with_slow(tmp_path, connect_ms=600_000)
    for _ in range(2):
        with Terminal([*PROGRAM, "agent", "-m", "hello"], cwd=tmp_path, env=home.environ) as terminal:
            terminal.until(lambda rows: any("Waiting for slow" in row and "Enter goes on" in row for row in rows))
            terminal.type(ENTER)
            assert terminal.ends()[0] == 0
    await _has_one_left(tmp_path)


async def _has_one_left(folder: Path) -> None:
    """That of all launchers the first alone still fetches; and ends it."""
    begun = [int(line) for line in (folder / "begun").read_text().split()]
    left = [pid for pid in begun if not has_ended(pid)]
    await _all_end(folder, left)
    assert left == begun[:1]


async def _all_end(folder: Path, launchers: list[int]) -> None:
    """Let launchers find what they fetch, and wait until they have ended: their folder is removed after the test."""
    handles = [handle_of(pid) for pid in launchers]
    (folder / "there").touch()
    await asyncio.to_thread(wait_until_gone, *handles)


def _home_with_slow(tmp_path: Path, *, connect_ms: int) -> Home:
    entry = {"command": "npx", "args": ["-y", "some-server"], "cwd": str(tmp_path), "connectionTimeoutMs": connect_ms}
    return _home_with_launcher(tmp_path, LAUNCHER, slow=entry)


def _home_with_launcher(tmp_path: Path, launcher: str, **servers: object) -> Home:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "npx").write_text(launcher)
    (programs / "npx").chmod(0o700)
    home = Home(tmp_path, mcp={"servers": servers})
    home.environ["PATH"] = f"{programs}{os.pathsep}{home.environ['PATH']}"
    return home


# Fetches for a moment, and writes down how many do so at the same time.
CROWDED = f"""#!/bin/sh
touch "busy/$$"; ls busy | wc -l >> crowd; sleep 0.5; rm "busy/$$"
exec {shlex.join([sys.executable, "-S", "-E", str(STDIO_SERVER)])}
"""


async def test_first_fetches_take_turns_so_that_each_is_done_in_its_time(
    tmp_path: Path,
) -> None:
    (tmp_path / "busy").mkdir()
    entries = {f"slow{n}": {"command": "npx", "args": [f"server-{n}"], "cwd": str(tmp_path)} for n in range(8)}
    home = _home_with_launcher(tmp_path, CROWDED, **entries)

    listed = json.loads((await home.openclaw("mcp", "servers", "--json")).out)

    assert {one["state"] for one in listed} == {"ready"}
    assert max(map(int, (tmp_path / "crowd").read_text().split())) <= max(os.cpu_count() or 1, 2)


async def test_a_program_that_is_no_launcher_ends_with_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"import os, sys; open({str(pid)!r}, 'w').write(str(os.getpid())); sys.stdin.read(); sys.stdin.read()"
    entry = {"command": sys.executable, "args": ["-c", program], "connectionTimeoutMs": 1500}
    home = Home(tmp_path, mcp={"servers": {"slow": entry}})
    await home.openclaw("agent", "-m", "hello")
    assert has_ended(int(pid.read_text()))
