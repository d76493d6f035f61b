"""A picture as the sequence of characters that makes a terminal show it: in kitty's way, in iTerm2's, or as sixels. Pure.

The bytes are a stranger's: they travel as base64 or as numbers of colours, and nothing of them reaches the terminal as it is. What a
terminal cannot be shown this way is empty here; its file is named all the same. PNGs are read here for sixels; kitty takes PNG alone,
iTerm2 every kind that models send.
"""

import base64
import struct
import zlib
from collections.abc import Iterator
from itertools import groupby

import msgspec

from openclaw.commands.console import Pictures

# kitty takes base64 in pieces of this size.
_PIECE = 4096
# Of a terminal whose cells nobody measured. Pictures are made smaller than the window rather than larger.
_CELL_WIDTH = 10
# Characters beyond which a picture is only named: it would hold up whoever prints next.
_MOST = 8_000_000
# Pixels of a picture that is drawn in sixels, each side: it is computed here, one by one.
_MOST_WIDE, _MOST_HIGH = 480, 360
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Bytes of a pixel, by the type of colour that a PNG names; only those with 8 bits a sample are read here.
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# More pixels than a screen has are not unpacked.
_MOST_PIXELS = 20_000_000


def sequence(kind: Pictures, data: bytes, mime_type: str, columns: int) -> str:
    if len(data) * 4 // 3 > _MOST:
        return ""
    match kind:
        case "kitty":
            return _kitty(data, columns) if data.startswith(_SIGNATURE) else ""
        case "iterm2":
            encoded = base64.b64encode(data).decode()
            return f"\x1b]1337;File=inline=1;size={len(data)};width=auto;preserveAspectRatio=1:{encoded}\x07\n"
        case "sixel":
            read = read_png(data)
            return _sixels(read) if read is not None else ""
        case _:
            return ""


def _kitty(data: bytes, columns: int) -> str:
    encoded = base64.b64encode(data).decode()
    pieces = [encoded[start : start + _PIECE] for start in range(0, len(encoded), _PIECE)]
    width = struct.unpack(">I", data[16:20])[0] if len(data) >= 20 else 0
    fitted = f",c={columns}" if width > columns * _CELL_WIDTH else ""
    shown = []
    for number, piece in enumerate(pieces):
        head = f"a=T,f=100{fitted}," if number == 0 else ""
        shown.append(f"\x1b_G{head}m={0 if number == len(pieces) - 1 else 1};{piece}\x1b\\")
    return "".join(shown) + "\n"


class Pixels(msgspec.Struct, frozen=True):
    """Rows of colours, each 0xRRGGBB."""

    width: int
    rows: list[list[int]]


def read_png(data: bytes) -> Pixels | None:
    """A PNG with 8 bits a sample that is not interlaced, as most are; None for all others and for what is broken."""
    try:
        width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
        samples = _SAMPLES[colour]
        if bits != 8 or interlaced or not 0 < width * height <= _MOST_PIXELS or not data.startswith(_SIGNATURE):
            return None
        chunks = list(_chunks(data))
        palette = next((body for kind, body in chunks if kind == b"PLTE"), b"")
        packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
        raw = zlib.decompressobj().decompress(packed, height * (width * samples + 1))
        return _shrunk(list(_lines(raw, width * samples, height, samples)), width, height, colour, palette)
    except (struct.error, zlib.error, KeyError, IndexError, ValueError):
        return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        yield kind, data[place + 8 : place + 8 + size]
        place += size + 12


def _lines(raw: bytes, size: int, height: int, samples: int) -> Iterator[bytes]:
    """The lines with their filters undone: each byte was written as its distance from its neighbours."""
    above = bytearray(size)
    for number in range(height):
        start = number * (size + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + size])
        if kind > 4 or len(line) < size:
            raise ValueError("not a PNG")
        for at in range(size) if kind else ():
            left = line[at - samples] if at >= samples else 0
            corner = above[at - samples] if at >= samples else 0
            line[at] = (line[at] + _guess(kind, left, above[at], corner)) & 0xFF
        above = line
        yield bytes(line)


def _guess(kind: int, left: int, up: int, corner: int) -> int:
    if kind < 3:
        return left if kind == 1 else up
    if kind == 3:
        return (left + up) // 2
    expected = left + up - corner
    return min((left, up, corner), key=lambda one: abs(expected - one))


def _shrunk(lines: list[bytes], width: int, height: int, colour: int, palette: bytes) -> Pixels:
    step = max(-(-width // _MOST_WIDE), -(-height // _MOST_HIGH), 1)
    samples = _SAMPLES[colour]

    def pixel(line: bytes, at: int) -> int:
        start = at * samples
        if colour in (2, 6):
            red, green, blue = line[start : start + 3]
        elif colour == 3:
            red, green, blue = palette[line[start] * 3 : line[start] * 3 + 3]
        else:
            red = green = blue = line[start]
        return red << 16 | green << 8 | blue

    rows = [[pixel(line, at) for at in range(0, width, step)] for line in lines[::step]]
    return Pixels(len(rows[0]), rows)


def _sixels(pixels: Pixels) -> str:
    """Six rows at a time, colour by colour; of colours a cube of six to the third."""
    rows = [[_nearest(colour) for colour in row] for row in pixels.rows]
    used = sorted({colour for row in rows for colour in row})
    head = "".join(f"#{colour};2;{colour // 36 * 20};{colour // 6 % 6 * 20};{colour % 6 * 20}" for colour in used)
    bands = []
    for start in range(0, len(rows), 6):
        band = rows[start : start + 6]
        lines = []
        for colour in sorted({one for row in band for one in row}):
            bits = [sum(1 << n for n, row in enumerate(band) if row[at] == colour) for at in range(pixels.width)]
            lines.append(f"#{colour}" + "".join(_run(bit, len(list(same))) for bit, same in groupby(bits)))
        bands.append("$".join(lines))
    return f'\x1bPq"1;1;{pixels.width};{len(rows)}{head}' + "-".join(bands) + "\x1b\\\n"


def _nearest(colour: int) -> int:
    red, green, blue = ((colour >> shift & 0xFF) * 5 + 127 for shift in (16, 8, 0))
    return red // 255 * 36 + green // 255 * 6 + blue // 255


def _run(bits: int, count: int) -> str:
    shown = chr(63 + bits)
    return f"!{count}{shown}" if count > 3 else shown * count
