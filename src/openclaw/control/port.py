"""Listening sockets for the HTTP port: on loopback unless the config says otherwise, and which program holds a port that is taken."""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from openclaw.errors import OpenClawError, UsageError
from openclaw.log import one_line

_BACKLOG = 128
# Each word of `gateway.bind`, and where it listens. The first address has to work; the others may be missing on this machine.
_WORDS = {"loopback": ("127.0.0.1", "::1"), "lan": ("0.0.0.0", "::")}
_LISTENING = "0A"
_SHOWN_NAME = 60


class PortTakenError(OpenClawError):
    pass


def listen(bind: str, port: int) -> list[socket.socket]:
    """Sockets for `gateway.bind` and `gateway.port`; port 0 is any free one, the same for all. Raises OpenClawError."""
    addresses = _addresses(bind)
    opened = [_open(addresses[0], port)]
    chosen = int(opened[0].getsockname()[1])
    for address in addresses[1:]:
        try:
            opened.append(_open(address, chosen))
        except OpenClawError:
            # No such address family here, or somebody else's port on it: the first address is the one we promise.
            pass
    return opened


def _addresses(bind: str) -> tuple[str, ...]:
    if bind in _WORDS:
        return _WORDS[bind]
    try:
        return (str(ipaddress.ip_address(bind)),)
    except ValueError:
        raise UsageError(
            f"gateway.bind is {one_line(bind, _SHOWN_NAME)!r}, which is no address.",
            hint="Use loopback, lan or one address of this machine.",
        ) from None


def _open(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # A port of a gateway that just ended may be used again at once; one that is in use may not.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            owner = owner_of(port)
            raise PortTakenError(
                f"Port {port} is taken{f' by {owner}' if owner else ''}.",
                hint=f"Use another one: openclaw config set gateway.port {port + 1 if port < 65535 else port - 1}",
            ) from None
        raise OpenClawError(f"Cannot listen on {address}, port {port}: {error.strerror}.") from None
    return listener


def owner_of(port: int, *, proc: Path = Path("/proc")) -> str:
    """The program that listens on a port, as `name (pid 123)`. Empty where that cannot be told."""
    sockets = {f"socket:[{inode}]" for inode in _listeners(port, proc)}
    if not sockets:
        return ""
    for process in proc.iterdir():
        if process.name.isdigit() and _holds(process, sockets):
            return f"{_name(process)} (pid {process.name})"
    return "another user's program"


def _listeners(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _holds(process: Path, sockets: set[str]) -> bool:
    try:
        descriptors = os.listdir(process / "fd")
    except OSError:
        # Gone, or not ours to look at.
        return False
    return any(_target(process / "fd" / name) in sockets for name in descriptors)


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        # Closed since we looked.
        return ""


def _name(process: Path) -> str:
    try:
        return one_line((process / "comm").read_text().strip(), _SHOWN_NAME)
    except OSError:
        return "a program"
