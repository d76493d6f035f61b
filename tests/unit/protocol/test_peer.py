"""Which answer belongs to which request."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from openclaw.errors import ProtocolError, RpcError
from openclaw.protocol.jsonrpc import (
    Notification,
    Request,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from openclaw.protocol.peer import Answered, Peer, Progressed, Refused, Stray, Unreadable


def peer_with(*waiters: str) -> Peer[str]:
    peer: Peer[str] = Peer()
    for waiter in waiters:
        peer.begin(waiter)
    return peer


def told(peer: Peer[str], data: bytes, origin: int | None = None) -> Any:
    (event,) = peer.receive(data, origin)
    return event


def test_an_answer_goes_to_whoever_asked() -> None:
    peer = peer_with("one", "two")
    event = told(peer, encode_result(2, {"a": 1}))
    assert (event.waiter, bytes(event.result)) == ("two", b'{"a":1}')
    assert peer.waiters == {1: "one"}


def test_ids_are_never_used_again() -> None:
    peer = peer_with("one")
    peer.abandon(1)
    told(peer, encode_result(1, {}))
    assert [peer.begin("two"), peer.begin("three")] == [2, 3]


def test_an_error_goes_to_whoever_asked() -> None:
    event = told(peer_with("one"), encode_error(1, -32601, "no such method", {"x": 1}))
    assert (event.waiter, event.error.code, event.error.message, event.error.data) == (
        "one",
        -32601,
        "no such method",
        {"x": 1},
    )


def test_a_late_and_a_second_answer_are_strays() -> None:
    peer = peer_with("one", "two")
    peer.abandon(1)
    assert told(peer, encode_result(1, {})) == Stray("a late or second answer to request 1", answers=1)
    told(peer, encode_result(2, {}))
    assert told(peer, encode_result(2, {})) == Stray("a late or second answer to request 2", answers=2)


@pytest.mark.parametrize("id", [99, 0, -1, "99", "abc", "1" * 5000])
def test_an_answer_to_nothing_is_a_stray(id: int | str) -> None:
    assert told(peer_with("one"), encode_result(id, {})) == Stray(f"an answer to request {id!r}, which was never made")


@pytest.mark.parametrize("written", [b'"1"', b"true", b"[1]", b"1.5"])
def test_an_id_of_another_type_is_another_id(written: bytes) -> None:
    peer = peer_with("one")
    assert isinstance(told(peer, b'{"jsonrpc":"2.0","id":' + written + b',"result":5}'), Stray)
    assert isinstance(told(peer, b'{"jsonrpc":"2.0","id":' + written + b',"error":{"code":1,"message":"x"}}'), Stray)
    progress = (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":' + written + b"}}"
    )
    assert isinstance(told(peer, progress), Stray)
    assert told(peer, encode_result(1, 5)).waiter == "one"


def test_an_answer_on_another_requests_stream_completes_nothing() -> None:
    peer = peer_with("one", "two")
    assert told(peer, encode_result(1, {}), origin=2) == Stray("an answer to request 1 on the stream of request 2")
    assert told(peer, encode_error(1, 1, "x"), origin=2) == Stray("an answer to request 1 on the stream of request 2")
    assert told(peer, b'{"jsonrpc":"2.0","id":1,"result":@', origin=2).__class__ is Stray
    assert peer.waiters == {1: "one", 2: "two"}


def test_an_error_without_an_id_on_a_requests_own_stream_is_about_that_request() -> None:
    event = told(peer_with("one", "two"), encode_error(None, -32700, "cannot read"), origin=2)
    assert (event.waiter, event.error.code) == ("two", -32700)


def test_an_error_without_an_id_on_a_shared_stream_is_a_stray() -> None:
    event = told(peer_with("one"), encode_error(None, -32700, "cannot read"))
    assert event == Stray("an error about no request in particular: 'cannot read' (-32700)")


def test_an_answer_that_cannot_be_read_fails_its_caller() -> None:
    event = told(peer_with("one", "two"), b'{"jsonrpc":"2.0","id":2,"result":{"broken":@}}')
    assert (type(event), event.waiter, type(event.error)) == (Refused, "two", ProtocolError)
    assert "The server's answer cannot be read" in str(event.error)


def test_noise_is_a_stray() -> None:
    assert told(peer_with("one"), b"hello").__class__ is Stray


def test_a_broken_request_wants_an_error_with_its_id() -> None:
    event = told(peer_with("one"), b'{"jsonrpc":"2.0","id":1,"method":"roots/list","params":@}')
    assert (type(event), event.id) == (Unreadable, 1)


def test_requests_and_notifications_of_the_other_side_are_given_as_they_are() -> None:
    peer = peer_with("one")
    assert isinstance(told(peer, encode_request(1, "ping")), Request)
    assert isinstance(told(peer, encode_notification("notifications/message")), Notification)
    assert peer.waiters == {1: "one"}


def test_progress_goes_to_the_request_whose_token_it_names() -> None:
    peer = peer_with("one", "two")
    data = encode_notification(
        "notifications/progress", {"progressToken": 2, "progress": 3, "total": 9, "message": "hm"}
    )
    assert told(peer, data) == Progressed("two", 3.0, 9.0, "hm")


@pytest.mark.parametrize(
    "params",
    [
        {"progressToken": 7, "progress": 1},
        {"progressToken": "x", "progress": 1},
        {"progress": 1},
        {"progressToken": None},
    ],
)
def test_progress_of_nothing_under_way_is_a_stray(params: dict[str, Any]) -> None:
    assert told(peer_with("one"), encode_notification("notifications/progress", params)).__class__ is Stray


def test_progress_on_another_requests_stream_is_a_stray() -> None:
    data = encode_notification("notifications/progress", {"progressToken": 1, "progress": 1})
    assert told(peer_with("one", "two"), data, origin=2).__class__ is Stray


def test_a_batch_may_answer_several() -> None:
    peer = peer_with("one", "two")
    events = peer.receive(b"[" + encode_result(2, 2) + b"," + encode_result(1, 1) + b"]", None)
    assert [(type(event), event.waiter) for event in events if isinstance(event, Answered)] == [
        (Answered, "two"),
        (Answered, "one"),
    ]


def test_everybody_can_be_let_go_at_once() -> None:
    peer = peer_with("one", "two")
    assert list(peer.abandon_all()) == [(1, "one"), (2, "two")]
    assert peer.waiters == {}


@settings(max_examples=200, deadline=None)
@given(
    answers=st.lists(
        st.tuples(st.integers(-1, 8), st.sampled_from(["result", "error", "broken"]), st.booleans()), max_size=20
    )
)
def test_every_request_ends_at_most_once_whatever_arrives(answers: list[tuple[int, str, bool]]) -> None:
    peer = peer_with("a", "b", "c", "d", "e")
    names = dict(peer.waiters)
    ended: list[str] = []
    for id, kind, as_text in answers:
        name: int | str = str(id) if as_text else id
        data = {
            "result": encode_result(name, 1),
            "error": encode_error(name, 1, "x"),
            "broken": b'{"jsonrpc":"2.0","id":%d,"result":@' % id,
        }[kind]
        before = set(peer.waiters)
        event = told(peer, data)
        if isinstance(event, Answered | Refused):
            ended.append(event.waiter)
            assert before - set(peer.waiters) == {i for i, waiter in names.items() if waiter == event.waiter}
        else:
            assert before == set(peer.waiters)
    assert len(ended) == len(set(ended))


def test_an_answer_and_an_error_carry_what_the_server_said() -> None:
    assert Answered("w", Raw(b"1")).waiter == "w"
    assert isinstance(Refused("w", RpcError(1, "x")).error, ProtocolError)
