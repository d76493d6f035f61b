"""HTTP/1.1 on the wire: any split of the bytes gives the same answer, and nothing ambiguous is accepted."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import ProtocolError, TransportError
from openclaw.net.http1 import MAX_HEAD, ResponseParser, encode_fields, encode_request, encode_start, read_whole


def parsed(data: bytes, *, method: str = "GET", eof: bool = False, splits: tuple[int, ...] = ()) -> tuple[object, ...]:
    """Status, headers, cookies, body, and whether the body is whole and the connection may be used again."""
    parser = ResponseParser(method)
    edges = [0, *sorted(min(split, len(data)) for split in splits), len(data)]
    for start, end in pairwise(edges):
        if end > start:
            parser.feed(data[start:end])
    if eof:
        parser.feed_eof()
    assert parser.head is not None
    head = parser.head
    return head.status, head.fields, head.cookies, b"".join(parser.pieces), parser.finished, parser.reusable


OK = b"HTTP/1.1 200 OK\r\n"


def test_a_counted_body_is_read_to_its_end() -> None:
    data = OK + b"Content-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello"
    fields = {"content-length": "5", "content-type": "text/plain"}
    assert parsed(data) == (200, fields, (), b"hello", True, True)


def test_bytes_that_come_in_a_bytearray_are_read_alike() -> None:
    """As Windows' event loop hands them over."""
    for text in (b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"):
        parser = ResponseParser("GET")
        buffer = bytearray(OK + text)
        parser.feed(buffer)
        buffer[:] = b"x" * len(buffer)
        assert (parser.head is not None, b"".join(parser.pieces), parser.finished) == (True, b"hello", True)


def test_a_chunked_body_is_put_together() -> None:
    data = OK + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n 123456789\r\n0\r\nTrailer: x\r\n\r\n"
    assert parsed(data) == (200, {"transfer-encoding": "chunked"}, (), b"hello 123456789", True, True)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    data = b"HTTP/1.0 200 OK\r\n\r\nhello"
    assert parsed(data) == (200, {}, (), b"hello", False, False)
    assert parsed(data, eof=True) == (200, {}, (), b"hello", True, False)


@pytest.mark.parametrize(
    ("data", "method"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", "POST"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "GET"),
        (OK + b"Content-Length: 10\r\n\r\n", "HEAD"),
        (OK + b"Content-Length: 0\r\n\r\n", "POST"),
    ],
)
def test_some_answers_have_no_body(data: bytes, method: str) -> None:
    assert parsed(data, method=method)[3:] == (b"", True, True)


@pytest.mark.parametrize(
    ("line", "minor", "reusable"),
    [
        (b"", 1, True),
        (b"Connection: keep-alive\r\n", 1, True),
        (b"Connection: close\r\n", 1, False),
        (b"Connection: Keep-Alive, Close\r\n", 1, False),
        (b"", 0, False),
        (b"Connection: keep-alive\r\n", 0, True),
    ],
)
def test_a_connection_is_kept_only_when_both_sides_mean_it(line: bytes, minor: int, reusable: bool) -> None:
    data = b"HTTP/1.%d 200 OK\r\nContent-Length: 0\r\n%b\r\n" % (minor, line)
    assert parsed(data)[5] is reusable


def test_bytes_after_the_end_spoil_the_connection() -> None:
    for data in (
        OK + b"Content-Length: 1\r\n\r\nab",
        OK + b"Content-Length: 0\r\n\r\na",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ):
        assert parsed(data)[4:] == (True, False)


def test_interim_answers_are_passed_over() -> None:
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n"
    )
    assert parsed(data)[:2] == (200, {"content-length": "0"})


def test_repeated_headers_are_joined_and_cookies_kept_apart() -> None:
    data = OK + b"A: 1\r\na:2\r\nSet-Cookie: x=1, y\r\nset-cookie: z=2\r\nContent-Length: 0\r\n\r\n"
    assert parsed(data)[1:3] == ({"a": "1, 2", "content-length": "0"}, ("x=1, y", "z=2"))


def test_lines_that_end_with_a_bare_line_feed_are_understood() -> None:
    data = b"HTTP/1.1 200 OK\nContent-Length: 2\nA: b\n\n\r\n"
    assert parsed(data) == (200, {"content-length": "2", "a": "b"}, (), b"\r\n", True, True)


ODD = [
    b"SSH-2.0-OpenSSH_9.0\r\n",
    b"\x16\x03\x01\x00\xa5",
    b"HTTP/2 200\r\n\r\n",
    b"HTTP/1.2 200 OK\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n",
    b"HTTP/1.1 2000 OK\r\n\r\n",
    b"HTTP/1.1 099 OK\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    OK + b"Content-Length: -1\r\n\r\n",
    OK + b"Content-Length: +1\r\n\r\n",
    OK + b"Content-Length: 1 1\r\n\r\n",
    OK + b"Content-Length: 0x10\r\n\r\n",
    OK + b"Content-Length: 9999999999999999999999\r\n\r\n",
    OK + b"Content-Length: \xb2\r\n\r\n",
    OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    OK + b"Transfer-Encoding: gzip\r\n\r\n",
    # Two ways to tell where the answer ends, in any order, spelling and state.
    OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    OK + b"Content-Length: 5\r\nTRANSFER-ENCODING: Chunked\r\n\r\n",
    OK + b"Content-Length: 5\r\nTransfer-Encoding: identity\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    OK + b"Content-Length : 5\r\n\r\n",
    OK + b" Content-Length: 5\r\n\r\n",
    OK + b"A: b\r\n Content-Length: 5\r\n\r\n",
    OK + b"Content-Length: 5, 5\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\r\nhello\r\n",
    OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 5000,
    OK + b"No colon\r\n\r\n",
    OK + b"Folded: a\r\n b\r\n\r\n",
    OK + b"Space : a\r\n\r\n",
    OK + b": a\r\n\r\n",
    OK + b"A: b\rc\r\n\r\n",
    OK + b"A: b\0c\r\n\r\n",
    OK + b"A: " + b"b" * (MAX_HEAD + 1) + b"\r\n\r\n",
    OK + b"A: " + b"b" * (MAX_HEAD + 1),
    b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
]


@pytest.mark.parametrize("data", ODD)
def test_what_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseParser("GET").feed(data)


BODIES = st.binary(max_size=200)


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    """A well-formed response, counted or chunked, perhaps after an interim one."""
    body = draw(BODIES)
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" if draw(st.booleans()) else b""
    if draw(st.booleans()):
        return interim + OK + b"Content-Length: %d\r\nX: y\r\n\r\n" % len(body) + body
    chunks, position = b"", 0
    while position < len(body):
        size = draw(st.integers(1, 50))
        piece = body[position : position + size]
        chunks += b"%x\r\n%b\r\n" % (len(piece), piece)
        position += size
    return interim + OK + b"Transfer-Encoding: chunked\r\nX: y\r\n\r\n" + chunks + b"0\r\nT: u\r\n\r\n"


@given(responses(), st.lists(st.integers(0, 400), max_size=12))
@settings(max_examples=200)
def test_any_split_of_the_bytes_gives_the_same_answer(data: bytes, splits: list[int]) -> None:
    assert parsed(data, splits=tuple(splits)) == parsed(data)


@given(responses())
@settings(max_examples=50)
def test_one_byte_at_a_time_gives_the_same_answer(data: bytes) -> None:
    assert parsed(data, splits=tuple(range(len(data)))) == parsed(data)


@given(responses(), st.data())
@settings(max_examples=200)
def test_a_response_cut_anywhere_is_never_taken_for_a_whole_one(data: bytes, draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(0, len(data) - 1))
    parser = ResponseParser("GET")
    parser.feed(data[:cut])
    parser.feed_eof()
    assert not parser.finished


@given(st.binary(max_size=300))
@settings(max_examples=200)
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    for prefix in (b"", OK, OK + b"Transfer-Encoding: chunked\r\n\r\n"):
        try:
            ResponseParser("GET").feed(prefix + data)
        except ProtocolError:
            continue


def test_a_request_is_written_with_its_length() -> None:
    fields = encode_fields({"Accept": "*/*", "X": "é"})
    assert encode_request(encode_start("POST", "/a?b", "h:1", fields), b"{}") == (
        b"POST /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\nX: \xe9\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert encode_request(encode_start("GET", "/", "h", b""), None) == b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nY: b"},
        {"X": "a\rb"},
        {"X": "a\0b"},
        {"X": "\u20ac"},
        {"X\r\nY": "a"},
        {"X Y": "a"},
        {"X:": "a"},
        {"": "a"},
        {"Host": "evil.example"},
        {"content-length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "close"},
    ],
)
def test_a_header_that_would_change_the_message_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(TransportError):
        encode_fields(headers)


def test_a_refused_header_is_not_repeated_in_the_message() -> None:
    with pytest.raises(TransportError) as caught:
        encode_fields({"Authorization": "Bearer secret\n"})
    assert "secret" not in str(caught.value)


ODD_LINES = (
    b"Content-Length: 5",
    b"Content-Length: 05",
    b"content-length: 4",
    b"Content-Length: 0",
    b"Content-Length:",
    b"Transfer-Encoding: chunked",
    b"transfer-encoding: Chunked",
    b"Transfer-Encoding: gzip",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Content-Type: application/json; charset=utf-8",
    b"Content-Encoding: gzip",
    b"Set-Cookie: a=b",
    b"X: a\nY: b",
    b"X: a\n\nhello",
    b"no header",
)
WHOLE_BODIES = (
    b"hello",
    b"hell",
    b"hello!",
    b"",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    b"5;x\r\nhello\r\n0\r\n\r\n",
)


@given(
    start=st.sampled_from((b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 204 None", b"HTTP/1.1 100 Go", b"SMTP")),
    lines=st.lists(st.sampled_from(ODD_LINES), max_size=4),
    body=st.sampled_from(WHOLE_BODIES) | st.binary(max_size=40),
)
def test_the_quick_way_to_read_a_whole_answer_says_what_the_parser_says(
    start: bytes, lines: list[bytes], body: bytes
) -> None:
    data = b"\r\n".join([start, *lines]) + b"\r\n\r\n" + body
    answer = read_whole(data)
    if answer is not None:
        head, read = answer
        assert parsed(data, method="POST") == (head.status, head.fields, (), read, True, True)
        assert read


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
def test_the_quick_way_takes_an_answer_only_when_it_is_whole(rest: bytes) -> None:
    answers = [read_whole((OK + rest)[:end]) for end in range(len(OK + rest) + 1)]
    assert [answer and answer[1] for answer in answers] == [None] * len(OK + rest) + [b"hello"]
    assert read_whole(OK + rest + b"H") is None
    assert read_whole(bytearray(OK + rest)) is not None
