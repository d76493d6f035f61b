"""Who may use the gateway from its page: tickets that are good once and for a minute, and the tokens they are traded for.

A ticket comes from a terminal of the same user (the control socket) and travels in the fragment of an address, which no server and no
proxy sees; what a history keeps of it is worth nothing a minute later. A token lives in one tab. Only digests are kept, in a file of ours
alone, so that a page outlives a restart and nobody reads a token there. The gateway's own token is never given to a page.
"""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import replace

_log = logging.getLogger(__name__)

TICKET_SECONDS = 60.0
# Of 128 bits, and of 256.
_TICKET_BYTES, _TOKEN_BYTES = 16, 32
# Seconds after which a token that nobody used, and any token, is good no more.
IDLE_SECONDS = 12 * 3600.0
LONGEST_SECONDS = 7 * 24 * 3600.0
# Pages at a time; the one that was not used for longest goes first.
MOST_PAGES = 100
_MOST_TICKETS = 20
# How often a use is noted in the file: what is lost by a crash is only how long ago the last one was.
_NOTED_EVERY = 600.0


class PageToken(msgspec.Struct, frozen=True):
    """What is known of one page. Times are seconds since 1970."""

    digest: str
    created: float
    used: float


class PageTokens:
    """`clock` gives the seconds since 1970."""

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        # By their digests, with the time until which they are good.
        self._tickets: dict[str, float] = {}
        self._noted = 0.0
        self._tokens: dict[str, PageToken] = {}
        for one in self._read():
            self._tokens[one.digest] = one

    def ticket(self) -> str:
        """A new one, for somebody whom the control socket let in."""
        now = self._clock()
        self._tickets = {digest: until for digest, until in self._tickets.items() if until > now}
        while len(self._tickets) >= _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = secrets.token_urlsafe(_TICKET_BYTES)
        self._tickets[_digest(ticket)] = now + TICKET_SECONDS
        return ticket

    def trade(self, ticket: str) -> str | None:
        """A token for a ticket, once; None when it is not good."""
        until = self._tickets.pop(_digest(ticket), 0.0)
        return self.issue() if until > self._clock() else None

    def issue(self) -> str:
        """A new token, for somebody who has shown that they may use the gateway."""
        now = self._clock()
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        digest = _digest(token)
        self._tokens[digest] = PageToken(digest, now, now)
        for old in sorted(self.pages(), key=lambda one: one.used)[: max(len(self._tokens) - MOST_PAGES, 0)]:
            del self._tokens[old.digest]
        self._write()
        return token

    def is_good(self, token: str) -> bool:
        """Whether a page may use it; a use keeps it from growing old."""
        one = self._tokens.get(_digest(token))
        if one is None or not self._lives(one):
            return False
        now = self._clock()
        self._tokens[one.digest] = msgspec.structs.replace(one, used=now)
        if now - self._noted > _NOTED_EVERY:
            self._write()
        return True

    def pages(self) -> list[PageToken]:
        """Those that are good now."""
        self._tokens = {digest: one for digest, one in self._tokens.items() if self._lives(one)}
        return list(self._tokens.values())

    def revoke(self) -> int:
        """Make the tokens of all pages worthless; how many there were."""
        count = len(self.pages())
        self._tokens = {}
        self._write()
        return count

    def forget(self, token: str) -> None:
        """The page signs out."""
        if self._tokens.pop(_digest(token), None) is not None:
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


def _digest(secret: str) -> str:
    # Compared by looking them up: what a guess has in common with a digest tells nothing of the secret.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
