"""Local model servers, one per wire, that the vendors' own Python clients accept as real (tests/unit/parts/test_model_servers.py).

Each checks the key, the model, and the request, and refuses what its vendor refuses (`vendor_rules.py`). Answers come from a list; what
was asked is recorded, and so is every refusal, in `refused`. A stream can be sent byte by byte, wait for an event, stay open, or be cut.

    async with ChatServer([Answer("Hello")]) as server:
        ...  # server.url, server.key, server.requests

The one of Responses is in `responses_server.py`.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

from parts import vendor_rules

KEY = "sk-local-0123456789abcdef"
MODEL = "local-model"


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Hold:
    """Keeps the stream open from here on, until the client goes away."""


class Cut:
    """Ends the connection in the middle of the stream."""


# A pause in a text is an event to wait for; a piece of text is one delta.
Piece = str | asyncio.Event | Hold | Cut


@dataclass(frozen=True)
class Answer:
    text: str | Sequence[Piece] = ""
    reasoning: str = ""
    signature: str = "c2lnbmVk"
    calls: Sequence[Call] = ()
    stop: str | None = None
    # Prompt, completion, and how much of the prompt came from the cache.
    usage: tuple[int, int, int] = (11, 7, 3)

    @property
    def pieces(self) -> list[Piece]:
        return ([self.text] if self.text else []) if isinstance(self.text, str) else list(self.text)

    @property
    def words(self) -> str:
        return "".join(piece for piece in self.pieces if isinstance(piece, str))


@dataclass(frozen=True)
class Failure:
    """An error answer in the vendor's form."""

    status: int
    kind: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    param: str | None = None


@dataclass(frozen=True)
class Page:
    """Any other HTTP answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A stream as it is: bytes, pauses, a cut."""

    pieces: Sequence[bytes | asyncio.Event | Hold | Cut]


Reply = Answer | Failure | Page | Raw


class ModelServer:
    """What all servers share: sockets, keys, the list of answers. Answers past the end of the list say "ok"."""

    path = ""

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        key: str = KEY,
        models: Sequence[str] = (MODEL,),
        split: Literal["events", "bytes"] = "events",
        reasons: bool = False,
        searches: bool = True,
    ) -> None:
        self.key = key
        # Whether its models know deferred tools, where the wire has a form for them.
        self.searches = searches
        # A chat-completions endpoint whose models think out loud, and that takes their thoughts back: not the vendor's own.
        self.reasons = reasons
        self.models = models
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        # The same as they came.
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.refused: list[str] = []
        # Set when a client went away while an answer was still coming, and when a held or paused stream got there.
        self.gone = asyncio.Event()
        self.waiting = asyncio.Event()
        self._split = split
        self._runner: web.AppRunner | None = None
        self._origin = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=128 * 1024 * 1024)
        app.router.add_post(self.path, self._serve)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self._origin = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def origin(self) -> str:
        return self._origin

    @property
    def connections(self) -> int:
        """How many are open now, busy or not."""
        assert self._runner is not None
        assert self._runner.server is not None
        return len(self._runner.server.connections)

    @property
    def url(self) -> str:
        """The base URL as it is configured."""
        raise NotImplementedError

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if not self.authorized(request):
            return self.failure(self.wrong_key())
        return web.json_response(self.listed())

    def listed(self) -> dict[str, Any]:
        """The vendor's list of its models."""
        return {"object": "list", "data": [{"id": model, "object": "model"} for model in self.models]}

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if not self.authorized(request):
            return self.failure(self.wrong_key())
        body = await request.read()
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            self.refused.append("the body is not JSON")
            return self.failure(Failure(400, "invalid_request_error", "the body is not JSON"))
        self.requests.append(asked)
        self.bodies.append(body)
        fault = self.fault(asked, len(body))
        if fault is not None:
            self.refused.append(fault.message)
            return self.failure(fault)
        reply = self.reply_to(asked)
        match reply:
            case Failure():
                return self.failure(reply)
            case Page():
                return web.Response(
                    body=reply.body, status=reply.status, content_type=reply.content_type, headers=reply.headers
                )
            case Answer() if not asked.get("stream"):
                return web.json_response(self.whole(reply, asked))
            case Answer():
                return await self._stream(request, self.events(reply, asked))
            case Raw():
                return await self._stream(request, reply.pieces)

    async def _stream(
        self, request: web.Request, pieces: Iterable[bytes | asyncio.Event | Hold | Cut]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            for piece in pieces:
                match piece:
                    case bytes():
                        for part in [piece] if self._split == "events" else [bytes([byte]) for byte in piece]:
                            await response.write(part)
                    case asyncio.Event():
                        self.waiting.set()
                        await piece.wait()
                    case Hold():
                        self.waiting.set()
                        await asyncio.Event().wait()
                    case Cut():
                        assert request.transport is not None
                        request.transport.abort()
                        return response
            await response.write_eof()
        except (asyncio.CancelledError, ConnectionError):
            self.gone.set()
            raise
        return response

    def reply_to(self, asked: dict[str, Any]) -> Reply:
        """What is answered to this request: the next of the list."""
        return self.replies.pop(0) if self.replies else Answer("ok")

    def authorized(self, request: web.Request) -> bool:
        raise NotImplementedError

    def wrong_key(self) -> Failure:
        raise NotImplementedError

    def failure(self, failure: Failure) -> web.Response:
        raise NotImplementedError

    def fault(self, asked: dict[str, Any], size: int) -> Failure | None:
        raise NotImplementedError

    def whole(self, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def events(self, answer: Answer, asked: dict[str, Any]) -> list[bytes | asyncio.Event | Hold | Cut]:
        raise NotImplementedError


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


_THOUGHTS = {"reasoning_content", "reasoning", "reasoning_details"}


def _without_reasoning(asked: dict[str, Any]) -> dict[str, Any]:
    said = [{key: value for key, value in message.items() if key not in _THOUGHTS} for message in asked["messages"]]
    return {**asked, "messages": said}


class ChatServer(ModelServer):
    """The chat-completions wire."""

    path = "/v1/chat/completions"

    @property
    def url(self) -> str:
        return f"{self._origin}/v1"

    def authorized(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bearer {self.key}"

    def wrong_key(self) -> Failure:
        # The vendor repeats part of the key.
        return Failure(
            401, "invalid_api_key", f"Incorrect API key provided: {self.key[:8]}***. Find yours in the console."
        )

    def failure(self, failure: Failure) -> web.Response:
        error = {
            "message": failure.message,
            "type": "invalid_request_error",
            "param": failure.param,
            "code": failure.kind,
        }
        return web.json_response({"error": error}, status=failure.status, headers=failure.headers)

    def fault(self, asked: dict[str, Any], size: int) -> Failure | None:
        if isinstance(asked, dict) and asked.get("model") not in self.models:
            return Failure(404, "model_not_found", f"The model `{asked.get('model')}` does not exist.")
        fault = vendor_rules.chat_fault(_without_reasoning(asked) if self.reasons else asked, size)
        return Failure(fault.status, fault.kind, fault.message, param=fault.param) if fault else None

    def whole(self, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.words or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in answer.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._stop(answer), "logprobs": None}
        return {**self._head(asked, "chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def events(self, answer: Answer, asked: dict[str, Any]) -> list[bytes | asyncio.Event | Hold | Cut]:
        head = self._head(asked, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return _sse({**head, "choices": [choice]})

        events: list[bytes | asyncio.Event | Hold | Cut] = [chunk({"role": "assistant", "content": ""})]
        events += [chunk({"reasoning_content": part}) for part in _halves(answer.reasoning)]
        events += [chunk({"content": piece}) if isinstance(piece, str) else piece for piece in answer.pieces]
        for number, call in enumerate(answer.calls):
            function = {"name": call.name, "arguments": ""}
            events.append(
                chunk({"tool_calls": [{"index": number, "id": call.id, "type": "function", "function": function}]})
            )
        # Parallel calls: their arguments come interleaved.
        parts = [(number, part) for number, call in enumerate(answer.calls) for part in enumerate(_halves(call.text))]
        for number, (_, text) in sorted(parts, key=lambda part: (part[1][0], part[0])):
            events.append(chunk({"tool_calls": [{"index": number, "function": {"arguments": text}}]}))
        events.append(chunk({}, self._stop(answer)))
        if (asked.get("stream_options") or {}).get("include_usage"):
            events.append(_sse({**head, "choices": [], "usage": self._usage(answer)}))
        return [*events, b"data: [DONE]\n\n"]

    def _head(self, asked: dict[str, Any], kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": asked["model"]}

    def _stop(self, answer: Answer) -> str:
        return answer.stop or ("tool_calls" if answer.calls else "stop")

    def _usage(self, answer: Answer) -> dict[str, Any]:
        prompt, completion, cached = answer.usage
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


class MessagesServer(ModelServer):
    """The Anthropic messages wire."""

    path = "/v1/messages"

    def listed(self) -> dict[str, Any]:
        created = "2026-01-01T00:00:00Z"
        data = [{"type": "model", "id": one, "display_name": one, "created_at": created} for one in self.models]
        return {"data": data, "has_more": False, "first_id": self.models[0], "last_id": self.models[-1]}

    @property
    def url(self) -> str:
        return self._origin

    def authorized(self, request: web.Request) -> bool:
        # The documented header, and the one the vendor's client sends.
        return self.key in (
            request.headers.get("x-api-key"),
            request.headers.get("Authorization", "").removeprefix("Bearer "),
        )

    def wrong_key(self) -> Failure:
        return Failure(401, "authentication_error", f"invalid x-api-key {self.key[:8]}")

    def failure(self, failure: Failure) -> web.Response:
        body = {"type": "error", "error": {"type": failure.kind, "message": failure.message}, "request_id": "req_1"}
        return web.json_response(body, status=failure.status, headers=failure.headers)

    def fault(self, asked: dict[str, Any], size: int) -> Failure | None:
        if self.headers[-1].get("anthropic-version") not in {"2023-06-01", "2026-10-21"}:
            return Failure(400, "invalid_request_error", "anthropic-version: header is required")
        if isinstance(asked, dict) and asked.get("model") not in self.models:
            return Failure(404, "not_found_error", f"model: {asked.get('model')}")
        fault = vendor_rules.messages_fault(asked, size, searches=self.searches)
        return Failure(fault.status, fault.kind, fault.message) if fault else None

    def whole(self, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.words}] if answer.words else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.text)}
            for call in answer.calls
        ]
        return {
            **self._head(answer, asked),
            "content": content,
            "stop_reason": self._stop(answer),
            "usage": self._usage(answer),
        }

    def events(self, answer: Answer, asked: dict[str, Any]) -> list[bytes | asyncio.Event | Hold | Cut]:
        usage = {**self._usage(answer), "output_tokens": 1}
        start = {**self._head(answer, asked), "usage": usage}
        events: list[bytes | asyncio.Event | Hold | Cut] = [_named("message_start", message=start), _named("ping")]
        number = 0
        if answer.reasoning:
            block: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            events.append(_named("content_block_start", index=number, content_block=block))
            for part in _halves(answer.reasoning):
                events.append(_delta(number, {"type": "thinking_delta", "thinking": part}))
            events.append(_delta(number, {"type": "signature_delta", "signature": answer.signature}))
            events.append(_named("content_block_stop", index=number))
            number += 1
        if answer.pieces:
            events.append(_named("content_block_start", index=number, content_block={"type": "text", "text": ""}))
            for piece in answer.pieces:
                events.append(
                    _delta(number, {"type": "text_delta", "text": piece}) if isinstance(piece, str) else piece
                )
            events.append(_named("content_block_stop", index=number))
            number += 1
        for call in answer.calls:
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            events.append(_named("content_block_start", index=number, content_block=block))
            for part in ["", *_halves(call.text)]:
                events.append(_delta(number, {"type": "input_json_delta", "partial_json": part}))
            events.append(_named("content_block_stop", index=number))
            number += 1
        stop = {"stop_reason": self._stop(answer), "stop_sequence": None}
        events.append(_named("message_delta", delta=stop, usage={"output_tokens": answer.usage[1]}))
        return [*events, _named("message_stop")]

    def _head(self, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
        head: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": [],
        }
        return {**head, "stop_reason": None, "stop_sequence": None}

    def _stop(self, answer: Answer) -> str:
        return answer.stop or ("tool_use" if answer.calls else "end_turn")

    def _usage(self, answer: Answer) -> dict[str, Any]:
        prompt, completion, cached = answer.usage
        return {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": completion}


def _sse(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _named(event: str, **fields: Any) -> bytes:
    return f"event: {event}\n".encode() + _sse({"type": event, **fields})


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _named("content_block_delta", index=index, delta=delta)
