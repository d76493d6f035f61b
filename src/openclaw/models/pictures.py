"""Pictures that a vendor takes, and a sentence in place of those that it refuses: empty, unreadable, too large, too many.

Pure. A vendor answers 400 to every request that carries one such picture, so that a single screenshot would end a conversation for good.
The bytes say what a picture is, never the sender.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from openclaw.content import PICTURES, Block, Image, Message, Text, ToolMessage, UserMessage
from openclaw.media import sniff

_MEGABYTE = 1024 * 1024
# As much of a file as shows what it is.
_HEAD = 512
# Markers of a JPEG that stand alone, and those of a frame, which hold its size.
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class PictureLimits(msgspec.Struct, frozen=True):
    """What a vendor takes: bytes and pixels a side of one picture, number and bytes of all; from `many` on, fewer pixels a side."""

    bytes: int
    side: int
    most: int
    total: int
    many: int
    side_of_many: int


# Five megabytes are counted in base64. A request holds 32 of them, and words too.
ANTHROPIC: Final = PictureLimits(5 * _MEGABYTE * 3 // 4, 8_000, 100, 16 * _MEGABYTE, 20, 2_000)
# The most that surfaces let in fits; other endpoints of this wire say themselves what they do not take.
OPENAI: Final = PictureLimits(15 * _MEGABYTE, 16_000, 250, 30 * _MEGABYTE, 250, 16_000)


def fitted(messages: Sequence[Message], limits: PictureLimits) -> list[Message]:
    """`messages` with every picture that would be refused described instead. Of too many, the newest are shown."""
    number = sum(isinstance(block, Image) for message in messages for block in _content(message))
    if not number:
        return list(messages)
    side = limits.side if number <= limits.many else limits.side_of_many
    room, left = limits.most, limits.total
    done: list[Message] = []
    for message in reversed(messages):
        if not isinstance(message, UserMessage | ToolMessage):
            done.append(message)
            continue
        blocks: list[Block] = []
        for block in reversed(message.content):
            if isinstance(block, Image):
                fault = _fault(block, limits.bytes, side)
                if not fault and (room < 1 or len(block.data) > left):
                    fault = "this conversation holds more pictures than the model takes"
                if fault:
                    blocks.append(_described(block, fault))
                    continue
                room, left = room - 1, left - len(block.data)
                block = Image(block.data, sniff(block.data[:_HEAD]))
            blocks.append(block)
        done.append(msgspec.structs.replace(message, content=tuple(reversed(blocks))))
    return done[::-1]


def _content(message: Message) -> tuple[object, ...]:
    return message.content


def _described(image: Image, fault: str) -> Text:
    return Text(f"[An image ({image.mime_type}, {len(image.data):,} bytes) is not shown: {fault}.]")


def _fault(image: Image, most: int, side: int) -> str:
    if not image.data:
        return "it is empty"
    if sniff(image.data[:_HEAD]) not in PICTURES:
        return "it is not a PNG, JPEG, GIF or WebP picture"
    size = picture_size(image.data)
    if size is None or min(size) < 1:
        return "it cannot be read"
    if len(image.data) > most:
        return f"the model takes pictures of {most:,} bytes at most"
    if max(size) > side:
        return f"it measures {size[0]} by {size[1]} pixels, and the model takes {side} a side"
    return ""


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height as the head of the file says them; None when it does not."""
    match sniff(data[:_HEAD]):
        case "image/png" if data[12:16] == b"IHDR" and len(data) >= 24:
            return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
        case "image/gif" if len(data) >= 10:
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case "image/jpeg":
            return _jpeg_size(data)
        case "image/webp":
            return _webp_size(data)
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker in _ALONE:
            place += 2
        elif marker in _FRAMES:
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        else:
            place += 2 + max(int.from_bytes(data[place + 2 : place + 4]), 2)
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None
