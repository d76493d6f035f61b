"""OpenAI's chat completions as our own values, both ways. Pure.

A request becomes one message to an agent: the text and attachments after the last answer. What came before is the conversation so far,
for a session that does not know it yet. System texts are added to the agent's own instructions. Tools of the caller are refused,
because the agent would never call them; sampling settings are the agent's business and ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, MessageEnd, RunReason, TextDelta
from openclaw.content import PICTURES, AssistantMessage, Block, Image, Message, Text, Usage, UserMessage, to_json
from openclaw.errors import UsageError
from openclaw.media import ITEM_BYTES, MAX_FILES, MAX_IMAGES, clean_type, decode_base64, safe_name, sniff

MODEL: Final = "openclaw"
DEFAULT: Final = "default"
_SPEECH = {"wav": "audio/wav", "mp3": "audio/mpeg"}
# Between the texts of two messages of one answer.
_BREAK = "\n\n"


class UnknownModelError(UsageError):
    pass


class _ImageUrl(msgspec.Struct):
    url: str


class _Speech(msgspec.Struct):
    data: str
    format: str = "wav"


class _File(msgspec.Struct):
    file_data: str = ""
    filename: str = ""


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    image_url: _ImageUrl | None = None
    input_audio: _Speech | None = None
    file: _File | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Completion(msgspec.Struct):
    model: str
    messages: list[_Message]
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    user: str | None = None
    n: int | None = 1
    tools: list[Any] | None = None
    functions: list[Any] | None = None


class CompletionRequest(msgspec.Struct, frozen=True):
    """One message to an agent. `agent` is empty for the default one; `user` names a conversation when the caller gives it."""

    model: str
    agent: str
    message: str
    attachments: tuple[Attachment, ...] = ()
    history: tuple[Message, ...] = ()
    instructions: str = ""
    user: str = ""
    stream: bool = False
    include_usage: bool = False


def read_completion_request(data: bytes) -> CompletionRequest:
    """Raises UsageError or MediaError with a sentence that says what to change."""
    try:
        asked = msgspec.json.decode(data, type=_Completion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"The request is not a chat completion: {error}.") from None
    if asked.tools or asked.functions:
        raise UsageError("The agent uses its own tools; `tools` and `functions` of a caller are not supported.")
    if asked.n not in (None, 1):
        raise UsageError("Only one answer is given: `n` must be 1.")
    last_answer = max((i for i, one in enumerate(asked.messages) if one.role == "assistant"), default=-1)
    before, after = asked.messages[: last_answer + 1], asked.messages[last_answer + 1 :]
    spoken = [one for one in after if one.role == "user"]
    if not spoken:
        raise UsageError("There is nothing to answer: the last message must be the user's.")
    counter = _Counter()
    attachments = tuple(item for one in spoken for item in counter.attachments(one))
    return CompletionRequest(
        model=asked.model,
        agent=agent_of(asked.model),
        message=_BREAK.join(filter(None, map(_text, spoken))),
        attachments=attachments,
        history=tuple(message for one in before if (message := _said(one, counter)) is not None),
        instructions=_BREAK.join(_text(one) for one in asked.messages if one.role in ("system", "developer")),
        user=asked.user or "",
        stream=bool(asked.stream),
        include_usage=bool(asked.stream_options and asked.stream_options.include_usage),
    )


def agent_of(model: str) -> str:
    """`openclaw` and `openclaw/default` are the default agent, `openclaw/ID` is agent ID. Raises UnknownModelError."""
    name, slash, agent = model.partition("/")
    if name != MODEL or (slash and not agent):
        raise UnknownModelError(f"There is no model {model[:80]!r}.", hint=f"Use {MODEL} or {MODEL}/AGENT.")
    return "" if agent == DEFAULT else agent


def _text(one: _Message) -> str:
    if isinstance(one.content, list):
        return "\n".join(part.text for part in one.content if part.type == "text")
    return one.content or ""


def _said(one: _Message, counter: "_Counter") -> Message | None:
    """A message of an earlier turn; None for what cannot be told again (tool results of another program)."""
    if one.role == "assistant":
        return AssistantMessage((Text(_text(one)),)) if _text(one) else None
    if one.role != "user":
        return None
    blocks: list[Block] = [Text(_text(one))]
    for item in counter.attachments(one):
        kind = sniff(item.data)
        blocks.append(
            Image(item.data, kind) if kind in PICTURES else Text(f'["{safe_name(item.name)}" was sent here.]')
        )
    return UserMessage(tuple(blocks))


class _Counter:
    """Attachments of one request, within what one message may carry."""

    def __init__(self) -> None:
        self._images = 0
        self._files = 0

    def attachments(self, one: _Message) -> list[Attachment]:
        parts = one.content if isinstance(one.content, list) else []
        return [self._attachment(part) for part in parts if part.type != "text"]

    def _attachment(self, part: _Part) -> Attachment:
        if part.image_url is not None:
            self._images += 1
            if self._images > MAX_IMAGES:
                raise UsageError(f"At most {MAX_IMAGES} images may be sent.")
            return _from_data_url(part.image_url.url, f"image-{self._images}")
        self._files += 1
        if self._files > MAX_FILES:
            raise UsageError(f"At most {MAX_FILES} files may be sent.")
        if part.input_audio is not None:
            kind = _SPEECH.get(part.input_audio.format, f"audio/{part.input_audio.format}")
            name = f"audio-{self._files}"
            data = decode_base64(part.input_audio.data, limit=ITEM_BYTES, what=f"The recording {name}")
            return Attachment(name=name, mime_type=clean_type(kind), data=data)
        if part.file is not None and part.file.file_data:
            return _from_data_url(part.file.file_data, part.file.filename or f"file-{self._files}")
        raise UsageError(f"Content of the type {part.type[:40]!r} is not supported.", hint="Use text or image_url.")


def _from_data_url(url: str, name: str) -> Attachment:
    head, comma, encoded = url.partition(",")
    if not comma or not head.lower().startswith("data:") or not head.lower().endswith(";base64"):
        raise UsageError(f"{name[:80]} is not a data: URL.", hint="Send the content itself; addresses are not fetched.")
    kind = clean_type(head[len("data:") : -len(";base64")])
    return Attachment(name=name, mime_type=kind, data=decode_base64(encoded, limit=ITEM_BYTES, what=name[:80]))


# Answers


class TextFlow:
    """The text of an answer as it comes: everything the model says, with a blank line between messages."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._is_new_message = False

    def take(self, event: Event) -> str:
        """What an event adds to the answer."""
        if isinstance(event, MessageEnd):
            self._is_new_message = True
        if not isinstance(event, TextDelta) or not event.text:
            return ""
        piece = _BREAK + event.text if self._is_new_message and self.pieces else event.text
        self._is_new_message = False
        self.pieces.append(piece)
        return piece

    def __call__(self, event: Event) -> None:
        self.take(event)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Envelope(msgspec.Struct, frozen=True):
    """What all parts of one answer share."""

    id: str
    created: int
    model: str

    def whole(self, text: str, finish: str, usage: Usage, details: Mapping[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return self._body("chat.completion", [choice], usage=usage_json(usage), openclaw=details)

    def piece(self, delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self._body("chat.completion.chunk", [choice], **more)

    def totals(self, usage: Usage) -> dict[str, Any]:
        return self._body("chat.completion.chunk", [], usage=usage_json(usage))

    def _body(self, kind: str, choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def finish_reason(reason: RunReason) -> str:
    """`length` for an answer that was cut short by a bound of ours."""
    return "stop" if reason == "done" else "length"


def error_json(message: str, code: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def sse(data: Any) -> bytes:
    """One server-sent event of JSON without a name."""
    return b"data: " + to_json(data) + b"\n\n"


def models_json(agents: Sequence[str], created: int) -> dict[str, Any]:
    """The list of `/v1/models`: the default agent under its two names, then every agent."""
    names = [MODEL, f"{MODEL}/{DEFAULT}", *(f"{MODEL}/{agent}" for agent in agents)]
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": created, "owned_by": MODEL} for name in names],
    }
