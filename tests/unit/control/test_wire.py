"""The frames of the control socket, and the request in the first of them."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.control import wire
from openclaw.gateway.request import CommandRequest, read_request

kinds = st.sampled_from([wire.OUT, wire.ERR, wire.EXIT, wire.QUESTION, wire.CANCEL])
frames = st.lists(st.tuples(kinds, st.binary(max_size=300)), max_size=8)


def taken(buffer: bytearray) -> list[tuple[bytes, bytes]]:
    found = []
    while (frame := wire.take(buffer)) is not None:
        found.append(frame)
    return found


@given(sent=frames, cuts=st.lists(st.integers(0, 2000), max_size=10))
def test_any_split_of_the_bytes_gives_the_same_frames(sent: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(wire.frame(kind, payload) for kind, payload in sent)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    buffer, received = bytearray(), []
    for start, end in pairwise(places):
        buffer += data[start:end]
        received += taken(buffer)

    assert (received, buffer) == (sent, bytearray())


def test_a_frame_of_an_impossible_length_is_refused_before_it_arrives() -> None:
    with pytest.raises(ValueError, match="4294967295"):
        wire.take(bytearray(b"o\xff\xff\xff\xff"))


# What the system passes to a program: any bytes but NUL.
words = st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=6)


@pytest.mark.posix_only("words of any bytes")
@given(words=words)
def test_words_of_any_bytes_arrive_as_the_program_got_them(words: list[bytes]) -> None:
    told = [b"0.1.0", b"/state", b"/state/openclaw.json", b"/home/me", b"120", b"sci", b"url form", *words]
    request = read_request(wire.pack([wire.PROTOCOL, b"token", *told]))

    assert request == CommandRequest(
        token=b"token",
        version="0.1.0",
        state_dir="/state",
        config_file="/state/openclaw.json",
        cwd=Path("/home/me"),
        words=tuple(word.decode("utf-8", "surrogateescape") for word in words),
        width=120,
        screen=True,
        colour=True,
        interactive=True,
        kinds=frozenset({"url", "form"}),
    )


@pytest.mark.parametrize("payload", [b"", b"openclaw-1", b"openclaw-2" + b"\0" * 9, b"\0" * 20])
def test_another_protocol_is_recognised(payload: bytes) -> None:
    assert read_request(payload) is None


@pytest.mark.parametrize(("told", "width"), [(b"0", 0), (b"3", 20), (b"99999999", 1000), (b"wide", 80), (b"-3", 80)])
def test_a_strange_width_is_made_usable(told: bytes, width: int) -> None:
    request = read_request(wire.pack([wire.PROTOCOL, b"", b"", b"", b"", b"", told, b"", b""]))
    assert request is not None
    assert request.width == width
