"""Servers as child processes, well-behaved and not."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import DeadlineError, LinkLostError, ProcessError, ProtocolError, RpcError
from openclaw.protocol.jsonrpc import Request, parse
from openclaw.redact import remember
from openclaw.transport.connection import Connection
from openclaw.transport.stdio import STDERR_BURST, StdioTransport
from parts.loops import both_loops
from parts.processes import handle_of, has_ended, open_descriptors, server_command, wait_until_gone

if sys.platform != "win32":
    import resource

    def most_memory() -> int:
        """Bytes that this process had at the most; Linux counts in kibibytes."""
        told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return told << 10 if sys.platform == "linux" else told


LONG = 60.0
ENV = {"PATH": os.environ["PATH"]}


@asynccontextmanager
async def served(*options: str, **settings: Any) -> AsyncIterator[Connection]:
    """A connection to the stdio server of tests/parts. `connection` settings go to the Connection, the rest to the transport."""
    connection = settings.pop("connection", {})
    async with Connection(StdioTransport(server_command(*options), **{"env": ENV, **settings}), **connection) as made:
        yield made


async def call(connection: Connection, name: str, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments}
    return parse(await connection.request("tools/call", params, timeout=LONG, max_total=LONG), dict)


async def text_of(connection: Connection, name: str, **arguments: Any) -> str:
    text = (await call(connection, name, **arguments))["content"][0]["text"]
    assert isinstance(text, str)
    return text


@pytest.mark.requirement("001-2.1-stdio")
@pytest.mark.requirement("002-7-mock")
@pytest.mark.requirement("002-7-stdio")
@both_loops
async def test_a_call_is_answered() -> None:
    async with served() as connection:
        assert await text_of(connection, "echo", text="hello") == "hello"


@both_loops
async def test_many_calls_at_once_each_get_their_own_answer() -> None:
    async with served() as connection:
        answers = await asyncio.gather(*(text_of(connection, "echo", text=str(number)) for number in range(500)))
        assert answers == [str(number) for number in range(500)]


@pytest.mark.posix_only("/dev/stdout")
@both_loops
async def test_a_server_may_open_its_standard_output_by_name() -> None:
    async with served() as connection:
        assert await text_of(connection, "open") == "by name"


@both_loops
async def test_a_message_of_many_mebibytes_goes_both_ways() -> None:
    text = "é" * (2 << 20)
    async with served() as connection:
        assert await text_of(connection, "echo", text=text) == text


@both_loops
async def test_a_slow_reader_makes_writers_wait_and_loses_nothing() -> None:
    async with served("--start-after", "0.3") as connection:
        texts = [str(number) * (1 << 19) for number in range(8)]
        assert await asyncio.gather(*(text_of(connection, "echo", text=text) for text in texts)) == texts


@pytest.mark.posix_only("a mark in the environment")
@pytest.mark.requirement("000-12.1-stdio")
@pytest.mark.requirement("001-FR-1-args-env")
@pytest.mark.requirement("002-3.1-cwd")
async def test_a_server_gets_the_given_environment_and_directory(tmp_path: Path) -> None:
    async with served(env={**ENV, "TOKEN": "t"}, cwd=tmp_path) as connection:
        seen = json.loads(await text_of(connection, "environment"))
        assert seen["env"].pop("OPENCLAW_PROCESSES")
        seen["env"].pop("LC_CTYPE", None)  # Python's own doing
        assert seen["env"] == {**ENV, "TOKEN": "t"}
        assert os.path.samefile(seen["cwd"], tmp_path)  # noqa: ASYNC240 - a test may look at the disk


async def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(ProcessError, match="no-such-server"):
        async with Connection(StdioTransport(["no-such-server"], env=ENV)):
            pass


@both_loops
async def test_a_server_that_dies_in_mid_call_ends_that_call_and_may_have_acted() -> None:
    async with served() as connection:
        with pytest.raises(LinkLostError) as caught:
            await call(connection, "crash", code=3)
        assert (caught.value.message, caught.value.maybe_sent) == ("The server exited with code 3.", True)
        assert connection.is_lost


@pytest.mark.posix_only("signals")
@pytest.mark.requirement("001-FR-3-health")
@both_loops
async def test_a_server_killed_from_outside_says_by_what() -> None:
    async with served() as connection:
        waiting = asyncio.create_task(call(connection, "hang"))
        while not connection.awaits(1):
            await asyncio.sleep(0)
        await call(connection, "echo", text="both were read")
        assert connection.link.pid is not None
        os.kill(connection.link.pid, signal.SIGKILL)
        with pytest.raises(LinkLostError, match="ended by SIGKILL") as caught:
            await waiting
        assert caught.value.maybe_sent


@pytest.mark.linux_only("a pipe that its writer can look into")
@both_loops
async def test_a_request_the_server_never_read_is_known_not_to_be_processed() -> None:
    async with served() as connection:
        hanging = asyncio.create_task(call(connection, "hang"))
        first, last_of_them = 1, 5
        # Written before the server is told to read no more.
        while not connection.awaits(first):
            await asyncio.sleep(0)
        assert await text_of(connection, "deaf") == "deaf now"
        unread = [asyncio.create_task(call(connection, "echo", text="never read")) for _ in range(3)]
        while not connection.awaits(last_of_them):
            await asyncio.sleep(0)
        assert connection.link.pid is not None
        os.kill(connection.link.pid, signal.SIGKILL)
        ends = await asyncio.gather(hanging, *unread, return_exceptions=True)
        assert [end.maybe_sent for end in ends if isinstance(end, LinkLostError)] == [True, False, False, False]


@pytest.mark.posix_only("signals")
@both_loops
async def test_a_call_to_a_server_that_just_died_was_surely_not_processed() -> None:
    async with served() as connection:
        await call(connection, "echo", text="alive")
        assert connection.link.pid is not None
        handle = handle_of(connection.link.pid)
        os.kill(connection.link.pid, signal.SIGKILL)
        wait_until_gone(handle)
        # The event loop had no chance to notice yet.
        assert not connection.is_lost
        with pytest.raises(LinkLostError) as caught:
            await call(connection, "echo", text="too late")
        assert not caught.value.maybe_sent


async def test_what_a_server_said_before_it_exited_still_counts() -> None:
    async with served() as connection:
        assert (await call(connection, "lie", how="no-newline"))["content"] == []


async def test_an_answer_cut_off_by_the_end_of_the_server_is_no_answer() -> None:
    script = 'import os; input(); os.write(1, b\'{"jsonrpc":"2.0","id":1,"result":{"content":[\'); os._exit(3)'
    dropped: list[str] = []
    transport = StdioTransport([sys.executable, "-S", "-c", script], env=ENV, report=dropped.append)
    async with Connection(transport) as connection:
        with pytest.raises(LinkLostError, match="exited with code 3") as caught:
            await connection.request("tools/call", {"name": "echo"}, timeout=LONG)
    assert (caught.value.maybe_sent, dropped) == (True, ["a message cut off by the end of its output"])


async def test_a_last_answer_without_its_newline_counts() -> None:
    script = 'import os; input(); os.write(1, b\'{"jsonrpc":"2.0","id":1,"result":NaN}\')'
    async with Connection(StdioTransport([sys.executable, "-S", "-c", script], env=ENV)) as connection:
        assert bytes(await connection.request("tools/call", {"name": "echo"}, timeout=LONG)) == b"null"


async def test_a_server_that_closes_its_output_is_lost() -> None:
    async with served() as connection:
        with pytest.raises(LinkLostError, match="closed its output"):
            await call(connection, "restarted")


@pytest.mark.parametrize(
    ("how", "content"),
    [
        ("twice", [{"type": "text", "text": "first"}]),
        ("stranger", [{"type": "text", "text": "to you"}]),
        ("float-id", []),
        ("nan", []),
        ("surrogate", []),
        ("latin-1", []),
        ("carriage-return", []),
    ],
)
async def test_an_odd_answer_is_taken_as_it_is_meant(how: str, content: list[Any]) -> None:
    async with served() as connection:
        assert (await call(connection, "lie", how=how))["content"] == content
        assert await text_of(connection, "echo", text="after") == "after"


UNREADABLE = {
    "deep": ProtocolError,
    "truncated": ProtocolError,
    "neither": ProtocolError,
    "both": RpcError,
    "odd-error": RpcError,
}


@pytest.mark.parametrize(("how", "error"), UNREADABLE.items())
async def test_an_unreadable_answer_fails_its_own_caller_at_once(how: str, error: type[Exception]) -> None:
    async with served() as connection:
        neighbour = asyncio.create_task(call(connection, "slow", seconds=0.2))
        with pytest.raises(error):
            await call(connection, "lie", how=how)
        assert (await neighbour)["content"][0]["text"] == "slowly"


@pytest.mark.requirement("000-10-malformed")
async def test_lines_that_are_no_messages_are_skipped_and_reported() -> None:
    reports: list[str] = []
    async with served("--noise", "Server starting on stdio...", connection={"report": reports.append}) as connection:
        assert await text_of(connection, "echo", text="x") == "x"
    assert len(reports) == 1
    assert "Server starting on stdio..." in reports[0]


@pytest.mark.requirement("000-3.1-batching")
async def test_a_batch_is_read() -> None:
    told: list[str] = []
    async with served(connection={"on_notification": lambda method, _: told.append(method)}) as connection:
        assert await text_of(connection, "batch") == "in a batch"
        assert told == ["notifications/message"]


async def test_a_request_of_the_server_is_answered_through_its_input() -> None:
    async def handler(request: Request, owner: object) -> Any:
        return {"roots": [request.method]}

    async with served(connection={"handler": handler}) as connection:
        assert json.loads(await text_of(connection, "ask", method="roots/list")) == {
            "result": {"roots": ["roots/list"]}
        }
        assert json.loads(await text_of(connection, "ask", method="ping")) == {"result": {}}


async def test_a_cancelled_call_is_told_to_the_server() -> None:
    async with served() as connection:
        with pytest.raises(DeadlineError):
            await connection.request("tools/call", {"name": "hang"}, timeout=0.1)
        while "notifications/cancelled" not in json.loads(await text_of(connection, "log")):
            pass


@pytest.mark.parametrize("id_last", [False, True])
async def test_an_answer_too_large_fails_its_own_caller_and_the_next_line_is_read(id_last: bool) -> None:
    async with served(max_message_bytes=1 << 20) as connection:
        with pytest.raises(ProtocolError, match="more than the 1048576 allowed") as caught:
            await call(connection, "huge", bytes=3 << 20, id_last=id_last)
        assert "maxMessageBytes" in caught.value.hint
        assert await text_of(connection, "echo", text="after") == "after"


@pytest.mark.posix_only("a count of the memory in use")
@pytest.mark.parametrize("size", [1 << 28, pytest.param(1 << 30, marks=pytest.mark.full)])
async def test_a_line_of_a_gigabyte_takes_no_gigabyte(size: int) -> None:
    reports: list[str] = []
    async with served(max_message_bytes=8 << 20, report=reports.append) as connection:
        await call(connection, "echo", text="warm")
        before = most_memory()
        assert await text_of(connection, "endless", bytes=size) == "still here"
        grown = most_memory() - before
    assert reports == [f"a message of {size} bytes, more than the {8 << 20} allowed"]
    assert grown < 100 << 20


async def test_standard_error_arrives_line_by_line_clean_and_redacted() -> None:
    lines: list[str] = []
    remember("a value nobody may see")
    code = "import sys; sys.stderr.write('\\x1b[31mred\\x1b[0m\\nkey: a value nobody may see\\nlast')"
    transport = StdioTransport([server_command()[0], "-S", "-c", code], env=ENV, on_stderr=lines.append)
    async with Connection(transport) as connection:
        await connection.wait_lost()
    assert lines == ["red", "key: [REDACTED]", "last"]


async def test_a_flood_of_standard_error_is_cut_and_counted() -> None:
    lines: list[str] = []
    async with served(on_stderr=lines.append) as connection:
        assert await text_of(connection, "flood", stream="stderr", count=50_000) == "flooded"
    said = [line for line in lines if line.startswith("line ")]
    # Some more may pass while time does; the rest is counted, not shown.
    assert STDERR_BURST <= len(said) < 5000
    dropped = sum(int(line[1:].split()[0]) for line in lines if line.endswith("were dropped)"))
    assert len(said) + dropped == 50_000


@pytest.mark.requirement("001-FR-7-stderr")
async def test_standard_error_is_logged_as_a_warning_unless_somebody_takes_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "openclaw")
    async with served("--stderr-lines", "2") as connection:
        await call(connection, "echo", text="x")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "stderr: line 0"),
        ("WARNING", "stderr: line 1"),
    ]


@pytest.mark.parametrize("stream", ["notifications", "noise"])
async def test_a_flood_on_standard_output_delays_no_other_server(stream: str) -> None:
    heard: list[str] = []
    settings = {"report": heard.append, "on_notification": lambda method, _: heard.append(method)}
    async with served(connection=settings) as flooding, served() as calm:
        flood = asyncio.create_task(text_of(flooding, "flood", stream=stream, count=30_000))
        answered = 0
        while not flood.done():
            assert await text_of(calm, "echo", text="x") == "x"
            answered += 1
        assert await flood == "flooded"
        assert len(heard) == 30_000
        assert answered > 2


async def test_leaving_ends_a_polite_server_and_what_it_left_behind() -> None:
    async with served() as connection:
        kinds = ("child", "setsid") if sys.platform == "win32" else ("child", "setsid", "chain")
        descendants = [handle_of(int(await text_of(connection, "descend", how=how))) for how in kinds]
    # The kernel may still be clearing away the last of them; nobody else would end one.
    wait_until_gone(*descendants)


async def test_leaving_ends_a_server_that_died_by_itself_and_what_it_left_behind() -> None:
    async with served() as connection:
        descendant = handle_of(int(await text_of(connection, "descend", how="setsid")))
        with pytest.raises(LinkLostError):
            await call(connection, "crash", code=1)
    wait_until_gone(descendant)


async def test_leaving_ends_a_server_that_ignores_everything() -> None:
    async with served("--stubborn") as connection:
        await call(connection, "echo", text="x")
        pid = connection.link.pid
        assert pid is not None
    assert has_ended(pid)


async def test_a_server_that_never_said_a_word_is_not_waited_for_when_we_leave() -> None:
    """One that spoke has a second to leave by itself; the silent one is gone before."""
    spoken, together = asyncio.Event(), asyncio.Barrier(2)
    gone: list[str] = []

    async def leave(name: str, program: str) -> None:
        transport = StdioTransport([sys.executable, "-S", "-c", program], env=ENV)
        async with Connection(transport, report=lambda _: spoken.set()):
            await spoken.wait()
            await together.wait()
        gone.append(name)

    await asyncio.gather(
        leave("talker", "import time; print('{}', flush=True); time.sleep(600)"),
        leave("silent", "import time; time.sleep(600)"),
    )
    assert gone == ["silent", "talker"]


async def test_a_call_under_way_when_we_leave_ends() -> None:
    async with served() as connection:
        task = asyncio.create_task(call(connection, "hang"))
        await call(connection, "echo", text="both were read")
    with pytest.raises(LinkLostError, match="was closed"):
        await task


@both_loops
async def test_servers_that_come_and_go_leave_no_descriptor_open() -> None:
    async def once(crash: bool) -> None:
        async with served() as connection:
            if crash:
                with pytest.raises(LinkLostError):
                    await call(connection, "crash", code=1)
            else:
                await call(connection, "echo", text="x")

    await once(False)
    before = open_descriptors()
    await asyncio.gather(*(once(number % 2 == 0) for number in range(8)))
    assert open_descriptors() == before
