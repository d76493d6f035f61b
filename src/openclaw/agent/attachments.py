"""What comes with a message, as content a model can take in: pictures as pictures, text as text, the rest as files that tools can open.

Owns which kind of attachment becomes what. Text from a file is framed: whoever sent it need not be who wrote it. Nothing is unpacked and
no file leaves the media root; `discard` removes what `incoming` kept, once the turn is over. Which types, sizes and numbers are welcome is
the surface's business. `pdf.py` reads PDFs, `transcription.py` listens to recordings.
"""

import asyncio
import codecs
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from openclaw.agent.pdf import read_pdf
from openclaw.content import PICTURES, Block, File, Image, Text
from openclaw.errors import OpenClawError
from openclaw.log import one_line
from openclaw.media import MediaStore, clean_type, safe_name, sniff
from openclaw.security.external import frame
from openclaw.to_the_end import ended

_log = logging.getLogger(__name__)

# What a model gets of one file; the whole of a longer one is kept beside it.
MAX_TEXT = 100_000
# Types that are text although their name does not begin with it.
_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-sh", "sql", "x-ndjson", "ld+json")
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Attachment(msgspec.Struct, frozen=True):
    """One item that came with a message. `name` and `mime_type` are what the sender says; `titled` when the name is their own choice and
    may tell a model something about a picture."""

    name: str
    mime_type: str
    data: bytes
    titled: bool = False


# The words of a recording. Raises OpenClawError when there are none to be had.
Transcribe = Callable[[Attachment], Awaitable[str]]


async def incoming(
    attachments: Sequence[Attachment], media: MediaStore, *, transcribe: Transcribe | None = None
) -> tuple[Block, ...]:
    """The blocks that follow the message, in the order of the attachments. Raises StoreError when one cannot be kept."""
    blocks: list[Block] = []
    shelf = _Shelf(media)
    try:
        for attachment in attachments:
            blocks += await _blocks(attachment, shelf, transcribe)
    except BaseException:
        discard(shelf.kept)
        raise
    return tuple(blocks)


def discard(blocks: Iterable[Block]) -> None:
    """Remove the files among blocks that `incoming` gave."""
    for block in blocks:
        if isinstance(block, File):
            try:
                os.unlink(block.path)
                os.rmdir(os.path.dirname(block.path))
            except FileNotFoundError:
                pass
            except OSError as error:
                _log.warning("The attachment %s stays: %s", one_line(block.path), error.strerror)


class _Shelf:
    """The files kept for one message, remembered from the moment they exist: a PDF is read and a recording heard for minutes after that,
    and whoever waits may leave."""

    def __init__(self, media: MediaStore) -> None:
        self._media = media
        self.kept: list[File] = []

    async def keep(self, attachment: Attachment) -> File:
        given = (attachment.data, attachment.mime_type, attachment.name)
        saving = asyncio.get_running_loop().create_task(asyncio.to_thread(self._media.save, *given))
        try:
            file = await asyncio.shield(saving)
        except asyncio.CancelledError:
            # The thread writes on, for a moment: nothing may stay behind.
            await ended(saving)
            if not saving.cancelled() and saving.exception() is None:
                self.kept.append(saving.result())
            raise
        self.kept.append(file)
        return file


async def _blocks(attachment: Attachment, shelf: _Shelf, transcribe: Transcribe | None) -> list[Block]:
    kind = clean_type(attachment.mime_type)
    found = sniff(attachment.data[:512])
    if kind in PICTURES and found in PICTURES:
        # The bytes decide which: vendors refuse a picture that is another kind than it says.
        title = [Text(f"[The picture {_quoted(attachment)}:]")] if attachment.titled else []
        return [*title, Image(attachment.data, found)]
    if kind == "application/pdf":
        return await _pdf(attachment, shelf)
    if kind.startswith("audio/"):
        return await _recording(attachment, shelf, transcribe)
    if kind.startswith("text/") or kind in _TEXT_TYPES:
        return await _text(attachment, shelf)
    return [await shelf.keep(attachment)]


async def _text(attachment: Attachment, shelf: _Shelf) -> list[Block]:
    text = _decoded(attachment.data)
    if text is None:
        note = Text(f"[{_quoted(attachment)} is not text in UTF-8 or UTF-16; it is kept as a file.]")
        return [note, await shelf.keep(attachment)]
    shown: list[Block] = [_framed(attachment, text)]
    return shown if len(text) <= MAX_TEXT else [*shown, await shelf.keep(attachment)]


async def _pdf(attachment: Attachment, shelf: _Shelf) -> list[Block]:
    file = await shelf.keep(attachment)
    try:
        text = await read_pdf(attachment.data, most_characters=MAX_TEXT)
    except OpenClawError as error:
        return [Text(f"[No text could be taken from {_quoted(attachment)}: {error.message}]"), file]
    return [_framed(attachment, text), file]


async def _recording(attachment: Attachment, shelf: _Shelf, transcribe: Transcribe | None) -> list[Block]:
    file = await shelf.keep(attachment)
    if transcribe is None:
        note = "no transcription provider is configured (media.audio.transcription)."
    else:
        try:
            return [_framed(attachment, await transcribe(attachment), "transcript"), file]
        except OpenClawError as error:
            _log.warning("%s was not transcribed: %s", one_line(_name(attachment)), error)
            note = error.message
    return [Text(f"[The recording {_quoted(attachment)} was not transcribed: {note}]"), file]


def _framed(attachment: Attachment, text: str, what: str = "") -> Text:
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[… {len(text) - MAX_TEXT:,} more of {len(text):,} characters]"
    return Text(frame(text, source="unknown", sender=_name(attachment), subject=what, warning=False))


def _name(attachment: Attachment) -> str:
    return safe_name(attachment.name)


def _quoted(attachment: Attachment) -> str:
    """The name for a note to the model: it came from outside, and may read like an instruction. It can neither close the quotes nor hold
    a marker."""
    return f'"{_name(attachment)}"'


def _decoded(data: bytes) -> str | None:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # Binary data can be valid UTF-8; text does not hold null characters.
    return None if "\0" in text else text
