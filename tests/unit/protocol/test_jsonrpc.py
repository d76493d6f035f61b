"""JSON-RPC messages to bytes and back."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from openclaw.errors import ProtocolError, UsageError
from openclaw.protocol.jsonrpc import (
    Failure,
    Malformed,
    Notification,
    Request,
    Result,
    decode,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    parse,
    recover_id,
    repair,
)
from parts.nesting import DEEP


def values(message: Any) -> Any:
    """A message as plain data: raw parts decoded, which they are not by themselves."""
    plain = {
        name: msgspec.json.decode(value) if isinstance(value, Raw) and bytes(value) else value
        for name, value in ((field, getattr(message, field)) for field in message.__struct_fields__)
    }
    return type(message).__name__, {k: None if isinstance(v, Raw) else v for k, v in plain.items()}


def the_one(data: bytes) -> Any:
    (message,) = decode(data)
    return message


def test_a_request_is_written_in_the_order_of_the_specification() -> None:
    assert encode_request(1, "tools/call", {"name": "x"}) == (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}'
    )


def test_params_that_are_not_given_are_left_out() -> None:
    assert encode_request("a", "ping") == b'{"jsonrpc":"2.0","id":"a","method":"ping"}'
    assert encode_notification("notifications/initialized") == b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def test_a_result_of_null_is_written() -> None:
    assert encode_result(3, None) == b'{"jsonrpc":"2.0","id":3,"result":null}'


def test_an_error_may_have_no_id_and_no_data() -> None:
    assert encode_error(None, -32700, "no") == b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}'


@pytest.mark.parametrize("value", ["\ud800", object(), {(1, 2): 3}])
def test_a_value_json_cannot_carry_is_our_own_fault(value: object) -> None:
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        encode_request(1, "x", {"value": value})


def test_a_result_stays_raw() -> None:
    message = the_one(b'{"jsonrpc":"2.0","id":5,"result":{"a": [1,  2]}}')
    assert (message.id, bytes(message.result)) == (5, b'{"a": [1,  2]}')


def test_a_request_is_told_from_a_notification_by_its_id() -> None:
    assert values(the_one(b'{"id":"x","method":"m","params":{"a":1}}')) == (
        "Request",
        {"id": "x", "method": "m", "params": {"a": 1}},
    )
    assert values(the_one(b'{"method":"m"}')) == ("Notification", {"method": "m", "params": None})


def test_an_error_is_decoded() -> None:
    assert the_one(b'{"id":1,"error":{"code":-32601,"message":"no","data":{"a":1}}}') == Failure(
        1, -32601, "no", {"a": 1}
    )


def test_an_error_without_an_id_is_an_error_about_nothing_in_particular() -> None:
    assert the_one(b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}') == Failure(None, -32700, "what?")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (b'"just text"', -32603, '"just text"'),
        (b"[]", -32603, "[]"),
        (b'{"code":-5.0,"message":"float"}', -5, "float"),
        (b'{"message":"no code"}', -32603, "no code"),
        (b"{}", -32603, "The server gave no reason."),
    ],
)
def test_a_badly_written_error_is_still_an_error(error: bytes, code: int, message: str) -> None:
    assert the_one(b'{"id":1,"error":%s}' % error) == Failure(1, code, message)


def test_an_error_wins_over_a_result() -> None:
    assert the_one(b'{"id":1,"result":{},"error":{"code":1,"message":"x"}}') == Failure(1, 1, "x")


def test_a_null_error_beside_a_result_is_no_error() -> None:
    assert values(the_one(b'{"id":1,"result":{},"error":null}')) == ("Result", {"id": 1, "result": {}})


def test_a_whole_number_written_as_a_float_is_the_same_id() -> None:
    assert values(the_one(b'{"id":7.0,"result":1}')) == ("Result", {"id": 7, "result": 1})


def test_a_batch_is_its_messages() -> None:
    messages = decode(b' [{"id":1,"result":1},{"method":"m"},{"id":2,"error":{"code":1,"message":"x"}}]')
    assert [type(message) for message in messages] == [Result, Notification, Failure]


def test_one_broken_message_of_a_batch_does_not_break_the_others() -> None:
    messages = decode(b'[{"id":1,"result":NaN},3,{"id":2,"result":2}]')
    assert [type(message) for message in messages] == [Result, Malformed, Result]


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (b'{"id":1,"result":[NaN,Infinity,-Infinity]}', [None, None, None]),
        (b'{"id":1,"result":"\\ud800"}', "\ufffd"),
        (b'\xef\xbb\xbf{"id":1,"result":1}', 1),
        (b'{"id":1,"method":null,"result":1}', 1),
    ],
)
def test_what_lenient_writers_produce_is_read(line: bytes, result: object) -> None:
    assert values(the_one(line)) == ("Result", {"id": 1, "result": result})


def test_bytes_that_are_not_utf_8_inside_a_result_are_replaced_when_it_is_read() -> None:
    assert parse(the_one(b'{"id":1,"result":"caf\xe9"}').result, str) == "caf\ufffd"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"te',
        b'{"jsonrpc":"2.0","id":8,"result":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"result":{"id":3,"x":@},"jsonrpc":"2.0","id":8}',
        b'{"result":{"id":3,"x":@},"id":8,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":8}',
        b'{"id":8,"result":01}',
    ],
)
def test_an_unreadable_answer_still_tells_whose_it_was(line: bytes) -> None:
    message = the_one(line)
    assert (type(message), message.id, message.asks) == (Malformed, 8, False)


@pytest.mark.parametrize(
    "line",
    [
        b"Starting server on stdio...",
        b'{"result":{"id":3,"broken":@}}',
        b'{"text":"\\"id\\":3","broken":@}',
        b'{"nested":{"id":3,',
        b'{"id":true,"result":1}',
        b'{"id":1.5,"result":1}',
        b'{"id":{"a":1},"result":1}',
        b"[]",
        b"{}",
        b"",
        b"3",
    ],
)
def test_a_line_without_a_top_level_id_fails_nobody(line: bytes) -> None:
    message = the_one(line)
    assert (type(message), message.id) == (Malformed, None)


def test_an_unreadable_request_is_told_from_an_unreadable_answer() -> None:
    message = the_one(b'{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"x":@}}')
    assert (type(message), message.id, message.asks) == (Malformed, 8, True)


def test_a_large_broken_answer_is_not_repaired_but_its_caller_is_known() -> None:
    line = b'{"id":4,"result":"' + b"x" * (3 << 20) + b'","y":NaN}'
    message = the_one(line)
    assert (type(message), message.id) == (Malformed, 4)


def test_the_reason_shows_a_little_of_the_line_without_control_characters() -> None:
    reason = the_one(b"\x1b[31mboom\n" + b"x" * 1000).reason
    assert "\x1b" not in reason
    assert "\\x1b[31mboom\\n" in reason
    assert len(reason) < 300


def test_an_id_behind_an_escaped_quote_is_found() -> None:
    assert recover_id(b'{"a":"\\"}{","id":"x\\"y","result":@', b"") == ('x"y', False)


def test_the_ends_of_a_message_too_long_to_keep_tell_its_id() -> None:
    head = b'{"result":{"content":[{"text":"' + b"x" * 4000
    assert recover_id(head, b'xxxx"}]},"jsonrpc":"2.0","id":77}') == (77, False)


def test_repair_leaves_the_meaning_alone() -> None:
    assert repair(b'{"a":[1,2.5,"\xc3\xa9",true,null]}') == '{"a":[1,2.5,"é",true,null]}'.encode()


def test_parse_reports_a_wrong_shape() -> None:
    with pytest.raises(ProtocolError, match="wrong shape"):
        parse(Raw(b'{"a":1}'), list)


def test_parse_reports_what_is_not_json() -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        parse(Raw(b"{nope"), dict)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
IDS = st.integers(-(2**60), 2**60) | st.text(max_size=20)


def encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(id=IDS, method=st.text(max_size=20), params=st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_a_request_comes_back_as_it_was(id: int | str, method: str, params: dict[str, Any]) -> None:
    if not encodable([id, method, params]):
        return
    message = the_one(encode_request(id, method, params))
    assert values(message) == ("Request", {"id": id, "method": method, "params": params})


@settings(max_examples=150, deadline=None)
@given(id=IDS, result=JSON)
def test_a_result_in_standard_json_is_read_as_the_standard_library_reads_it(id: int | str, result: Any) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
    if encodable([id, result]):
        message = the_one(line)
        assert (type(message), message.id) == (Result, id)
        assert parse(message.result, object) == result


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_no_bytes_make_decode_raise(data: bytes) -> None:
    assert decode(data)


@settings(max_examples=200, deadline=None)
@given(id=st.integers(0, 10**9), result=JSON, cut=st.floats(0.3, 0.999))
def test_a_truncated_answer_fails_its_own_caller_or_nobody(id: int, result: Any, cut: float) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
    message = the_one(line[: math.floor(len(line) * cut)])
    assert getattr(message, "id", None) in (id, None) or str(id).startswith(str(message.id))


def test_a_request_and_a_notification_are_values() -> None:
    assert Request(1, "a") == Request(1, "a")
    assert Notification("a") == Notification("a")
