"""A peer over a transport: deadlines, progress, cancellation, refusals, loss. Over the in-process transport."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from openclaw.conversation import Conversation
from openclaw.errors import (
    ConnectError,
    DeadlineError,
    LinkLostError,
    ProtocolError,
    RpcError,
    TransportError,
    UsageError,
)
from openclaw.protocol.jsonrpc import Request, encode_error, encode_notification, encode_request, encode_result
from openclaw.protocol.transports import STREAMABLE_HTTP, TransportFacts
from openclaw.tool import Invocation
from openclaw.transport.base import Link, Outgoing, Receiver
from openclaw.transport.connection import LEFT_FOR, MAX_ANSWERING, SEND_PATIENCE, Asked, Connection
from openclaw.transport.memory import MemoryTransport, pair
from parts.loops import ShiftedLoop, own_clock

LONG = 60.0


class Far:
    """The other end of a connection, in the hands of the test: what it received, and what it says."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.link: Link
        self.lost = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()

    def received(self, data: bytes, origin: int | None) -> None:
        self.heard.append(json.loads(data))
        self._news.set()

    def awaits(self, request_id: int) -> bool:
        return False

    def failed(self, request_id: int, error: Exception) -> None:
        raise AssertionError("the far end sends no requests of its own")

    def closed(self, error: TransportError | None) -> None:
        if not self.lost.done():
            self.lost.set_result(error)

    async def message(self, number: int) -> dict[str, Any]:
        """The message of this number, counted from 0, once it is there."""
        while len(self.heard) <= number:
            self._news.clear()
            await self._news.wait()
        return self.heard[number]

    async def say(self, data: bytes) -> None:
        await self.link.send(Outgoing(data))


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[Connection, Far]]:
    near, far = pair()
    other = Far()
    async with far.open(other) as other.link, Connection(near, **options) as connection:
        yield connection, other


def values(raw: Raw) -> Any:
    return json.loads(bytes(raw))


async def test_an_answer_ends_the_request_it_belongs_to() -> None:
    async with connected() as (connection, far):
        one = asyncio.create_task(connection.request("one", {"a": 1}, timeout=LONG))
        two = asyncio.create_task(connection.request("two", timeout=LONG))
        assert await far.message(1) == {"jsonrpc": "2.0", "id": 2, "method": "two"}
        assert far.heard[0] == {"jsonrpc": "2.0", "id": 1, "method": "one", "params": {"a": 1}}
        await far.say(encode_result(2, "second"))
        await far.say(encode_result(1, "first"))
        assert (values(await one), values(await two)) == ("first", "second")
        assert [connection.awaits(number) for number in (1, 2)] == [False, False]


async def test_a_refusal_carries_what_the_server_said() -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await far.message(0)
        await far.say(encode_error(1, -32602, "Unknown tool", {"tool": "x"}))
        with pytest.raises(RpcError) as caught:
            await task
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "Unknown tool", {"tool": "x"})


async def test_a_request_without_an_answer_ends_at_its_deadline_and_the_server_is_told() -> None:
    async with connected() as (connection, far):
        with pytest.raises(DeadlineError, match=r"No answer to tools/call within 50 ms\."):
            await connection.request("tools/call", timeout=0.05)
        assert await far.message(1) == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "The caller's time is up."},
        }


async def test_only_the_late_request_ends() -> None:
    async with connected() as (connection, far):
        patient = asyncio.create_task(connection.request("patient", timeout=LONG))
        await far.message(0)
        with pytest.raises(DeadlineError):
            await connection.request("hasty", timeout=0.01)
        await far.say(encode_result(1, "still"))
        assert values(await patient) == "still"


async def test_a_shorter_deadline_that_comes_later_is_kept() -> None:
    async with connected() as (connection, _):
        long = asyncio.create_task(connection.request("long", timeout=LONG))
        ends = await asyncio.gather(
            *(connection.request("x", timeout=seconds) for seconds in (0.03, 0.01, 0.02)), return_exceptions=True
        )
        assert [str(end) for end in ends] == [f"No answer to x within {ms} ms." for ms in (30, 10, 20)]
        long.cancel()


async def test_the_answer_after_the_deadline_is_dropped_and_reported() -> None:
    reports: list[str] = []
    async with connected(report=reports.append) as (connection, far):
        with pytest.raises(DeadlineError):
            await connection.request("x", timeout=0.01)
        task = asyncio.create_task(connection.request("y", timeout=LONG))
        await far.say(encode_result(1, "late"))
        await far.say(encode_result(2, "in time"))
        assert values(await task) == "in time"
        assert reports == ["a late or second answer to request 1"]


@own_clock
async def test_progress_extends_the_deadline(loop: ShiftedLoop) -> None:
    async with connected() as (connection, far):
        seen: list[tuple[float, float | None, str]] = []
        task = asyncio.create_task(
            connection.request("x", timeout=100, max_total=1000, on_progress=lambda *told: seen.append(told))
        )
        request = await far.message(0)
        assert request["params"] == {"_meta": {"progressToken": 1}}
        for number in range(6):
            await loop.pass_time(90)
            told = {"progressToken": 1, "progress": number, "total": 6, "message": "on"}
            await far.say(encode_notification("notifications/progress", told))
            await loop.pass_time(0)
        await far.say(encode_result(1, "done"))
        assert values(await task) == "done"
        assert seen == [(float(number), 6.0, "on") for number in range(6)]


@own_clock
async def test_progress_extends_no_further_than_the_total(loop: ShiftedLoop) -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=100, max_total=300))
        await far.message(0)
        while not task.done():
            await far.say(encode_notification("notifications/progress", {"progressToken": 1, "progress": 1}))
            await loop.pass_time(50)
        with pytest.raises(DeadlineError, match="within 300000 ms"):
            await task


@own_clock
async def test_a_deadline_that_progress_moved_is_kept(loop: ShiftedLoop) -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=100, max_total=1000))
        await far.message(0)
        await loop.pass_time(90)
        await far.say(encode_notification("notifications/progress", {"progressToken": 1, "progress": 1}))
        await loop.pass_time(0)
        await loop.pass_time(90)
        assert not task.done()
        await loop.pass_time(20)
        with pytest.raises(DeadlineError):
            await task


async def test_a_failing_progress_callback_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ValueError("boom")

    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=LONG, on_progress=fail))
        await far.message(0)
        await far.say(encode_notification("notifications/progress", {"progressToken": 1, "progress": 1}))
        await far.say(encode_result(1, 1))
        assert values(await task) == 1
    assert "A progress callback failed" in caplog.text


async def test_a_caller_who_leaves_cancels_the_request_and_the_server_is_told() -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await far.message(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await far.message(1))["params"] == {"requestId": 1, "reason": "The caller no longer waits."}
        assert not connection.awaits(1)


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
async def test_the_first_questions_are_never_cancelled(method: str) -> None:
    async with connected() as (connection, far):
        with pytest.raises(DeadlineError):
            await connection.request(method, timeout=0.01)
        await connection.notify("after")
        assert (await far.message(1))["method"] == "after"


async def test_without_a_deadline_a_request_lives_as_long_as_the_link() -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("subscriptions/listen", timeout=None))
        await far.message(0)
        far.link.hang_up(None)  # type: ignore[attr-defined]
        with pytest.raises(LinkLostError):
            await task


async def test_a_server_may_end_a_subscription_but_no_other_request() -> None:
    async with connected() as (connection, far):
        listening = asyncio.create_task(connection.request("subscriptions/listen", timeout=None))
        calling = asyncio.create_task(connection.request("tools/call", timeout=LONG))
        await far.message(1)
        for number in (1, 2):
            await far.say(encode_notification("notifications/cancelled", {"requestId": number}))
        with pytest.raises(TransportError, match="ended the subscription"):
            await listening
        await far.say(encode_result(2, "unharmed"))
        assert values(await calling) == "unharmed"


async def test_when_the_link_breaks_every_request_ends_and_may_have_been_sent() -> None:
    async with connected() as (connection, far):
        tasks = [asyncio.create_task(connection.request("x", timeout=LONG)) for _ in range(3)]
        await far.message(2)
        far.link.hang_up(LinkLostError("The server exited with code 3.", hint="See its log."))  # type: ignore[attr-defined]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [(str(end), end.maybe_sent) for end in ends if isinstance(end, LinkLostError)] == [
            ("The server exited with code 3. See its log.", True)
        ] * 3
        assert connection.is_lost
        lost = await connection.wait_lost()
        assert lost is not None
        assert lost.message == "The server exited with code 3."


async def test_after_the_link_broke_nothing_is_sent() -> None:
    async with connected() as (connection, far):
        far.link.hang_up(None)  # type: ignore[attr-defined]
        await connection.wait_lost()
        with pytest.raises(LinkLostError) as caught:
            await connection.request("x", timeout=LONG)
        assert not caught.value.maybe_sent
        with pytest.raises(LinkLostError):
            await connection.notify("x")
        assert far.heard == []


async def test_closing_ends_what_is_under_way() -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await far.message(0)
        await connection.__aexit__(None, None, None)
        with pytest.raises(LinkLostError, match="was closed"):
            await task
        assert await far.lost is None


async def test_ping_is_answered() -> None:
    async with connected() as (_, far):
        await far.say(encode_request("p", "ping"))
        assert await far.message(0) == {"jsonrpc": "2.0", "id": "p", "result": {}}


async def test_a_request_of_the_server_is_refused_when_nobody_handles_it() -> None:
    async with connected() as (_, far):
        await far.say(encode_request(1, "sampling/createMessage", {}))
        assert await far.message(0) == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32601, "message": "This client does not support that."},
        }


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (RpcError(-1, "declined", {"a": 1}), {"code": -1, "message": "declined", "data": {"a": 1}}),
        (UsageError("Not like that."), {"code": -32603, "message": "Not like that."}),
        (ValueError("a secret"), {"code": -32603, "message": "Internal error"}),
    ],
)
async def test_a_handler_refuses_by_raising(raised: Exception, error: dict[str, Any]) -> None:
    async def handler(request: Request, asked: object) -> Any:
        raise raised

    async with connected(handler=handler) as (_, far):
        await far.say(encode_request(1, "roots/list"))
        message = await far.message(0)
        assert {k: v for k, v in message["error"].items() if v is not None} == error


async def test_a_handler_answers_with_what_it_returns() -> None:
    async def handler(request: Request, asked: object) -> Any:
        return {"method": request.method, "params": request.params}

    async with connected(handler=handler) as (_, far):
        await far.say(encode_request("q", "roots/list", {"b": 2}))
        assert await far.message(0) == {
            "jsonrpc": "2.0",
            "id": "q",
            "result": {"method": "roots/list", "params": {"b": 2}},
        }


class Asking:
    """A server that asks while calls are under way, and whose calls its questions were taken to belong to."""

    def __init__(self, connection: Connection, far: Far, owners: list[Invocation | None]) -> None:
        self._connection = connection
        self.far = far
        self._owners = owners
        self._calls: list[asyncio.Task[Raw]] = []

    async def call(self, owner: Invocation | None) -> asyncio.Task[Raw]:
        number = len(self.far.heard)
        task = asyncio.create_task(self._connection.request("tools/call", timeout=2 * LEFT_FOR, owner=owner))
        self._calls.append(task)
        await self.far.message(number)
        return task

    async def cancel(self, task: asyncio.Task[Raw]) -> None:
        number = len(self.far.heard)
        task.cancel()
        await self.far.message(number)

    async def owner(self) -> Invocation | None:
        """Ask something."""
        number = len(self.far.heard)
        await self.far.say(encode_request(number, "elicitation/create"))
        await self.far.message(number)
        return self._owners[-1]

    async def end(self) -> None:
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)


@asynccontextmanager
async def asking() -> AsyncIterator[Asking]:
    owners: list[Invocation | None] = []

    async def handler(request: Request, asked: Asked) -> Any:
        owners.append(asked.owner)

    async with connected(handler=handler) as (connection, far):
        server = Asking(connection, far, owners)
        try:
            yield server
        finally:
            await server.end()


ONE, OTHER = (Conversation("main", f"agent:main:{name}") for name in ("one", "other"))


async def test_a_question_belongs_to_the_only_call_under_way_whatever_we_ask_for_ourselves() -> None:
    async with asking() as server:
        assert await server.owner() is None
        await server.call(None)
        assert await server.owner() is None
        await server.call(Invocation(ONE, "1"))
        assert await server.owner() == Invocation(ONE, "1")


async def test_a_question_with_several_calls_under_way_belongs_to_their_conversation_when_it_is_one() -> None:
    async with asking() as server:
        await server.call(Invocation(ONE, "1"))
        await server.call(Invocation(ONE, "2"))
        assert await server.owner() == Invocation(ONE)
        await server.call(Invocation(OTHER, "3"))
        assert await server.owner() is None


async def test_calls_outside_of_any_session_are_conversations_of_their_own() -> None:
    async with asking() as server:
        await server.call(Invocation(Conversation("main"), "1"))
        await server.call(Invocation(Conversation("main"), "2"))
        assert await server.owner() is None


async def test_a_late_question_about_a_cancelled_call_goes_to_no_other_conversation_until_it_is_answered() -> None:
    async with asking() as server:
        await server.cancel(await server.call(Invocation(ONE, "1")))
        assert await server.owner() is None
        await server.call(Invocation(OTHER, "2"))
        assert await server.owner() is None
        await server.far.say(encode_result(1, {}))
        assert await server.owner() == Invocation(OTHER, "2")


@own_clock
async def test_a_cancelled_call_that_is_never_answered_is_forgotten_after_a_while(loop: ShiftedLoop) -> None:
    async with asking() as server:
        await server.cancel(await server.call(Invocation(ONE, "1")))
        await server.call(Invocation(OTHER, "2"))
        await loop.pass_time(LEFT_FOR)
        assert await server.owner() == Invocation(OTHER, "2")


async def test_the_server_can_take_its_request_back() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def handler(request: Request, asked: object) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(handler=handler) as (_, far):
        await far.say(encode_request(7, "elicitation/create"))
        await started.wait()
        await far.say(encode_notification("notifications/cancelled", {"requestId": 7}))
        await ended.wait()
        await far.say(encode_request(8, "ping"))
        assert [(await far.message(0))["id"]] == [8]


async def test_more_requests_than_can_be_answered_are_dropped_and_reported() -> None:
    release = asyncio.Event()
    reports: list[str] = []

    async def handler(request: Request, asked: object) -> Any:
        await release.wait()

    async with connected(handler=handler, report=reports.append) as (_, far):
        for number in range(MAX_ANSWERING + 5):
            await far.say(encode_request(number, "roots/list"))
        await far.say(encode_request(0, "roots/list"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        release.set()
        await far.message(MAX_ANSWERING - 1)
    assert len(reports) == 6
    assert all("while 64 others wait" in report for report in reports)


async def test_an_unreadable_request_is_refused() -> None:
    reports: list[str] = []
    async with connected(report=reports.append) as (_, far):
        await far.say(b'{"jsonrpc":"2.0","id":3,"method":"x","params":@}')
        assert (await far.message(0))["error"]["code"] == -32600
    assert len(reports) == 1


async def test_notifications_reach_their_callback_and_a_failing_one_harms_nobody() -> None:
    told: list[tuple[str, Any]] = []

    def note(method: str, params: Raw) -> None:
        told.append((method, values(params) if bytes(params) else None))
        if method == "bad":
            raise ValueError

    async with connected(on_notification=note) as (connection, far):
        await far.say(encode_notification("bad"))
        await far.say(encode_notification("notifications/message", {"level": "info"}))
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await far.message(0)
        await far.say(encode_result(1, 1))
        await task
    assert told == [("bad", None), ("notifications/message", {"level": "info"})]


async def test_an_unreadable_answer_fails_its_caller_at_once() -> None:
    async with connected() as (connection, far):
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await far.message(0)
        await far.say(b'{"jsonrpc":"2.0","id":1,"result":{"broken":@}}')
        with pytest.raises(ProtocolError, match="cannot be read"):
            await task


async def test_the_meta_of_the_conversation_goes_into_every_request() -> None:
    async with connected() as (connection, far):
        connection.use_meta({"v": "2026-07-28"})
        task = asyncio.create_task(
            connection.request("x", {"a": 1, "_meta": {"trace": "t"}}, timeout=LONG, max_total=LONG)
        )
        assert (await far.message(0))["params"] == {
            "a": 1,
            "_meta": {"v": "2026-07-28", "trace": "t", "progressToken": 1},
        }
        task.cancel()


async def test_arguments_that_are_not_json_are_our_own_fault_and_nothing_is_sent() -> None:
    async with connected() as (connection, far):
        with pytest.raises(UsageError):
            await connection.request("x", {"a": object()}, timeout=LONG)
        assert not connection.awaits(1)
        await connection.notify("after")
        assert (await far.message(0))["method"] == "after"


async def test_what_the_transport_reports_of_one_request_ends_that_one() -> None:
    async with connected() as (connection, far):
        tasks = [asyncio.create_task(connection.request("x", timeout=LONG)) for _ in range(2)]
        await far.message(1)
        assert (connection.awaits(1), connection.awaits(3)) == (True, False)
        connection.failed(1, TransportError("One stream broke."))
        with pytest.raises(TransportError, match="One stream broke"):
            await tasks[0]
        await far.say(encode_result(2, "fine"))
        assert values(await tasks[1]) == "fine"
        connection.failed(1, TransportError("Too late to matter."))


class SlowSend:
    """A transport whose `send` lasts as long as the exchange, as HTTP's does."""

    facts: TransportFacts = STREAMABLE_HTTP
    pid: int | None = None
    mcp_session_id: str | None = None
    session_is_doubtful = False

    def __init__(self, behave: Callable[["SlowSend", Outgoing], Any]) -> None:
        self._behave = behave
        self.receiver: Receiver
        self.told: list[Outgoing] = []
        self.cancelled: list[int] = []

    @asynccontextmanager
    async def open(self, receiver: Receiver) -> AsyncIterator[Link]:
        self.receiver = receiver
        yield self

    def post(self, message: Outgoing) -> bool:
        return False

    async def send(self, message: Outgoing) -> None:
        if message.id is None:
            self.told.append(message)
        else:
            await self._behave(self, message)

    def cancel(self, request_id: int) -> bool:
        self.cancelled.append(request_id)
        return True

    def established(self, version: str) -> None: ...

    def reset(self) -> None: ...


async def never(link: SlowSend, message: Outgoing) -> None:
    await asyncio.Event().wait()


class Deaf(SlowSend):
    """Takes everything at once and never answers. Whoever waits is cancelled in the moment the link is told that nobody does."""

    waiting: asyncio.Task[Any]

    def post(self, message: Outgoing) -> bool:
        return True

    def cancel(self, request_id: int) -> bool:
        self.waiting.cancel()
        return super().cancel(request_id)


async def test_a_caller_cancelled_in_the_moment_its_time_is_up_is_cancelled() -> None:
    link = Deaf(never)
    async with Connection(link) as connection:
        link.waiting = asyncio.ensure_future(connection.request("x", timeout=0.02))
        await asyncio.wait([link.waiting])
        assert link.waiting.cancelled()


async def test_a_deadline_also_ends_an_exchange_that_is_still_being_sent() -> None:
    link = SlowSend(never)
    async with Connection(link) as connection:
        with pytest.raises(DeadlineError):
            await connection.request("x", timeout=0.02)
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
        assert (link.cancelled, link.told) == ([1], [])


@own_clock
async def test_a_request_caught_in_a_half_open_connection_ends_soon_after_the_link(loop: ShiftedLoop) -> None:
    link = SlowSend(never)
    async with Connection(link) as connection:
        task = asyncio.create_task(connection.request("x", timeout=LONG))
        await asyncio.sleep(0)
        link.receiver.closed(LinkLostError("The stream ended."))
        await loop.pass_time(SEND_PATIENCE)
        with pytest.raises(LinkLostError, match="The stream ended") as caught:
            await task
        assert (caught.value.maybe_sent, task.cancelling()) == (True, 0)


async def test_a_caller_who_is_cancelled_at_the_deadline_stays_cancelled() -> None:
    link = SlowSend(never)
    async with Connection(link) as connection:
        task = asyncio.create_task(connection.request("x", timeout=0.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_timeout_of_the_caller_around_a_request_is_still_the_callers() -> None:
    async with Connection(SlowSend(never)) as connection:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await connection.request("x", timeout=LONG)


async def test_an_answer_that_came_during_the_exchange_is_returned_when_it_ends() -> None:
    async def answer(link: SlowSend, message: Outgoing) -> None:
        link.receiver.received(encode_result(message.id or 0, "early"), message.id)
        await asyncio.sleep(0)

    async with Connection(SlowSend(answer)) as connection:
        assert values(await connection.request("x", timeout=LONG)) == "early"


@pytest.mark.requirement("000-4.5-no-mixing")
async def test_an_answer_on_a_strangers_stream_completes_nothing() -> None:
    reports: list[str] = []

    async def mixed_up(link: SlowSend, message: Outgoing) -> None:
        id = message.id or 0
        link.receiver.received(encode_result(id - 1, "not yours"), id)
        link.receiver.received(encode_result(id, "yours"), id)

    async with Connection(SlowSend(mixed_up), report=reports.append) as connection:
        await connection.request("x", timeout=LONG)
        assert values(await connection.request("x", timeout=LONG)) == "yours"
    assert reports[-1] == "an answer to request 1 on the stream of request 2"


async def test_an_exchange_that_failed_is_reported_to_its_caller() -> None:
    async def fail(link: SlowSend, message: Outgoing) -> None:
        link.receiver.failed(message.id or 0, ConnectError("refused"))

    async with Connection(SlowSend(fail)) as connection:
        with pytest.raises(ConnectError, match="refused"):
            await connection.request("x", timeout=LONG)


async def test_a_server_in_this_process_is_started_anew_by_every_connection() -> None:
    starts: list[int] = []

    async def serve(transport: Any) -> None:
        starts.append(1)

        async def handler(request: Request, asked: object) -> Any:
            return len(starts)

        async with Connection(transport, handler=handler) as connection:
            await connection.wait_lost()

    transport = MemoryTransport(serve)
    for number in (1, 2):
        async with Connection(transport) as connection:
            assert values(await connection.request("x", timeout=LONG)) == number


async def test_a_server_in_this_process_that_fails_loses_the_link() -> None:
    async def serve(transport: Any) -> None:
        raise ValueError("boom")

    async with Connection(MemoryTransport(serve)) as connection:
        lost = await connection.wait_lost()
        assert lost is not None
        assert lost.message == "The in-process server failed: boom"


async def test_an_end_can_be_opened_once() -> None:
    near, _ = pair()
    async with Connection(near):
        with pytest.raises(ConnectError):
            async with Connection(near):
                pass


async def test_thousands_of_calls_leave_nothing_behind() -> None:
    async with connected() as (connection, far):
        far.received = lambda data, origin: far.link.other.take(encode_result(json.loads(data)["id"], 1))  # type: ignore[method-assign,attr-defined]
        await asyncio.gather(*(connection.request("x", timeout=LONG, max_total=LONG) for _ in range(100)))
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(20):
            await asyncio.gather(*(connection.request("x", timeout=LONG, max_total=LONG) for _ in range(100)))
        gc.collect()
        assert len(gc.get_objects()) - before < 200
