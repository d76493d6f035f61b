"""The second port, which panels (MCP Apps) come from: two documents for each, one in the other, on an origin that is not the page's.

The outer one is ours and hands messages on; the inner one is the server's HTML in a sandbox without an origin of its own, so that no panel
reaches another, under a policy that admits the hosts it named and no others. Both are shown in the one page they were opened for, and
nowhere else. Nothing here knows a token, and nothing else is served here.
"""

import html
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from openclaw.control.port import listen
from openclaw.gateway.guard import GuardRules, RequestHead, origin_refusal
from openclaw.gateway.panels import Panel, Panels
from openclaw.mcp.tools.panel import PanelPage

HOST = "127.0.0.1"
# What the inner document may do. No origin: it has neither storage nor cookies, and reaches no other frame.
SANDBOX = "allow-scripts allow-forms"
# Hands messages on between the page and the panel, each known by its window and by its origin.
SCRIPT = """"use strict";
const page = document.currentScript.dataset.page;
addEventListener("message", (event) => {
  const inner = document.querySelector("iframe")?.contentWindow;
  if (!inner) return;
  if (event.source === parent && event.origin === page) inner.postMessage(event.data, "*");
  else if (event.source === inner && event.origin === "null") parent.postMessage(event.data, page);
});
"""
STYLE = "html, body, iframe { margin: 0; padding: 0; border: 0; width: 100%; height: 100%; display: block; }\n"
_OUTER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="/frame.css"><script src="/frame.js" data-page="{page}"></script></head>
<body><iframe title="{title}" sandbox="{sandbox}" src="/app/{id}"></iframe></body></html>
"""
_HEADERS = {
    "Server": "openclaw",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), clipboard-read=(), clipboard-write=(), geolocation=(), microphone=()",
}
_CLOSE_TIMEOUT = 1.0


def outer_policy(origin: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            # Wherever the panel goes in its frame, it stays here.
            "frame-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            f"frame-ancestors {origin}",
        )
    )


def inner_policy(page: PanelPage, origin: str) -> str:
    """What the server's HTML may load and reach: what is in it, and the hosts that it named."""

    def sources(*own: str, hosts: Sequence[str] = ()) -> str:
        return " ".join((*own, *hosts)) or "'none'"

    loaded = page.resources
    rules = {
        "default-src": "'none'",
        "script-src": sources("'unsafe-inline'", hosts=loaded),
        "style-src": sources("'unsafe-inline'", hosts=loaded),
        "img-src": sources("data:", "blob:", hosts=loaded),
        "font-src": sources("data:", hosts=loaded),
        "media-src": sources("data:", "blob:", hosts=loaded),
        "connect-src": sources(hosts=page.connect),
        "frame-src": sources(hosts=page.frames),
        "base-uri": sources(hosts=page.bases),
        "worker-src": "blob:",
        "form-action": "'none'",
        "frame-ancestors": f"'self' {origin}",
        # Also for somebody who opens its address by itself.
        "sandbox": SANDBOX,
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class PanelFrames:
    """Serves what `panels` has. `origin` is empty until it listens."""

    def __init__(self, panels: Panels) -> None:
        self._panels = panels
        self.origin = ""
        application = web.Application(middlewares=[_guarded])
        application.add_routes(
            [
                web.get("/frame/{id}", self._outer),
                web.get("/app/{id}", self._inner),
                web.get("/frame.js", _script),
                web.get("/frame.css", _style),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_CLOSE_TIMEOUT)

    async def start(self, port: int) -> None:
        """Listen on this machine alone; port 0 is any free one. Raises OpenClawError."""
        (listener,) = listen(HOST, port)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()
        self.origin = f"http://{HOST}:{listener.getsockname()[1]}"

    async def close(self) -> None:
        self.origin = ""
        await self._runner.cleanup()

    async def _outer(self, request: web.Request) -> web.Response:
        panel = self._found(request)
        title = html.escape(f"App of {panel.server}")
        text = _OUTER.format(title=title, page=html.escape(panel.origin), sandbox=SANDBOX, id=panel.id)
        return _document(text, outer_policy(panel.origin))

    async def _inner(self, request: web.Request) -> web.Response:
        panel = self._found(request)
        return _document(panel.page.html, inner_policy(panel.page, panel.origin))

    def _found(self, request: web.Request) -> Panel:
        panel = self._panels.find(request.match_info["id"])
        if panel is None:
            raise web.HTTPNotFound(text="This app is no longer open.")
        return panel


async def _script(request: web.Request) -> web.Response:
    return web.Response(text=SCRIPT, content_type="text/javascript")


async def _style(request: web.Request) -> web.Response:
    return web.Response(text=STYLE, content_type="text/css")


def _document(text: str, policy: str) -> web.Response:
    # What no encoding can carry is shown as a question mark.
    return web.Response(
        body=text.encode("utf-8", "replace"),
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": policy},
    )


@web.middleware
async def _guarded(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Whom a request is meant for is looked at as on the other port: no name of somebody else's leads here."""
    head = RequestHead(
        request.method,
        request.path,
        request.headers.getall("Host", ()),
        request.headers.getall("Origin", ()),
        (),
    )
    refused = origin_refusal(GuardRules(()), head)
    response: web.StreamResponse
    if refused is not None:
        response = web.Response(status=refused.status, text=refused.message)
    else:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=error.text)
    response.headers.update(_HEADERS)
    return response
