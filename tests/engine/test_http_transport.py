"""Streamable HTTP against a real server that misbehaves on command: every request ends once, and fails alone."""

import asyncio
import gc
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import ClassVar, Literal

import pytest
from aiohttp import web
from msgspec.structs import replace

from openclaw.errors import (
    AddressError,
    AuthError,
    ConnectError,
    DeadlineError,
    HttpStatusError,
    LinkLostError,
    ProtocolError,
    SessionExpiredError,
    SignInNeededError,
)
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.protocol.authorizer import Authorizer, StaticAuthorizer
from openclaw.security.egress import OPERATOR
from openclaw.transport.connection import Connection
from openclaw.transport.endpoint import Destination
from openclaw.transport.event_stream import EventStream
from openclaw.transport.http import HttpLink, HttpTransport
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.http_faults import gzip_bomb, hold, json_body, raw, reset, status
from parts.http_server import Fault, HttpServer, Message, Plan
from parts.recorder import MODERN, Recorder, notification, text_of

LOCAL = ClientOptions(rules=OPERATOR)
# Seconds in which a loaded machine does what takes a millisecond.
AT_ONCE = 4.0


@asynccontextmanager
async def opened(
    url: str,
    receiver: Recorder,
    *,
    version: str = "",
    headers: Mapping[str, str] | None = None,
    authorizer: Authorizer | None = None,
    max_message_bytes: int = 1 << 26,
    options: ClientOptions = LOCAL,
) -> AsyncIterator[HttpLink]:
    """A link; with a version, one that is past its negotiation."""
    transport = HttpTransport(
        Destination(
            url, options=options, headers=headers or {}, authorizer=authorizer, max_message_bytes=max_message_bytes
        )
    )
    async with transport.open(receiver) as link:
        if version == MODERN:
            link.established(version)
        elif version:
            first = receiver.initialize(version)
            await link.send(first)
            assert receiver.answers.pop(first.id or 0)["result"]["protocolVersion"] == version
            link.established(version)
            await link.send(notification("notifications/initialized"))
        yield link


@pytest.fixture(params=["json", "sse"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[HttpServer]:
    async with HttpServer(Plan(answers=request.param)) as server:
        yield server


@pytest.fixture
async def streaming() -> AsyncIterator[HttpServer]:
    """Answers with event streams, and asks for quick reconnects."""
    async with HttpServer(Plan(answers="sse", retry=1)) as server:
        yield server


@pytest.fixture(params=["posted", "sent"])
def receiver(request: pytest.FixtureRequest) -> Recorder:
    """Hands requests over in both ways: what becomes of one is the same."""
    return Recorder(posts=request.param == "posted")


@pytest.mark.requirement("000-4.3-json")
@pytest.mark.requirement("000-4.3-sse")
@pytest.mark.requirement("002-7-http")
@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", MODERN])
async def test_a_call_is_answered_in_every_revision(server: HttpServer, receiver: Recorder, version: str) -> None:
    async with opened(server.url, receiver, version=version) as link:
        message = (
            receiver.modern("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, name="echo")
            if version == MODERN
            else receiver.call("echo", text="hi")
        )
        await receiver.hand(link, message)
    assert {id: text_of(answer) for id, answer in receiver.answers.items()} == {message.id: "hi"}


@pytest.mark.requirement("000-4.1-delete")
@pytest.mark.requirement("000-4.1-post")
@pytest.mark.requirement("000-4.4-session-ended")
@pytest.mark.requirement("000-4.4-session-kept")
@pytest.mark.requirement("000-4.4-session-sent")
async def test_the_session_id_and_version_go_with_every_later_request(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-06-18") as link:
        await receiver.hand(link, receiver.call("echo"))
        await server.until(lambda: "GET" in server.methods())
        session = link.mcp_session_id
    sent = [
        (seen.method or seen.verb, seen.headers.get("Mcp-Session-Id"), seen.headers.get("MCP-Protocol-Version"))
        for seen in server.seen
    ]
    later = ["notifications/initialized", "tools/call", "GET", "DELETE"]
    assert sent[0] == ("initialize", None, None)
    assert sorted(sent[1:]) == sorted((name, session, "2025-06-18") for name in later)
    assert sent[-1][0] == "DELETE"
    assert server.sessions == set()


async def test_the_modern_revision_has_no_session_and_names_what_it_asks_for(
    server: HttpServer, receiver: Recorder
) -> None:
    async with opened(server.url, receiver, version=MODERN) as link:
        message = receiver.modern("tools/call", {"name": "écho", "arguments": {}}, name="écho")
        await receiver.hand(
            link, type(message)(message.data, message.method, message.id, message.name, {"Mcp-Param-Region": "eu"})
        )
        assert link.mcp_session_id is None
    [seen] = server.seen
    picked = {name: value for name, value in seen.headers.items() if name.lower().startswith("mcp-")}
    assert picked == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?w6ljaG8=?=",
        "Mcp-Param-Region": "eu",
    }


async def test_a_probe_carries_the_headers_of_its_own_revision(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver) as link:
        probe = receiver.modern("server/discover")
        await receiver.hand(link, type(probe)(probe.data, probe.method, probe.id, "", {"MCP-Protocol-Version": MODERN}))
    assert MODERN in receiver.answers[1]["result"]["supportedVersions"]


@pytest.mark.requirement("000-4.3-sse")
async def test_several_messages_come_on_one_stream_with_its_origin(streaming: HttpServer, receiver: Recorder) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    assert [(other["params"]["progress"], origin) for other, origin in receiver.others] == [
        (1, message.id),
        (2, message.id),
        (3, message.id),
    ]
    assert list(receiver.answers) == [message.id]


@pytest.mark.requirement("000-4.3-sse")
async def test_a_request_of_the_server_is_answered_while_its_stream_is_open(
    streaming: HttpServer, receiver: Recorder
) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await receiver.hand(link, receiver.call("ask"))
        assert receiver.others == [({"jsonrpc": "2.0", "id": "from-server", "method": "ping"}, 2)]
        answer = json.dumps({"jsonrpc": "2.0", "id": "from-server", "result": {}}).encode()
        await receiver.hand(link, type(notification("x"))(answer))
    assert streaming.answers == [{"jsonrpc": "2.0", "id": "from-server", "result": {}}]


@pytest.mark.requirement("000-3.1-batching")
async def test_a_batch_is_handed_over_whole(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-03-26") as link:
        message = receiver.call("echo")
        log = {"jsonrpc": "2.0", "method": "notifications/message"}
        server.fault("tools/call", json_body([log, {"jsonrpc": "2.0", "id": message.id, "result": {}}]))
        await receiver.hand(link, message)
    assert (receiver.others, list(receiver.answers)) == ([(log, message.id)], [message.id])


async def test_an_answer_is_given_at_once_though_its_stream_stays_open(
    streaming: HttpServer, receiver: Recorder
) -> None:
    streaming.plan.end_streams = False
    async with opened(streaming.url, receiver) as link:
        for _ in range(3):
            await receiver.hand(link, receiver.request("initialize"))
        assert sorted(receiver.answers) == [1, 2, 3]
    await streaming.until(lambda: sorted(streaming.abandoned) == [1, 2, 3])


async def test_connections_of_event_streams_are_used_again(streaming: HttpServer, receiver: Recorder) -> None:
    streaming.plan.sessions = False
    async with ChaosProxy(streaming.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver) as link:
            for _ in range(10):
                await receiver.hand(link, receiver.call("echo"))
                # The end of a stream comes a moment after its answer.
                for _ in range(50):
                    await asyncio.sleep(0)
        assert proxy.connections < 10
    assert len(receiver.answers) == 10


# Sessions


@pytest.mark.requirement("000-4.4-session-404")
@pytest.mark.parametrize("unknown", [404, 400])
async def test_a_forgotten_session_is_told_apart_and_can_begin_again(
    server: HttpServer, receiver: Recorder, unknown: int
) -> None:
    server.plan.unknown_session = unknown
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await server.stop()
        await server.start()
        lost = receiver.call("echo", text="lost")
        await receiver.hand(link, lost)
        assert isinstance(receiver.failures[lost.id or 0], SessionExpiredError)
        link.reset()
        await receiver.hand(link, receiver.initialize())
        link.established("2025-11-25")
        again = receiver.call("echo", text="again")
        await receiver.hand(link, again)
        assert text_of(receiver.answers[again.id or 0]) == "again"
    assert server.called == [("echo", {"text": "again"})]


async def test_a_refusal_about_something_else_does_not_end_the_session(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        body = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "The study session is full"}}
        server.fault("tools/call", json_body(body, 400))
        await receiver.hand(link, receiver.call("echo"))
    assert (receiver.answers, receiver.failures) == ({2: body}, {})


async def test_a_404_without_a_session_is_a_plain_status(server: HttpServer, receiver: Recorder) -> None:
    server.plan.sessions = False
    async with opened(server.url, receiver, version="2025-11-25") as link:
        server.fault("tools/call", status(404, body=b"no"))
        await receiver.hand(link, receiver.call("echo"))
    [error] = receiver.failures.values()
    assert isinstance(error, HttpStatusError)
    assert (error.status, error.body) == (404, b"no")


async def test_a_notification_on_a_forgotten_session_raises(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        server.sessions.clear()
        with pytest.raises(SessionExpiredError):
            await receiver.hand(link, notification("notifications/roots/list_changed"))


async def test_the_session_id_is_in_no_error(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        session = link.mcp_session_id
        server.fault("tools/call", status(404), status(500), reset())
        for _ in range(3):
            await receiver.hand(link, receiver.call("echo"))
    assert session is not None
    assert [session in str(error) for error in receiver.failures.values()] == [False] * 3


async def test_a_session_id_with_odd_characters_is_refused(receiver: Recorder) -> None:
    async with HttpServer() as server:
        server.fault("initialize", status(200, {"Mcp-Session-Id": "a b"}, b"{}", "application/json"))
        async with opened(server.url, receiver) as link:
            await receiver.hand(link, receiver.initialize())
            assert link.mcp_session_id is None
    assert isinstance(receiver.failures[1], ProtocolError)


@pytest.mark.parametrize("fault", [status(405), reset(), hold()])
async def test_the_end_never_depends_on_the_server(server: HttpServer, receiver: Recorder, fault: Fault) -> None:
    async with opened(server.url, receiver, version="2025-11-25"):
        server.fault("DELETE", fault)
        await server.until(lambda: "GET" in server.methods())
    assert server.methods()[-1] == "DELETE"


# The stream for what the server says unasked


@pytest.mark.requirement("000-4.1-get")
async def test_what_the_server_says_unasked_arrives_with_no_origin(server: HttpServer, receiver: Recorder) -> None:
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    async with opened(server.url, receiver, version="2025-11-25"):
        await server.until(lambda: "GET" in server.methods())
        server.announce(changed)
        await receiver.until(lambda: bool(receiver.others))
    assert receiver.others == [(changed, None)]


async def test_the_stream_is_opened_once_the_server_knows_that_the_client_is_ready(
    server: HttpServer, receiver: Recorder
) -> None:
    async with opened(server.url, receiver, version="2025-11-25"):
        await server.until(lambda: "GET" in server.methods())
    assert server.methods() == ["initialize", "notifications/initialized", "GET", "DELETE"]


async def test_calls_do_not_wait_for_a_stream_that_never_opens(server: HttpServer, receiver: Recorder) -> None:
    server.fault("GET", hold())
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await receiver.hand(link, receiver.call("echo", text="hi"))
    assert [text_of(answer) for answer in receiver.answers.values()] == ["hi"]


@pytest.mark.requirement("000-10-stream")
@pytest.mark.requirement("000-4.5-event-ids")
@pytest.mark.requirement("000-4.5-last-event-id")
async def test_a_broken_stream_goes_on_where_it_stopped(streaming: HttpServer, receiver: Recorder) -> None:
    notes = [{"jsonrpc": "2.0", "method": f"notifications/{number}"} for number in range(6)]
    async with ChaosProxy(streaming.port) as proxy:

        async def hear(number: int) -> None:
            await streaming.until(lambda: streaming.methods().count("GET") == number + 1)
            streaming.announce(notes[number])
            await receiver.until(lambda: len(receiver.others) == number + 1)

        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver, version="2025-11-25"):
            for number in range(len(notes)):
                await hear(number)
                proxy.cut()
    assert [note for note, _ in receiver.others] == notes
    resumed = [seen.headers.get("Last-Event-ID") for seen in streaming.seen if seen.verb == "GET"]
    assert resumed[0] is None
    assert all(resumed[1:])


BAD_CHUNK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
ODD_ID = "id: Ereignis \u4e8b\n".encode() + b'data: {"jsonrpc":"2.0","method":"notifications/odd"}\n\n'


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        (raw(BAD_CHUNK), None),
        (status(200, body=b"<html>One moment, please</html>", kind="text/html"), None),
        (status(200, body=ODD_ID, kind="text/event-stream"), "Ereignis \u4e8b"),
        (status(200, body=b"id: " + b"x" * 5000 + b"\ndata: {}\n\n", kind="text/event-stream"), None),
    ],
    ids=["a-bad-chunk", "a-page", "an-odd-id", "a-long-id"],
)
async def test_the_stream_for_unasked_messages_outlives(
    streaming: HttpServer, receiver: Recorder, fault: Fault, place: str | None
) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/back"}
    streaming.fault("GET", fault)
    async with opened(streaming.url, receiver, version="2025-11-25"):
        await streaming.until(lambda: streaming.methods().count("GET") == 2)
        for _ in range(50):
            await asyncio.sleep(0)
        streaming.announce(note)
        await receiver.until(lambda: (note, None) in receiver.others)
    (again,) = [seen for seen in streaming.seen if seen.verb == "GET"][1:]
    assert again.headers.get("Last-Event-ID") == place


async def test_resuming_passes_over_a_bad_chunk(streaming: HttpServer, receiver: Recorder) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.plan.cut_after = 1
        streaming.fault("GET", raw(BAD_CHUNK))
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    assert (list(receiver.answers), streaming.called) == ([message.id], [("count", {"n": 3})])


async def test_an_expired_call_of_the_newest_revision_closes_its_stream_at_once(streaming: HttpServer) -> None:
    transport = HttpTransport(Destination(streaming.url, options=LOCAL))
    async with Connection(transport) as connection:
        connection.link.established(MODERN)
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
        call = {"name": "wait", "arguments": {}, "_meta": meta}
        with pytest.raises(DeadlineError):
            await connection.request("tools/call", call, timeout=0.1, name="wait")
        # That is how the server hears that nobody waits. The time is far more than it takes, and far less than any grace would be.
        async with asyncio.timeout(AT_ONCE):
            await streaming.until(lambda: streaming.abandoned == [1])


async def test_the_stream_outlives_a_restart_of_the_server(streaming: HttpServer, receiver: Recorder) -> None:
    streaming.plan.sessions = False
    note = {"jsonrpc": "2.0", "method": "notifications/back"}
    async with opened(streaming.url, receiver, version="2025-11-25"):
        await streaming.until(lambda: streaming.methods().count("GET") == 1)
        await streaming.stop()
        await streaming.start()
        await streaming.until(lambda: streaming.methods().count("GET") == 2)
        streaming.announce(note)
        await receiver.until(lambda: bool(receiver.others))
    assert receiver.others == [(note, None)]


async def test_the_server_says_how_long_to_wait_before_the_next_connection() -> None:
    stream = EventStream(lambda event, data: None, enough=lambda: False, max_event_bytes=1000, label="test")
    assert [stream.pause(failures) for failures in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    async with HttpServer() as server, HttpClient(LOCAL) as client:
        server.fault("/", status(200, body=b"retry: 2500\nid: 1\ndata: x\n\n", kind="text/event-stream"))
        await stream.read(await client.open("GET", server.origin + "/"))
    assert (stream.last_event_id, stream.progress) == ("1", 1)
    assert [stream.pause(failures) for failures in range(8)] == [2.5, 2.5, 4, 8, 16, 32, 60, 60]


@pytest.mark.requirement("000-4.1-get")
async def test_405_means_there_is_no_such_stream(server: HttpServer, receiver: Recorder) -> None:
    server.plan.get_stream = False
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await server.until(lambda: "GET" in server.methods())
        await receiver.hand(link, receiver.call("echo"))
    assert (len(receiver.answers), server.methods().count("GET")) == (1, 1)


async def test_the_modern_revision_opens_no_such_stream(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version=MODERN) as link:
        await receiver.hand(link, receiver.modern("tools/list"))
    assert [seen.verb for seen in server.seen] == ["POST"]


async def test_a_modern_subscription_is_a_long_answer(server: HttpServer, receiver: Recorder) -> None:
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    async with opened(server.url, receiver, version=MODERN) as link:
        listen = receiver.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        task = asyncio.create_task(receiver.hand(link, listen))
        await receiver.until(lambda: len(receiver.others) == 1)
        server.announce(changed)
        await receiver.until(lambda: len(receiver.others) == 2)
        assert link.cancel(listen.id or 0)
        await task
        await server.until(lambda: server.abandoned == [listen.id])
    assert (receiver.others[1], receiver.failures) == ((changed, listen.id), {})


# Broken answers


@pytest.mark.requirement("000-10-stream")
@pytest.mark.requirement("000-4.5-no-mixing")
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("after", [0, 1, 2, 3])
async def test_a_broken_answer_is_resumed_as_the_same_stream(
    streaming: HttpServer, receiver: Recorder, after: int, hard: bool
) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.plan.cut_after, streaming.plan.cut_hard = after, hard
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    assert [(other["params"]["progress"], origin) for other, origin in receiver.others] == [
        (number, message.id) for number in (1, 2, 3)
    ]
    assert list(receiver.answers) == [message.id]
    assert streaming.called == [("count", {"n": 3})]


async def test_an_answer_that_breaks_off_for_good_is_one_clear_error(streaming: HttpServer, receiver: Recorder) -> None:
    streaming.plan.event_ids = False
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.plan.cut_after = 1
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    error = receiver.failures[message.id or 0]
    assert isinstance(error, LinkLostError)
    assert error.maybe_sent
    assert streaming.called == [("count", {"n": 3})]


@pytest.mark.parametrize("code", [404, 405, 400])
async def test_a_server_that_will_not_resume_ends_the_call(
    streaming: HttpServer, receiver: Recorder, code: int
) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.plan.cut_after = 1
        streaming.fault("GET", status(code))
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    error = receiver.failures[message.id or 0]
    assert isinstance(error, LinkLostError)
    assert (error.maybe_sent, str(code) in str(error)) == (True, True)


async def test_resuming_passes_over_a_server_that_is_busy(streaming: HttpServer, receiver: Recorder) -> None:
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.plan.cut_after = 1
        streaming.fault("GET", status(503))
        message = receiver.call("count", n=3)
        await receiver.hand(link, message)
    assert list(receiver.answers) == [message.id]


@pytest.mark.parametrize(
    "fault",
    [
        status(200, body=b"<html>hello</html>", kind="text/html"),
        status(202),
        status(204),
        status(200, body=b"{}", kind="application/json"),
        json_body({"jsonrpc": "2.0", "id": 999, "result": {}}),
        gzip_bomb(128 << 20),
        status(200, {"Content-Encoding": "gzip"}, b"not gzip", "application/json"),
        raw(b"nonsense\r\n\r\n"),
    ],
)
async def test_an_answer_of_the_wrong_kind_fails_that_call_alone(
    server: HttpServer, receiver: Recorder, fault: Fault
) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        server.fault("tools/call", fault)
        await receiver.hand(link, receiver.call("echo"))
        await receiver.hand(link, receiver.call("echo", text="next"))
    assert isinstance(receiver.failures[2], ProtocolError)
    assert text_of(receiver.answers[3]) == "next"


async def test_an_answer_may_be_compressed(server: HttpServer, receiver: Recorder) -> None:
    body = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"zipped": True}}).encode())
    server.fault("tools/call", status(200, {"Content-Encoding": "gzip"}, body, "application/json"))
    async with opened(server.url, receiver) as link:
        await receiver.hand(link, receiver.call("echo"))
    assert receiver.answers[1]["result"] == {"zipped": True}


async def test_an_answer_beyond_the_bound_fails_that_call_alone(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25", max_message_bytes=100_000) as link:
        await receiver.hand(link, receiver.call("big", size=1_000_000))
        await receiver.hand(link, receiver.call("echo", text="next"))
    assert str(receiver.failures[2]) == f"The answer of {server.origin} is larger than 100000 bytes."
    assert text_of(receiver.answers[3]) == "next"


async def test_an_answer_of_many_megabytes_arrives_whole(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await receiver.hand(link, receiver.call("big", size=24 << 20))
    assert len(text_of(receiver.answers[2])) == 24 << 20


@pytest.mark.parametrize("sliver", [1, 13, 200])
async def test_an_answer_may_come_in_pieces(server: HttpServer, receiver: Recorder, sliver: int) -> None:
    server.plan.dribble = sliver
    async with ChaosProxy(server.port, Chaos(sliver=sliver)) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver, version="2025-11-25") as link:
            await receiver.hand(link, receiver.call("echo", text="drop by drop: é€😀"))
    assert text_of(receiver.answers[2]) == "drop by drop: é€😀"


async def test_a_connection_is_used_again_after_an_answer_that_came_in_pieces(receiver: Recorder) -> None:
    async with HttpServer(Plan(answers="json")) as server, ChaosProxy(server.port, Chaos(sliver=50)) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver, version=MODERN) as link:
            for _ in range(3):
                await receiver.hand(link, receiver.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}}))
        assert (len(receiver.answers), proxy.connections) == (3, 1)


@pytest.mark.parametrize("error", [-32020, -32602, -32601])
async def test_an_error_in_a_refusal_reaches_the_caller_as_it_is(
    server: HttpServer, receiver: Recorder, error: int
) -> None:
    async with opened(server.url, receiver, version=MODERN) as link:
        message = receiver.modern("tools/call")
        body = {"jsonrpc": "2.0", "id": message.id, "error": {"code": error, "message": "no"}}
        server.fault("tools/call", json_body(body, 400))
        await receiver.hand(link, message)
    assert receiver.answers == {message.id: body}


async def test_before_the_revision_is_known_a_refusal_is_a_status_with_its_body(
    server: HttpServer, receiver: Recorder
) -> None:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "no", "data": {"supported": ["x"]}}}
    server.fault("server/discover", json_body(body, 400))
    async with opened(server.url, receiver) as link:
        await receiver.hand(link, receiver.modern("server/discover"))
    error = receiver.failures[1]
    assert isinstance(error, HttpStatusError)
    assert (error.status, json.loads(error.body)) == (400, body)


# Neighbours


async def test_one_broken_call_never_touches_its_neighbours(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        waiting = [receiver.call("wait") for _ in range(20)]
        tasks = [asyncio.create_task(receiver.hand(link, message)) for message in waiting]
        await server.until(lambda: len(server.called) == 20)
        server.fault("tools/call", reset(), status(500), status(200, kind="image/png"), raw(b"junk"))
        broken = [receiver.call("echo") for _ in range(4)]
        for message in broken:
            await receiver.hand(link, message)
        assert sorted(receiver.failures) == [message.id for message in broken]
        server.gate.set()
        await asyncio.gather(*tasks)
    assert sorted(receiver.answers) == [message.id for message in waiting]


async def test_cancelling_the_caller_closes_its_exchange_alone(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version=MODERN) as link:
        call = {"name": "wait", "arguments": {}}
        first, second = receiver.modern("tools/call", call), receiver.modern("tools/call", call)
        tasks = [asyncio.create_task(receiver.hand(link, message)) for message in (first, second)]
        await server.until(lambda: len(server.called) == 2)
        tasks[0].cancel()
        await server.until(lambda: server.abandoned == [first.id])
        server.gate.set()
        await tasks[1]
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
    assert (list(receiver.answers), receiver.failures) == ([second.id], {})


@pytest.mark.parametrize(("version", "told"), [("2025-11-25", False), (MODERN, True)])
async def test_a_cancelled_request_lets_its_sender_return(
    server: HttpServer, receiver: Recorder, version: str, told: bool
) -> None:
    async with opened(server.url, receiver, version=version) as link:
        call = {"name": "wait", "arguments": {}}
        message = receiver.modern("tools/call", call)
        task = asyncio.create_task(link.send(message))
        await server.until(lambda: len(server.called) == 1)
        assert link.cancel(message.id or 0) is told
        await task
        assert task.cancelling() == 0
    assert (receiver.answers, isinstance(receiver.failures.get(message.id or 0), LinkLostError)) == ({}, False)


@pytest.mark.parametrize(("version", "told"), [("2025-11-25", False), (MODERN, True)])
async def test_a_posted_request_that_is_cancelled_closes_its_exchange(
    server: HttpServer, version: str, told: bool
) -> None:
    receiver = Recorder()
    async with opened(server.url, receiver, version=version) as link:
        await link.send(receiver.modern("tools/list"))
        message = receiver.modern("tools/call", {"name": "wait", "arguments": {}})
        assert link.post(message)
        await server.until(lambda: len(server.called) == 1)
        assert link.cancel(message.id or 0) is told
        await server.until(lambda: server.abandoned == [message.id])
    assert (receiver.awaits(message.id or 0), receiver.failures) == (True, {})


async def test_closing_the_link_ends_what_is_under_way(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        message = receiver.call("wait")
        task = asyncio.create_task(receiver.hand(link, message))
        await server.until(lambda: len(server.called) == 1)
    await task
    assert isinstance(receiver.failures[message.id or 0], LinkLostError)


async def test_a_server_that_is_not_there_fails_with_nothing_sent(receiver: Recorder) -> None:
    async with HttpServer() as server:
        url = server.url
    async with opened(url, receiver) as link:
        await receiver.hand(link, receiver.initialize())
        with pytest.raises(ConnectError):
            await receiver.hand(link, notification("notifications/initialized"))
    assert isinstance(receiver.failures[1], ConnectError)


async def test_a_silent_connection_holds_up_nobody_else(server: HttpServer, receiver: Recorder) -> None:
    server.plan.sessions = False
    async with ChaosProxy(server.port, Chaos(stall_down=20)) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver) as link:
            stuck = receiver.call("echo", text="stuck")
            task = asyncio.create_task(receiver.hand(link, stuck))
            await server.until(lambda: len(server.called) == 1)
            proxy.plan = Chaos()
            await receiver.hand(link, receiver.call("echo", text="free"))
            link.cancel(stuck.id or 0)
            await task
    assert {id: text_of(answer) for id, answer in receiver.answers.items()} == {2: "free"}


# Nothing is lost or doubled wherever the connection breaks


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("answers", ["json", "sse"])
async def test_a_reset_at_any_byte_ends_the_call_exactly_once(
    receiver: Recorder, answers: Literal["json", "sse"], direction: str
) -> None:
    plan = Plan(answers=answers, sessions=False, event_ids=False)
    async with HttpServer(plan) as server, ChaosProxy(server.port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}/mcp"
        async with opened(url, receiver) as link:
            await receiver.hand(link, receiver.call("echo", text="measure"))
        length = proxy.bytes_down if direction == "down" else proxy.bytes_up
        calls = len(server.called)
        for cut in range(length + 1):
            proxy.plan = Chaos(cut_down=cut) if direction == "down" else Chaos(cut_up=cut)
            async with opened(url, receiver) as link:
                await receiver.hand(link, receiver.call("echo", text="measure"))
            assert receiver.waiting == set()
    assert len(receiver.answers) + len(receiver.failures) == length + 2
    assert {type(error) for error in receiver.failures.values()} == {LinkLostError}
    # At most once: no call ran more often than it was made.
    assert len(server.called) <= calls + length + 1


async def test_a_session_that_is_cut_at_every_place_can_always_be_finished(receiver: Recorder) -> None:
    """Whatever breaks, the next attempt on the same link works."""
    plan = Plan(answers="sse", sessions=False, event_ids=False)
    async with HttpServer(plan) as server, ChaosProxy(server.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver) as link:
            for cut in range(0, 400, 11):
                proxy.cut()
                proxy.plan = Chaos(cut_down=cut)
                await receiver.hand(link, receiver.call("echo"))
                proxy.cut()
                proxy.plan = Chaos()
                good = receiver.call("echo", text="good")
                await receiver.hand(link, good)
                assert text_of(receiver.answers[good.id or 0]) == "good"


# Limits and credentials


async def test_a_rate_limit_is_waited_out(server: HttpServer, receiver: Recorder) -> None:
    server.fault("tools/call", status(429, {"Retry-After": "0"}), status(429, {"Retry-After": "0"}))
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await receiver.hand(link, receiver.call("echo", text="patient"))
    assert text_of(receiver.answers[2]) == "patient"
    assert server.methods().count("tools/call") == 3
    assert server.called == [("echo", {"text": "patient"})]


@pytest.mark.parametrize(
    "faults",
    [
        [status(429)],
        [status(429, {"Retry-After": "soon"})],
        [status(429, {"Retry-After": "86400"})],
        [status(429, {"Retry-After": "0"})] * 9,
        [status(503, {"Retry-After": "0"})],
        [status(500)],
    ],
)
async def test_other_refusals_are_reported_and_not_repeated(
    server: HttpServer, receiver: Recorder, faults: list[Fault]
) -> None:
    server.fault("tools/call", *faults)
    async with opened(server.url, receiver, version="2025-11-25") as link:
        await receiver.hand(link, receiver.call("echo"))
    assert isinstance(receiver.failures[2], HttpStatusError)
    assert server.called == []
    assert server.methods().count("tools/call") == (4 if len(faults) == 9 else 1)


class Rotating:
    """Credentials that change each time they are challenged; gives up after `lives` challenges."""

    def __init__(self, lives: int = 9) -> None:
        self.generation = 0
        self.challenges: list[tuple[int, str, Mapping[str, str]]] = []
        self._lives = lives

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.generation}"}

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        self.challenges.append((status, headers.get("WWW-Authenticate", ""), sent))
        self.generation += 1
        return len(self.challenges) <= self._lives


class Prompt(Rotating):
    """One that has its credentials at hand."""

    def headers_at_hand(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.generation}"}


@pytest.mark.parametrize("kind", [Rotating, Prompt])
async def test_a_challenge_is_met_with_new_credentials(
    server: HttpServer, receiver: Recorder, kind: type[Rotating]
) -> None:
    authorizer = kind()
    challenge = {"WWW-Authenticate": 'Bearer scope="a"'}
    server.fault("tools/call", status(401, challenge), status(403, challenge))
    async with opened(server.url, receiver, version="2025-11-25", authorizer=authorizer) as link:
        await receiver.hand(link, receiver.call("echo", text="in"))
    assert text_of(receiver.answers[2]) == "in"
    # Who answers for the credentials is shown them, and the revision that was spoken.
    told = [
        (code, header, sent["Authorization"], sent["MCP-Protocol-Version"])
        for code, header, sent in authorizer.challenges
    ]
    assert told == [
        (401, 'Bearer scope="a"', "Bearer 0", "2025-11-25"),
        (403, 'Bearer scope="a"', "Bearer 1", "2025-11-25"),
    ]
    sent = [seen.headers["Authorization"] for seen in server.seen if seen.method == "tools/call"]
    assert sent == ["Bearer 0", "Bearer 1", "Bearer 2"]


async def test_a_second_challenge_of_the_same_kind_is_reported(server: HttpServer, receiver: Recorder) -> None:
    server.fault("tools/call", *[status(401, body=b"denied")] * 5)
    async with opened(server.url, receiver, version="2025-11-25", authorizer=Rotating()) as link:
        await receiver.hand(link, receiver.call("echo"))
    error = receiver.failures[2]
    assert isinstance(error, HttpStatusError)
    assert (error.status, error.body, server.methods().count("tools/call")) == (401, b"denied", 2)


async def test_a_challenge_that_is_not_ours_to_mend_is_reported(server: HttpServer, receiver: Recorder) -> None:
    server.fault("tools/call", status(401))
    async with opened(server.url, receiver, version="2025-11-25", authorizer=Rotating(lives=0)) as link:
        await receiver.hand(link, receiver.call("echo"))
    assert isinstance(receiver.failures[2], HttpStatusError)
    assert server.methods().count("tools/call") == 1


async def test_a_wrong_api_key_is_named_as_such(server: HttpServer, receiver: Recorder) -> None:
    server.fault("initialize", status(401))
    async with opened(server.url, receiver, authorizer=StaticAuthorizer("sk-secret")) as link:
        await receiver.hand(link, receiver.initialize())
    error = receiver.failures[1]
    assert isinstance(error, AuthError)
    assert "Check the API key" in str(error)
    assert "sk-secret" not in str(error)


async def test_what_nobody_waits_for_and_is_refused_ends_without_a_traceback(
    streaming: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The word that a call is over, and the answer to what the server asked: neither has a caller who could be told."""

    class Refused(StaticAuthorizer):
        challenges: ClassVar[asyncio.Queue[int]] = asyncio.Queue()

        async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
            self.challenges.put_nowait(status)
            return await super().challenged(status, headers, sent)

    destination = Destination(streaming.url, options=LOCAL, authorizer=Refused("sk-secret"))
    async with Connection(HttpTransport(destination)) as connection:
        await connection.request("initialize", json.loads(Recorder().initialize().data)["params"], timeout=60)
        connection.link.established("2025-11-25")
        await connection.notify("notifications/initialized")
        await streaming.until(lambda: "GET" in streaming.methods())
        streaming.fault("notifications/cancelled", status(401))
        with pytest.raises(DeadlineError):
            await connection.request("tools/call", {"name": "wait", "arguments": {}}, timeout=0.05)
        assert await Refused.challenges.get() == 401
        streaming.fault("POST", status(401))
        streaming.announce({"jsonrpc": "2.0", "id": "one", "method": "ping"})
        assert await Refused.challenges.get() == 401
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


CALLER = ContextVar("CALLER", default="nobody")


async def test_a_challenge_is_met_in_the_context_of_its_call(server: HttpServer, receiver: Recorder) -> None:
    class Noting(Prompt):
        callers: ClassVar[list[str]] = []

        async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
            self.callers.append(CALLER.get())
            return await super().challenged(status, headers, sent)

    server.fault("tools/call", status(401))
    async with opened(server.url, receiver, version="2025-11-25", authorizer=Noting()) as link:
        CALLER.set("this call")
        await receiver.hand(link, receiver.call("echo", text="in"))
    assert (text_of(receiver.answers[2]), Noting.callers) == ("in", ["this call"])


async def test_what_a_server_says_to_a_call_is_heard_in_the_context_of_that_call(streaming: HttpServer) -> None:
    """A connection is opened for one call and used by others: what is begun for a question belongs to the call it came with."""

    class Noting(Recorder):
        callers: ClassVar[list[str]] = []

        def received(self, data: bytes, origin: int | None) -> None:
            if origin is not None:
                self.callers.append(CALLER.get())
            super().received(data, origin)

    receiver = Noting()
    async with opened(streaming.url, receiver, version="2025-11-25") as link:
        receiver.callers.clear()
        for caller in ("the first call", "the second call"):
            CALLER.set(caller)
            await receiver.hand(link, receiver.call("count", n=1))
            await receiver.hand(link, receiver.call("echo", text="in"))
    assert receiver.callers == [*["the first call"] * 3, *["the second call"] * 3]


async def test_a_needed_sign_in_reaches_the_caller(server: HttpServer, receiver: Recorder) -> None:
    class SignedOut(Rotating):
        async def headers(self) -> Mapping[str, str]:
            raise SignInNeededError("Sign in first.", hint="openclaw mcp auth x")

    async with opened(server.url, receiver, authorizer=SignedOut()) as link:
        await receiver.hand(link, receiver.initialize())
    assert isinstance(receiver.failures[1], SignInNeededError)
    assert server.seen == []


async def test_calls_stay_parallel_while_one_is_challenged(server: HttpServer, receiver: Recorder) -> None:
    class Slow(Rotating):
        asked = asyncio.Event()
        go = asyncio.Event()

        async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
            self.asked.set()
            await self.go.wait()
            return await super().challenged(status, headers, sent)

    authorizer = Slow()
    async with opened(server.url, receiver, version="2025-11-25", authorizer=authorizer) as link:
        server.fault("tools/call", status(401))
        slow = asyncio.create_task(receiver.hand(link, receiver.call("echo", text="slow")))
        await authorizer.asked.wait()
        await receiver.hand(link, receiver.call("echo", text="quick"))
        assert list(receiver.answers) == [3]
        authorizer.go.set()
        await slow
    assert {id: text_of(answer) for id, answer in receiver.answers.items()} == {2: "slow", 3: "quick"}


@pytest.mark.requirement("001-2.1-http")
@pytest.mark.requirement("001-FR-1-headers")
async def test_configured_headers_go_out_and_give_way_to_ours(server: HttpServer, receiver: Recorder) -> None:
    headers = {"X-Team": "blue", "authorization": "old", "mcp-session-id": "forged", "Origin": "https://me.example"}
    async with opened(server.url, receiver, headers=headers, authorizer=StaticAuthorizer("new")) as link:
        await receiver.hand(link, receiver.initialize())
    sent = server.seen[0].headers
    picked = {name: sent.get(name) for name in ("X-Team", "Authorization", "Mcp-Session-Id", "Origin")}
    assert picked == {
        "X-Team": "blue",
        "Authorization": "Bearer new",
        "Mcp-Session-Id": None,
        "Origin": "https://me.example",
    }


async def test_a_cookie_that_the_server_takes_back_is_sent_no_more(server: HttpServer, receiver: Recorder) -> None:
    def setting(cookie: str) -> Fault:
        """The answer to a call, with a cookie."""

        async def answer(_: HttpServer, request: web.Request, message: Message) -> web.StreamResponse:
            result = {"content": [{"type": "text", "text": "hi"}]}
            body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return web.json_response(body, headers={"Set-Cookie": cookie})

        return answer

    options = replace(LOCAL, cookies=True)
    async with opened(server.url, receiver, version="2025-06-18", options=options) as link:
        server.fault("tools/call", setting("route=a1"))
        await receiver.hand(link, receiver.call("echo"))
        # What is the same in all calls from now on is made anew, with the cookie there.
        link.established("2025-06-18")
        await receiver.hand(link, receiver.call("echo"))
        server.fault("tools/call", setting("route=; Max-Age=0"))
        await receiver.hand(link, receiver.call("echo"))
        await receiver.hand(link, receiver.call("echo"))
    sent = [seen.headers.get("Cookie") for seen in server.seen if seen.method == "tools/call"]
    assert sent == [None, "route=a1", "route=a1", None]


@pytest.mark.requirement("000-14.6-origin")
async def test_no_origin_is_sent_unless_configured(server: HttpServer, receiver: Recorder) -> None:
    async with opened(server.url, receiver) as link:
        await receiver.hand(link, receiver.initialize())
    assert "Origin" not in server.seen[0].headers


async def test_credentials_do_not_follow_a_redirect_and_its_challenge_is_not_answered(
    server: HttpServer, receiver: Recorder
) -> None:
    async with HttpServer() as other:
        authorizer = Rotating()
        headers = {"X-Api-Key": "k"}
        async with opened(server.url, receiver, version="2025-11-25", headers=headers, authorizer=authorizer) as link:
            server.fault("tools/call", status(307, {"Location": other.url}))
            other.fault("tools/call", status(401, {"WWW-Authenticate": "Bearer"}))
            await receiver.hand(link, receiver.call("echo"))
        secret = {"Authorization", "X-Api-Key", "Mcp-Session-Id"}
        assert [secret & set(seen.headers) for seen in other.seen] == [set()]
    error = receiver.failures[2]
    assert isinstance(error, HttpStatusError)
    assert (error.status, authorizer.challenges) == (401, [])
    assert "configure the new URL" in error.hint


async def test_another_origin_that_wants_a_session_is_refused_with_the_url_to_configure(
    server: HttpServer, receiver: Recorder
) -> None:
    async with HttpServer() as other, opened(server.url, receiver) as link:
        server.fault("initialize", status(307, {"Location": f"{other.url}?key=hidden"}))
        await receiver.hand(link, receiver.initialize("2025-11-25"))
        error, names = receiver.failures[1], (server.origin, other.url)
    assert isinstance(error, AddressError)
    assert str(error) == (
        f"{names[0]} redirects to another address ({names[1]}), which wants an MCP session. Put that URL into the config."
    )
    assert [seen.method for seen in server.seen] == ["initialize"]


async def test_a_call_without_a_session_follows_a_redirect_to_another_origin(
    server: HttpServer, receiver: Recorder
) -> None:
    async with HttpServer() as other, opened(server.url, receiver, version=MODERN) as link:
        server.fault("tools/call", status(307, {"Location": other.url}))
        await receiver.hand(
            link, receiver.modern("tools/call", {"name": "echo", "arguments": {"text": "moved"}}, name="echo")
        )
    assert text_of(next(iter(receiver.answers.values()))) == "moved"


async def test_an_answer_that_says_in_two_ways_where_it_ends_is_refused_and_its_connection_not_used_again(
    server: HttpServer, receiver: Recorder
) -> None:
    server.plan.sessions = False
    smuggled = b"2\r\n{}\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    async with ChaosProxy(server.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}/mcp", receiver) as link:
            server.fault("tools/call", raw(head % len(smuggled) + smuggled))
            for _ in range(2):
                await receiver.hand(link, receiver.call("echo", text="hi"))
        assert proxy.connections == 2
    assert isinstance(receiver.failures[1], ProtocolError)
    assert text_of(receiver.answers[2]) == "hi"


async def test_a_redirect_to_another_address_of_the_origin_gets_no_credentials_and_its_challenge_no_answer(
    server: HttpServer, receiver: Recorder
) -> None:
    authorizer = Rotating()
    headers = {"X-Api-Key": "k"}
    async with opened(server.url, receiver, version="2025-11-25", headers=headers, authorizer=authorizer) as link:
        server.fault("tools/call", status(307, {"Location": "/tenant-b/mcp"}))
        server.fault("/tenant-b/mcp", status(401, {"WWW-Authenticate": "Bearer"}))
        await receiver.hand(link, receiver.call("echo"))
    (there,) = [seen for seen in server.seen if seen.path == "/tenant-b/mcp"]
    assert {"Authorization", "X-Api-Key", "Mcp-Session-Id"} & set(there.headers) == set()
    error = receiver.failures[2]
    assert isinstance(error, HttpStatusError)
    assert (error.status, authorizer.challenges, "configure the new URL" in error.hint) == (401, [], True)


async def test_a_redirect_within_the_origin_is_followed_with_the_session(
    server: HttpServer, receiver: Recorder
) -> None:
    async with opened(server.url, receiver, version="2025-11-25") as link:
        server.fault("tools/call", status(308, {"Location": "/mcp"}))
        await receiver.hand(link, receiver.call("echo", text="moved"))
    assert text_of(receiver.answers[2]) == "moved"
