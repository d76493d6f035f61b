"""Grants that outlive a conversation: the contract, and one private JSON file, replaced whole under a lock, seen by every process.

Owns the file, its bound and when a grant was last used; those of several gateways are in `fleet/grants.py`. A file that cannot be read
grants nothing and is never overwritten: what a person allowed is not lost to a slip. Without a file everything is kept in the process
alone. Which calls a grant covers is security/approval.py's.
"""

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from openclaw.content import to_json
from openclaw.errors import StoreError
from openclaw.files import make_directory, reason, replace
from openclaw.grant import Grant
from openclaw.lock import take

_log = logging.getLogger(__name__)
# Nobody can keep an eye on more.
MOST_GRANTS = 2_000
# After so many days without use a grant is worth a look.
UNUSED_DAYS = 90
# Seconds between two looks at the file for the sake of calls that a grant lets run: a look costs a tenth of a call.
LOOK_EVERY = 0.1
_FORMAT = 1


class KeptGrant(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A grant in the file. `last_used` is a day: the file is written once a day for it and not at every call."""

    grant: Grant
    last_used: str = ""


class _File(msgspec.Struct):
    format: int
    grants: list[KeptGrant] = []


_decoder = msgspec.json.Decoder(_File)
# What the file looked like when it was read: whatever changes it replaces it.
_Stamp = tuple[int, int, int] | None
_NEVER: _Stamp = (-1, -1, -1)


class Grants(Protocol):
    """What a person allowed for good. What is not awaited costs next to nothing, and knows the changes of others a moment late. `add`,
    `revoke` and `used` raise StoreError when nothing can be kept."""

    @property
    def revision(self) -> int:
        """Changes whenever the grants do, and with the day: that one is used is noted by the day."""
        ...

    @property
    def good_until(self) -> float:
        """For so long (monotonic) the revision that was asked for last needs not be asked for again, but for what `follow` tells."""
        ...

    def follow(self, changed: Callable[[], None]) -> None:
        """`changed` is called in the loop, whenever this process has changed the grants, or sees that others have."""
        ...

    def all(self) -> tuple[Grant, ...]: ...

    def has(self, ids: Iterable[str]) -> bool:
        """Whether all of these are still there."""
        ...

    def used(self, ids: Iterable[str]) -> None:
        """Note that these were used today, sooner or later. A call is on its way and waits for nobody."""
        ...

    async def check(self) -> None:
        """Raises StoreError when they cannot be read: then no grant is in force."""
        ...

    async def kept(self) -> tuple[KeptGrant, ...]:
        """The same, with when each was last used."""
        ...

    async def add(self, *grants: Grant) -> None: ...

    async def revoke(self, grant_id: str) -> bool:
        """Whether there was one of that id."""
        ...

    async def close(self) -> None:
        """Wait for what is being noted."""
        ...


class GrantStore:
    """Those of one machine, in a file; without one in the process alone."""

    def __init__(
        self,
        file: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._file = file
        self._clock = clock
        self._today = today
        self._day = today()
        self._kept: tuple[KeptGrant, ...] = ()
        self._grants: tuple[Grant, ...] = ()
        self._stamp: _Stamp = _NEVER
        self._revision = 0
        self._look_at = -math.inf
        self._followers: list[Callable[[], None]] = []

    @property
    def revision(self) -> int:
        """Within a tenth of a second when another process changed them."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            self._look()
            if (day := self._today()) != self._day:
                self._day = day
                self._revision += 1
        return self._revision

    @property
    def good_until(self) -> float:
        return self._look_at

    def follow(self, changed: Callable[[], None]) -> None:
        self._followers.append(changed)

    def _tell(self) -> None:
        for changed in self._followers:
            changed()

    def all(self) -> tuple[Grant, ...]:
        self._look()
        return self._grants

    async def check(self) -> None:
        if self._file is not None:
            await asyncio.to_thread(_read, self._file)

    def has(self, ids: Iterable[str]) -> bool:
        return set(ids) <= {one.id for one in self.all()}

    async def kept(self) -> tuple[KeptGrant, ...]:
        self._look()
        return self._kept

    async def add(self, *grants: Grant) -> None:
        # The file may be in another process' hands.
        await asyncio.to_thread(self._add, grants)
        self._tell()

    def _add(self, grants: Iterable[Grant]) -> None:
        with self._writing() as kept:
            kept += [KeptGrant(one) for one in fresh_of((one.grant for one in kept), grants)]

    async def revoke(self, grant_id: str) -> bool:
        was_there = await asyncio.to_thread(self._revoke, grant_id)
        self._tell()
        return was_there

    def _revoke(self, grant_id: str) -> bool:
        with self._writing() as kept:
            left = [one for one in kept if one.grant.id != grant_id]
            was_there = len(left) < len(kept)
            kept[:] = left
        return was_there

    def used(self, ids: Iterable[str]) -> None:
        """When another process has the file, the next time."""
        wanted, today = set(ids), self._today().isoformat()
        if not any(one.grant.id in wanted and one.last_used != today for one in self._kept):
            return
        before = self._revision
        with self._writing(waits=False) as kept:
            kept[:] = [msgspec.structs.replace(one, last_used=today) if one.grant.id in wanted else one for one in kept]
        if self._revision != before:
            # What others did was read on the way.
            self._tell()

    async def close(self) -> None:
        """Every use is noted by now."""

    @contextmanager
    def _writing(self, *, waits: bool = True) -> Iterator[list[KeptGrant]]:
        """The grants as they are now, to be changed; what is left in the list is what there is from then on. When somebody has the file and
        nobody `waits`, nothing is kept."""
        if self._file is None:
            kept = list(self._kept)
            yield kept
            self._set(kept)
            return
        handle = _opened(self._file.with_suffix(".lock"))
        try:
            if not take(handle, wait=waits):
                if waits:
                    raise StoreError(f"{self._file} cannot be changed: another process does not let go of it.")
                yield []
                return
            kept = list(_read(self._file))
            before = list(kept)
            yield kept
            if kept != before:
                replace(self._file, to_json(_File(_FORMAT, kept)))
            self._stamp = _stamp(self._file)
            self._set(kept)
        finally:
            os.close(handle)

    def _look(self) -> None:
        if self._file is None or (stamp := _stamp(self._file)) == self._stamp:
            return
        self._stamp = stamp
        try:
            self._set(_read(self._file))
        except StoreError as error:
            _log.error("No grants are in force: %s", error)
            self._set(())
        self._tell()

    def _set(self, kept: Iterable[KeptGrant]) -> None:
        kept = tuple(kept)
        grants = tuple(one.grant for one in kept)
        self._kept = kept
        if grants != self._grants:
            self._grants = grants
            self._revision += 1


def unused(kept: Iterable[KeptGrant]) -> tuple[KeptGrant, ...]:
    """Those that nobody has needed for a long time. They are told of, never dropped."""
    before = (date.today() - timedelta(days=UNUSED_DAYS)).isoformat()
    return tuple(one for one in kept if (one.last_used or one.grant.created or before)[:10] < before)


def fresh_of(there: Iterable[Grant], grants: Iterable[Grant]) -> list[Grant]:
    """Those of `grants` that allow what none of those that are there does. Raises StoreError when that would be too many."""
    kept = [_meaning(one) for one in there]
    known = set(kept)
    fresh = [one for one in grants if _meaning(one) not in known]
    if len(kept) + len(fresh) > MOST_GRANTS:
        raise StoreError(
            f"There are {len(kept):,} grants, and {MOST_GRANTS:,} is all there may be.",
            hint="Revoke some: openclaw approvals grants, openclaw approvals revoke ID.",
        )
    return fresh


def _meaning(grant: Grant) -> bytes:
    """A grant without what tells two of the same meaning apart."""
    return to_json(msgspec.structs.replace(grant, id="", created="", by=""))


def _stamp(file: Path) -> _Stamp:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(file: Path) -> tuple[KeptGrant, ...]:
    """Raises StoreError when there is a file that is not understood."""
    try:
        found = _decoder.decode(file.read_bytes())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {reason(error)}.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{file} is damaged: {error}.", hint="Repair it, or remove it to begin anew.") from None
    if found.format != _FORMAT:
        raise StoreError(f"{file} is of another version of this program.", hint="Remove it to begin anew.")
    return tuple(found.grants)


def _opened(file: Path) -> int:
    """The lock file. It stays: removing it while others wait for it would let two in."""
    try:
        make_directory(file.parent)
        return os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise StoreError(f"{file} cannot be used: {reason(error)}.") from None
