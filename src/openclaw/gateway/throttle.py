"""After too many wrong tokens a caller is refused for a while. Pure: the time is an argument.

Counts by the address a connection came from, never by a header, which anybody could write. The right token is never locked out, from
whatever address: on loopback a guessing program and the person it imitates share one.
"""

import ipaddress

import msgspec

# In a minute: far more than any client with an old token asks, and at this pace the shortest token takes thousands of years to guess.
MOST_WRONG = 300
WINDOW = 60.0
# Addresses remembered at a time; the one that was quiet longest is forgotten first.
MOST_ADDRESSES = 1_024
# One household or server has at least as many IPv6 addresses as this leaves open.
_IPV6_PREFIX = 64


class Penalty(msgspec.Struct, frozen=True):
    """`is_new`: the caller was not refused until now."""

    seconds: float
    is_new: bool


class _Caller(msgspec.Struct, frozen=True):
    """How often an address was wrong in the minute that began at `since`."""

    since: float
    count: int = 0


class Throttle:
    def __init__(self) -> None:
        # In the order in which they were last heard of.
        self._callers: dict[str, _Caller] = {}

    def wrong(self, address: str, now: float) -> Penalty | None:
        """Count a wrong token from `address`. For how long it is refused; None while it is not."""
        key = _key(address)
        caller = self._callers.pop(key, None)
        if caller is None or now - caller.since >= WINDOW:
            caller = _Caller(now)
        caller = _Caller(caller.since, caller.count + 1)
        self._callers[key] = caller
        if len(self._callers) > MOST_ADDRESSES:
            del self._callers[next(iter(self._callers))]
        if caller.count <= MOST_WRONG:
            return None
        return Penalty(WINDOW - (now - caller.since), is_new=caller.count == MOST_WRONG + 1)


def _key(address: str) -> str:
    """One key for all forms of an address, and for all addresses of one IPv6 network."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)
