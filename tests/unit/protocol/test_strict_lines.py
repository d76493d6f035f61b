"""One line of a client, read strictly."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import Failure, Notification, Request, Result
from openclaw.protocol.strict_lines import Batch, ErrorAnswer, read
from parts.nesting import DEEP

NOT_JSON = "Parse error: the line is not JSON in UTF-8 (NaN, infinities and half surrogate pairs are not JSON either)."
NOT_A_MESSAGE = "Invalid request: this is not a JSON-RPC 2.0 message."
TOO_MANY = ErrorAnswer(None, -32600, "Invalid request: a batch has 100 messages at most.")
ODD_ID = "Invalid request: the id must be a string or a whole number of 64 bits."
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def line(**changes: Any) -> bytes:
    return json.dumps(PING | changes).encode()


@pytest.mark.parametrize(
    ("data", "id"),
    [
        (line(), 1),
        (line(id="a"), "a"),
        (line(id=""), ""),
        (line(id=0), 0),
        (line(id=-7), -7),
        (line(id=2**63 - 1), 2**63 - 1),
        (line(id=1.0), 1),
        (b"\xef\xbb\xbf" + line(), 1),
        (line() + b"\r", 1),
        (b"  " + line() + b" \t", 1),
        (b'{"jsonrpc":"2.0","id":9,"method":"x","id":1,"method":"ping"}', 1),
    ],
)
def test_a_request_is_read_with_its_id(data: bytes, id: int | str) -> None:
    assert read(data) == Request(id, "ping")


def test_parameters_stay_as_they_were_written() -> None:
    message = read(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a" : 1.50}}')
    assert message == Request(1, "m", msgspec.Raw(b'{"a" : 1.50}'))


def test_a_message_without_an_id_is_a_notification() -> None:
    assert read(b'{"jsonrpc":"2.0","method":"n"}') == Notification("n")


@pytest.mark.parametrize(
    ("answer", "read_as"),
    [
        ({"result": {}}, Result(5, Raw(b"{}"))),
        ({"result": None}, Result(5, Raw(b"null"))),
        ({"error": {"code": 1, "message": "x"}}, Failure(5, 1, "x")),
        ({"error": "x"}, Failure(5, -32603, "")),
    ],
)
def test_an_answer_is_read_with_the_id_of_what_was_asked(answer: dict[str, Any], read_as: object) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 5, **answer}).encode()
    assert (read(line), read(b"[" + line + b"]")) == (read_as, Batch(()))


@pytest.mark.parametrize("id", [None, 1.5, 2**70])
def test_an_answer_that_names_no_request_is_dropped(id: object) -> None:
    assert read(json.dumps({"jsonrpc": "2.0", "id": id, "result": {}}).encode()) is None


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"", ErrorAnswer(None, -32700, NOT_JSON)),
        (b"junk", ErrorAnswer(None, -32700, NOT_JSON)),
        (b"\x00", ErrorAnswer(None, -32700, NOT_JSON)),
        (b"\xff\xfe{}", ErrorAnswer(None, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":NaN}}', ErrorAnswer(3, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":"\\ud800"}}', ErrorAnswer(3, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"m"}', ErrorAnswer(None, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":"a\x01"}}', ErrorAnswer(3, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":3,"method":"m"', ErrorAnswer(3, -32700, NOT_JSON)),
        (b'{"jsonrpc":"2.0","id":3,"method":"m"}{}', ErrorAnswer(3, -32700, NOT_JSON)),
        (b"null", ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
        (b'"text"', ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
        (b"17", ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
        (b"{}", ErrorAnswer(None, -32600, "Invalid request: it names no method.")),
        (b'{"jsonrpc":"2.0","id":4}', ErrorAnswer(4, -32600, "Invalid request: it names no method.")),
        (line(method=5), ErrorAnswer(1, -32600, NOT_A_MESSAGE)),
        (line(method=None), ErrorAnswer(1, -32600, NOT_A_MESSAGE)),
        (line(jsonrpc="1.0"), ErrorAnswer(1, -32600, 'Invalid request: "jsonrpc" must be "2.0".')),
        (b'{"id":1,"method":"ping"}', ErrorAnswer(1, -32600, 'Invalid request: "jsonrpc" must be "2.0".')),
        (line(id=None), ErrorAnswer(None, -32600, ODD_ID)),
        (line(id=1.5), ErrorAnswer(None, -32600, ODD_ID)),
        (line(id=2**63), ErrorAnswer(None, -32600, ODD_ID)),
        (line(id=10**400), ErrorAnswer(None, -32600, ODD_ID)),
        (line(id=True), ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
        (line(id={"a": 1}), ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
        (line(id=[1]), ErrorAnswer(None, -32600, NOT_A_MESSAGE)),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_id_when_there_is_one(data: bytes, refusal: ErrorAnswer) -> None:
    assert read(data) == refusal


def test_nesting_without_end_is_refused() -> None:
    deep = b'{"jsonrpc":"2.0","id":8,"method":"m","params":' + b"[" * DEEP + b"]" * DEEP + b"}"
    assert read(deep) == ErrorAnswer(8, -32700, "Parse error: the line is nested too deeply.")


def test_a_batch_nested_without_end_is_refused() -> None:
    assert read(b"[" * DEEP + b"]" * DEEP) == ErrorAnswer(None, -32700, "Parse error: the line is nested too deeply.")


def test_a_line_too_long_to_keep_is_refused_by_its_ends() -> None:
    long = Oversized(b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"x":"aaaa', b'aaaa"}}', 400_000_000)
    expected = "Invalid request: the line has 400,000,000 bytes, more than are read."
    assert read(long) == ErrorAnswer(6, -32600, expected)


def test_a_batch_is_read_item_by_item() -> None:
    data = (
        b'[{"jsonrpc":"2.0","id":1,"method":"a"},7,{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"result":1}]'
    )
    expected = Batch((Request(1, "a"), ErrorAnswer(None, -32600, NOT_A_MESSAGE), Notification("n")))
    assert read(data) == expected


def test_a_batch_has_a_hundred_messages_at_most() -> None:
    one = b'{"jsonrpc":"2.0","id":1,"method":"a"}'
    assert read(b"[" + b",".join([one] * 100) + b"]") == Batch((Request(1, "a"),) * 100)
    assert read(b"[" + b",".join([one] * 101) + b"]") == TOO_MANY


def test_a_batch_of_millions_costs_no_memory() -> None:
    line = b"[" + b"1," * 2_000_000 + b"1]"
    read(b"[1]")
    tracemalloc.start()
    refused = read(line)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (refused, peak < 100_000) == (TOO_MANY, True)


def test_an_empty_batch_is_refused() -> None:
    assert read(b" [ ] ") == ErrorAnswer(None, -32600, "Invalid request: the batch is empty.")


@pytest.mark.parametrize("data", [b'[{"jsonrpc":"2.0"},', b"[" + b"1," * 200 + b"x]", b"[1] 2"])
def test_a_broken_batch_is_refused(data: bytes) -> None:
    assert read(data) == ErrorAnswer(None, -32700, NOT_JSON)


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise(data: bytes) -> None:
    message = read(data)
    assert message is None or isinstance(message, Request | Notification | Result | Failure | ErrorAnswer | Batch)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), JSON))
def test_no_object_whatever_raises_and_ids_can_be_written_back(value: dict[str, Any]) -> None:
    message = read(json.dumps(value).encode())
    if isinstance(message, Request | ErrorAnswer):
        assert msgspec.json.decode(msgspec.json.encode(message.id)) == message.id
