"""Undo gzip and deflate in bounded steps, so that a small body can never become a large allocation.

Every step yields at most `STEP` bytes; the reader counts what comes out. `client.py` decides the bound.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from openclaw.errors import ProtocolError

# What one inflate step may give: large enough to be quick, small enough to be nothing.
STEP: Final = 256 * 1024

_GZIP_WBITS: Final = 31
_ZLIB_WBITS: Final = 15
_RAW_WBITS: Final = -15


class Inflater:
    """Decodes one body. `coding` is `gzip` or `deflate`."""

    def __init__(self, coding: str) -> None:
        self._gzip = coding == "gzip"
        self._inflate = zlib.decompressobj(_GZIP_WBITS) if self._gzip else None
        # The first bytes of a deflate body, until there are enough to see which of its two forms it has.
        self._start = b""
        self._fed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of `data`, none longer than STEP. Raises ProtocolError for bytes that are not compressed data."""
        self._fed = self._fed or bool(data)
        if self._inflate is None:
            data = self._start = self._start + data
            if len(data) < 2:
                return
            self._inflate = zlib.decompressobj(_ZLIB_WBITS if _has_zlib_header(data) else _RAW_WBITS)
        while data:
            if self._inflate.eof:
                if not self._gzip or not data.strip(b"\0"):
                    return
                # A gzip body may hold several members one after the other.
                self._inflate = zlib.decompressobj(_GZIP_WBITS)
            yield from self._drain(self._inflate, data)
            data = self._inflate.unused_data

    def _drain(self, inflate: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
        while True:
            try:
                piece = inflate.decompress(data, STEP)
            except zlib.error:
                raise ProtocolError("The server's compressed answer is damaged.") from None
            if piece:
                yield piece
            data = inflate.unconsumed_tail
            # A full step may leave output behind even when all input is used up.
            if inflate.eof or (not data and len(piece) < STEP):
                return

    def finish(self) -> None:
        """The body ended. Raises ProtocolError when the compressed data did not."""
        if self._fed and not (self._inflate is not None and self._inflate.eof):
            raise ProtocolError("The server's compressed answer ends too early.")


def _has_zlib_header(data: bytes) -> bool:
    """The standard asks for the zlib form of deflate; some servers send it bare. RFC 1950 says how a header looks."""
    return data[0] & 0x0F == 8 and (data[0] * 256 + data[1]) % 31 == 0


def coding_of(header: str | None) -> str | None:
    """The content coding to undo: `gzip`, `deflate`, or None. Raises ProtocolError for one that was not asked for."""
    coding = (header or "").strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip"):
        return "gzip"
    if coding == "deflate":
        return "deflate"
    raise ProtocolError("The server used a content coding that was not asked for.")
