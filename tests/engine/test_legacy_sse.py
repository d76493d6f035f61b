"""HTTP+SSE (2024-11-05) against a real server: one stream for the answers, POST for the messages, one origin for both."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, TypeVar

import pytest
from aiohttp import web

from openclaw.errors import AddressError, ConnectError, HttpStatusError, LinkLostError, OpenClawError, ProtocolError
from openclaw.net.client import ClientOptions
from openclaw.security.egress import OPERATOR
from openclaw.transport.endpoint import Destination
from openclaw.transport.legacy_sse import LegacySseTransport
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.http_faults import hold, json_body, raw, reset, status
from parts.http_server import Fault, HttpServer, Message, Plan
from parts.processes import HANG_GUARD
from parts.recorder import Recorder, notification, text_of

T = TypeVar("T")

LOCAL = ClientOptions(rules=OPERATOR)


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with HttpServer(Plan(revisions=("2024-11-05",))) as server:
        yield server


@pytest.fixture
def receiver() -> Recorder:
    return Recorder()


@pytest.mark.requirement("000-15-compat")
@pytest.mark.requirement("000-4.6-endpoint-event")
@pytest.mark.requirement("000-4.6-stays")
async def test_a_call_is_answered_on_the_stream(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        await link.send(receiver.initialize("2024-11-05"))
        await receiver.until(lambda: 1 in receiver.answers)
        link.established("2024-11-05")
        await link.send(notification("notifications/initialized"))
        await link.send(receiver.call("echo", text="hi"))
        await receiver.until(lambda: 2 in receiver.answers)
    assert text_of(receiver.answers[2]) == "hi"
    assert (receiver.ended, receiver.failures, receiver.others) == ([], {}, [])
    assert server.methods() == ["GET", "initialize", "notifications/initialized", "tools/call"]


async def test_many_calls_share_the_stream(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        messages = [receiver.call("echo", text=str(number)) for number in range(50)]
        await asyncio.gather(*(link.send(message) for message in messages))
        await receiver.until(lambda: not receiver.waiting)
    assert {id: text_of(answer) for id, answer in receiver.answers.items()} == {id: str(id - 1) for id in range(1, 51)}


async def test_an_answer_ends_its_request_though_the_post_itself_is_never_answered(
    server: HttpServer, receiver: Recorder
) -> None:
    async def answered_but_not_taken(server: HttpServer, request: web.Request, message: Message) -> None:
        server.announce({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}})
        await asyncio.Event().wait()

    server.fault("tools/call", answered_but_not_taken)
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        await link.send(receiver.call("echo"))
        task = asyncio.current_task()
        assert task is not None
        assert (list(receiver.answers), receiver.failures, task.cancelling()) == ([1], {}, 0)


async def test_what_the_server_says_unasked_arrives(server: HttpServer, receiver: Recorder) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver):
        server.announce(note)
        await receiver.until(lambda: bool(receiver.others))
    assert receiver.others == [(note, None)]


def stream_with(endpoint: str) -> bytes:
    body = f"event: endpoint\ndata: {endpoint}\n\n".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b" % (len(body) + 9, body)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/messages",
        "//evil.example/messages",
        "http://127.0.0.1:1/messages",
        "http://localhost/messages",
        "http://user@127.0.0.1/messages",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://[::1",
    ],
)
async def test_an_endpoint_at_another_origin_is_refused(server: HttpServer, receiver: Recorder, endpoint: str) -> None:
    server.fault("GET", raw(stream_with(endpoint)))
    with pytest.raises(ProtocolError, match="named an endpoint"):
        async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver):
            raise AssertionError("it must not open")
    assert [seen.verb for seen in server.seen] == ["GET"]


@pytest.mark.parametrize("endpoint", ["messages?session=1", "/messages?session=1", "{origin}/messages?session=1"])
async def test_an_endpoint_may_be_relative_or_whole(server: HttpServer, receiver: Recorder, endpoint: str) -> None:
    server.fault("GET", raw(stream_with(endpoint.format(origin=server.origin)), ends=False))
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        server.fault("tools/call", status(202))
        await link.send(receiver.call("echo"))
    assert (server.seen[1].verb, server.seen[1].path) == ("POST", "/messages?session=1")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (status(404), HttpStatusError),
        (status(405), HttpStatusError),
        (status(401), HttpStatusError),
        (status(200, body=b"{}", kind="application/json"), ProtocolError),
        (reset(), LinkLostError),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n"), ConnectError),
    ],
)
async def test_a_url_that_is_no_such_stream_is_told_at_once(
    server: HttpServer, receiver: Recorder, fault: Fault, error: type[OpenClawError]
) -> None:
    server.fault("GET", fault)
    with pytest.raises(error):
        async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver):
            raise AssertionError("it must not open")
    assert receiver.ended == []


async def test_a_stream_that_names_no_endpoint_is_given_up(server: HttpServer, receiver: Recorder) -> None:
    server.fault("GET", hold())
    options = ClientOptions(rules=OPERATOR, connect_timeout=0.2)
    with pytest.raises(ConnectError, match=r"did not name its endpoint within 0\.2 s"):
        async with LegacySseTransport(Destination(server.sse_url, options=options)).open(receiver):
            raise AssertionError("it must not open")


async def test_the_end_of_the_stream_is_the_end_of_the_link(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver):
        server.end_legacy_streams()
        await receiver.until(lambda: bool(receiver.ended))
    [error] = receiver.ended
    assert isinstance(error, LinkLostError)


async def test_a_cut_stream_is_the_end_of_the_link(server: HttpServer, receiver: Recorder) -> None:
    async with ChaosProxy(server.port) as proxy:
        async with LegacySseTransport(Destination(f"http://127.0.0.1:{proxy.port}/sse", options=LOCAL)).open(receiver):
            proxy.cut()
            await receiver.until(lambda: bool(receiver.ended))
    assert [type(error) for error in receiver.ended] == [LinkLostError]


async def test_a_message_the_server_refuses_fails_alone(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        server.fault("tools/call", status(500), reset())
        await link.send(receiver.call("echo"))
        await link.send(receiver.call("echo"))
        await link.send(receiver.call("echo", text="next"))
        await receiver.until(lambda: 3 in receiver.answers)
    assert [type(error) for error in receiver.failures.values()] == [HttpStatusError, LinkLostError]
    assert (text_of(receiver.answers[3]), receiver.ended) == ("next", [])


async def test_a_forgotten_session_ends_the_link_and_the_message_was_not_processed(
    server: HttpServer, receiver: Recorder
) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        server.fault("tools/call", status(404))
        await link.send(receiver.call("echo"))
    error = receiver.failures[1]
    assert isinstance(error, LinkLostError)
    assert (error.maybe_sent, receiver.ended) == (False, [error])


async def test_a_notification_that_cannot_be_sent_raises(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        server.fault("notifications/initialized", status(500))
        with pytest.raises(HttpStatusError):
            await link.send(notification("notifications/initialized"))


async def test_a_cancelled_request_is_left_to_a_notification(server: HttpServer, receiver: Recorder) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        assert link.cancel(1) is False


async def test_credentials_go_with_the_stream_and_with_every_message(server: HttpServer, receiver: Recorder) -> None:
    class Challenged:
        token = 0

        async def headers(self) -> Mapping[str, str]:
            return {"Authorization": f"Bearer {self.token}"}

        async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
            self.token += 1
            return True

    server.fault("GET", status(401))
    transport = LegacySseTransport(
        Destination(server.sse_url, options=LOCAL, headers={"X-Team": "blue"}, authorizer=Challenged())
    )
    async with transport.open(receiver) as link:
        server.fault("tools/call", status(401))
        await link.send(receiver.call("echo"))
        await receiver.until(lambda: not receiver.waiting)
    sent = [(seen.verb, seen.headers["Authorization"], seen.headers["X-Team"]) for seen in server.seen]
    assert sent == [
        ("GET", "Bearer 0", "blue"),
        ("GET", "Bearer 1", "blue"),
        ("POST", "Bearer 1", "blue"),
        ("POST", "Bearer 2", "blue"),
    ]


async def test_a_large_answer_arrives_one_sliver_at_a_time(server: HttpServer, receiver: Recorder) -> None:
    async with ChaosProxy(server.port, Chaos(sliver=1000)) as proxy:
        async with LegacySseTransport(Destination(f"http://127.0.0.1:{proxy.port}/sse", options=LOCAL)).open(
            receiver
        ) as link:
            await link.send(receiver.call("big", size=2_000_000))
            await receiver.until(lambda: not receiver.waiting)
    assert len(text_of(receiver.answers[1])) == 2_000_000


async def test_a_reset_at_any_byte_of_the_stream_loses_nothing_silently() -> None:
    async with HttpServer() as server, ChaosProxy(server.port) as proxy:
        transport = LegacySseTransport(Destination(f"http://127.0.0.1:{proxy.port}/sse", options=LOCAL))
        opened = ended = 0

        async def call() -> None:
            nonlocal opened, ended
            own = Recorder()
            async with transport.open(own) as link:
                opened += 1
                await link.send(own.call("echo", text="x" * 300))
                await own.until(lambda: not own.waiting or bool(own.ended))
                ended += 1

        for cut in range(0, 600, 7):
            proxy.plan = Chaos(cut_down=cut)
            try:
                await call()
            except OpenClawError:
                continue
    assert 0 < opened == ended


async def test_a_404_that_answers_the_request_is_its_answer_and_ends_nothing(
    server: HttpServer, receiver: Recorder
) -> None:
    async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
        message = receiver.call("echo")
        error = {"jsonrpc": "2.0", "id": message.id, "error": {"code": -32000, "message": "No such note"}}
        server.fault("tools/call", json_body(error, 404))
        await link.send(message)
        again = receiver.call("echo", text="again")
        await link.send(again)
        await receiver.until(lambda: again.id in receiver.answers)
    assert (receiver.answers[message.id or 0], receiver.failures) == (error, {})


@pytest.mark.parametrize("headers", [{}, {"X-Api-Key": "k"}])
async def test_a_stream_that_is_redirected_gets_no_credentials_and_names_no_endpoint_for_them(
    server: HttpServer, receiver: Recorder, headers: Mapping[str, str]
) -> None:
    server.fault("GET", status(307, {"Location": "/sse?tenant=b"}))
    transport = LegacySseTransport(Destination(server.sse_url, options=LOCAL, headers=headers))
    if not headers:
        async with transport.open(receiver):
            pass
    else:
        with pytest.raises(AddressError, match="Put that URL into the config"):
            async with transport.open(receiver):
                pass
    assert ["X-Api-Key" in seen.headers for seen in server.seen] == [bool(headers), False]


def test_a_message_is_not_sent_after_an_end_of_the_stream_that_nobody_has_read_yet() -> None:
    """The server runs in a thread of its own: it ends the stream while the loop of the client stands still."""
    theirs = asyncio.new_event_loop()
    thread = threading.Thread(target=theirs.run_forever)
    thread.start()

    def there(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, theirs).result(HANG_GUARD)

    async def made() -> HttpServer:
        return await HttpServer(Plan(revisions=("2024-11-05",))).__aenter__()

    async def client(server: HttpServer, receiver: Recorder) -> Exception:
        async with LegacySseTransport(Destination(server.sse_url, options=LOCAL)).open(receiver) as link:
            await link.send(receiver.initialize("2024-11-05"))
            await receiver.until(lambda: 1 in receiver.answers)
            there(server.stop())
            there(server.start())
            await link.send(receiver.call("echo", text="hi"))
            return receiver.failures[2]

    server = there(made())
    try:
        error = asyncio.run(client(server, Recorder()))
    finally:
        there(server.stop())
        theirs.call_soon_threadsafe(theirs.stop)
        thread.join()
        theirs.close()
    assert isinstance(error, LinkLostError)
    assert not error.maybe_sent
    assert "tools/call" not in server.methods()
