"""`/health`, `/ready`, `/v1/events` and `/metrics`: is it alive, does it take work, what happens in it, and in what numbers.

Whoever watches events with `?answers=…` can be asked questions of these kinds, for as long as the stream is open.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Literal

import msgspec
from aiohttp import web

from openclaw.asking.open_question import answerable_kinds
from openclaw.asking.questions import Questions
from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.gateway.feed import MAX_WATCHERS, TYPES_OF, Feed, published
from openclaw.gateway.http import KEEP_ALIVE, failure, json_response, read_query
from openclaw.gateway.readiness import DRAINING, NotReady, Readiness
from openclaw.gateway.route import EVENTS, Route

# One of ours; any other is not worth an error, since a browser sends what it was sent.
_ID = re.compile(r"[0-9]{1,20}")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Health(msgspec.Struct):
    ok: bool = True
    status: str = "live"


class Ready(msgspec.Struct, omit_defaults=True):
    ok: bool
    status: Literal["ready", "not ready", "draining"]
    reasons: tuple[NotReady, ...] = ()


class WatchWanted(msgspec.Struct):
    kinds: Annotated[str, msgspec.Meta(description="kinds of events with commas between; without it all")] = ""
    answers: Annotated[str, msgspec.Meta(description="kinds of questions that you can be asked, with commas")] = ""


class WatchRoutes:
    """`snapshot` gives what a watcher should know before the first event; `metrics` the Prometheus text."""

    def __init__(
        self,
        feed: Feed,
        questions: Questions,
        *,
        headers: Callable[[web.Request], Mapping[str, str]],
        snapshot: Callable[[], Awaitable[Mapping[str, object]]],
        metrics: Callable[[], str],
        readiness: Readiness,
    ) -> None:
        self._feed = feed
        self._questions = questions
        self._headers = headers
        self._snapshot = snapshot
        self._metrics = metrics
        self._readiness = readiness

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/health", self.health, '`{"ok": true, "status": "live"}`', gives=Health, head=True),
            Route(
                "GET",
                "/ready",
                self.ready,
                'Whether it takes work: `{"ok": true, "status": "ready"}`, or 503 and the `reasons`',
                gives=Ready,
                head=True,
            ),
            Route("GET", "/v1/events", self.events, "What happens, as it happens", query=WatchWanted, gives=EVENTS),
            Route(
                "GET", "/metrics", self.metrics, "[Numbers](metrics.md) for Prometheus", gives="text/plain", head=True
            ),
        ]

    async def health(self, request: web.Request) -> web.Response:
        """Needs no token, and so tells nothing more."""
        return json_response(Health())

    async def ready(self, request: web.Request) -> web.Response:
        """Needs no token either. One that is stopping is told of at the door."""
        reasons = await self._readiness.reasons()
        if not reasons:
            return json_response(Ready(True, "ready"))
        told = Ready(False, "draining" if reasons == (DRAINING,) else "not ready", reasons)
        return json_response(told, status=503)

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics().encode(), headers={"Content-Type": _PROMETHEUS})

    async def events(self, request: web.Request) -> web.StreamResponse:
        wanted = read_query(request, WatchWanted)
        kinds = frozenset(filter(None, wanted.kinds.split(",")))
        if unknown := kinds.difference(TYPES_OF):
            raise UsageError(
                f"There is no kind of event {sorted(unknown)[0][:40]!r}.", hint=f"Use {', '.join(TYPES_OF)}."
            )
        answers = answerable_kinds(wanted.answers)
        if self._feed.watchers >= MAX_WATCHERS:
            return failure(429, "too_many_watchers", f"{MAX_WATCHERS} event streams are open already.")
        response = web.StreamResponse(headers=self._headers(request))
        response.content_type = "text/event-stream"
        last = _ID.fullmatch(request.headers.get("Last-Event-ID", ""))
        if answers and kinds:
            # Who may answer has to hear of what is asked.
            kinds |= {"question"}
        with self._feed.watch(kinds) as reader, self._questions.watch(answers):
            # Before anything is waited for: what happens from here on is for the reader.
            seen = int(last[0]) if last else self._feed.last_id
            kept = self._feed.kept(kinds, after=seen)
            await response.prepare(request)
            await response.write(_sse("snapshot", await self._snapshot(), seen))
            for event in kept:
                await response.write(_sse(*published(event), event.id))
            while (next_event := await reader.next(KEEP_ALIVE)) is not None or not reader.is_closed:
                if missed := reader.missed():
                    await response.write(_sse("dropped", {"events": missed}))
                await response.write(
                    _sse(*published(next_event), next_event.id) if next_event is not None else b": still here\n\n"
                )
        await response.write_eof()
        return response


def _sse(kind: str, data: Mapping[str, object], number: int | None = None) -> bytes:
    """`number` is what a watcher that comes back names, to go on there."""
    last = b"" if number is None else b"\nid: %d" % number
    return b"event: " + kind.encode() + b"\ndata: " + to_json(data) + last + b"\n\n"
