"""`/v1/runs…`: say something to an agent, and watch what comes of it from anywhere, as often as wanted.

Unlike an answer of OpenAI's wires (chat_routes.py), a run goes on when its caller leaves. Questions of a run are asked as those of every
surface without a person of its own: of whoever watches `/v1/events?answers=…`. A line that begins with a slash is text for the model.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Annotated, Any

import msgspec
from aiohttp import web

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, RunEnd, Sink, ToolEnd
from openclaw.app import App, Reply
from openclaw.content import Usage, to_json
from openclaw.conversation import Conversation
from openclaw.errors import StoreError, UsageError
from openclaw.gateway.http import KEEP_ALIVE, MOST_NUMBER, failure, json_response, read_object, read_query
from openclaw.gateway.panels import Panels
from openclaw.gateway.route import EVENTS, Route
from openclaw.gateway.run_events import run_event
from openclaw.gateway.runs import BegunBeforeError, RunEvent, Runs, TooManyRunsError
from openclaw.media import ITEM_BYTES, MAX_FILES, MAX_IMAGES, clean_type, decode_base64, safe_name
from openclaw.run_state import RunState
from openclaw.sessions.key import new_key
from openclaw.sessions.key import session_key as full_key

_log = logging.getLogger(__name__)

# What a browser sends back of an event; anything else is not worth an error.
_NUMBER = re.compile(r"[0-9]{1,15}")
# Seconds between two looks at a run of another gateway.
_LOOK_ELSEWHERE = 0.5
# Conversations that a caller begins without a name.
NAMESPACE = "run"


class SentAttachment(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`data` is Base64."""

    data: str
    name: str = ""
    mime_type: str = ""


class NewRun(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`id` is the caller's own, so that asking twice begins one run."""

    message: str = ""
    agent: str = ""
    session_key: str = ""
    model: str = ""
    id: str = ""
    attachments: list[SentAttachment] = []


class RunsWanted(msgspec.Struct, rename="camel"):
    session_key: Annotated[str, msgspec.Meta(description="those of one conversation")] = ""


class EventsWanted(msgspec.Struct):
    after: Annotated[
        int, msgspec.Meta(ge=0, le=MOST_NUMBER, description="the number of the last event that you have")
    ] = 0


class RunList(msgspec.Struct):
    runs: list[RunState]


class RunRoutes:
    """`headers` gives what every streamed answer has to carry."""

    def __init__(
        self, app: App, runs: Runs, panels: Panels, *, headers: Callable[[web.Request], Mapping[str, str]]
    ) -> None:
        self._app = app
        self._runs = runs
        self._panels = panels
        self._headers = headers

    def routes(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/v1/runs",
                self.begin,
                "Say something to an agent; the run goes on whether you stay or not",
                body=NewRun,
                gives=RunState,
                status=202,
                begins=True,
            ),
            Route(
                "GET",
                "/v1/runs",
                self.list_runs,
                "The runs that go on, and those that ended within ten minutes; `?sessionKey=KEY`: of one conversation",
                query=RunsWanted,
                gives=RunList,
            ),
            Route(
                "GET", "/v1/runs/{id}", self.show, "One run: does it go on, and how many events it has", gives=RunState
            ),
            Route(
                "GET",
                "/v1/runs/{id}/events",
                self.events,
                "Its events from `?after=N` on, then as they come",
                query=EventsWanted,
                gives=EVENTS,
            ),
            Route("POST", "/v1/runs/{id}/cancel", self.cancel, "End it", gives=RunState),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        asked: NewRun = await read_object(request, NewRun)
        attachments = read_attachments(asked.attachments)
        if not asked.message.strip() and not attachments:
            raise UsageError("There is nothing to say: `message` is empty.")
        spec = self._app.engine.agent(asked.agent)
        key = full_key(spec.id, asked.session_key) if asked.session_key else full_key(spec.id, new_key(), NAMESPACE)

        def work(sink: Sink) -> Coroutine[Any, Any, Reply]:
            def seen(event: Event) -> None:
                if isinstance(event, ToolEnd):
                    self._panels.note(key, event)
                sink(event)

            return self._app.reply(
                asked.message,
                Conversation(
                    spec.id,
                    key,
                    model=asked.model,
                    patience=self._app.engine.startup_grace,
                    sink=seen,
                    surface="http",
                ),
                attachments=attachments,
            )

        try:
            files = [{"name": one.name, "mimeType": one.mime_type, "size": len(one.data)} for one in attachments]
            run = await self._runs.begin(asked.id, spec.id, key, work, said={"text": asked.message, "files": files})
        except TooManyRunsError as error:
            return failure(429, "too_many_runs", str(error))
        except BegunBeforeError as error:
            return json_response(error.state, status=202)
        return json_response(run.state(), status=202)

    async def list_runs(self, request: web.Request) -> web.Response:
        return json_response(RunList(await self._runs.states(read_query(request, RunsWanted).session_key)))

    async def show(self, request: web.Request) -> web.Response:
        run = self._runs.find(request.match_info["id"])
        state = run.state() if run is not None else await self._runs.directory.find(request.match_info["id"])
        return json_response(state) if state is not None else _unknown()

    async def cancel(self, request: web.Request) -> web.Response:
        run = self._runs.find(request.match_info["id"])
        if run is not None:
            self._runs.cancel(run)
            return json_response(run.state())
        directory = self._runs.directory
        if (state := await directory.find(request.match_info["id"])) is None:
            return _unknown()
        if state.state == "running":
            await directory.cancel(state.run)
        return json_response(state)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Everything after event `after` (or the header Last-Event-ID), then as it comes, to the end of the run."""
        id = request.match_info["id"]
        run = self._runs.find(id)
        if run is None and await self._runs.directory.find(id) is None:
            return _unknown()
        last = request.headers.get("Last-Event-ID", "")
        after = read_query(request, EventsWanted).after or (int(last) if _NUMBER.fullmatch(last) else 0)
        response = web.StreamResponse(headers=self._headers(request))
        response.content_type = "text/event-stream"
        await response.prepare(request)
        seen = run.events(after, KEEP_ALIVE) if run is not None else self._elsewhere(id, after)
        async for event in seen:
            if event is None:
                await response.write(b": still here\n\n")
            else:
                await response.write(b"event: %s\ndata: %s\nid: %d\n\n" % (event.kind.encode(), event.body, event.seq))
        await response.write_eof()
        return response

    async def _elsewhere(self, id: str, after: int) -> AsyncIterator[RunEvent | None]:
        """What is told of a run of another gateway: that its events are not here, so that whoever watches reads the session, and its
        end."""
        yield RunEvent(after, "gap", to_json({"missed": 0}))
        state: RunState | None = None
        while True:
            try:
                state = await self._runs.directory.find(id)
                if state is None or state.state == "over":
                    break
            except StoreError as error:
                # How it ended is told when that can be known again.
                _log.debug("%s", error)
            yield None
            await asyncio.sleep(_LOOK_ELSEWHERE)
        kind, data = run_event(RunEnd("error", Usage(), ""))
        yield RunEvent(after + 1, kind, to_json({**data, "reason": "lost" if state is None else state.reason}))


def read_attachments(given: list[SentAttachment]) -> tuple[Attachment, ...]:
    """Raises UsageError or MediaError. Limits are those of every surface."""
    pictures = sum(one.mime_type.startswith("image/") for one in given)
    if pictures > MAX_IMAGES or len(given) - pictures > MAX_FILES:
        raise UsageError(f"At most {MAX_IMAGES} images and {MAX_FILES} other files may be sent.")
    found = []
    for number, one in enumerate(given, 1):
        name = safe_name(one.name) if one.name else f"file-{number}"
        data = decode_base64(one.data, limit=ITEM_BYTES, what=f"The file {name}")
        kind = clean_type(one.mime_type or "application/octet-stream")
        found.append(Attachment(name=name, mime_type=kind, data=data, titled=bool(one.name)))
    return tuple(found)


def _unknown() -> web.Response:
    return failure(
        404, "run_not_found", "There is no run of this id, or it ended a while ago: its session has what was said."
    )
