"""Undo gzip and deflate in bounded steps, so that a small body can never become a large allocation.

Every step yields at most `STEP` bytes; who reads counts what comes out. `client.py` decides the bound.
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
        self._inflate = zlib.decompressobj(_GZIP_WBITS if self._gzip else _ZLIB_WBITS)
        self._started = False
        self._empty = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of `data`, none longer than STEP. Raises ProtocolError for bytes that are not compressed data."""
        if not data:
            return
        self._empty = False
        while data:
            if self._inflate.eof:
                if not self._gzip or not data.strip(b"\0"):
                    return
                # A gzip file may hold several members one after the other.
                self._inflate = zlib.decompressobj(_GZIP_WBITS)
            piece = self._step(data)
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if not piece and not self._inflate.eof:
                return

    def finish(self) -> None:
        """The body ended. Raises ProtocolError when the compressed data did not."""
        if not self._empty and not self._inflate.eof:
            raise ProtocolError("The server's compressed answer ends too early.")

    def _step(self, data: bytes) -> bytes:
        try:
            piece = self._inflate.decompress(data, STEP)
        except zlib.error:
            if self._gzip or self._started:
                raise ProtocolError("The server's compressed answer is damaged.") from None
            # Some servers send bare deflate where the standard asks for the zlib form.
            self._inflate = zlib.decompressobj(_RAW_WBITS)
            self._started = True
            return self._step(data)
        self._started = True
        return piece


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
