"""`/v1/chat/completions` and `/v1/models`: an agent behind OpenAI's wire.

A conversation is named by the header X-OpenClaw-Session-Key (any key of the store, as `openclaw sessions` shows it) or by `user` (in a
namespace of its own); without either, each request is a new one. A line that begins with a slash is text for the model like any other.
When the caller leaves, the run ends.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from openclaw.agent.events import Event, Sink, ToolStart
from openclaw.app import App, Reply
from openclaw.commands.agent import as_json
from openclaw.config.agents import agent as agent_spec
from openclaw.config.agents import agent_ids
from openclaw.errors import OpenClawError, UsageError
from openclaw.gateway.completions import (
    CompletionRequest,
    Envelope,
    TextFlow,
    UnknownModelError,
    error_json,
    finish_reason,
    models_json,
    read_completion_request,
    sse,
)
from openclaw.gateway.http import KEEP_ALIVE, failed, failure, json_response, read_body
from openclaw.redact import redact
from openclaw.sessions.key import session_key as full_key

SESSION_HEADER = "X-OpenClaw-Session-Key"
# Conversations named by `user`, and those nobody named.
USER_NAMESPACE = "openai-user"
NEW_NAMESPACE = "http"
_KEY_BYTES = 16
# Reading more than this takes longer than anybody else should wait: pictures come as megabytes of Base64.
_SMALL_BODY = 256 * 1024
_DETAILS = ("toolCalls", "media", "sessionKey", "stopped", "error")


class SessionName(msgspec.Struct, frozen=True):
    """`key` is the whole key of the store."""

    agent: str
    key: str


class ChatRoutes:
    """`headers` gives what every streamed answer has to carry."""

    def __init__(self, app: App, *, headers: Callable[[web.Request], Mapping[str, str]]) -> None:
        self._app = app
        self._headers = headers
        self._created = int(time.time())

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/chat/completions", self.complete), web.get("/v1/models", self.models)]

    async def models(self, request: web.Request) -> web.Response:
        return json_response(models_json(agent_ids(self._app.config), self._created))

    async def complete(self, request: web.Request) -> web.StreamResponse:
        sent = await read_body(request)
        asked = (
            read_completion_request(sent)
            if len(sent) <= _SMALL_BODY
            else await asyncio.to_thread(read_completion_request, sent)
        )
        session = self._session(asked, request.headers.get(SESSION_HEADER, ""))
        began = time.monotonic()
        await self._tell_history(session, asked)
        waited = time.monotonic() - began
        envelope = Envelope(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), asked.model)
        if asked.stream:
            return await self._stream(request, asked, session, envelope, waited)
        flow = TextFlow()
        reply = await self._reply(asked, session, flow, waited)
        if reply.reason == "error":
            return failure(502, "model_failed", reply.error)
        body = envelope.whole(flow.text, finish_reason(reply.reason), reply.usage, _details(reply))
        return json_response(body, headers={SESSION_HEADER: _header_value(session.key)})

    def _session(self, asked: CompletionRequest, given: str) -> SessionName:
        if asked.agent and asked.agent not in agent_ids(self._app.config):
            raise UnknownModelError(f"There is no agent {asked.agent[:80]!r}.", hint="GET /v1/models lists them.")
        agent = agent_spec(self._app.config, asked.agent).id
        if given:
            return SessionName(agent, full_key(agent, given))
        if asked.user:
            return SessionName(agent, full_key(agent, asked.user, USER_NAMESPACE))
        return SessionName(agent, full_key(agent, secrets.token_hex(_KEY_BYTES), NEW_NAMESPACE))

    async def _tell_history(self, session: SessionName, asked: CompletionRequest) -> None:
        """A conversation that begins here takes over what the request says was said; one that exists knows better."""
        if not asked.message and not asked.attachments:
            raise UsageError("There is nothing to answer: the last message is empty.")
        if asked.history:
            patience = agent_spec(self._app.config, session.agent).timeout
            async with self._app.store.turn(session.key, session.agent, patience=patience) as turn:
                if not turn.history():
                    turn.append(*asked.history)

    async def _reply(self, asked: CompletionRequest, session: SessionName, on_event: Sink, waited: float) -> Reply:
        return await self._app.reply(
            asked.message,
            agent=session.agent,
            session_key=session.key,
            attachments=asked.attachments,
            on_event=on_event,
            waited=waited,
            patience=self._app.engine.startup_grace,
            instructions=asked.instructions,
        )

    async def _stream(
        self,
        request: web.Request,
        asked: CompletionRequest,
        session: SessionName,
        envelope: Envelope,
        waited: float,
    ) -> web.StreamResponse:
        flow = TextFlow()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def take(event: Event) -> None:
            if (piece := flow.take(event)) or isinstance(event, ToolStart):
                # An empty piece says that work has begun.
                pieces.put_nowait(piece)

        run = asyncio.get_running_loop().create_task(self._reply(asked, session, take, waited))
        run.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            first = await _within(KEEP_ALIVE, pieces)
            if first is None and (error := _failure_of(run)) is not None:
                # Nothing was said yet: the caller gets a proper status.
                return error
            response = web.StreamResponse(
                headers={**self._headers(request), SESSION_HEADER: _header_value(session.key)}
            )
            response.content_type = "text/event-stream"
            await response.prepare(request)
            await response.write(sse(envelope.piece({"role": "assistant", "content": first or ""})))
            if first is not None:
                await _pass_on(response, envelope, pieces)
            await response.write(_ending(run, asked, envelope))
            await response.write_eof()
            return response
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)


async def _pass_on(response: web.StreamResponse, envelope: Envelope, pieces: "asyncio.Queue[str | None]") -> None:
    """Text as it comes, and a sign of life when none does."""
    while (piece := await _within(KEEP_ALIVE, pieces)) is not None:
        await response.write(sse(envelope.piece({"content": piece})) if piece else b": still working\n\n")


async def _within(seconds: float, pieces: "asyncio.Queue[str | None]") -> str | None:
    """The next piece; an empty one when none comes in time."""
    try:
        async with asyncio.timeout(seconds):
            return await pieces.get()
    except TimeoutError:
        return ""


def _failure_of(run: "asyncio.Task[Reply]") -> web.Response | None:
    """The answer to a run that failed before it said anything; None when it did not."""
    error = None if run.cancelled() else run.exception()
    if isinstance(error, OpenClawError):
        return failed(error)
    if error is not None:
        raise error
    reply = run.result()
    return failure(502, "model_failed", reply.error) if reply.reason == "error" else None


def _ending(run: "asyncio.Task[Reply]", asked: CompletionRequest, envelope: Envelope) -> bytes:
    error = run.exception()
    if error is not None:
        known = str(error) if isinstance(error, OpenClawError) else f"An internal error ({type(error).__name__})."
        return sse(error_json(redact(known), "failed", "server_error"))
    reply = run.result()
    if reply.reason == "error":
        return sse(error_json(redact(reply.error), "model_failed", "server_error"))
    last = sse(envelope.piece({}, finish_reason(reply.reason), openclaw=_details(reply)))
    if asked.include_usage:
        last += sse(envelope.totals(reply.usage))
    return last + b"data: [DONE]\n\n"


def _details(reply: Reply) -> dict[str, Any]:
    """What OpenAI's shape has no place for."""
    return {name: value for name, value in as_json(reply).items() if name in _DETAILS}


def _header_value(key: str) -> str:
    """A session key in a header; a key that would break it is left out of the answer, not of the store."""
    return key if key.isascii() and key.isprintable() else ""
