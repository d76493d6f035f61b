"""`openclaw gateway start`, `logs`, `uninstall`, as people type them."""

import subprocess
from pathlib import Path

from parts.gateways import PROGRAM, Home, gateway_process, home, stdio_server
from parts.processes import HANG_GUARD
from parts.terminal import CONTROL_C, Terminal


def test_starting_twice_is_no_error_and_the_log_can_be_followed(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        none = place.run("gateway", "logs")
        try:
            first, second = place.run("gateway", "start"), place.run("gateway", "start")
            shown = place.run("logs", "--lines", "1")
            with subprocess.Popen(
                [*PROGRAM, "gateway", "logs", "-f"], env=place.env, stdout=subprocess.PIPE, text=True
            ) as following:
                assert following.stdout is not None
                seen = following.stdout.readline()
                place.run("config", "set", "tools.deny", "['read']")
                while "The changed config is in use" not in (line := following.stdout.readline()):
                    assert line
                following.terminate()
        finally:
            stopped = place.run("gateway", "stop")

    assert none.stderr.startswith(f"error: There is no log at {place.paths.logs_dir / 'gateway.log'} yet")
    assert (first.returncode, second.returncode, stopped.returncode) == (0, 0, 0)
    assert second.stdout == first.stdout.replace("The gateway runs: ", "The gateway runs already: ")
    assert shown.stdout.count("\n") == 1
    assert "INFO openclaw" in seen


def test_a_log_that_cannot_be_written_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        log = place.paths.logs_dir / "gateway.log"
        log.mkdir(parents=True)
        run = place.run("gateway", "start")
    assert (run.returncode, run.stderr) == (1, f"error: {log} cannot be written: is a directory.\n")


def test_a_gateway_of_another_config_is_no_gateway_of_ours(tmp_path: Path) -> None:
    with home(tmp_path) as place, gateway_process(place) as gateway:
        gateway.wait_until("The gateway is up")
        other = place.state / "other.json"
        other.write_text("{}")
        run = place.run("gateway", "start", "--config", str(other))
    assert (run.returncode, run.stderr.split(" (pid")[0]) == (
        1,
        "error: A gateway already runs on this state directory",
    )


def test_what_a_server_writes_can_be_followed_through_a_gateway(tmp_path: Path) -> None:
    config = {"mcp": {"servers": {"part": stdio_server("--stderr-lines", "3")}}}
    with home(tmp_path, config) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        with subprocess.Popen(
            [*PROGRAM, "mcp", "logs", "-f", "part"], env=place.env, stdout=subprocess.PIPE, text=True
        ) as following:
            assert following.stdout is not None
            before = [following.stdout.readline() for _ in range(3)]
            place.run("mcp", "restart", "part")
            after = [following.stdout.readline() for _ in range(3)]
            following.terminate()
            following.wait(HANG_GUARD)
        in_chat = place.run("line", "/mcp logs part -f")

    assert [line.split(" ", 1)[1] for line in after] == [line.split(" ", 1)[1] for line in before]
    assert "--follow has no end. In a shell: openclaw mcp logs -f part" in in_chat.stdout + in_chat.stderr


def test_who_follows_what_is_written_sees_what_is_waited_for(tmp_path: Path) -> None:
    config = {"mcp": {"servers": {"part": stdio_server("--stderr-lines", "1")}}}
    with home(tmp_path, config) as place:
        try:
            assert place.run("gateway", "start").returncode == 0
            followed("mcp logs -f part", "Waiting for what part writes", place)
            followed("mcp logs --local -f part", "Waiting for what part writes", place)
            followed("gateway logs -f", "Waiting for what the gateway writes", place)
        finally:
            place.run("gateway", "stop")


def followed(command: str, waited_for: str, place: Home) -> None:
    """At a terminal, until the person has seen enough."""
    with Terminal([*PROGRAM, *command.split()], cwd=place.state, env=place.env) as terminal:
        terminal.until(lambda rows: rows and waited_for in rows[-1] and rows[-1].endswith("Ctrl-C stops"))
        assert "line 0" in "\n".join(terminal.screen)
        terminal.type(CONTROL_C)
        assert terminal.ends()[0] == 130


def test_a_service_is_taken_away_with_what_switching_it_on_left(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        written = place.run("gateway", "install").stdout.splitlines()[0].removeprefix("Wrote ")
        wants = Path(written).parent / "default.target.wants"
        wants.mkdir()
        (wants / Path(written).name).symlink_to(written)
        removed, again = place.run("gateway", "uninstall"), place.run("gateway", "uninstall")
    assert (removed.returncode, removed.stdout.splitlines()[0]) == (0, f"Removed {written}")
    assert (Path(written).exists(), list(wants.iterdir())) == (False, [])
    assert (again.returncode, again.stdout) == (0, f"No service is installed: there is no {written}\n")
