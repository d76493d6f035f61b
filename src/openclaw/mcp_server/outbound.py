"""An answer as MCP content: the text first, then the media in the order they were produced.

Owns the bounds of what goes back to a client and what is said instead of an item that does not fit. Only what tools returned in this run is
given here: a path or an address in the model's words is words. Reading files waits for the disk: call it in a thread.
"""

import os
import stat
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from openclaw.content import PICTURES, Audio, File, Image
from openclaw.media import ANSWER_BYTES, ANSWER_ITEM_BYTES, MB, clean_type, safe_name, sniff

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
