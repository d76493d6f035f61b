"""Collecting a list that comes in pages, from a server that may never stop sending them. Pure.

The client asks for page after page as long as `add` returns a cursor. What was collected when a bound is reached stays; `note` says
why the rest is missing.
"""

import hashlib
from functools import cache
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType, defstruct

from openclaw.errors import ProtocolError
from openclaw.protocol.jsonrpc import parse

# Far above any honest server; together they bound the time and memory one list may cost.
MAX_PAGES = 1_000
MAX_ITEMS = 200_000
MAX_BYTES = 64 * 1024 * 1024

_LOOP = "the server's list leads back to a page that was already read"


@cache
def _page_of(key: str) -> type[Struct]:
    """A page whose entries stand under `key`."""
    fields = [
        ("items", list[Raw] | UnsetType, UNSET),
        ("cursor", str | None, None),
        ("ttl", float | None, None),
    ]
    return defstruct("Page", fields, rename={"items": key, "cursor": "nextCursor", "ttl": "ttlMs"})


class Pages:
    """`items` are the entries under `key` of every page so far; `ttl` the shortest life a page claimed, in seconds."""

    def __init__(self, key: str) -> None:
        self.items: list[Raw] = []
        self.ttl: float | None = None
        self.note = ""
        self._key = key
        self._cursors: set[str] = set()
        self._seen: set[bytes] = set()
        self._bytes = 0

    def add(self, page: Raw) -> str | None:
        """Take one page in; the cursor of the next, None when there is none to ask for. Raises ProtocolError for no page at all."""
        # In one go through the bytes: a list may have tens of megabytes, and everybody waits for it.
        parts: Any = parse(page, _page_of(self._key))
        if parts.items is UNSET:
            raise ProtocolError(f"The server answered a list request without '{self._key}'.")
        items: list[Raw] = parts.items
        self._live(parts.ttl)
        cursor: str | None = parts.cursor
        if items and (cursor is not None or self._seen) and self._is_repeated(items):
            self.note = _LOOP
            return None
        self.items += items
        self._bytes += len(memoryview(page))
        self.note = self._bound(cursor)
        del self.items[MAX_ITEMS:]
        if cursor is None or self.note:
            return None
        self._cursors.add(cursor)
        return cursor

    def cut_short(self, why: str) -> None:
        """No more pages are asked for, though there are some."""
        self.note = why

    def _is_repeated(self, items: list[Raw]) -> bool:
        """Whether a page came before, word for word. The only page of a list never did, and is not looked at."""
        digest = hashlib.sha256()
        for item in items:
            digest.update(item)
            digest.update(b",")
        mark = digest.digest()
        if mark in self._seen:
            return True
        self._seen.add(mark)
        return False

    def _live(self, ttl: float | None) -> None:
        if ttl is None:
            return
        seconds = ttl / 1000
        self.ttl = seconds if self.ttl is None else min(self.ttl, seconds)

    def _bound(self, cursor: str | None) -> str:
        if len(self.items) > MAX_ITEMS or (cursor is not None and len(self.items) == MAX_ITEMS):
            return f"the list has more than {MAX_ITEMS:,} entries"
        if cursor is None:
            return ""
        if cursor in self._cursors:
            return _LOOP
        if len(self._cursors) + 1 >= MAX_PAGES:
            return f"the list has more than {MAX_PAGES:,} pages"
        return f"the list is larger than {MAX_BYTES // (1024 * 1024)} MiB" if self._bytes >= MAX_BYTES else ""
