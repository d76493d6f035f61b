"""Commands through a running gateway: the same words, output and exit codes as without one."""

import asyncio
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from openclaw.control import wire
from openclaw.control.socket_client import ask
from openclaw.version import __version__
from parts.gateways import PROGRAM, GatewayProcess, Home, gateway_process, home, stdio_server
from parts.processes import HANG_GUARD, server_command

if sys.platform != "win32":
    import fcntl
    import pty
    import termios


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """One for all tests here, none of which changes it."""
    with home(tmp_path_factory.mktemp("gateway")) as place:
        turns: list[dict[str, Any]] = [{"text": ["Hello ", "you."]}, {"text": "Thinking", "hold": True}]
        place.save({"mcp": {"servers": {"part": stdio_server()}}, **place.script(*turns * 50)})
        with gateway_process(place) as process:
            process.wait_until("'part' is ready")
            yield process


def outcome(run: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    return run.returncode, run.stdout, run.stderr


def pid_of_part(place: Home, *words: str) -> int:
    """The process that serves `part` for whoever runs the command."""
    run = place.run(*words, "mcp", "call", "part__environment")
    assert run.returncode == 0, run.stderr
    status = place.run(*words, "mcp", "status", "part", "--json")
    assert status.returncode == 0, status.stderr
    return int(json.loads(status.stdout)["pid"])


@pytest.mark.parametrize(
    "words",
    [
        ("mcp", "call", "part__echo", "text=hi there"),
        ("mcp", "call", "part__echo", "text=grüße ∀", "--json"),
        ("mcp", "call", "part__nothing"),
        ("tools",),
        ("mcp", "frobnicate"),
        ("mcp", "call"),
        ("mcp", "--help"),
        ("--help",),
        ("config", "get", "mcp.servers.part.command"),
        ("config", "path"),
        ("sessions", "show", "no such key"),
        ("tools", "explain", "part__echo"),
        ("--version",),
        ("agent",),
    ],
)
def test_a_command_says_the_same_with_and_without_a_gateway(gateway: GatewayProcess, words: tuple[str, ...]) -> None:
    assert outcome(gateway.home.run(*words)) == outcome(gateway.home.run("--local", *words))


def test_the_way_to_the_gateway_loads_next_to_nothing(gateway: GatewayProcess) -> None:
    program = """
import sys
before = set(sys.modules)
sys.argv = ["openclaw", "mcp", "call", "part__echo", "text=hi"]
from openclaw.__main__ import main
code = main()
print(code, *sorted(name.partition(".")[0] for name in set(sys.modules) - before))
"""
    run = subprocess.run(
        [sys.executable, "-I", "-c", program], env=gateway.home.env, capture_output=True, text=True, timeout=HANG_GUARD
    )
    said, code_and_modules = run.stdout.splitlines()
    loaded = set(code_and_modules.split()[1:])

    assert (said, code_and_modules[0]) == ("hi", "0")
    assert not loaded & {"socket", "json", "re", "typing", "asyncio", "msgspec", "pathlib", "enum", "subprocess"}


def test_a_warm_server_is_used_and_local_starts_its_own(gateway: GatewayProcess) -> None:
    first, second = pid_of_part(gateway.home), pid_of_part(gateway.home)
    own = gateway.home.run("--local", "mcp", "status", "part", "--json")

    assert first == second
    assert json.loads(own.stdout)["pid"] != first


def test_an_answer_is_printed_and_the_callers_directory_is_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "note.txt").write_text("found me")
    read = {"toolCalls": [{"name": "read", "arguments": {"path": "note.txt"}}]}
    with home(tmp_path) as place:
        place.save(place.script(read, {"text": "It says: {result}"}))
        with gateway_process(place):
            run = place.run("agent", "-m", "read the note", cwd=tmp_path / "here")

    assert (run.returncode, "found me" in run.stdout) == (0, True), run.stderr
    assert "→ read(path='note.txt')" in run.stderr


def test_standard_input_is_the_callers(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save(place.script({"text": "ok"}))
        with gateway_process(place):
            run = place.run("agent", "--session-key", "piped", "-m", "-", input="from a pipe ∀\n" * 10_000)
            shown = place.run("sessions", "export", "agent:main:piped")

    assert (run.returncode, run.stdout) == (0, "ok\n")
    assert json.dumps("from a pipe ∀\n" * 10_000, ensure_ascii=False) in shown.stdout


def test_ctrl_c_ends_the_command_in_the_gateway(gateway: GatewayProcess) -> None:
    words = ["mcp", "call", "part__hang"]
    with subprocess.Popen([*PROGRAM, *words], env=gateway.home.env, stderr=subprocess.PIPE, text=True) as process:
        wait_for_calls(gateway, 1)
        process.send_signal(signal.SIGINT)
        process.wait(HANG_GUARD)
        assert (process.returncode, process.stderr and process.stderr.read()) == (130, "")
    wait_for_calls(gateway, 0)


# The signal is delivered to another thread than the one that waits, which is left in its wait: as when it comes just before that begins.
UNHEARD = """
import signal, sys, threading
from openclaw.control import remote
def take():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Event().wait()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
threading.Thread(target=take, daemon=True).start()
sys.exit(remote.run(sys.argv[1:]))
"""


def test_ctrl_c_just_before_the_wait_for_the_gateway_is_heard(gateway: GatewayProcess) -> None:
    command = [sys.executable, "-c", UNHEARD, "mcp", "call", "part__hang"]
    with subprocess.Popen(command, env=gateway.home.env, stderr=subprocess.PIPE, text=True) as process:
        wait_for_calls(gateway, 1)
        process.send_signal(signal.SIGINT)
        process.wait(HANG_GUARD)
        assert (process.returncode, process.stderr and process.stderr.read()) == (130, "")
    wait_for_calls(gateway, 0)


def test_a_terminal_that_dies_ends_its_command(gateway: GatewayProcess) -> None:
    with subprocess.Popen([*PROGRAM, "mcp", "call", "part__hang"], env=gateway.home.env) as process:
        wait_for_calls(gateway, 1)
        process.kill()
    wait_for_calls(gateway, 0)


def wait_for_calls(gateway: GatewayProcess, number: int) -> None:
    """Until the server of the gateway works on so many calls."""
    for _ in range(1000):
        status = json.loads(gateway.home.run("gateway", "status", "--json").stdout)
        if status["servers"][0]["inFlight"] == number:
            return
    raise AssertionError(f"never {number} calls: {status}")


def test_a_reader_who_leaves_early_is_no_error(gateway: GatewayProcess) -> None:
    call = subprocess.Popen(
        [*PROGRAM, "mcp", "call", "part__huge", "bytes=5000000"],
        env=gateway.home.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert call.stdout is not None
    assert call.stdout.read(10) == b"x" * 10
    call.stdout.close()
    assert call.wait(HANG_GUARD) == 0
    assert call.stderr is not None
    assert call.stderr.read() == b""
    call.stderr.close()


@pytest.mark.linux_only("/dev/full")
def test_output_that_cannot_be_written_costs_one_sentence_at_a_gateway_too(gateway: GatewayProcess) -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [*PROGRAM, "tools"], env=gateway.home.env, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (process.returncode, process.stderr) == (
        1,
        "error: The output cannot be written: no space left on device.\n",
    )


def test_a_large_result_arrives_whole(gateway: GatewayProcess) -> None:
    run = gateway.home.run("mcp", "call", "part__huge", "bytes=20000000")
    assert (run.returncode, len(run.stdout), run.stdout[-1]) == (0, 20_000_001, "\n")


# What is waited for is drawn again and again, and gone in the end.
WAITING = re.compile("(?:\x1b\\[2m)?[\u2800-\u28ff] [^\r\n]*|\r\x1b\\[J")


def on_a_terminal(
    place: Home, *words: str, columns: int = 80, answer: str = "", env: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str]:
    """Run a command on a terminal of that width, and answer its question: exit code, and everything it showed there."""
    ours, theirs = pty.openpty()
    os.set_inheritable(theirs, True)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [*PROGRAM, *words], env={**place.env, "TERM": "xterm", **env}, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            readable, _, _ = select.select([ours], [], [], HANG_GUARD)
            assert readable, shown
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
            if answer and shown.endswith(b"] "):
                os.write(ours, answer.encode())
        os.close(ours)
        return process.wait(HANG_GUARD), WAITING.sub("", shown.decode())


def test_width_and_colour_are_those_of_the_terminal(gateway: GatewayProcess) -> None:
    for columns in (60, 200):
        here = on_a_terminal(gateway.home, "--local", "tools", columns=columns)
        there = on_a_terminal(gateway.home, "tools", columns=columns)
        assert there == here
        assert "\x1b[2m" in there[1]
        assert max(len(line) for line in there[1].replace("\x1b[2m", "").replace("\x1b[0m", "").splitlines()) <= columns


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\x04", 2)])
def test_a_question_is_answered_at_the_terminal_that_asked(tmp_path: Path, answer: str, code: int) -> None:
    command, *args = server_command()
    with home(tmp_path) as place, gateway_process(place):
        words = ("mcp", "connect", "--name", "asked", "--", command, *args)
        ended, shown = on_a_terminal(place, *words, answer=answer, columns=200)
        listed = json.loads(place.run("mcp", "servers", "--json").stdout)

    assert (ended, [server["name"] for server in listed]) == (code, ["asked"] if code == 0 else [])
    assert "Add and run it? [y/N] " in shown
    assert command in shown


@pytest.mark.parametrize(("words", "env"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})])
def test_colours_can_be_switched_off(gateway: GatewayProcess, words: tuple[str, ...], env: dict[str, str]) -> None:
    code, shown = on_a_terminal(gateway.home, *words, "mcp", "tools", "part", env=env)
    assert (code, "\x1b" in shown) == (0, False)


def test_another_config_of_the_same_directory_is_not_this_gateways(gateway: GatewayProcess, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    run = gateway.home.run("mcp", "servers", "--config", str(other))
    named = gateway.home.run("mcp", "servers", "--json", "--config", str(gateway.home.config_file))

    assert "No MCP servers are configured" in run.stdout
    assert [server["name"] for server in json.loads(named.stdout)] == ["part"]


def speak(place: Home, *fields: bytes, words: tuple[bytes, ...] = (b"mcp", b"servers")) -> tuple[bytes, bytes]:
    """The first frame a gateway answers to a request of ours."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(HANG_GUARD)
        link.connect(str(place.paths.control_socket))
        link.sendall(wire.frame(wire.RUN, wire.pack([*fields, *words])))
        buffer = bytearray()
        while (found := wire.take(buffer)) is None:
            data = link.recv(65536)
            assert data, "no answer"
            buffer += data
        return found


def request(place: Home, **changed: bytes) -> list[bytes]:
    fields = {
        "protocol": wire.PROTOCOL,
        "token": b"",
        "version": __version__.encode(),
        "state": os.fsencode(place.state),
        "config": os.fsencode(place.config_file),
        "cwd": b"/",
        "width": b"80",
        "marks": b"",
        "kinds": b"",
    }
    return list({**fields, **changed}.values())


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"protocol": b"openclaw-2"}, b""),
        (
            {"version": b"9.9.9"},
            b"note: the gateway is version "
            + __version__.encode()
            + b"; `openclaw gateway restart` makes it this one.",
        ),
        ({"config": b"/elsewhere/openclaw.json"}, b""),
        ({"state": b"/elsewhere"}, b""),
        ({"token": b"unasked"}, b""),
    ],
)
def test_whoever_is_not_of_its_kind_does_the_work_itself(
    gateway: GatewayProcess, changed: dict[str, Any], note: bytes
) -> None:
    assert speak(gateway.home, *request(gateway.home, **changed)) == (wire.LOCAL, note)
    assert speak(gateway.home, *request(gateway.home)) == (wire.TAKEN, b"")


@pytest.mark.parametrize("words", [(b"chat",), (b"gateway", b"status"), (b"--log-level", b"debug", b"status")])
def test_what_belongs_to_the_terminals_own_process_is_sent_back(
    gateway: GatewayProcess, words: tuple[bytes, ...]
) -> None:
    assert speak(gateway.home, *request(gateway.home), words=words) == (wire.LOCAL, b"")


def test_a_socket_that_is_not_ours_alone_is_not_trusted(gateway: GatewayProcess) -> None:
    folder = gateway.home.paths.runtime_dir
    before = pid_of_part(gateway.home)
    folder.chmod(0o755)
    try:
        assert pid_of_part(gateway.home) != before
        assert asyncio.run(ask(gateway.home.paths.control_socket, wire.STATUS)) is None
    finally:
        folder.chmod(0o700)
    assert pid_of_part(gateway.home) == before
    assert asyncio.run(ask(gateway.home.paths.control_socket, wire.STATUS)) is not None


def test_a_gateway_that_dies_during_a_command_is_told_in_one_sentence(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        with subprocess.Popen(
            [*PROGRAM, "mcp", "call", "part__hang"], env=place.env, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for_calls(gateway, 1)
            gateway.end(signal.SIGKILL)
            assert process.wait(HANG_GUARD) == 1
            assert process.stderr is not None
            assert process.stderr.read().startswith("error: The gateway ended while it ran the command.")
        # And the next command works, by itself.
        assert place.run("mcp", "call", "part__echo", "text=again").stdout == "again\n"
