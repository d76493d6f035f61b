"""`/health`, `/v1/events` and `/metrics`: is it alive, what happens in it, and in what numbers."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.gateway.feed import MAX_WATCHERS, Feed, FeedEvent
from openclaw.gateway.http import KEEP_ALIVE, failure, json_response

# The kinds of events a watcher may ask for.
KINDS = ("server", "tools", "definition", "resource", "call", "config", "log")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class WatchRoutes:
    """`snapshot` gives what a watcher should know before the first event; `metrics` the Prometheus text."""

    def __init__(
        self,
        feed: Feed,
        *,
        headers: Callable[[web.Request], Mapping[str, str]],
        snapshot: Callable[[], Awaitable[Mapping[str, object]]],
        metrics: Callable[[], str],
    ) -> None:
        self._feed = feed
        self._headers = headers
        self._snapshot = snapshot
        self._metrics = metrics

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/health", self.health),
            web.get("/v1/events", self.events, allow_head=False),
            web.get("/metrics", self.metrics),
        ]

    async def health(self, request: web.Request) -> web.Response:
        """Needs no token, and so tells nothing more."""
        return json_response({"ok": True, "status": "live"})

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics().encode(), headers={"Content-Type": _PROMETHEUS})

    async def events(self, request: web.Request) -> web.StreamResponse:
        kinds = frozenset(filter(None, request.query.get("kinds", "").split(",")))
        if unknown := kinds.difference(KINDS):
            raise UsageError(f"There is no kind of event {sorted(unknown)[0][:40]!r}.", hint=f"Use {', '.join(KINDS)}.")
        if self._feed.watchers >= MAX_WATCHERS:
            return failure(429, "too_many_watchers", f"{MAX_WATCHERS} event streams are open already.")
        response = web.StreamResponse(headers=self._headers(request))
        response.content_type = "text/event-stream"
        with self._feed.watch(kinds) as watch:
            await response.prepare(request)
            await response.write(_sse(FeedEvent("snapshot", to_json(await self._snapshot()))))
            while True:
                event = await watch.next(KEEP_ALIVE)
                if event is None and watch.is_closed:
                    break
                await response.write(b": still here\n\n" if event is None else _sse(event))
        await response.write_eof()
        return response


def _sse(event: FeedEvent) -> bytes:
    return b"event: " + event.kind.encode() + b"\ndata: " + event.data + b"\n\n"
