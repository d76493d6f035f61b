"""The incremental parser of server-sent events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.protocol.sse import SseEvent, SseParser, single_message


def parse(data: bytes, *, cuts: list[int] | None = None, limit: int = 1 << 30) -> tuple[list[SseEvent], list[str]]:
    skipped: list[str] = []
    parser = SseParser(max_event_bytes=limit, skipped=skipped.append)
    places = sorted({min(cut, len(data)) for cut in cuts or []})
    events: list[SseEvent] = []
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        events += parser.feed(data[start:end])
    return events, skipped


def events_of(data: bytes) -> list[SseEvent]:
    return parse(data)[0]


def test_an_event_is_given_at_its_blank_line() -> None:
    parser = SseParser()
    assert parser.feed(b"data: one\n") == []
    assert parser.feed(b"\n") == [SseEvent("message", b"one")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_ends_a_line(end: bytes) -> None:
    data = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert events_of(data) == [SseEvent("a", b"1"), SseEvent("message", b"2")]


def test_mixed_line_endings_end_one_line_each() -> None:
    assert events_of(b"data: 1\r\ndata: 2\rdata: 3\n\r\n") == [SseEvent("message", b"1\n2\n3")]


def test_a_carriage_return_at_the_end_of_a_chunk_swallows_the_line_feed_of_the_next() -> None:
    parser = SseParser()
    assert parser.feed(b"data: 1\r") == []
    assert parser.feed(b"\n") == []
    assert parser.feed(b"\r") == [SseEvent("message", b"1")]
    assert parser.feed(b"\ndata: 2\n\n") == [SseEvent("message", b"2")]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_field() -> None:
    assert events_of(b"\xef\xbb\xbfdata: x\n\n") == [SseEvent("message", b"x")]


def test_a_byte_order_mark_later_is_part_of_its_line() -> None:
    events, skipped = parse(b"data: x\n\n\xef\xbb\xbfdata: y\n\n")
    assert events == [SseEvent("message", b"x")]
    assert skipped == ["a field with an unknown name was ignored"]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert events_of(b"data:  x\ndata:y\ndata\n\n") == [SseEvent("message", b" x\ny\n")]


def test_comments_are_no_events() -> None:
    assert parse(b": keep-alive\n\n:\n\ndata: x\n: between\ndata: y\n\n") == ([SseEvent("message", b"x\ny")], [])


def test_an_id_without_data_is_given_with_empty_data() -> None:
    parser = SseParser()
    assert parser.feed(b"id: 7\ndata:\n\nid: 8\n\n") == [SseEvent("message", b"", "7"), SseEvent("message", b"", "8")]
    assert parser.last_event_id == "8"


def test_the_last_event_id_changes_only_when_its_event_is_complete() -> None:
    parser = SseParser()
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_event_id == "1"


def test_an_empty_id_clears_the_last_event_id() -> None:
    parser = SseParser()
    parser.feed(b"id: 1\n\nid\n\n")
    assert parser.last_event_id == ""


def test_a_retry_time_is_kept_and_given() -> None:
    parser = SseParser()
    assert parser.feed(b"retry: 1500\n\n") == [SseEvent("message", b"", None, 1500)]
    assert parser.retry == 1500


@pytest.mark.parametrize("value", [b"soon", b"-5", b"1.5", b"9" * 40, "٣".encode(), b""])
def test_a_retry_time_that_is_not_a_number_is_skipped(value: bytes) -> None:
    parser_events, skipped = parse(b"retry: " + value + b"\ndata: x\n\n")
    assert parser_events == [SseEvent("message", b"x")]
    assert skipped == ["a retry time that is not a whole number was ignored"]


def test_an_id_with_a_null_character_is_skipped() -> None:
    events, skipped = parse(b"id: a\0b\ndata: x\n\n")
    assert events == [SseEvent("message", b"x")]
    assert skipped == ["an event id with a null character was ignored"]


def test_data_stays_as_it_came_and_names_lose_what_is_not_utf_8() -> None:
    assert events_of(b"event: a\xffb\ndata: a\xffb\n\n") == [SseEvent("a\ufffdb", b"a\xffb")]


def test_an_event_name_without_data_is_nothing() -> None:
    assert events_of(b"event: ping\n\ndata: x\n\n") == [SseEvent("message", b"x")]


def test_an_unfinished_event_is_never_given() -> None:
    assert events_of(b"data: x\n\ndata: half") == [SseEvent("message", b"x")]


def test_an_event_over_the_limit_is_dropped_and_the_next_one_is_given() -> None:
    parser = SseParser(max_event_bytes=20)
    assert parser.feed(b"id: 5\ndata: " + b"x" * 50 + b"\ndata: y\n\ndata: z\n\n") == [SseEvent("message", b"z")]
    assert parser.last_event_id == "5"


def test_many_short_lines_over_the_limit_are_dropped_too() -> None:
    events, skipped = parse(b"data: x\n" * 10 + b"\ndata: z\n\n", limit=20)
    assert events == [SseEvent("message", b"z")]
    assert skipped == ["an event of more than 20 bytes was dropped"]


def test_a_long_comment_does_not_drop_the_event_around_it() -> None:
    assert parse(b"data: a\n:" + b"c" * 100 + b"\n\n", limit=20) == ([SseEvent("message", b"a")], [])


def test_a_line_that_never_ends_is_not_kept() -> None:
    parser = SseParser(max_event_bytes=1000)
    parser.feed(b"data: ")
    for _ in range(1000):
        parser.feed(b"x" * 1000)
    assert parser._pieces.size <= 1000


def test_an_event_of_many_mebibytes_comes_through_whole() -> None:
    # A parser that joins or searches from the start at every chunk needs minutes here and meets the hang guard.
    size = 64 << 20
    parser = SseParser()
    events = parser.feed(b"data: ")
    for _ in range(size // 4096):
        events += parser.feed(b"x" * 4096)
    events += parser.feed(b"\n\n")
    assert events == [SseEvent("message", b"x" * size)]


LINES = st.sampled_from(
    [
        b"data: one",
        b"data: \xc3\xa9\xe2\x82\xac",
        b"data:" + b"long" * 20,
        b"data",
        b"event: endpoint",
        b"id: 42",
        b"id: \0",
        b"id",
        b"retry: 10",
        b"retry: x",
        b": comment",
        b":" + b"c" * 90,
        b"nonsense",
        b"\xff\xfe",
        b"",
    ]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@pytest.mark.requirement("000-15-unit")
@settings(max_examples=200, deadline=None)
@given(
    stream=STREAMS,
    mark=st.booleans(),
    cuts=st.lists(st.integers(0, 400), max_size=20),
    limit=st.sampled_from([10, 60, 1 << 20]),
)
def test_any_split_of_the_bytes_gives_the_same_events(stream: bytes, mark: bool, cuts: list[int], limit: int) -> None:
    data = b"\xef\xbb\xbf" + stream if mark else stream
    assert parse(data, cuts=cuts, limit=limit) == parse(data, limit=limit)


@settings(max_examples=100, deadline=None)
@given(stream=STREAMS)
def test_one_byte_at_a_time_gives_the_same_events(stream: bytes) -> None:
    assert parse(stream, cuts=list(range(len(stream)))) == parse(stream)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=10))
def test_arbitrary_bytes_never_raise(data: bytes, cuts: list[int]) -> None:
    assert parse(data, cuts=cuts) == parse(data)


PIECES = st.sampled_from(
    [
        b"event: message",
        b"event: other",
        b"id: 7",
        b"id:8",
        b"data: {}",
        b"data:x",
        b"data: ",
        b"data: \xc3\xa9",
        b": ping",
        b"retry: 5",
        b"\n",
        b"\r\n",
        b"\r",
        b"\n\n",
        b"\r\n\r\n",
        b" ",
        b"\xff",
        b"\xef\xbb\xbf",
    ]
)
# What the quick way takes, among what it does not.
MESSAGES = st.sampled_from([b"event: message\ndata: {}\n\n", b"id: 7\ndata: x\n\n", b"data: y\r\n\r\n"])


@given(st.lists(PIECES | MESSAGES, max_size=9))
@settings(max_examples=300)
def test_the_quick_way_to_read_one_message_says_what_reading_lines_says(pieces: list[bytes]) -> None:
    """A parser that gets a byte at a time is never given a whole message."""
    body = b"".join(pieces)
    slow, quick = SseParser(), SseParser()
    events = [event for at in range(len(body)) for event in slow.feed(body[at : at + 1])]
    assert [event for piece in pieces for event in quick.feed(piece)] == events
    assert quick.last_event_id == slow.last_event_id
    if (single := single_message(body)) is not None:
        assert events == [SseEvent("message", single[1], single[0])]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [[], [b"event: message"], [b"event: message", b"id: a-1"], [b"id: a-1"]])
def test_the_quick_way_takes_the_forms_that_servers_write(start: list[bytes], end: bytes) -> None:
    body = end.join([*start, b'data: {"id":1}', b"", b""])
    assert single_message(body) == ("a-1" if b"id: a-1" in start else None, b'{"id":1}')
