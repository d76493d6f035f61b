"""From a host to the addresses it has. Judges none of them: `dial.py` asks `security/egress.py` about each.

A literal address is itself, and `localhost` is loopback by definition, whatever a name server says. Any other name is looked up with
the system's own resolver, in a thread of its own: one name server that hangs must not hold up another server's lookup.
"""

import socket
from collections.abc import Awaitable, Callable
from typing import Final

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import ConnectError
from openclaw.security.egress import Target, literal_address

# More addresses than this for one name only cost time.
MAX_ADDRESSES: Final = 8

# Host and port to addresses, in order of preference. Raises OSError when the name has none.
Lookup = Callable[[str, int], Awaitable[list[str]]]


async def system_lookup(host: str, port: int) -> list[str]:
    """getaddrinfo."""

    def look_up() -> list[str]:
        # Bytes keep the standard library from loading its IDNA tables; the name is ASCII already.
        entries = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
        return [str(address[0]) for _, _, _, _, address in entries]

    return await in_daemon_thread(look_up)


async def addresses(target: Target, lookup: Lookup) -> list[str]:
    """The addresses of a target's host, best first. Raises ConnectError when there is none."""
    host = target.host
    literal = literal_address(host)
    if literal is not None:
        # By name, loopback has an address of each family, and servers listen on either.
        return [str(literal)] if _is_spelled_out(host) else ["127.0.0.1", "::1"]
    hint = "Check the URL and the network."
    try:
        found = await lookup(host, target.port)
    except socket.gaierror as error:
        moment = " at the moment" if error.errno == socket.EAI_AGAIN else ""
        raise ConnectError(f"The host name {host} cannot be resolved{moment}.", hint=hint) from None
    except (OSError, UnicodeError):
        raise ConnectError(f"The host name {host} cannot be resolved.", hint=hint) from None
    if not found:
        raise ConnectError(f"The host name {host} has no address.", hint=hint)
    return list(dict.fromkeys(found))[:MAX_ADDRESSES]


def _is_spelled_out(host: str) -> bool:
    return not host.removesuffix(".").endswith("localhost")
