"""Pictures for terminals: what is sent can be read back, and nothing of a stranger's bytes is in it as it is."""

import base64
import re
import struct
import zlib

import pytest

from openclaw.commands.screen.pictures import read_png, sequence
from parts.media_server import png

RED, GREEN, BLUE = b"\xff\0\0", b"\0\xff\0", b"\0\0\xff"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(lines: list[bytes], width: int, colour: int = 2, palette: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(lines), 8, colour, 0, 0, 0))
    rest = chunk(b"PLTE", palette) if palette else b""
    return b"\x89PNG\r\n\x1a\n" + head + rest + chunk(b"IDAT", zlib.compress(b"".join(lines))) + chunk(b"IEND", b"")


def test_every_filter_of_a_png_is_undone() -> None:
    plain = bytes([10, 20, 30, 40, 50, 60])
    lines = [
        b"\0" + plain,
        b"\1" + bytes([10, 20, 30, 30, 30, 30]),
        b"\2" + bytes(6),
        b"\3" + bytes([5, 10, 15, 15, 15, 15]),
        b"\4" + bytes(6),
    ]
    read = read_png(picture(lines, 2))
    assert read is not None
    assert read.rows == [[0x0A141E, 0x28323C]] * 5


def test_colours_of_a_palette_and_of_grey() -> None:
    with_palette = read_png(picture([b"\0\1\0"], 2, 3, RED + GREEN))
    grey = read_png(picture([b"\0\x80"], 1, 0))
    assert (with_palette and with_palette.rows, grey and grey.rows) == ([[0x00FF00, 0xFF0000]], [[0x808080]])


@pytest.mark.parametrize("data", [b"", b"GIF89a", png()[:40], b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_what_is_broken_is_no_picture(data: bytes) -> None:
    assert read_png(data) is None
    assert sequence("sixel", data, "image/png", 80) == ""


def test_sixels_name_their_colours_and_repeat_what_repeats() -> None:
    line = b"\0" + RED * 5 + BLUE
    assert sequence("sixel", picture([line] * 7, 6), "image/png", 80) == (
        '\x1bPq"1;1;6;7#5;2;0;0;100#180;2;100;0;0#5!5?~$#180!5~?-#5!5?@$#180!5@?\x1b\\\n'
    )


def test_kitty_gets_the_whole_file_in_pieces() -> None:
    data = png(10_000)
    shown = sequence("kitty", data, "image/png", 80)
    pieces = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", shown)
    assert [head for head, _ in pieces] == ["a=T,f=100,m=1", "m=1", "m=1", "m=0"]
    assert base64.b64decode("".join(piece for _, piece in pieces)) == data
    assert sequence("kitty", b"\xff\xd8\xff", "image/jpeg", 80) == ""


def test_a_picture_that_is_wider_than_the_window_is_fitted() -> None:
    wide = png()[:16] + struct.pack(">I", 4_000) + png()[20:]
    assert "c=60," in sequence("kitty", wide, "image/png", 60)


def test_iterm2_gets_the_whole_file_and_nothing_else() -> None:
    data = b"\x1b]0;title\x07"
    encoded = base64.b64encode(data).decode()
    assert sequence("iterm2", data, "image/gif", 80) == (
        f"\x1b]1337;File=inline=1;size=10;width=auto;preserveAspectRatio=1:{encoded}\x07\n"
    )


def test_a_terminal_that_shows_none_gets_nothing() -> None:
    assert sequence("", png(), "image/png", 80) == ""
