"""The listener that a browser comes back to: 127.0.0.1 alone, one path, GET alone, one answer.

Tells its own redirect from any other request by the `state` in it; the rest (another path, another host name, a web page trying its luck)
is turned away and ends nothing. The page shows no byte of the request. What the answer means is `login.py`'s business.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from openclaw.auth.page import page
from openclaw.errors import AuthError, ConnectError
from openclaw.protocol.oauth.authorization import is_answer_to

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
# A redirect is one line of URL and a browser's headers.
_MAX_HEAD: Final = 32 * 1024
# A browser on this machine sends its request at once.
_READ_PATIENCE: Final = 10.0
# The browser waits for its page while the code is exchanged.
_REPLY_PATIENCE: Final = 60.0
_REQUEST: Final = re.compile(rb"(?P<method>[A-Z]+) (?P<target>/[\x21-\x7e]*) HTTP/1\.[01]")

_SUCCESS: Final = (
    200,
    page("good", "You are signed in", "OpenClaw can use this server now.<br>You can close this page."),
)
_FAILURE: Final = (
    400,
    page("bad", "The sign-in did not work", "OpenClaw says why where you started it.<br>You can close this page."),
)
_STRAY: Final = (
    404,
    page("none", "Nothing here", "This address waits for one answer of a sign-in, and this is not it."),
)
_WRONG_METHOD: Final = (405, page("none", "Only for browsers", "This address takes GET requests only."))
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class CallbackListener:
    """Waits for one redirect. `redirect_uri` is where the browser has to be sent."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._authority = f"{host}:{port}"
        self._path = path
        self.redirect_uri = f"http://{self._authority}{path}"
        self._state = ""
        self._received: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._shown = asyncio.Event()

    def expect(self, state: str) -> None:
        """From now on a redirect that carries this state is the answer."""
        self._state = state

    async def answer(self, patience: float) -> str:
        """The whole address the browser came with. Raises AuthError when it does not come in time."""
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(self._received)
        except TimeoutError:
            raise AuthError(
                f"Nobody finished the sign-in within {patience / 60:g} minutes.", hint="Start it again."
            ) from None

    async def reply(self, *, success: bool) -> None:
        """Let the browser's page say how it went, and wait until it is sent."""
        if not self._verdict.done():
            self._verdict.set_result(success)
        with suppress(TimeoutError):
            async with asyncio.timeout(_READ_PATIENCE):
                await self._shown.wait()

    def dismiss(self) -> None:
        """Let a browser that still waits for its page go."""
        if not self._verdict.done():
            self._verdict.set_result(False)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, one page."""
        try:
            async with asyncio.timeout(_READ_PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_response(*await self._handle(head)))
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # Whoever it was has left, or sent no request.
            pass
        finally:
            writer.close()
            if self._verdict.done():
                self._shown.set()

    async def _handle(self, head: bytes) -> tuple[int, str]:
        line, _, rest = head.partition(b"\r\n")
        request = _REQUEST.fullmatch(line)
        if request is None or not self._is_for_us(rest):
            return _STRAY
        if request["method"] != b"GET":
            return _WRONG_METHOD
        target = request["target"].decode("ascii")
        if target.partition("?")[0] != self._path or not self._state or not is_answer_to(target, self._state):
            return _STRAY
        if self._received.done():
            return _STRAY
        self._received.set_result(f"http://{self._authority}{target}")
        with suppress(TimeoutError):
            async with asyncio.timeout(_REPLY_PATIENCE):
                return _SUCCESS if await asyncio.shield(self._verdict) else _FAILURE
        return _FAILURE

    def _is_for_us(self, fields: bytes) -> bool:
        """Whether a request names this listener as its host: a web page whose own name was made to point here (DNS rebinding) does not."""
        hosts = [
            line.partition(b":")[2].strip().lower()
            for line in fields.split(b"\r\n")
            if line.partition(b":")[0].lower() == b"host"
        ]
        return hosts == [self._authority.encode("ascii")]


@asynccontextmanager
async def listen(fixed: str = "", *, preferred: str = "") -> AsyncIterator[CallbackListener]:
    """A listener at the fixed redirect address, if one is configured; else at the preferred one's port, or any that is free.

    Raises AuthError when a fixed address is not on this machine, ConnectError when its port is taken.
    """
    host, port, path = _place(fixed) if fixed else (HOST, 0, PATH)
    listener: CallbackListener | None = None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if listener is not None:
            await listener.serve(reader, writer)

    try:
        server = await _bind(serve, port, () if fixed else _ports(preferred))
    except OSError:
        raise ConnectError(
            f"Port {port} of this machine, which the sign-in has to come back to, is taken.",
            hint="Free it, or change `auth.redirectUrl`.",
        ) from None
    try:
        listener = CallbackListener(host, server.sockets[0].getsockname()[1], path)
        yield listener
    finally:
        server.close()
        if listener is not None:
            listener.dismiss()


async def _bind(serve: Serve, port: int, first: tuple[int, ...]) -> asyncio.Server:
    for preferred in first:
        with suppress(OSError):
            return await _started(serve, preferred)
    return await _started(serve, port)


async def _started(serve: Serve, port: int) -> asyncio.Server:
    server = await asyncio.start_server(serve, HOST, port, limit=_MAX_HEAD, start_serving=False)
    try:
        await server.start_serving()
    except BaseException:
        # When it is cancelled too: `start_server` would leave the port open then, for as long as the program runs.
        server.close()
        raise
    return server


def _place(redirect_url: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(redirect_url)
        if parts.scheme == "http" and parts.hostname in (HOST, "localhost") and not parts.query and not parts.fragment:
            return parts.hostname, parts.port or 80, parts.path or "/"
    except ValueError:
        pass
    raise AuthError(
        "`auth.redirectUrl` is not an http address of this machine, so no sign-in can come back to it by itself.",
        hint="Use --no-browser, and finish with --code.",
    )


def _ports(redirect_uri: str) -> tuple[int, ...]:
    """The port of an earlier sign-in: a client registered for it can be used again."""
    try:
        parts = urlsplit(redirect_uri)
        return (parts.port,) if parts.hostname == HOST and parts.path == PATH and parts.port else ()
    except ValueError:
        return ()


def _response(status: int, text: str) -> bytes:
    body = text.encode("utf-8")
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
