"""gzip and deflate, undone in bounded steps."""

import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import ProtocolError
from openclaw.net.body import STEP, Inflater, coding_of


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
}


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=2000), splits=st.lists(st.integers(0, 2000), max_size=5))
@settings(max_examples=100)
def test_any_split_of_the_compressed_bytes_gives_the_same_body(name: str, data: bytes, splits: list[int]) -> None:
    coding, pack = PACKERS[name]
    packed = pack(data)
    edges = [0, *sorted(min(split, len(packed)) for split in splits), len(packed)]
    inflater = Inflater(coding)
    body = b"".join(part for start, end in pairwise(edges) for part in inflater.feed(packed[start:end]))
    inflater.finish()
    assert body == data


def test_a_bomb_comes_out_in_small_steps() -> None:
    packed = gzip.compress(b"\0" * (64 << 20))
    sizes = [len(part) for part in Inflater("gzip").feed(packed)]
    assert (max(sizes), sum(sizes)) == (STEP, 64 << 20)


@pytest.mark.parametrize("size", [STEP - 1, STEP, STEP + 1, STEP + 300, 2 * STEP, 2 * STEP + 258])
def test_no_byte_is_left_behind_at_the_edge_of_a_step(size: int) -> None:
    inflater = Inflater("gzip")
    assert sum(len(part) for part in inflater.feed(gzip.compress(b"\0" * size))) == size
    inflater.finish()


def test_several_gzip_members_are_one_body() -> None:
    inflater = Inflater("gzip")
    assert b"".join(inflater.feed(gzip.compress(b"a" * 1000) + gzip.compress(b"b") + b"\0\0")) == b"a" * 1000 + b"b"
    inflater.finish()


@pytest.mark.parametrize("name", PACKERS)
def test_a_compressed_body_may_come_one_byte_at_a_time(name: str) -> None:
    coding, pack = PACKERS[name]
    inflater = Inflater(coding)
    assert b"".join(part for byte in pack(b"hello" * 20) for part in inflater.feed(bytes([byte]))) == b"hello" * 20
    inflater.finish()


def test_damaged_data_is_refused() -> None:
    for coding in ("gzip", "deflate"):
        with pytest.raises(ProtocolError, match="damaged"):
            list(Inflater(coding).feed(b"\xff" * 100))


def test_a_body_that_ends_too_early_is_refused() -> None:
    inflater = Inflater("gzip")
    list(inflater.feed(gzip.compress(b"hello" * 100)[:-4]))
    with pytest.raises(ProtocolError, match="too early"):
        inflater.finish()


def test_an_empty_body_needs_no_compressed_data() -> None:
    inflater = Inflater("gzip")
    assert list(inflater.feed(b"")) == []
    inflater.finish()


def test_only_codings_that_were_asked_for_are_undone() -> None:
    assert [coding_of(name) for name in (None, "", "identity", "GZIP", "x-gzip", " deflate ")] == [
        None,
        None,
        None,
        "gzip",
        "gzip",
        "deflate",
    ]
    for name in ("br", "zstd", "gzip, gzip"):
        with pytest.raises(ProtocolError):
            coding_of(name)
