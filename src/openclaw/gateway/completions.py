"""OpenAI's chat completions as our own values, both ways. Pure.

A request becomes one message to an agent: the text and attachments after the last answer. What came before is the conversation so far,
for a session that does not know it yet. System texts are added to the agent's own instructions. Tools of the caller are refused,
because the agent would never call them; sampling settings are the agent's business and ignored. responses.py is the same in other words,
and made of what stands here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, MessageEnd, RunReason, TextDelta
from openclaw.commands.agent import as_json
from openclaw.content import PICTURES, AssistantMessage, Block, Image, Message, Text, Usage, UserMessage, to_json
from openclaw.errors import OpenClawError, UsageError
from openclaw.media import ITEM_BYTES, MAX_FILES, MAX_IMAGES, clean_type, decode_base64, safe_name, sniff
from openclaw.reply import Reply
from openclaw.security.unframe import Unframer

MODEL: Final = "openclaw"
DEFAULT: Final = "default"
_SPEECH = {"wav": "audio/wav", "mp3": "audio/mpeg"}
# Between the texts of two messages of one answer.
_BREAK = "\n\n"
_DETAILS = ("toolCalls", "media", "sessionKey", "stopped", "error")


class UnknownModelError(UsageError):
    pass


class ParameterError(UsageError):
    """A field of the request that is the reason why it is refused. `code` is for a program."""

    def __init__(self, parameter: str, message: str, *, hint: str = "", code: str = "unsupported_parameter") -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter
        self.code = code


OWN_TOOLS = "The agent uses its own tools; `tools` and `functions` of a caller are not supported."


class ImageUrl(msgspec.Struct):
    url: str


class Speech(msgspec.Struct):
    data: str
    format: str = "wav"


class SentFile(msgspec.Struct):
    file_data: str = ""
    filename: str = ""


class SpokenPart(msgspec.Struct):
    type: str
    text: str = ""
    image_url: ImageUrl | None = None
    input_audio: Speech | None = None
    file: SentFile | None = None


class Spoken(msgspec.Struct):
    role: str
    content: str | list[SpokenPart] | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool = False


class Completion(msgspec.Struct):
    model: str
    messages: list[Spoken]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
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


# Made here: a type that two threads use first at the same moment could end the process (config/typed.py).
_completion = msgspec.json.Decoder(Completion)


def read_completion_request(data: bytes) -> CompletionRequest:
    """Raises UsageError or MediaError with a sentence that says what to change."""
    try:
        asked = _completion.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"The request is not a chat completion: {error}.") from None
    if asked.tools or asked.functions:
        raise ParameterError("tools" if asked.tools else "functions", OWN_TOOLS)
    if asked.n not in (None, 1):
        raise ParameterError("n", "Only one answer is given: `n` must be 1.")
    return msgspec.structs.replace(
        request_of(asked.model, asked.messages),
        user=asked.user or "",
        stream=bool(asked.stream),
        include_usage=bool(asked.stream_options and asked.stream_options.include_usage),
    )


def request_of(model: str, messages: Sequence[Spoken]) -> CompletionRequest:
    """What follows the last answer is said to the agent. Raises UsageError or MediaError."""
    last_answer = max((i for i, one in enumerate(messages) if one.role == "assistant"), default=-1)
    before, after = messages[: last_answer + 1], messages[last_answer + 1 :]
    spoken = [one for one in after if one.role == "user"]
    if not spoken:
        raise UsageError("There is nothing to answer: the last message must be the user's.")
    counter = _Counter()
    attachments = tuple(item for one in spoken for item in counter.attachments(one))
    text = _BREAK.join(filter(None, map(_text, spoken)))
    if not text and not attachments:
        raise UsageError("There is nothing to answer: the last message is empty.")
    return CompletionRequest(
        model=model,
        agent=agent_of(model),
        message=text,
        attachments=attachments,
        history=tuple(message for one in before if (message := _said(one, counter)) is not None),
        instructions=_BREAK.join(_text(one) for one in messages if one.role in ("system", "developer")),
    )


def agent_of(model: str) -> str:
    """`openclaw` and `openclaw/default` are the default agent, `openclaw/ID` is agent ID. Raises UnknownModelError."""
    name, slash, agent = model.partition("/")
    if name != MODEL or (slash and not agent):
        raise UnknownModelError(f"There is no model {model[:80]!r}.", hint=f"Use {MODEL} or {MODEL}/AGENT.")
    return "" if agent == DEFAULT else agent


def _text(one: Spoken) -> str:
    if isinstance(one.content, list):
        return "\n".join(part.text for part in one.content if part.type == "text")
    return one.content or ""


def _said(one: Spoken, counter: "_Counter") -> Message | None:
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

    def attachments(self, one: Spoken) -> list[Attachment]:
        parts = one.content if isinstance(one.content, list) else []
        return [self._attachment(part) for part in parts if part.type != "text"]

    def _attachment(self, part: SpokenPart) -> Attachment:
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
    """The text of an answer as it comes: everything the model says, with a blank line between messages. What it repeats of a tool's result
    is shown as a person reads it, without our frame around it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._is_new_message = False
        self._unframer = Unframer()

    def take(self, event: Event) -> str:
        """What an event adds to the answer."""
        match event:
            case TextDelta():
                text = self._unframer.feed(event.text)
            case MessageEnd():
                text = self._unframer.end()
            case _:
                return ""
        piece = _BREAK + text if text and self._is_new_message and self.pieces else text
        if piece:
            self._is_new_message = False
            self.pieces.append(piece)
        if isinstance(event, MessageEnd):
            self._is_new_message = True
        return piece

    def __call__(self, event: Event) -> None:
        self.take(event)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class AnswerForm(Protocol):
    """How one answer is written down: whole, or as a stream that begins with what the model said first."""

    def whole(self, text: str, reply: Reply) -> dict[str, Any]: ...

    def opening(self, piece: str) -> bytes: ...

    def piece(self, piece: str) -> bytes: ...

    def ending(self, text: str, reply: Reply) -> bytes: ...

    def broken(self, text: str, message: str, code: str) -> bytes:
        """The end of a stream that failed after `text`."""
        ...


class CompletionForm(msgspec.Struct, frozen=True):
    """A chat completion."""

    envelope: "Envelope"
    include_usage: bool = False

    def whole(self, text: str, reply: Reply) -> dict[str, Any]:
        return self.envelope.whole(text, finish_reason(reply.reason), reply.usage, details(reply))

    def opening(self, piece: str) -> bytes:
        return sse(self.envelope.piece({"role": "assistant", "content": piece}))

    def piece(self, piece: str) -> bytes:
        return sse(self.envelope.piece({"content": piece}))

    def ending(self, text: str, reply: Reply) -> bytes:
        last = sse(self.envelope.piece({}, finish_reason(reply.reason), openclaw=details(reply)))
        return last + (sse(self.envelope.totals(reply.usage)) if self.include_usage else b"") + b"data: [DONE]\n\n"

    def broken(self, text: str, message: str, code: str) -> bytes:
        return sse(error_json(message, code, "server_error"))


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
    """`length` for an answer that was cut short by a bound of ours, `content_filter` for one that a person's no ended."""
    match reason:
        case "done":
            return "stop"
        case "declined":
            return "content_filter"
        case _:
            return "length"


def details(reply: Reply) -> dict[str, Any]:
    """What OpenAI's shapes have no place for."""
    return {name: value for name, value in as_json(reply).items() if name in _DETAILS}


def error_json(
    message: str,
    code: str,
    kind: str = "invalid_request_error",
    parameter: str | None = None,
    *,
    exit_code: int = OpenClawError.exit_code,
) -> dict[str, Any]:
    """`exit_code` is what a command of a terminal ends with after such an error."""
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code, "exitCode": exit_code}}


def sse(data: Any, name: str = "") -> bytes:
    """One server-sent event of JSON."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + to_json(data) + b"\n\n"


def models_json(agents: Sequence[str], created: int) -> dict[str, Any]:
    """The list of `/v1/models`: the default agent under its two names, then every agent."""
    names = [MODEL, f"{MODEL}/{DEFAULT}", *(f"{MODEL}/{agent}" for agent in agents)]
    return {"object": "list", "data": [model_json(name, created) for name in names]}


def model_json(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": MODEL}
