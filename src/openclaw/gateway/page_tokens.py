"""Who may use the gateway from its page: tickets that are good once and for a minute, and the tokens they are traded for.

A ticket comes from a terminal of the same user (the control socket) and travels in the fragment of an address, which no server and no
proxy sees; what a history keeps of it is worth nothing a minute later. A token lives in one tab. Only digests are kept, in a file of ours
alone or where all gateways find them (`fleet/pages.py`), so that a page outlives a restart and nobody reads a token there. The gateway's
own token is never given to a page.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import replace
from openclaw.security.page_secrets import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_PAGES,
    NOTED_EVERY,
    TICKET_SECONDS,
    digest_of,
    new_ticket,
    new_token,
)

_log = logging.getLogger(__name__)

_MOST_TICKETS = 20


class Pages(Protocol):
    """Who may use the gateway from its page. All that is awaited raises StoreError when it cannot be known."""

    async def ticket(self) -> str:
        """A new one, for somebody whom the control socket let in."""
        ...

    async def trade(self, ticket: str) -> str | None:
        """A token for a ticket, once; None when it is not good."""
        ...

    async def issue(self) -> str:
        """A new token, for somebody who has shown that they may use the gateway."""
        ...

    async def admits(self, token: str) -> bool:
        """Whether a page may use it; a use keeps it from growing old."""
        ...

    def is_good(self, token: str) -> bool:
        """The same of one that was admitted, as far as is known here."""
        ...

    async def count(self) -> int:
        """How many pages are signed in."""
        ...

    async def revoke(self) -> int:
        """Make the tokens of all pages worthless; how many there were."""
        ...

    async def forget(self, token: str) -> None:
        """The page signs out."""
        ...

    def on_revoked(self, heard: Callable[[], None]) -> None:
        """`heard` is called when tokens may have become worthless by the word of another process."""
        ...


class PageToken(msgspec.Struct, frozen=True):
    """What is known of one page. Times are seconds since 1970."""

    digest: str
    created: float
    used: float


class PageTokens:
    """Those of one gateway, in a file. `clock` gives the seconds since 1970."""

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        # By their digests, with the time until which they are good.
        self._tickets: dict[str, float] = {}
        self._noted = 0.0
        self._tokens: dict[str, PageToken] = {}
        for one in self._read():
            self._tokens[one.digest] = one

    async def ticket(self) -> str:
        now = self._clock()
        self._tickets = {digest: until for digest, until in self._tickets.items() if until > now}
        while len(self._tickets) >= _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = new_ticket()
        self._tickets[digest_of(ticket)] = now + TICKET_SECONDS
        return ticket

    async def trade(self, ticket: str) -> str | None:
        until = self._tickets.pop(digest_of(ticket), 0.0)
        return await self.issue() if until > self._clock() else None

    async def issue(self) -> str:
        now = self._clock()
        token = new_token()
        digest = digest_of(token)
        self._tokens[digest] = PageToken(digest, now, now)
        for old in sorted(self.pages(), key=lambda one: one.used)[: max(len(self._tokens) - MOST_PAGES, 0)]:
            del self._tokens[old.digest]
        self._write()
        return token

    async def admits(self, token: str) -> bool:
        one = self._tokens.get(digest_of(token))
        if one is None or not self._lives(one):
            return False
        now = self._clock()
        self._tokens[one.digest] = msgspec.structs.replace(one, used=now)
        if now - self._noted > NOTED_EVERY:
            self._write()
        return True

    def is_good(self, token: str) -> bool:
        one = self._tokens.get(digest_of(token))
        return one is not None and self._lives(one)

    async def count(self) -> int:
        return len(self.pages())

    def pages(self) -> list[PageToken]:
        """Those that are good now."""
        self._tokens = {digest: one for digest, one in self._tokens.items() if self._lives(one)}
        return list(self._tokens.values())

    async def revoke(self) -> int:
        count = len(self.pages())
        self._tokens = {}
        self._write()
        return count

    def on_revoked(self, heard: Callable[[], None]) -> None:
        """Nobody else has this file."""

    async def forget(self, token: str) -> None:
        if self._tokens.pop(digest_of(token), None) is not None:
            self._write()

    def _lives(self, one: PageToken) -> bool:
        now = self._clock()
        return now - one.used < IDLE_SECONDS and now - one.created < LONGEST_SECONDS

    def _read(self) -> list[PageToken]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[PageToken])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.warning("The pages that were signed in are forgotten: %s cannot be read (%s).", self._file, error)
            return []

    def _write(self) -> None:
        self._noted = self._clock()
        try:
            replace(self._file, to_json(self.pages()), durable=False)
        except StoreError as error:
            # They hold until the gateway ends.
            _log.warning("Signed-in pages are forgotten when the gateway ends: %s", error)
