"""How `openclaw mcp-server` ends: the client leaves, a signal comes, nobody reads any more; idle and in the middle of an order."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parts import stdio_server
from parts.model_servers import Answer, Call, ChatServer, Hold
from parts.order_process import OPENCLAW, OrderProcess, environment, local_model
from parts.processes import handle_of, wait_until_gone

SERVER = [*OPENCLAW, "mcp-server"]
PARTS = {"command": sys.executable, "args": [stdio_server.__file__]}
CODES = {"eof": 0, "SIGTERM": 128 + signal.SIGTERM, "SIGINT": 128 + signal.SIGINT}
STOPPING = {
    "content": [{"type": "text", "text": "Error: The order was cancelled because the server is stopping."}],
    "isError": True,
}


def files_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


@pytest.mark.requirement("003-exits")
@pytest.mark.requirement("004-sec-process")
@pytest.mark.parametrize("how", CODES)
async def test_an_idle_server_leaves_without_a_word(how: str, tmp_path: Path) -> None:
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        assert (await server.end(how), server.stderr) == (CODES[how], b"")


@pytest.mark.parametrize("how", CODES)
async def test_an_order_under_way_is_answered_and_its_model_request_ended(how: str, tmp_path: Path) -> None:
    async with ChatServer([Answer(["half", Hold()])]) as chat:
        async with OrderProcess(tmp_path, config=local_model(chat.url, chat.key)) as server:
            await server.initialize()
            order = server.begin_order("work")
            await chat.waiting.wait()
            code = await server.end(how)
            answer = await order
        await chat.gone.wait()
    assert (code, answer["result"], server.stderr) == (CODES[how], STOPPING, b"")


@pytest.mark.parametrize("how", [*CODES, "SIGKILL"])
async def test_servers_started_for_an_order_are_gone_afterwards(how: str, tmp_path: Path) -> None:
    replies = [
        Answer(calls=[Call("c1", "parts__descend", {"how": "child"})]),
        Answer(calls=[Call("c2", "parts__hang")]),
    ]
    async with ChatServer(replies) as chat:
        config = local_model(chat.url, chat.key) | {"mcp": {"servers": {"parts": PARTS}}}
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            server.begin_order("work", meta={"progressToken": 1})
            await server.until_told("Calling tool hang on server parts")
            results = [m["content"] for m in chat.requests[-1]["messages"] if m["role"] == "tool"]
            descendant = next(int(word) for word in str(results[0]).split() if word.isdigit())
            handle = handle_of(descendant)
            await server.end(how)
            await asyncio.to_thread(wait_until_gone, handle)


async def test_a_client_that_closes_our_output_ends_the_server_and_its_order(tmp_path: Path) -> None:
    """Nothing is written meanwhile, and input stays open."""
    async with ChatServer([Answer(["half", Hold()])]) as chat:
        async with OrderProcess(tmp_path, config=local_model(chat.url, chat.key)) as server:
            await server.initialize()
            server.begin_order("work")
            await chat.waiting.wait()
            server.process.stop_reading()
            code = await server.process.wait()
        await chat.gone.wait()
    assert (code, server.stderr) == (0, b"")


async def test_a_client_that_stops_reading_ends_the_server(tmp_path: Path) -> None:
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        server.process.stop_reading()
        # Answers that nobody reads, on their way when the pipe breaks.
        for _ in range(100):
            server.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert (await server.process.wait(), server.stderr) == (0, b"")


def test_a_client_that_reads_nothing_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    """The pipe is full and stays full: the answers in it are lost, the process is not."""
    reading, writing = os.pipe()
    lines = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 20_000
    finished = subprocess.run(SERVER, input=lines, stdout=writing, env=environment(tmp_path))
    os.close(writing)
    os.close(reading)
    assert finished.returncode == 0


def test_a_client_that_leaves_while_far_behind_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    """Past 8 MB of unread answers nothing more is read from it, and so not that it left."""
    reading, writing = os.pipe()
    large = b'{"jsonrpc":"2.0","id":"%s","method":"ping"}\n' % (b"x" * 1_048_576)
    small = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    finished = subprocess.run(SERVER, input=large * 8 + small, stdout=writing, env=environment(tmp_path))
    os.close(writing)
    os.close(reading)
    assert finished.returncode == 0


@pytest.mark.parametrize("how", CODES)
def test_a_client_that_does_not_read_our_log_is_served_and_may_leave(how: str, tmp_path: Path) -> None:
    """The pipe of stderr is full long before the last of these is logged."""
    count = 2_000
    lines = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * count
    pipe = subprocess.PIPE
    with subprocess.Popen([*SERVER, "-v"], env=environment(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(count)]
        if how == "eof":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, how))
        code = process.wait()
    assert (set(answers), code) == ({b'{"jsonrpc":"2.0","id":1,"result":{}}\n'}, CODES[how])


@pytest.mark.requirement("003-stdio")
def test_requests_before_the_end_of_input_are_answered(tmp_path: Path) -> None:
    lines = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}'
    finished = subprocess.run(SERVER, input=lines, capture_output=True, env=environment(tmp_path))
    assert [json.loads(line)["id"] for line in finished.stdout.splitlines()] == [1, 2]


@pytest.mark.parametrize("kind", ["file", "null", "socket"])
def test_input_may_be_a_file_nothing_or_a_socket(kind: str, tmp_path: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    (tmp_path / "lines").write_bytes(line)
    ours, theirs = socket.socketpair()
    with ours, theirs, open(tmp_path / "lines", "rb") as file, open(os.devnull, "rb") as null:
        ours.sendall(line)
        ours.shutdown(socket.SHUT_WR)
        given: Any = {"file": file, "null": null, "socket": theirs}[kind]
        finished = subprocess.run(SERVER, stdin=given, capture_output=True, env=environment(tmp_path))
    expected = b"" if kind == "null" else b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, expected, b"")


def test_a_socket_for_both_directions_will_do(tmp_path: Path) -> None:
    """Some clients make socket pairs instead of pipes, and make them non-blocking."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with (
        ours,
        subprocess.Popen(SERVER, stdin=theirs.fileno(), stdout=theirs.fileno(), env=environment(tmp_path)) as process,
    ):
        theirs.close()
        ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        with ours.makefile("rb") as lines:
            answer = lines.readline()
        ours.shutdown(socket.SHUT_WR)
        assert (process.wait(), answer) == (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')


async def test_attachments_are_gone_after_an_order_and_after_a_cancelled_one(tmp_path: Path) -> None:
    zipped = {"data": "UEsDBAo=", "mimeType": "application/zip", "filename": "a.zip"}
    async with ChatServer([Answer("ok"), Answer(["half", Hold()])]) as chat:
        async with OrderProcess(tmp_path, config=local_model(chat.url, chat.key)) as server:
            await server.initialize()
            await server.said("keep", files=[zipped])
            after = files_below(tmp_path / ".openclaw" / "py" / "media")
            server.begin_order("work", files=[zipped])
            await chat.waiting.wait()
            meanwhile = files_below(tmp_path / ".openclaw" / "py" / "media")
            await server.end()
    left = files_below(tmp_path / ".openclaw" / "py" / "media")
    assert ([Path(name).name for name in meanwhile], after, left) == (["a.zip"], [], [])


NOISE = """
import os, subprocess, sys, threading, warnings
from openclaw.control.standard_streams import take_over
sys.stdout.write("buffered before")
reading, writing = take_over()
print("print")
sys.stdout.flush()
os.write(1, b"descriptor\\n")
sys.__stdout__.write("dunder\\n")
subprocess.run(["/bin/sh", "-c", "echo child; cat"])
warnings.warn("warning")
threading.Thread(target=lambda: 1 / 0).start()
os.write(writing, b"protocol\\n")
assert sys.stdin.read() == ""
assert os.read(reading, 100) == b"input\\n"
1 / 0
"""


def test_whatever_is_printed_by_whomever_goes_to_stderr(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NOISE]
    finished = subprocess.run(command, input=b"input\n", capture_output=True, env=environment(tmp_path))
    words = ("buffered before", "print", "descriptor", "dunder", "child", "warning", "ZeroDivisionError")
    missing = [word for word in words if word not in finished.stderr.decode()]
    assert (finished.stdout, missing) == (b"protocol\n", [])


def test_a_working_directory_that_is_gone_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    # Without its launcher: where the checkout's path is long that is a shell script, and shells complain.
    program = [sys.executable, "-m", "openclaw", "mcp-server"]
    command = ["/bin/sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *program]
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    finished = subprocess.run(command, input=line, capture_output=True, env=environment(tmp_path), cwd=tmp_path)
    assert (finished.stdout, finished.stderr) == (b'{"jsonrpc":"2.0","id":1,"result":{}}\n', b"")


def test_a_missing_stderr_is_no_obstacle(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *SERVER]
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    finished = subprocess.run(command, input=line, stdout=subprocess.PIPE, env=environment(tmp_path))
    assert finished.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def test_a_missing_stdout_is_said_in_one_sentence(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *SERVER]
    finished = subprocess.run(command, input=b"", stderr=subprocess.PIPE, env=environment(tmp_path))
    expected = b"openclaw mcp-server: standard input or output is closed. Start it from an MCP client.\n"
    assert (finished.returncode, finished.stderr) == (1, expected)
