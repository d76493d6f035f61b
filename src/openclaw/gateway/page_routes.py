"""`/`, `/page/…` and `/v1/page/session`: the files of the page, and how somebody signs in to it.

The files tell nothing and need no token; they come with the strictest policy a page can have: no script, style, picture or request from
elsewhere, nothing inline, no frame around it, and no way from text to markup. What the page does it does over the routes of everybody.
"""

import gzip
import hashlib
from functools import cache
from importlib.resources import files

import msgspec
from aiohttp import web

from openclaw.errors import UsageError
from openclaw.gateway.guard import SIGN_IN_PATH, bearer
from openclaw.gateway.http import HttpServer, failure, json_response, read_object
from openclaw.gateway.page_tokens import Pages
from openclaw.gateway.route import BYTES, Route

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "media-src blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_LOOPBACK = ("127.", "::1", "::ffff:127.")


class PageSignIn(msgspec.Struct, forbid_unknown_fields=True):
    """One of both: a ticket of `openclaw ui`, or the gateway's token."""

    ticket: str = ""
    token: str = ""


class PageSignedIn(msgspec.Struct):
    token: str


class PageFile(msgspec.Struct, frozen=True):
    kind: str
    data: bytes
    packed: bytes
    etag: str


@cache
def page_files() -> dict[str, PageFile]:
    """All files of the page by their names; read when the first is asked for."""
    found = {}
    for one in files("openclaw.gateway").joinpath("page").iterdir():
        kind = _TYPES.get(f".{one.name.rpartition('.')[2]}")
        if kind is not None:
            data = one.read_bytes()
            packed = gzip.compress(data, mtime=0)
            found[one.name] = PageFile(kind, data, packed, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
    return found


class PageRoutes:
    """`server` is the one that serves these routes. `frames` is the origin of the panels that it may show, empty for none."""

    def __init__(self, pages: Pages, *, frames: str = "") -> None:
        self._pages = pages
        self._policy = f"{POLICY}; frame-src {frames}" if frames else POLICY
        self.server: HttpServer

    def routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/",
                self.index,
                "The gateway's [page](../how-to/use-the-page.md)",
                gives="text/html",
                head=True,
            ),
            Route("GET", "/page/{name}", self.file, "Its files", gives=BYTES, head=True),
            Route(
                "POST",
                SIGN_IN_PATH,
                self.sign_in,
                'Sign in to it: `{"ticket": …}`, or `{"token": …}` with the gateway\'s token',
                body=PageSignIn,
                gives=PageSignedIn,
            ),
            Route("DELETE", SIGN_IN_PATH, self.sign_out, "Sign out: the token of the request is good no more"),
        ]

    async def index(self, request: web.Request) -> web.Response:
        return _served(request, "index.html", self._policy)

    async def file(self, request: web.Request) -> web.Response:
        return _served(request, request.match_info["name"], self._policy)

    async def sign_in(self, request: web.Request) -> web.Response:
        """A token for a page: for a ticket, or for whoever knows the gateway's own."""
        asked: PageSignIn = await read_object(request, PageSignIn)
        if bool(asked.ticket) == bool(asked.token):
            raise UsageError("Send a ticket of `openclaw ui`, or the gateway's token.")
        token = await self._pages.trade(asked.ticket) if asked.ticket else None
        if asked.token and self.server.is_token(asked.token):
            token = await self._pages.issue()
        return self.server.wrong_token(request) if token is None else json_response(PageSignedIn(token))

    async def sign_out(self, request: web.Request) -> web.Response:
        await self._pages.forget(bearer(request.headers.getall("Authorization", ())))
        return json_response({"signedOut": True})


def _served(request: web.Request, name: str, policy: str) -> web.Response:
    if not _is_private(request):
        message = "The page is served to this machine alone: what it shows would travel unencrypted."
        hint = "Use an ssh tunnel, or a proxy with https on this machine."
        return failure(403, "page_not_private", f"{message} {hint}")
    file = page_files().get(name)
    if file is None:
        return failure(404, "not_found", "There is nothing here.")
    headers = {**_HEADERS, "Content-Security-Policy": policy, "ETag": file.etag, "Vary": "Accept-Encoding"}
    if file.etag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=headers)
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return web.Response(body=file.packed, content_type=file.kind, charset="utf-8", headers=headers)
    return web.Response(body=file.data, content_type=file.kind, charset="utf-8", headers=headers)


def _is_private(request: web.Request) -> bool:
    """Whether the connection ends on this machine where it began: in a browser here, a tunnel, or a proxy in front."""
    sockname = request.transport.get_extra_info("sockname") if request.transport else None
    return sockname is not None and str(sockname[0]).startswith(_LOOPBACK)
