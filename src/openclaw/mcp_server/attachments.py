"""Media of an order and of its answer: which attachments are taken and in what words others are refused, and media as MCP content.

What comes in is checked before decoding as far as possible, and decoded one item at a time; what an item is said to be and what its first
bytes show must agree. Nothing is opened or unpacked: what becomes of an attachment is `agent/attachments.py`'s business. What goes out is
what tools returned in this run, the text first, within the bounds of an answer: a path or an address in the model's words is words.
Reading files waits for the disk: call `content` in a thread.
"""

import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from openclaw.agent.attachments import Attachment
from openclaw.content import PICTURES, Audio, File, Image
from openclaw.errors import MediaError
from openclaw.mcp_server.order import MOST_COUNTED, Item, Order
from openclaw.media import (
    ANSWER_BYTES,
    ANSWER_ITEM_BYTES,
    ITEM_BYTES,
    MAX_FILES,
    MAX_IMAGES,
    MB,
    UNKNOWN_TYPE,
    clean_type,
    decode_base64,
    safe_name,
    sniff,
)

TEXTS = frozenset({"text/plain", "text/markdown", "text/html", "text/csv", "application/json"})
# What the first bytes of each type may show, beside the type itself: containers are shared between sound and film.
_LOOKS_LIKE: dict[str, frozenset[str]] = {
    "application/pdf": frozenset(),
    "audio/mpeg": frozenset(),
    "audio/wav": frozenset(),
    "audio/ogg": frozenset({"audio/opus"}),
    "audio/mp4": frozenset({"video/mp4"}),
    "audio/aac": frozenset(),
    "audio/flac": frozenset(),
    "audio/opus": frozenset({"audio/ogg", "video/webm", "video/x-matroska"}),
    "video/mp4": frozenset({"audio/mp4", "video/quicktime"}),
    "video/webm": frozenset({"video/x-matroska"}),
    "video/quicktime": frozenset({"video/mp4"}),
    "video/x-msvideo": frozenset(),
    "application/zip": frozenset(),
    "application/gzip": frozenset(),
    "application/x-tar": frozenset(),
    "application/x-compressed-tar": frozenset({"application/gzip"}),
}
FILES = TEXTS | frozenset(_LOOKS_LIKE)
# Older forms of two types, which `sniff` does not know: where their mark stands, and what it is.
_OLDER = {
    "audio/aac": (0, (b"ADIF",)),
    "video/quicktime": (4, (b"moov", b"mdat", b"free", b"wide", b"skip", b"pnot")),
}
# Enough of a file for every mark there is.
_HEAD = 512
# A data: URL says what it is within so many characters.
_LONGEST_PREFIX = 200


def check_counts(order: Order) -> None:
    """Raises MediaError when there are too many."""
    for items, most, what in ((order.images, MAX_IMAGES, "images"), (order.files, MAX_FILES, "files")):
        if len(items) > most:
            count = str(len(items)) if len(items) <= MOST_COUNTED else f"more than {MOST_COUNTED}"
            raise MediaError(f"There are {count} {what}; {most} are the most.", hint="Send the rest in another order.")


def decode(order: Order) -> Iterator[Attachment]:
    """The attachments, images first, each decoded when it is asked for and its text forgotten then. Raises MediaError."""
    for items, known, what in ((order.images, PICTURES, "image"), (order.files, FILES, "file")):
        for number, item in enumerate(items, 1):
            yield _decoded(item, known, f"{what}-{number}")


def _decoded(item: Item, known: frozenset[str], name: str) -> Attachment:
    kind = clean_type(item.mime_type)
    if kind not in known:
        hint = f"Supported: {', '.join(sorted(known))}."
        if kind in PICTURES | FILES:
            hint = "Send it in images." if kind in PICTURES else "Send it in files."
        raise MediaError(f"{item.place}: the type {_shown(item.mime_type)} is not supported.", hint=hint)
    text = item.take_data()
    _check_prefix(text, kind, item.place)
    data = decode_base64(text, limit=ITEM_BYTES, what=item.place)
    del text
    if not data:
        raise MediaError(f"{item.place} is empty.")
    _check_content(data, kind, item.place)
    return Attachment(item.filename or name, kind, data, titled=bool(item.filename))


def _check_prefix(text: str, kind: str, place: str) -> None:
    """A `data:` URL is taken for its Base64, when that is what it holds and it says nothing else than the arguments do."""
    if text[:5].lower() != "data:":
        return
    head, comma, _ = text[5:_LONGEST_PREFIX].lower().partition(",")
    if not comma or not head.endswith(";base64"):
        raise MediaError(f"{place} is a data: URL without Base64.", hint="Send the Base64 data alone.")
    named = head.partition(";")[0]
    if named and clean_type(named) != kind:
        raise MediaError(f"{place} is a data: URL of type {clean_type(named)}, but mimeType says {kind}.")


def _check_content(data: bytes, kind: str, place: str) -> None:
    found = sniff(data[:_HEAD])
    if kind in TEXTS:
        # "ID3" begins a recording, but also many a table.
        if found == UNKNOWN_TYPE or (found == "audio/mpeg" and _is_text(data[:_HEAD])):
            return
    elif found == kind or found in _LOOKS_LIKE.get(kind, ()) or _is_older(data, kind):
        return
    shown = "something else" if found == UNKNOWN_TYPE else found
    raise MediaError(f"{place} is said to be {kind}, but its content is {shown}.", hint="Correct mimeType.")


def _is_older(data: bytes, kind: str) -> bool:
    place, marks = _OLDER.get(kind, (0, ()))
    return any(data.startswith(mark, place) for mark in marks)


def _is_text(head: bytes) -> bool:
    text = head.decode("utf-8", "ignore")
    return len(text.encode()) >= len(head) - 3 and all(c in "\t\r\n" or unicodedata.category(c) != "Cc" for c in text)


def _shown(mime_type: str) -> str:
    kind = clean_type(mime_type)
    return kind if kind != UNKNOWN_TYPE else "given"


Media = Image | Audio | File

_ITEM_MB, _ALL_MB = ANSWER_ITEM_BYTES // MB, ANSWER_BYTES // MB


def content(text: str, media: Sequence[Media], *, audio_blocks: bool) -> list[dict[str, Any]]:
    """The content blocks of a result. `audio_blocks` is false when recordings go as embedded resources."""
    blocks: list[dict[str, Any]] = []
    notes: list[str] = []
    names: set[str] = set()
    room = ANSWER_BYTES
    for number, item in enumerate(media, 1):
        name, size = _name(item, number), _size(item)
        if size > ANSWER_ITEM_BYTES:
            notes.append(f"{_said(item, name, size)} is not attached: it is larger than {_ITEM_MB} MB.")
        elif size > room:
            notes.append(f"{_said(item, name, size)} is not attached: the answer would be larger than {_ALL_MB} MB.")
        elif (data := _data(item)) is None:
            notes.append(f"{_said(item, name, size)} is not attached: it cannot be read.")
        else:
            room -= len(data)
            blocks.append(_block(item, data, _unique(name, names), audio_blocks=audio_blocks))
    text = "\n\n".join(part for part in (text, "\n".join(notes)) if part)
    return [{"type": "text", "text": text}, *blocks] if text else blocks


def _block(item: Media, data: bytes, name: str, *, audio_blocks: bool) -> dict[str, Any]:
    kind = clean_type(item.mime_type)
    if kind in PICTURES and sniff(data[:64]) in PICTURES:
        return {"type": "image", "data": data, "mimeType": sniff(data[:64])}
    if kind.startswith("audio/") and audio_blocks:
        return {"type": "audio", "data": data, "mimeType": kind}
    resource = {"uri": f"attachment://{quote(name)}", "mimeType": kind, "blob": data}
    return {"type": "resource", "resource": resource}


def _name(item: Media, number: int) -> str:
    if isinstance(item, File):
        return safe_name(item.name)
    kind = clean_type(item.mime_type)
    return f"{kind.partition('/')[0]}-{number}.{kind.partition('/')[2]}"


def _unique(name: str, names: set[str]) -> str:
    stem, suffix = os.path.splitext(name)
    fresh, number = name, 1
    while fresh in names:
        number += 1
        fresh = f"{stem}-{number}{suffix}"
    names.add(fresh)
    return fresh


def _said(item: Media, name: str, size: int) -> str:
    # To the byte: an item may be larger than allowed by one.
    return f"{name} ({clean_type(item.mime_type)}, {size:,} bytes)"


def _size(item: Media) -> int:
    return item.size if isinstance(item, File) else len(item.data)


def _data(item: Media) -> bytes | None:
    if not isinstance(item, File):
        return item.data
    try:
        # Nothing that waits or leads elsewhere: a link, a pipe or a device in its place is not what the tool returned.
        descriptor = os.open(item.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size != item.size:
                return None
            return file.read(item.size)
    except (OSError, ValueError):
        return None
