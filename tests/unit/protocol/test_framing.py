"""Lines out of a byte stream."""

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.protocol.framing import LineFramer, Oversized
from openclaw.protocol.jsonrpc import ID_WINDOW


def frame(data: bytes, cuts: list[int], limit: int = 1 << 30) -> list[bytes | Oversized]:
    framer = LineFramer(limit)
    places = sorted({min(cut, len(data)) for cut in cuts})
    lines: list[bytes | Oversized] = []
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        lines += framer.feed(data[start:end])
    return lines + framer.finish()


def test_a_line_is_given_when_its_newline_arrives() -> None:
    framer = LineFramer(100)
    assert framer.feed(b"one") == []
    assert framer.feed(b" line\ntwo\nthr") == [b"one line", b"two"]
    assert framer.feed(b"ee\n") == [b"three"]


def test_blank_lines_are_left_out() -> None:
    assert frame(b"\n\r\n  \na\r\n\n", []) == [b"a\r"]


def test_a_last_line_without_a_newline_is_given_at_the_end() -> None:
    assert frame(b"a\nb", []) == [b"a", b"b"]


def test_a_line_at_the_limit_is_kept_and_one_past_it_is_not() -> None:
    assert frame(b"12345\n123456\n1\n", [], limit=5) == [b"12345", Oversized(b"123456", b"123456", 6), b"1"]


def test_a_line_too_long_leaves_its_two_ends() -> None:
    line = b"H" * ID_WINDOW + b"x" * 50_000 + b"T" * ID_WINDOW
    assert frame(line + b"\nnext\n", list(range(0, 60_000, 777)), limit=10_000) == [
        Oversized(b"H" * ID_WINDOW, b"T" * ID_WINDOW, len(line)),
        b"next",
    ]


def test_a_line_of_a_gigabyte_takes_no_more_memory_than_the_limit() -> None:
    framer = LineFramer(4 << 20)
    chunk = b"x" * (1 << 20)
    tracemalloc.start()
    try:
        for _ in range(1024):
            assert framer.feed(chunk) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
    (line,) = framer.feed(b"\n")
    assert isinstance(line, Oversized)
    assert line.size == 1 << 30


def test_a_line_of_many_mebibytes_comes_through_whole() -> None:
    # A framer that searches or joins from the start at every chunk needs minutes here and meets the hang guard.
    framer = LineFramer(1 << 30)
    for _ in range(64 << 8):
        assert framer.feed(b"x" * 4096) == []
    assert framer.feed(b"\n") == [b"x" * (64 << 20)]


@settings(max_examples=200, deadline=None)
@given(
    data=st.lists(st.sampled_from([b"\n", b"\r\n", b" ", b"{}", b'{"id":1}', b"x" * 30]), max_size=30).map(b"".join),
    cuts=st.lists(st.integers(0, 300), max_size=15),
    limit=st.sampled_from([1, 20, 1 << 20]),
)
def test_any_split_of_the_bytes_gives_the_same_lines(data: bytes, cuts: list[int], limit: int) -> None:
    assert frame(data, cuts, limit) == frame(data, [], limit)
