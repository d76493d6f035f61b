"""`/v1/chat/completions`, `/v1/responses` and `/v1/models`: an agent behind OpenAI's two wires.

A conversation is named by the header X-OpenClaw-Session-Key (any key of the store, as `openclaw sessions` shows it), by the response it
goes on from, or by `user` (in a namespace of its own); without any, each request is a new one. A line that begins with a slash is text
for the model like any other. When the caller leaves, the run ends. A caller that streams and names kinds of questions in X-OpenClaw-Answers
gets those of its run in the stream, as events of their own, and may answer them (question_routes.py).
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from openclaw.agent.events import Event, Sink, ToolStart
from openclaw.app import App, Reply
from openclaw.asking.open_question import QuestionChanged, answerable_kinds, changed_json
from openclaw.config.agents import agent as agent_spec
from openclaw.config.agents import agent_ids
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.gateway.bodies import refuse_very_many
from openclaw.gateway.completions import (
    AnswerForm,
    Completion,
    CompletionForm,
    CompletionRequest,
    Envelope,
    ParameterError,
    TextFlow,
    UnknownModelError,
    agent_of,
    model_json,
    models_json,
    read_completion_request,
    sse,
)
from openclaw.gateway.http import KEEP_ALIVE, beside, failed, failure, json_response, read_body
from openclaw.gateway.responses import (
    Response,
    ResponseForm,
    ResponseRequest,
    new_response_id,
    read_response_request,
    session_of,
    unknown_response,
)
from openclaw.gateway.route import Route
from openclaw.redact import redact
from openclaw.sessions.event import Custom
from openclaw.sessions.key import agent_of as owner_of
from openclaw.sessions.key import new_key
from openclaw.sessions.key import session_key as full_key
from openclaw.sessions.store import UnknownSessionError
from openclaw.sessions.turn import ANSWER, CONTINUED
from openclaw.sessions.view import View

SESSION_HEADER = "X-OpenClaw-Session-Key"
ANSWERS_HEADER = "X-OpenClaw-Answers"
# Conversations named by `user`, and those nobody named.
USER_NAMESPACE = "openai-user"
NEW_NAMESPACE = "http"
# What an event about a question is called among those of OpenAI's wires.
QUESTION_EVENT = "openclaw.question"
_T = TypeVar("_T")


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

    def routes(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/v1/chat/completions",
                self.complete,
                "Say something to an agent",
                body=Completion,
                begins=True,
            ),
            Route(
                "POST",
                "/v1/responses",
                self.respond,
                "The same over OpenAI's newer wire",
                body=Response,
                begins=True,
            ),
            Route(
                "GET",
                "/v1/models",
                self.models,
                "The agents, as models: `openclaw`, `openclaw/default`, `openclaw/AGENT`",
                head=True,
            ),
            # Names of agents' models hold a slash.
            Route("GET", "/v1/models/{model:.+}", self.model, "One of them, by its name", head=True),
        ]

    async def models(self, request: web.Request) -> web.Response:
        return json_response(models_json(agent_ids(self._app.config), self._created))

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["model"]
        self._agent(agent_of(name))
        return json_response(model_json(name, self._created))

    async def complete(self, request: web.Request) -> web.StreamResponse:
        asked = await _read(request, read_completion_request)
        began = time.monotonic()
        session = self._session(asked, request.headers.get(SESSION_HEADER, ""))
        envelope = Envelope(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), asked.model)
        return await self._answer(request, asked, session, CompletionForm(envelope, asked.include_usage), began)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        wanted = await _read(request, read_response_request)
        began = time.monotonic()
        session = await self._session_of_response(wanted, request.headers.get(SESSION_HEADER, ""))
        form = ResponseForm(new_response_id(session.key), int(time.time()), wanted)
        try:
            return await self._answer(
                request, wanted.asked, session, form, began, label=form.id if wanted.is_kept else ""
            )
        finally:
            if not wanted.is_kept:
                await self._app.store.delete(session.key)

    async def _answer(
        self,
        request: web.Request,
        asked: CompletionRequest,
        session: SessionName,
        form: AnswerForm,
        began: float,
        *,
        label: str = "",
    ) -> web.StreamResponse:
        """`began` is when the agent's time began to run. `label` is what the answer is found by later."""
        answers = _answers(request, asked)
        await self._tell_history(session, asked)
        waited = time.monotonic() - began

        def reply(on_event: Sink) -> Coroutine[Any, Any, Reply]:
            return self._app.reply(
                asked.message,
                Conversation(
                    session.agent,
                    session.key,
                    instructions=asked.instructions,
                    patience=self._app.engine.startup_grace,
                    sink=on_event,
                    surface="http",
                ),
                attachments=asked.attachments,
                waited=waited,
                label=label,
            )

        headers = {SESSION_HEADER: _header_value(session.key)}
        if asked.stream:
            questions = partial(_questions, self._app.engine, answers, session.key)
            return await _stream(request, reply, form, {**self._headers(request), **headers}, questions)
        flow = TextFlow()
        answer = await reply(flow)
        if answer.reason == "error":
            return failure(502, "model_failed", answer.error)
        return json_response(form.whole(flow.text, answer), headers=headers)

    def _agent(self, name: str) -> str:
        """The agent that a request names, the default one for none. Raises UnknownModelError."""
        if name and name not in agent_ids(self._app.config):
            raise UnknownModelError(f"There is no agent {name[:80]!r}.", hint="GET /v1/models lists them.")
        return agent_spec(self._app.config, name).id

    def _session(self, asked: CompletionRequest, given: str) -> SessionName:
        agent = self._agent(asked.agent)
        if given:
            return SessionName(agent, full_key(agent, given))
        if asked.user:
            return SessionName(agent, full_key(agent, asked.user, USER_NAMESPACE))
        return _new_session(agent)

    async def _session_of_response(self, wanted: ResponseRequest, given: str) -> SessionName:
        if given and not wanted.is_kept:
            raise ParameterError("store", f"The session that {SESSION_HEADER} names is kept: `store` cannot be false.")
        if wanted.previous:
            if given:
                message = f"Either {SESSION_HEADER} names the conversation, or `previous_response_id`; not both."
                raise ParameterError("previous_response_id", message, code="invalid_request")
            return await self._after(wanted)
        if not wanted.is_kept:
            return _new_session(self._agent(wanted.asked.agent))
        return self._session(wanted.asked, given)

    async def _after(self, wanted: ResponseRequest) -> SessionName:
        """The conversation as it was after a response: its session, or a copy up to there if more was said or nothing may be kept."""
        agent, key = self._agent(wanted.asked.agent), session_of(wanted.previous)
        if owner_of(key) != agent:
            raise unknown_response(wanted.previous)
        store, mark = self._app.store, Custom(ANSWER, wanted.previous)
        if wanted.is_kept:
            patience = agent_spec(self._app.config, agent).timeout
            # One of any number of callers goes on in the session itself.
            if await store.note_behind(key, mark, Custom(CONTINUED, wanted.previous), patience=patience):
                return SessionName(agent, key)
        try:
            events = [entry.event for entry in (await store.show(key)).entries]
        except UnknownSessionError:
            raise unknown_response(wanted.previous) from None
        if mark not in events:
            raise unknown_response(wanted.previous)
        copy = _new_session(agent)
        said = View.of(events[: events.index(mark)])
        async with store.turn(copy.key, agent) as turn:
            turn.append(*said.messages)
            turn.note_foreign(said.foreign)
        return copy

    async def _tell_history(self, session: SessionName, asked: CompletionRequest) -> None:
        """A new conversation takes over the earlier messages of the request; one that exists already keeps its own."""
        if asked.history:
            patience = agent_spec(self._app.config, session.agent).timeout
            async with self._app.store.turn(session.key, session.agent, patience=patience) as turn:
                if not turn.history():
                    turn.append(*asked.history)


def _new_session(agent: str) -> SessionName:
    return SessionName(agent, full_key(agent, new_key(), NEW_NAMESPACE))


async def _read(request: web.Request, reader: Callable[[bytes], _T]) -> _T:
    def read(sent: bytes) -> _T:
        refuse_very_many(sent)
        return reader(sent)

    return await beside(read, await read_body(request))


def _answers(request: web.Request, asked: CompletionRequest) -> frozenset[str]:
    """The kinds of questions that the caller can be asked. Raises ParameterError."""
    try:
        kinds = answerable_kinds(request.headers.get(ANSWERS_HEADER, ""))
    except UsageError as error:
        raise ParameterError(ANSWERS_HEADER, error.message, hint=error.hint) from None
    if kinds and not asked.stream:
        raise ParameterError("stream", f"{ANSWERS_HEADER} goes with a streamed answer: questions come in the stream.")
    return kinds


def _questions(
    engine: Engine, kinds: frozenset[str], session: str, pieces: "asyncio.Queue[str | bytes | None]"
) -> AbstractContextManager[None]:
    """While this lasts the caller can be asked in its own session, and has its questions among the pieces of its answer."""
    if not kinds:
        return nullcontext()

    def told(changed: QuestionChanged) -> None:
        pieces.put_nowait(sse(changed_json(changed), QUESTION_EVENT))

    return engine.questions.watch_session(kinds, session, told)


async def _stream(
    request: web.Request,
    reply: Callable[[Sink], Coroutine[Any, Any, Reply]],
    form: AnswerForm,
    headers: Mapping[str, str],
    questions: "Callable[[asyncio.Queue[str | bytes | None]], AbstractContextManager[None]]",
) -> web.StreamResponse:
    pieces: asyncio.Queue[str | bytes | None] = asyncio.Queue()
    with questions(pieces):
        return await _streamed(request, reply, form, headers, pieces)


async def _streamed(
    request: web.Request,
    reply: Callable[[Sink], Coroutine[Any, Any, Reply]],
    form: AnswerForm,
    headers: Mapping[str, str],
    pieces: "asyncio.Queue[str | bytes | None]",
) -> web.StreamResponse:
    """`pieces` are text of the answer, or whole events of ours; None is the end."""
    flow = TextFlow()

    def take(event: Event) -> None:
        if (piece := flow.take(event)) or isinstance(event, ToolStart):
            # An empty piece says that work has begun.
            pieces.put_nowait(piece)

    run = asyncio.get_running_loop().create_task(reply(take))
    run.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        first = await _within(KEEP_ALIVE, pieces)
        if first is None and (error := _failure_of(run)) is not None:
            # Nothing was said yet: the caller gets a proper status.
            return error
        response = web.StreamResponse(headers=headers)
        response.content_type = "text/event-stream"
        await response.prepare(request)
        await response.write(form.opening(first if isinstance(first, str) else ""))
        if isinstance(first, bytes):
            await response.write(first)
        if first is not None:
            await _pass_on(response, form, pieces)
        await response.write(_ending(run, flow.text, form))
        await response.write_eof()
        return response
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def _pass_on(response: web.StreamResponse, form: AnswerForm, pieces: "asyncio.Queue[str | bytes | None]") -> None:
    """Text as it comes, and a sign of life when none does."""
    while (piece := await _within(KEEP_ALIVE, pieces)) is not None:
        if isinstance(piece, str):
            piece = form.piece(piece) if piece else b": still working\n\n"
        await response.write(piece)


async def _within(seconds: float, pieces: "asyncio.Queue[str | bytes | None]") -> str | bytes | None:
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


def _ending(run: "asyncio.Task[Reply]", text: str, form: AnswerForm) -> bytes:
    error = run.exception()
    if error is not None:
        known = str(error) if isinstance(error, OpenClawError) else f"An internal error ({type(error).__name__})."
        return form.broken(text, redact(known), "failed")
    reply = run.result()
    if reply.reason == "error":
        return form.broken(text, redact(reply.error), "model_failed")
    return form.ending(text, reply)


def _header_value(key: str) -> str:
    """A session key in a header; a key that would break it is left out of the answer, not of the store."""
    return key if key.isascii() and key.isprintable() else ""
