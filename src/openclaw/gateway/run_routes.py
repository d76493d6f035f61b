"""`/v1/runs…`: say something to an agent, and watch what comes of it from anywhere, as often as wanted.

Unlike an answer of OpenAI's wires (chat_routes.py), a run goes on when its caller leaves. Questions of a run are asked as those of every
surface without a person of its own: of whoever watches `/v1/events?answers=…`. A line that begins with a slash is text for the model.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
from aiohttp import web

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Sink
from openclaw.app import App, Reply
from openclaw.conversation import Conversation
from openclaw.errors import UsageError
from openclaw.gateway.http import KEEP_ALIVE, failure, json_response, read_object
from openclaw.gateway.runs import Runs, TooManyRunsError
from openclaw.media import ITEM_BYTES, MAX_FILES, MAX_IMAGES, clean_type, decode_base64, safe_name
from openclaw.sessions.key import new_key
from openclaw.sessions.key import session_key as full_key

# Conversations that a caller begins without a name.
NAMESPACE = "run"


class _Attached(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    data: str
    name: str = ""
    mime_type: str = ""


class _Begin(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`id` is the caller's own, so that asking twice begins one run."""

    message: str = ""
    agent: str = ""
    session_key: str = ""
    model: str = ""
    id: str = ""
    attachments: list[_Attached] = []


class RunRoutes:
    """`headers` gives what every streamed answer has to carry."""

    def __init__(self, app: App, runs: Runs, *, headers: Callable[[web.Request], Mapping[str, str]]) -> None:
        self._app = app
        self._runs = runs
        self._headers = headers

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/runs", self.begin),
            web.get("/v1/runs", self.list_runs, allow_head=False),
            web.get("/v1/runs/{id}", self.show, allow_head=False),
            web.get("/v1/runs/{id}/events", self.events, allow_head=False),
            web.post("/v1/runs/{id}/cancel", self.cancel),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        asked: _Begin = await read_object(request, _Begin)
        attachments = read_attachments(asked.attachments)
        if not asked.message.strip() and not attachments:
            raise UsageError("There is nothing to say: `message` is empty.")
        spec = self._app.engine.agent(asked.agent)
        key = full_key(spec.id, asked.session_key) if asked.session_key else full_key(spec.id, new_key(), NAMESPACE)

        def work(sink: Sink) -> Coroutine[Any, Any, Reply]:
            return self._app.reply(
                asked.message,
                Conversation(
                    spec.id,
                    key,
                    model=asked.model,
                    patience=self._app.engine.startup_grace,
                    sink=sink,
                    surface="http",
                ),
                attachments=attachments,
            )

        try:
            run = self._runs.begin(asked.id, spec.id, key, work)
        except TooManyRunsError as error:
            return failure(429, "too_many_runs", str(error))
        return json_response(run.as_json(), status=202)

    async def list_runs(self, request: web.Request) -> web.Response:
        found = self._runs.all(request.query.get("sessionKey", ""))
        return json_response({"runs": [run.as_json() for run in found]})

    async def show(self, request: web.Request) -> web.Response:
        run = self._runs.find(request.match_info["id"])
        return json_response(run.as_json()) if run is not None else _unknown()

    async def cancel(self, request: web.Request) -> web.Response:
        run = self._runs.find(request.match_info["id"])
        if run is None:
            return _unknown()
        self._runs.cancel(run)
        return json_response(run.as_json())

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Everything after event `after` (or the header Last-Event-ID), then as it comes, to the end of the run."""
        run = self._runs.find(request.match_info["id"])
        if run is None:
            return _unknown()
        after = _number(request.query.get("after") or request.headers.get("Last-Event-ID") or "0")
        response = web.StreamResponse(headers=self._headers(request))
        response.content_type = "text/event-stream"
        await response.prepare(request)
        async for event in run.events(after, KEEP_ALIVE):
            if event is None:
                await response.write(b": still here\n\n")
            else:
                await response.write(b"event: %s\ndata: %s\nid: %d\n\n" % (event.kind.encode(), event.body, event.seq))
        await response.write_eof()
        return response


def read_attachments(given: list[_Attached]) -> tuple[Attachment, ...]:
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


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise UsageError("`after` is the number of an event.")
    return int(text)


def _unknown() -> web.Response:
    return failure(
        404, "run_not_found", "There is no run of this id, or it ended a while ago: its session has what was said."
    )
