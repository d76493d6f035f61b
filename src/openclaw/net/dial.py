"""From a target to a live connection: resolve, check every address, connect to one that passed, tunnel, TLS.

The egress check stands here, where the socket is made, so that names, literal addresses, odd spellings and redirects all meet it, and
the address that was checked is the address that is dialled. A proxy is the operator's choice and is dialled as such; what it is asked
for is checked as far as it can be seen. Raises ConnectError or AddressError; nothing has been sent when it does.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from openclaw.errors import AddressError, ConnectError, OpenClawError
from openclaw.net import tls
from openclaw.net.dns import Lookup, addresses
from openclaw.net.http1 import ResponseParser, encode_fields, encode_request, encode_start
from openclaw.net.http_connection import HttpConnection
from openclaw.net.proxy import Proxy
from openclaw.security.egress import Rules, Target, check_dial, literal_address

# When one address does not answer, the next is tried beside it after this long (RFC 8305 recommends 250 ms).
STAGGER: Final = 0.25
# A peer that vanished without a word is noticed after about a minute: three probes, 10 s apart, after 30 s of silence.
KEEPALIVE_IDLE: Final = 30
KEEPALIVE_INTERVAL: Final = 10
KEEPALIVE_PROBES: Final = 3
# How long the name of something that a proxy is asked for is looked up here; where names are the proxy's business, no answer may come.
LOOKUP_PATIENCE: Final = 1.0

_PROXY_RULES = Rules(allow_loopback=True, allow_private=True, allow_link_local=True, allow_plain_http=True)


async def dial(
    target: Target, rules: Rules, *, proxy: Proxy | None, context: ssl.SSLContext | None, lookup: Lookup
) -> HttpConnection:
    """Open a connection to `target`. The caller bounds the time; cancelling leaves nothing open."""
    if proxy is None:
        sock, peer = await _connect(target, rules, lookup)
        return await _attach(sock, target, peer, context)
    if (literal := literal_address(target.host)) is not None:
        check_dial(target, literal, rules)
    elif target.scheme == "http" and not rules.allow_plain_http:
        raise AddressError(f"{target.origin} would be sent unencrypted.", hint="Use an https:// URL.")
    elif not rules.allow_private:
        await _check_name(target, rules, lookup)
    sock, _ = await _connect(proxy.target, _PROXY_RULES, lookup)
    if target.scheme == "https":
        try:
            await _tunnel(sock, target, proxy)
        except BaseException:
            sock.close()
            raise
    return await _attach(sock, target, "", context)


async def _check_name(target: Target, rules: Rules, lookup: Lookup) -> None:
    """Refuse to ask a proxy for a name that leads, as far as this machine can tell, into a network it may not reach.

    Many machines behind a proxy cannot resolve the names of the internet: then the name is the proxy's to judge.
    """
    try:
        async with asyncio.timeout(LOOKUP_PATIENCE):
            found = await addresses(target, lookup)
    except (ConnectError, TimeoutError):
        return
    for address in found:
        check_dial(target, address, rules)


async def _attach(sock: socket.socket, target: Target, peer: str, context: ssl.SSLContext | None) -> HttpConnection:
    """Hand the socket to the event loop, which owns it from here on, also when the handshake fails."""
    loop = asyncio.get_running_loop()

    def make() -> HttpConnection:
        return HttpConnection(target.origin, peer, sock)

    try:
        if context is None:
            _, connection = await loop.create_connection(make, sock=sock)
        else:
            name = target.host.removesuffix(".")
            _, connection = await loop.create_connection(make, sock=sock, ssl=context, server_hostname=name)
    except ssl.SSLError as error:
        raise tls.describe(error, target.origin) from None
    except (OSError, EOFError) as error:
        raise ConnectError(f"{target.origin} broke off the connection: {_reason(error)}.") from None
    return connection


async def _connect(target: Target, rules: Rules, lookup: Lookup) -> tuple[socket.socket, str]:
    """A connected socket and the address it leads to; every address is checked, and refused ones are never dialled."""
    allowed: list[str] = []
    refusal: AddressError | None = None
    for address in await addresses(target, lookup):
        try:
            check_dial(target, address, rules)
            allowed.append(address)
        except AddressError as error:
            refusal = AddressError(f"{target.origin} is refused: {error.message}", hint=error.hint)
    if refusal is not None and not allowed:
        raise refusal
    return await _race(target, allowed)


async def _race(target: Target, allowed: Sequence[str]) -> tuple[socket.socket, str]:
    """Connect to the addresses in order, each given a head start; the first that answers wins."""
    failures: list[OSError] = []
    running: dict[asyncio.Task[socket.socket], str] = {}
    waiting = list(allowed)
    try:
        while waiting or running:
            if waiting:
                address = waiting.pop(0)
                running[asyncio.create_task(_connect_one(address, target.port))] = address
            done, _ = await asyncio.wait(
                running, timeout=STAGGER if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                address = running.pop(task)
                error = task.exception()
                if error is None:
                    return task.result(), address
                if not isinstance(error, OSError):
                    raise error
                failures.append(error)
    finally:
        # No waiting here: a second cancellation would end the wait, and leave open what connected meanwhile and the winner with it.
        for task in running:
            task.cancel()
            task.add_done_callback(_close_late)
    raise _unreachable(target, failures[0] if failures else None)


def _close_late(task: asyncio.Task[socket.socket]) -> None:
    """Close what connected after another address had won, or after nobody wanted a connection any more."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _connect_one(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(sock)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # The names differ between systems; where one is missing, the system's own default stands.
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPALIVE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
    ):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _tunnel(sock: socket.socket, target: Target, proxy: Proxy) -> None:
    """Ask an HTTP proxy for a connection to the target. Nothing of the request itself is sent before the proxy agreed."""
    loop = asyncio.get_running_loop()
    host = f"[{target.host}]" if ":" in target.host else target.host
    where = f"{host}:{target.port}"
    headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}
    parser = ResponseParser("CONNECT")
    try:
        await loop.sock_sendall(
            sock, encode_request(encode_start("CONNECT", where, where, encode_fields(headers)), None)
        )
        while parser.head is None:
            # Nothing after the head can be lost here: behind the proxy's answer it is our turn to speak.
            data = await loop.sock_recv(sock, 4096)
            if not data:
                raise ConnectError(f"The proxy {proxy.target.origin} closed the connection.")
            parser.feed(data)
    except OpenClawError:
        raise
    except OSError as error:
        raise ConnectError(f"The proxy {proxy.target.origin} broke off: {_reason(error)}.") from None
    if parser.head.status != 200:
        hint = "Check the user name and password in HTTPS_PROXY." if parser.head.status == 407 else ""
        raise ConnectError(
            f"The proxy {proxy.target.origin} answered {parser.head.status} when asked for {target.origin}.", hint=hint
        )


def _unreachable(target: Target, error: OSError | None) -> ConnectError:
    if isinstance(error, ConnectionRefusedError):
        return ConnectError(f"Nothing listens at {target.origin}.", hint="Is the server running?")
    return ConnectError(f"{target.origin} cannot be reached: {_reason(error)}.")


def _reason(error: BaseException | None) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "the connection was closed"
