"""OpenAI's responses as our own values, both ways. Pure.

The newer of OpenAI's two wires: the same conversation in other words, so a request becomes what a chat completion becomes (completions.py).
An answer's id holds the key of its session: whoever has it can go on from there, also after a restart. What the agent decides itself
(sampling, length, its tools) is ignored as on the other wire; what would change the answer and is not done here is refused by name.
"""

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openclaw.content import Usage
from openclaw.errors import UsageError
from openclaw.gateway.completions import (
    OWN_TOOLS,
    CompletionRequest,
    ImageUrl,
    ParameterError,
    SentFile,
    Speech,
    Spoken,
    SpokenPart,
    details,
    request_of,
    sse,
)
from openclaw.reply import Reply

_PREFIX = "resp_"
# Hexadecimal digits that tell two answers of one session apart.
_NUMBER_DIGITS = 16
_TEXTS = ("input_text", "output_text", "text")
# What an agent of somebody else did with its own tools: it is no part of what was said, as on the other wire.
_LEFT_OUT = ("reasoning", "function_call", "function_call_output")
_NOT_FETCHED = "Send the content itself, as a data: URL; files and addresses are not fetched."


class ItemPart(msgspec.Struct):
    type: str
    text: str = ""
    refusal: str = ""
    image_url: str | None = None
    file_data: str | None = None
    filename: str | None = None
    input_audio: Speech | None = None


class Item(msgspec.Struct):
    type: str = "message"
    role: str = ""
    content: str | list[ItemPart] | None = None


class TextFormat(msgspec.Struct):
    type: str = "text"


class TextSettings(msgspec.Struct):
    format: TextFormat | None = None


class Response(msgspec.Struct):
    model: str
    input: str | list[Item]
    instructions: str | None = None
    stream: bool | None = False
    previous_response_id: str | None = None
    store: bool | None = True
    metadata: dict[str, str] | None = None
    user: str | None = None
    tools: list[Any] | None = None
    text: TextSettings | None = None
    background: bool | None = False
    conversation: Any = None
    prompt: Any = None


class ResponseRequest(msgspec.Struct, frozen=True):
    """One message to an agent, and the answer it follows. `is_kept` is false when the caller wants nothing stored."""

    asked: CompletionRequest
    previous: str = ""
    is_kept: bool = True
    instructions: str | None = None
    metadata: Mapping[str, str] = {}


# Made here, as in completions.py.
_response = msgspec.json.Decoder(Response)


def read_response_request(data: bytes) -> ResponseRequest:
    """Raises UsageError or MediaError with a sentence that says what to change."""
    try:
        sent = _response.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"The request is not one for a response: {error}.") from None
    _refuse_what_is_not_done(sent)
    items = [Item(role="user", content=sent.input)] if isinstance(sent.input, str) else sent.input
    lead = [Spoken("system", sent.instructions)] if sent.instructions else []
    said = [_spoken(item, f"input[{number}]") for number, item in enumerate(items)]
    asked = request_of(sent.model, [*lead, *(one for one in said if one is not None)])
    return ResponseRequest(
        asked=msgspec.structs.replace(asked, user=sent.user or "", stream=bool(sent.stream)),
        previous=sent.previous_response_id or "",
        is_kept=sent.store is not False,
        instructions=sent.instructions,
        metadata=sent.metadata or {},
    )


def _refuse_what_is_not_done(sent: Response) -> None:
    if sent.tools:
        raise ParameterError("tools", OWN_TOOLS)
    if sent.text is not None and sent.text.format is not None and sent.text.format.type != "text":
        raise ParameterError("text.format", "The agent answers in plain text; other formats are not supported.")
    if sent.background:
        raise ParameterError("background", "Answers are not made in the background.", hint="Use `stream`.")
    if sent.conversation is not None:
        hint = "Use `previous_response_id`, or name a session with the header X-OpenClaw-Session-Key."
        raise ParameterError("conversation", "Conversation objects are not supported.", hint=hint)
    if sent.prompt is not None:
        raise ParameterError("prompt", "Stored prompts are not supported.", hint="Use `instructions` and `input`.")


def _spoken(item: Item, place: str) -> Spoken | None:
    """An item as the other wire writes it; None for one that is left out. Raises ParameterError."""
    if item.type in _LEFT_OUT:
        return None
    if item.type != "message":
        raise ParameterError(place, f"Items of the type {item.type[:40]!r} are not supported.", hint="Use messages.")
    if not isinstance(item.content, list):
        return Spoken(item.role, item.content)
    return Spoken(item.role, [_part(part, f"{place}.content[{i}]") for i, part in enumerate(item.content)])


def _part(part: ItemPart, place: str) -> SpokenPart:
    if part.type in _TEXTS or part.type == "refusal":
        return SpokenPart("text", part.text or part.refusal)
    if part.type == "input_audio" and part.input_audio is not None:
        return SpokenPart(part.type, input_audio=part.input_audio)
    if part.type == "input_image" and part.image_url:
        return SpokenPart(part.type, image_url=ImageUrl(part.image_url))
    if part.type == "input_file" and part.file_data:
        return SpokenPart(part.type, file=SentFile(part.file_data, part.filename or ""))
    if part.type in ("input_image", "input_file"):
        raise ParameterError(place, f"The {part.type} has no content.", hint=_NOT_FETCHED)
    hint = "Use input_text, input_image or input_file."
    raise ParameterError(place, f"Content of the type {part.type[:40]!r} is not supported.", hint=hint)


# Ids


def new_response_id(session_key: str) -> str:
    """An id for an answer of this session."""
    number = secrets.token_hex(_NUMBER_DIGITS // 2)
    return f"{_PREFIX}{number}{base64.urlsafe_b64encode(session_key.encode()).decode().rstrip('=')}"


def session_of(response_id: str) -> str:
    """The key of the session that an answer belongs to; empty for an id that is none of ours."""
    encoded = response_id[len(_PREFIX) + _NUMBER_DIGITS :]
    if not response_id.startswith(_PREFIX) or not encoded.isascii():
        return ""
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def unknown_response(response_id: str) -> ParameterError:
    return ParameterError(
        "previous_response_id",
        f"Previous response with id {response_id[:80]!r} not found.",
        hint="It was not kept, or its session was deleted; send the conversation as `input`.",
        code="previous_response_not_found",
    )


# Answers


class ResponseForm:
    """One answer as a response: an output of one message with one text."""

    def __init__(self, id: str, created: int, request: ResponseRequest) -> None:
        self.id = id
        self._created = created
        self._request = request
        self._item_id = f"msg_{secrets.token_hex(12)}"
        self._events = 0

    def whole(self, text: str, reply: Reply) -> dict[str, Any]:
        status = _status(reply)
        body = self._body(status, [self._item(status, [_text(text)])], usage_json(reply.usage))
        if status == "incomplete":
            reason = "content_filter" if reply.reason == "declined" else "max_output_tokens"
            body["incomplete_details"] = {"reason": reason}
        return {**body, "openclaw": details(reply)}

    def opening(self, piece: str) -> bytes:
        begun = self._body("in_progress", [])
        events = (
            self._event("response.created", response=begun),
            self._event("response.in_progress", response=begun),
            self._event("response.output_item.added", output_index=0, item=self._item("in_progress", [])),
            self._text_event("response.content_part.added", part=_text("")),
        )
        return b"".join(events) + (self.piece(piece) if piece else b"")

    def piece(self, piece: str) -> bytes:
        return self._text_event("response.output_text.delta", delta=piece, logprobs=[])

    def ending(self, text: str, reply: Reply) -> bytes:
        whole = self.whole(text, reply)
        (item,) = whole["output"]
        return b"".join(
            (
                self._text_event("response.output_text.done", text=text, logprobs=[]),
                self._text_event("response.content_part.done", part=_text(text)),
                self._event("response.output_item.done", output_index=0, item=item),
                self._event(f"response.{whole['status']}", response=whole),
            )
        )

    def broken(self, text: str, message: str, code: str) -> bytes:
        output = [self._item("incomplete", [_text(text)])] if text else []
        body = self._body("failed", output)
        # The vendor's own word: its clients know no other for this.
        body["error"] = {"code": "server_error", "message": message}
        return self._event("response.failed", response=body)

    def _event(self, name: str, **fields: Any) -> bytes:
        number, self._events = self._events, self._events + 1
        return sse({"type": name, "sequence_number": number, **fields}, name)

    def _text_event(self, name: str, **fields: Any) -> bytes:
        return self._event(name, item_id=self._item_id, output_index=0, content_index=0, **fields)

    def _item(self, status: str, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"id": self._item_id, "type": "message", "role": "assistant", "status": status, "content": content}

    def _body(
        self, status: str, output: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        request = self._request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": None,
            "metadata": request.metadata,
            "model": request.asked.model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": request.previous or None,
            "store": request.is_kept,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": usage,
            "user": request.asked.user or None,
        }


def _status(reply: Reply) -> str:
    return "completed" if reply.reason == "done" else "incomplete"


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
