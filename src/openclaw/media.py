"""The media root: where attachments and what models cannot take in directly are kept.

Owns saving (each file alone in a fresh private directory, under a harmless name), recognising by content, reading Base64 within
limits, and tidying up. A file name, a MIME type and the bytes come from outside: nothing is opened, unpacked or run, and nothing outside
the root is ever named. Which surface allows how many items is the surface's business; the numbers are here.
"""

import binascii
import logging
import os
import re
import stat
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec

from openclaw.content import File
from openclaw.errors import MediaError, StoreError
from openclaw.files import create, make_directory
from openclaw.late_pattern import late_pattern
from openclaw.log import one_line
from openclaw.security.external import clean_label

_log = logging.getLogger(__name__)

MB = 1_048_576
# What a caller may send with one message.
ITEM_BYTES = 15 * MB
MAX_IMAGES = 10
MAX_FILES = 5
# One item of a server's result: no larger one can arrive, messages are bounded before.
RESULT_ITEM_BYTES = 64 * MB
# What one answer may carry back; larger items are named instead.
ANSWER_ITEM_BYTES = 20 * MB
ANSWER_BYTES = 50 * MB
# Files older than this, or the oldest beyond this much space, are removed by `prune`.
KEEP_SECONDS = 7 * 24 * 3600.0
KEEP_BYTES = 1024 * MB
# Written at a time: enough for few writes, little enough to stay in a processor's cache.
_PIECE = 128 * 1024

UNKNOWN_TYPE = "application/octet-stream"

# File systems take 255 bytes; a suffix longer than this is part of the name.
_LONGEST_NAME = 200
_LONGEST_SUFFIX = 16
# What is looked at of either end of a name, which may be as long as a request.
_ENOUGH = 2_048
# Of a file's directory: what `save` makes.
_FOLDER = re.compile(r"[0-9a-f]{32}")
_MIME = late_pattern(r"[a-z0-9][a-z0-9.+-]{0,63}/[a-z0-9][a-z0-9.+-]{0,63}")
# Names that mean a device on Windows, whatever their suffix.
_DEVICE = late_pattern(r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\.|$)", re.IGNORECASE)
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "application/x-tar": ".tar",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/ogg": ".ogg",
    "audio/opus": ".opus",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
    "audio/mp4": ".m4a",
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/x-msvideo": ".avi",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/html": ".html",
    "text/csv": ".csv",
}


class MediaStore:
    """The files under one root. Made when first needed; usable by several processes at once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def save(self, data: bytes | str, mime: str, name: str = "") -> File:
        """Keep `data`, a text as UTF-8 (mode 0600, in a directory of its own, mode 0700). Raises StoreError when it cannot be written."""
        kind = clean_type(mime)
        basename = safe_name(name)
        if not os.path.splitext(basename)[1]:
            basename += _SUFFIXES.get(kind, "")
        directory = self._root / os.urandom(16).hex()
        path = directory / basename
        try:
            make_directory(self._root)
            directory.mkdir(mode=0o700)
            size = create(path, _pieces(data))
        except OSError as error:
            _remove(directory)
            raise StoreError(
                f"The attachment {basename} cannot be kept: {error.strerror}.",
                hint=f"Look at the space and the mode of {self._root}.",
            ) from None
        return File(str(path), basename, kind, size)

    def find(self, folder: str, name: str) -> Path | None:
        """A file that was saved, by the last two parts of its path; None when it is gone, or never was one of ours."""
        if not _FOLDER.fullmatch(folder) or name != os.path.basename(name) or name in ("", ".", ".."):
            return None
        path = self._root / folder / name
        try:
            return path if stat.S_ISREG(path.lstat().st_mode) else None
        except (OSError, ValueError):
            return None

    def prune(self, *, max_age: float = KEEP_SECONDS, max_bytes: int = KEEP_BYTES, now: float | None = None) -> int:
        """Remove what is older than `max_age` seconds, then the oldest until `max_bytes` are left. How many were removed."""
        kept = sorted(self._saved(), key=lambda saved: saved.time)
        total = sum(saved.size for saved in kept)
        oldest = (time.time() if now is None else now) - max_age
        removed = 0
        for saved in kept:
            if saved.time >= oldest and total <= max_bytes:
                break
            _remove(saved.directory)
            total -= saved.size
            removed += 1
        return removed

    def _saved(self) -> "list[_Saved]":
        found: list[_Saved] = []
        try:
            with os.scandir(self._root) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found.append(_Saved(Path(entry.path), status.st_mtime, _size(Path(entry.path))))
        except OSError:
            # Nothing has been saved yet, or another process is tidying up.
            pass
        return found


def _pieces(data: bytes | str) -> Iterator[bytes | memoryview]:
    """What goes into a file, piece by piece: a text is never copied whole, and systems take one huge write four times as slowly."""
    view = data if isinstance(data, str) else memoryview(data)
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        yield piece.encode("utf-8", "replace") if isinstance(piece, str) else piece


class _Saved(msgspec.Struct, frozen=True):
    directory: Path
    time: float
    size: int


def shown_size(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} kB" if size < MB else f"{size / MB:.1f} MB"


def file_words(file: File) -> str:
    """Where a file is and what it is, for a person: `/home/you/…/image.png (image/png, 12.0 kB)`."""
    return f"{file.path} ({file.mime_type}, {shown_size(file.size)})"


def clean_type(mime: str) -> str:
    """A MIME type without parameters, in lower case; the unknown type for anything that is not one."""
    kind = mime.partition(";")[0].strip().lower()
    return kind if _MIME.fullmatch(kind) else UNKNOWN_TYPE


def safe_name(filename: str) -> str:
    """A base name that is harmless on every system: no path, no control or invisible character, no device, not hidden, not an option.

    And harmless to a model that is told of it between quotes or brackets: it can close neither, and holds no token or marker that a model
    or we would take for more than a name.
    """
    if len(filename) > 2 * _ENOUGH:
        filename = filename[:_ENOUGH] + filename[-_ENOUGH:]
    text = unicodedata.normalize("NFC", filename.encode("utf-8", "replace").decode())
    text = re.split(r"[/\\]", text)[-1]
    text = "".join(character for character in text if unicodedata.category(character)[0] != "C")
    # What stands for a token is longer than the shortest of them, by a factor of eight: nothing is cut here.
    text = clean_label(text, 16 * _ENOUGH)
    text = re.sub(r'[<>:"|?*\u2028\u2029]', "_", text).replace("[", "(").replace("]", ")")
    text = text.strip().lstrip(".-~ ").rstrip(". ")
    stem, suffix = os.path.splitext(text)
    if len(suffix) > _LONGEST_SUFFIX:
        stem, suffix = text, ""
    room = _LONGEST_NAME - len(suffix.encode())
    text = stem.encode()[:room].decode(errors="ignore").rstrip(". ") + suffix
    if _DEVICE.match(text):
        text = f"_{text}"
    return text or "file"


def decode_base64(text: str, *, limit: int = ITEM_BYTES, what: str = "The attachment") -> bytes:
    """The bytes of Base64 text; its size is checked before anything is decoded. Raises MediaError.

    Accepted: both alphabets, line breaks and blanks, missing padding, a `data:` prefix. Anything else is refused, never cut off.
    """
    start = text.find(",") + 1 if text[:5].lower() == "data:" else 0
    # Whitespace only makes the estimate larger, by a tenth at most in wrapped text.
    if (len(text) - start) * 3 // 4 > limit + limit // 10 + 4:
        raise MediaError(f"{what} is larger than {shown_size(limit)}.")
    digits = "".join(text[start:].split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        data = binascii.a2b_base64(digits + "=" * (-len(digits) % 4), strict_mode=True)
    except (binascii.Error, ValueError):
        raise MediaError(f"{what} is not valid Base64.") from None
    if len(data) > limit:
        raise MediaError(f"{what} is larger than {shown_size(limit)}.")
    return data


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"avif": "image/avif",
    b"heic": "image/heic",
}
# Where a tar archive says so, and how far into a file the type of an Ogg or Matroska stream is named.
_TAR_MAGIC = 257
_HEAD = 64


def sniff(data: bytes) -> str:
    """The MIME type the first bytes show (300 are enough), whatever a sender calls them; the unknown type when they show none."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], UNKNOWN_TYPE)
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    if data[:4] == b"OggS":
        return "audio/opus" if b"OpusHead" in data[:_HEAD] else "audio/ogg"
    if data[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in data[:_HEAD] else "video/x-matroska"
    if data[_TAR_MAGIC : _TAR_MAGIC + 5] == b"ustar":
        return "application/x-tar"
    return _mpeg_audio(data) or UNKNOWN_TYPE


def _mpeg_audio(data: bytes) -> str | None:
    """Frames without a header of their own: twelve set bits, then version and layer, then rates that must exist."""
    if len(data) < 4 or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return None
    if data[1] & 0xF6 == 0xF0:
        return "audio/aac"
    version, layer = data[1] >> 3 & 3, data[1] >> 1 & 3
    # Layers II and III; a text in UTF-16 begins like layer I.
    if version == 1 or layer not in (1, 2) or data[2] >> 4 == 15 or data[2] >> 2 & 3 == 3:
        return None
    return "audio/mpeg"


def _size(directory: Path) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except OSError:
        return 0


def _remove(directory: Path) -> None:
    """The files of a directory that `save` made, and the directory. What others put there, directories for one, stays."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
                    os.unlink(entry.path)
        directory.rmdir()
    except FileNotFoundError:
        pass
    except OSError as error:
        _log.debug("%s stays: %s", one_line(str(directory)), error.strerror)
