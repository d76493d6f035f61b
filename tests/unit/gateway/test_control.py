"""The control socket with a runner of our own behind it: questions, input, cancelling, leaving; and its form without Unix sockets."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from openclaw import __version__
from openclaw.commands.console import Console
from openclaw.config.paths import Paths
from openclaw.control import wire
from openclaw.control.questions import MOST_OPEN, answer_frame, read_question
from openclaw.control.socket_client import ask, connect, read_frame
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind
from openclaw.errors import OpenClawError
from openclaw.gateway.control import ControlServer, own_directory
from openclaw.gateway.request import CommandRequest
from parts.control_socket import OneCommand, serving, short_folder
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE
from parts.processes import HANG_GUARD

Action = Literal["accept", "decline", "cancel"]


class Caller:
    """The other end, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        self.writer.write(wire.frame(kind, payload))

    async def next(self) -> tuple[bytes, bytes]:
        return await asyncio.wait_for(read_frame(self.reader), HANG_GUARD)


@asynccontextmanager
async def calling(
    place: Path, *words: bytes, go: bool = True, kinds: bytes = wire.TERMINAL_KINDS
) -> AsyncIterator[Caller]:
    reader, writer, token = await connect(place)
    caller = Caller(reader, writer)
    told = [__version__.encode(), b"/s", b"/s/c", b"/", b"80", b"", kinds]
    caller.send(wire.RUN, wire.pack([wire.PROTOCOL, token, *told, *words]))
    assert await caller.next() == (wire.TAKEN, b"")
    if go:
        caller.send(wire.GO)
    try:
        yield caller
    finally:
        caller.writer.close()


async def test_output_goes_out_in_order_and_the_exit_code_comes_last() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        console.line(" ".join(request.words))
        console.err("careful \udcff\n")
        console.out("x" * (wire.PIECE_BYTES + 1))
        return 7

    async with serving(work) as (_, _, place), calling(place, b"mcp", b"servers") as caller:
        frames = [await caller.next() for _ in range(5)]

    assert frames == [
        (wire.OUT, b"mcp servers\n"),
        (wire.ERR, b"careful \\udcff\n"),
        (wire.OUT, b"x" * wire.PIECE_BYTES),
        (wire.OUT, b"x"),
        (wire.EXIT, b"7"),
    ]


async def question(caller: Caller, number: str) -> Question:
    """The question that arrives next, which has this id."""
    kind, payload = await caller.next()
    asked = read_question(payload)
    assert (kind, asked and asked.id) == (wire.QUESTION, number)
    assert asked is not None
    return asked.question


def answer(caller: Caller, number: str, action: Action, **content: Any) -> None:
    caller.writer.write(answer_frame(number, Answer(action, content)))


async def test_a_command_asks_for_a_yes_and_nobody_is_an_answer_too() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        console.line(repr([await console.agreed("Really? "), await console.agreed("Sure? ")]))
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        assert await question(caller, "1") == Question("approval", "Really? ")
        answer(caller, "1", "accept")
        assert await question(caller, "2") == Question("approval", "Sure? ")
        answer(caller, "2", "cancel")
        assert await caller.next() == (wire.OUT, b"[True, None]\n")


async def test_where_nobody_can_be_shown_a_question_none_is_sent() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        can = [console.asker.can(kind) for kind in get_args(QuestionKind)]
        console.line(repr([(await console.asker.ask(Question("form", "Really?"))).action, can]))
        return 0

    for kinds, can in ((b"", [False] * 4), (b"url  approval", [True, False, True, False])):
        async with serving(work) as (_, _, place), calling(place, kinds=kinds) as caller:
            assert await caller.next() == (wire.OUT, f"['cancel', {can}]\n".encode())


async def test_several_questions_are_open_at_a_time_and_each_answer_finds_its_own() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    asked = [Question("approval", "May it?", options=("once", "always")), Question("form", asker="a", schema=schema)]

    async def work(request: CommandRequest, console: Console) -> int:
        for given in await asyncio.gather(*map(console.asker.ask, asked)):
            console.line(repr((given.action, given.content)))
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        assert [await question(caller, "1"), await question(caller, "2")] == asked
        caller.send(wire.ANSWER, b"{")
        answer(caller, "7", "accept")
        answer(caller, "2", "accept", age=4)
        answer(caller, "2", "decline")
        answer(caller, "1", "accept", option="once")
        assert [await caller.next() for _ in asked] == [
            (wire.OUT, b"('accept', {'option': 'once'})\n"),
            (wire.OUT, b"('accept', {'age': 4})\n"),
        ]


async def test_what_is_no_answer_to_a_question_is_none() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    answers: list[tuple[Question, dict[str, Any]]] = [
        (Question("approval", "?", options=("once",)), {"option": "always"}),
        (Question("approval", "?", options=("once",)), {}),
        (Question("approval", "?"), {"option": "once"}),
        (Question("form", "?", schema=schema), {"age": "old"}),
        (Question("url", "?", url="https://example.com/"), {"visited": True}),
    ]

    async def work(request: CommandRequest, console: Console) -> int:
        for asked, _ in answers:
            console.line((await console.asker.ask(asked)).action)
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        for number, (asked, content) in enumerate(answers, 1):
            assert await question(caller, str(number)) == asked
            answer(caller, str(number), "accept", **content)
            assert await caller.next() == (wire.OUT, b"cancel\n")


async def test_a_question_whose_asker_is_cancelled_is_taken_back() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        asking = asyncio.create_task(console.asker.ask(Question("approval", "May it?")))
        await console.read()
        asking.cancel()
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        assert {(await caller.next())[0], (await caller.next())[0]} == {wire.QUESTION, wire.READ}
        caller.send(wire.INPUT)
        assert {await caller.next(), await caller.next()} == {(wire.WITHDRAWN, b"1"), (wire.EXIT, b"0")}


@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_interrupting_and_leaving_answer_every_open_question(how: str) -> None:
    answered = asyncio.Event()
    answers: list[Answer] = []

    async def work(request: CommandRequest, console: Console) -> int:
        asking = [asyncio.create_task(console.asker.ask(Question("approval", name))) for name in "abc"]
        try:
            answers.extend(await asyncio.shield(asyncio.gather(*asking)))
        except asyncio.CancelledError:
            answers.extend(await asyncio.gather(*asking))
            assert how == "cancel" or not console.asker.can("approval")
            assert how == "cancel" or await console.asker.ask(Question("approval", "d")) == NO_ANSWER
        answered.set()
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        for number in "123":
            await question(caller, number)
        if how == "cancel":
            caller.send(wire.CANCEL)
        else:
            caller.writer.close()
        await asyncio.wait_for(answered.wait(), HANG_GUARD)

    assert answers == [NO_ANSWER] * 3


async def test_more_questions_than_a_person_can_be_asked_are_not_sent() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        asked = [console.asker.ask(Question("approval", str(number))) for number in range(MOST_OPEN + 2)]
        console.line(" ".join(given.action for given in await asyncio.gather(*asked)))
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        for number in range(1, MOST_OPEN + 1):
            await question(caller, str(number))
            answer(caller, str(number), "accept")
        assert await caller.next() == (wire.OUT, f"{'accept ' * MOST_OPEN}cancel cancel\n".encode())


async def test_a_question_that_is_not_json_is_not_asked_and_a_strange_name_in_its_text_is_shown() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        odd = await console.asker.ask(Question("form", schema={"default": "\udcff"}))
        agreed = await console.agreed("Delete \udcff? ")
        console.line(f"{odd.action} {agreed}")
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        assert await question(caller, "2") == Question("approval", "Delete \\udcff? ")
        answer(caller, "2", "decline")
        assert await caller.next() == (wire.OUT, b"cancel False\n")


async def test_an_address_is_opened_at_the_terminal_and_that_is_no_question() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        console.line(repr([await console.browse("https://example.com/"), await console.browse("")]))
        return 0

    async with serving(work) as (_, _, place), calling(place, kinds=b"") as caller:
        assert await caller.next() == (wire.BROWSE, b"1\0https://example.com/")
        caller.send(wire.BROWSED, b"1\0yes")
        assert await caller.next() == (wire.BROWSE, b"2\0")
        caller.send(wire.BROWSED, b"2\0")
        assert await caller.next() == (wire.OUT, b"[True, False]\n")


async def test_what_comes_of_an_address_that_nobody_waits_for_is_no_answer_to_the_next() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        given_up = asyncio.ensure_future(console.browse("https://example.com/one"))
        await console.agreed("Go on? ")
        given_up.cancel()
        console.line(repr(await console.browse("https://example.com/two")))
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        await question(caller, "1")
        assert await caller.next() == (wire.BROWSE, b"2\0https://example.com/one")
        answer(caller, "1", "accept")
        assert await caller.next() == (wire.BROWSE, b"3\0https://example.com/two")
        caller.send(wire.BROWSED, b"2\0yes")
        caller.send(wire.BROWSED, b"")
        caller.send(wire.BROWSED, b"3\0")
        assert await caller.next() == (wire.OUT, b"False\n")


async def test_input_is_read_when_a_command_asks_for_it() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        console.out(await console.read())
        return 0

    async with serving(work) as (_, _, place), calling(place) as caller:
        assert await caller.next() == (wire.READ, b"")
        for piece in (b"one ", b"tw", "ö".encode()[:1], "ö".encode()[1:], b""):
            caller.send(wire.INPUT, piece)
        assert await caller.next() == (wire.OUT, "one twö".encode())


async def test_nothing_is_begun_for_a_caller_who_lost_patience() -> None:
    begun = asyncio.Event()

    async def work(request: CommandRequest, console: Console) -> int:
        begun.set()
        return 0

    async with serving(work) as (server, _, place):
        async with calling(place, go=False):
            pass
        await server.finish(HANG_GUARD)

    assert not begun.is_set()


@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_a_command_ends_when_its_person_wants_or_is_gone(how: str) -> None:
    running, ended = asyncio.Event(), asyncio.Event()

    async def work(request: CommandRequest, console: Console) -> int:
        running.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()
        return 0

    async with serving(work) as (server, _, place), calling(place) as caller:
        await running.wait()
        assert server.busy == 1
        if how == "cancel":
            caller.send(wire.CANCEL)
            assert await caller.next() == (wire.EXIT, b"130")
        else:
            caller.writer.close()
        await asyncio.wait_for(ended.wait(), HANG_GUARD)
        await server.finish(HANG_GUARD)
        assert server.busy == 0


async def test_who_leaves_while_much_is_printed_is_no_failure_of_the_gateway(caplog: pytest.LogCaptureFixture) -> None:
    left, ended = asyncio.Event(), asyncio.Event()

    async def work(request: CommandRequest, console: Console) -> int:
        try:
            console.line("first")
            await left.wait()
            for _ in range(100):
                # Nothing that comes meanwhile is read: what is written fails before anybody was told that the caller left.
                console.line("x" * 100_000)
            return 0
        finally:
            ended.set()

    async with serving(work) as (server, _, place), calling(place) as caller:
        assert await caller.next() == (wire.OUT, b"first\n")
        caller.writer.transport.abort()
        left.set()
        await asyncio.wait_for(ended.wait(), HANG_GUARD)
        await server.finish(HANG_GUARD)
    assert caplog.messages == []


async def test_a_gateway_that_stops_lets_a_command_finish_or_tells_it() -> None:
    may_end, running = asyncio.Event(), asyncio.Event()

    async def work(request: CommandRequest, console: Console) -> int:
        running.set()
        await may_end.wait()
        return 0

    async with serving(work) as (server, _, place), calling(place) as quick:
        await running.wait()
        server.leave()
        draining = asyncio.create_task(server.finish(HANG_GUARD))
        may_end.set()
        assert await quick.next() == (wire.EXIT, b"0")
        await draining
    may_end.clear()
    running.clear()
    async with serving(work) as (server, _, place), calling(place) as slow:
        await running.wait()
        await server.finish(0)
        assert await slow.next() == (wire.ERR, b"error: The gateway is stopping; the command was ended.\n")
        assert await slow.next() == (wire.EXIT, b"1")


@pytest.mark.parametrize(
    "unix",
    [pytest.param(True, marks=pytest.mark.posix_only("a Unix socket"), id="unix"), pytest.param(False, id="tcp")],
)
async def test_a_gateway_tells_how_it_is_and_stops_when_asked(unix: bool) -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        return 0

    async with serving(work, unix=unix) as (_, runner, place):
        assert place.stat().st_mode & 0o777 == PRIVATE_FILE
        assert place.parent.stat().st_mode & 0o777 == PRIVATE_DIRECTORY
        assert await ask(place, wire.STATUS) == {"pid": os.getpid()}
        assert not runner.stopped.is_set()
        assert await ask(place, wire.STOP) == {"pid": os.getpid()}
        await asyncio.wait_for(runner.stopped.wait(), HANG_GUARD)
    assert await ask(place, wire.STATUS) is None


async def test_without_unix_sockets_the_token_of_the_file_is_asked_for() -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        raise AssertionError("nobody may run anything")

    async with serving(work, unix=False) as (_, runner, place):
        port, token = place.read_text().split()
        for wrong in (b"", b"x" * len(token), token[:-1].encode(), token.encode() + b"0"):
            caller = Caller(*await asyncio.open_connection("127.0.0.1", int(port)))
            caller.send(wire.RUN, wire.pack([wire.PROTOCOL, wrong, *[b""] * 7]))
            assert await caller.next() == (wire.LOCAL, b"")
            caller.writer.close()
            caller = Caller(*await asyncio.open_connection("127.0.0.1", int(port)))
            caller.send(wire.STOP, wire.pack([wire.PROTOCOL, wrong, *[b""] * 7]))
            with pytest.raises(EOFError):
                await caller.next()
            caller.writer.close()
    assert not runner.stopped.is_set()


async def test_the_stub_finds_a_gateway_by_port_and_token(tmp_path: Path) -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        console.line(f"did {' '.join(request.words)} in {request.cwd}")
        return 3

    with short_folder() as folder:
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(folder)}
        server = ControlServer(Paths.from_env(env).control_socket, OneCommand(work), unix=False)
        await server.start()
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "openclaw", "mcp", "servers"), env=env, cwd=tmp_path, stdout=-1
        )
        out, _ = await asyncio.wait_for(program.communicate(), HANG_GUARD)
        server.leave()
        await server.finish(0)

    assert (program.returncode, out.decode()) == (3, f"did mcp servers in {tmp_path}\n")


@pytest.mark.parametrize(
    "sent", [b"", b"R", b"R\xff\xff\xff\xff", b"X\x00\x00\x00\x00", b"R\x00\x00\x00\x01x", bytes(50)]
)
async def test_noise_on_the_socket_harms_nobody(sent: bytes) -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        return 0

    async with serving(work) as (_, _, place):
        reader, writer, _ = await connect(place)
        writer.write(sent)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), HANG_GUARD)
        writer.close()
        assert await ask(place, wire.STATUS) == {"pid": os.getpid()}


@pytest.mark.posix_only("symbolic links, and modes of files")
def test_a_directory_that_is_not_ours_holds_no_socket(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    with pytest.raises(OpenClawError, match="not a directory of ours"):
        own_directory(link)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    own_directory(open_to_all)
    assert open_to_all.stat().st_mode & 0o777 == 0o700
