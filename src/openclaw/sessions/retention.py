"""How long conversations are kept: which of them have to go, as a pure decision over what a store holds.

Old ones go first by age, then, while all of them together take too much room, the ones used least recently: those nobody named before
those somebody did. Carrying it out is the store's business.
"""

from collections.abc import Iterable

import msgspec

from openclaw.sessions.key import is_unnamed

DAY = 24 * 3600.0
# Between two times that a store tidies up by itself.
INTERVAL = DAY


class Keep(msgspec.Struct, frozen=True):
    """None: without limit. `days` and `unnamed_days` count from the last use; `size` is in bytes, for all conversations together."""

    days: float | None = None
    unnamed_days: float | None = 30.0
    size: int | None = None


class Stored(msgspec.Struct, frozen=True):
    """A conversation, when it was last used (seconds since 1970), and the bytes of its words and media."""

    key: str
    updated: float
    size: int


class Pruned(msgspec.Struct, frozen=True):
    """What was removed, or would be; `busy` are those that were in use and stayed; `freed` are the bytes given back to the disk."""

    removed: tuple[Stored, ...] = ()
    busy: tuple[str, ...] = ()
    freed: int = 0


def outlived(stored: Iterable[Stored], keep: Keep, now: float) -> list[Stored]:
    """Those that have to go, the ones used least recently first."""
    by_use = sorted(stored, key=lambda one: (one.updated, one.key))
    gone = [one for one in by_use if _is_too_old(one, keep, now)]
    if keep.size is not None:
        left = [one for one in by_use if not _is_too_old(one, keep, now)]
        excess = sum(one.size for one in left) - keep.size
        for one in sorted(left, key=lambda one: not is_unnamed(one.key)):
            if excess <= 0:
                break
            gone.append(one)
            excess -= one.size
    return gone


def _is_too_old(one: Stored, keep: Keep, now: float) -> bool:
    limits = [keep.days, keep.unnamed_days] if is_unnamed(one.key) else [keep.days]
    return any(limit is not None and now - one.updated > limit * DAY for limit in limits)
