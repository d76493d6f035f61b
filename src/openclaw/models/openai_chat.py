"""The chat-completions wire: OpenAI, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter and every endpoint that speaks like them.

Owns the form of the request, with what is known of the differences between endpoints. Pure; `exchange.py` sends, waits and tries
again, `openai_stream.py` reads the answer. Images of tool results follow in a user message, since a tool message carries text
alone. Reasoning goes back only beside tool calls, in the field it came in, where vendors ask for it.
"""

import base64
import re
from collections.abc import Callable
from typing import Any

import msgspec

from openclaw.content import AssistantMessage, Image, Message, Text, Thinking, ToolMessage, UserMessage
from openclaw.models import openai_endpoints
from openclaw.models.exchange import HttpProvider, Pace, Quirk
from openclaw.models.openai_endpoints import NO_IMAGES, NO_TOOLS, Refused, key_header, learned, most_tools, refused
from openclaw.models.openai_stream import DETAILS_SIGNATURE, FIELD_SIGNATURE, ChatDecoder
from openclaw.models.pictures import OPENAI
from openclaw.models.provider import ModelRequest, as_made
from openclaw.models.refusal import Refusal
from openclaw.models.spec import ModelEndpoint
from openclaw.models.transcript import carried, sendable
from openclaw.security.egress import parse_url
from openclaw.tool_form import accepted_schema, encoded

# Hosts that refuse the older `max_tokens`; everybody else refuses, or does not know, the newer name.
_NEW_LIMIT_NAME = frozenset({"api.openai.com", "openrouter.ai"})
# Vendors with ids of their own making: nine letters and digits, nothing else.
_SHORT_IDS = frozenset({"api.mistral.ai"})
# What an endpoint may refuse, most telling first.
_PARTS: tuple[Refused, ...] = (
    refused(
        "no-effort",
        r"function tools with reasoning_effort are not supported",
        "This model does not think while it is offered tools over this wire. Set its provider's api to openai-responses.",
    ),
    refused("no-stream-options", r"stream_options"),
    refused("new-limit-name", r"max_tokens\W.*max_completion_tokens"),
    refused("old-limit-name", r"max_completion_tokens"),
    refused("reasoning-needed", r"reasoning_content\W.*(?:must be passed|missing|required)"),
    refused("no-reasoning", r"\breasoning(?:_content|_details)?\b"),
    NO_TOOLS,
    NO_IMAGES,
)
# Texts that end an answer: more of them are refused.
_MOST_STOPS = 4


class ChatWire:
    label = "chat-completions"

    def url(self, base_url: str) -> str:
        return openai_endpoints.url(base_url, "/chat/completions")

    def headers(self, endpoint: ModelEndpoint) -> dict[str, str]:
        return key_header(endpoint)

    def body(self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bytes:
        host = parse_url(endpoint.base_url).host
        payload: dict[str, Any] = {
            "model": request.model,
            "messages": [message for message, _ in _messages(request, endpoint, quirks)],
            "stream": True,
        }
        if "no-stream-options" not in quirks:
            payload["stream_options"] = {"include_usage": True}
        limit = request.max_tokens or endpoint.model(request.model).max_tokens
        if limit is not None:
            new = (host in _NEW_LIMIT_NAME or "new-limit-name" in quirks) and "old-limit-name" not in quirks
            payload["max_completion_tokens" if new else "max_tokens"] = limit
        if request.tools and "no-tools" not in quirks:
            payload["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": accepted_schema(tool.parameters),
                    },
                }
                for tool in request.tools[: most_tools(quirks)]
            ]
            if request.tool_choice != "auto":
                payload["tool_choice"] = request.tool_choice
            if "no-effort" in quirks:
                payload["reasoning_effort"] = "none"
        if request.temperature is not None:
            payload["temperature"] = request.temperature
        if request.stop:
            payload["stop"] = request.stop[:_MOST_STOPS]
        return encoded(payload)

    def quirk(self, refusal: Refusal, quirks: frozenset[str]) -> Quirk | None:
        return learned(refusal, quirks, _PARTS)

    def sources(
        self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
    ) -> list[tuple[Message, ...]]:
        return [sources for _, sources in _messages(request, endpoint, quirks)]

    def decoder(self) -> ChatDecoder:
        return ChatDecoder()


def connect(endpoint: ModelEndpoint, pace: Pace | None = None) -> HttpProvider:
    return HttpProvider(endpoint, ChatWire(), pace)


def _messages(
    request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
) -> list[tuple[dict[str, Any], tuple[Message, ...]]]:
    """The messages, and for each what it stands for."""
    images = "image" in endpoint.model(request.model).input and "no-images" not in quirks
    name_call = _short_id if parse_url(endpoint.base_url).host in _SHORT_IDS else str
    written: list[tuple[dict[str, Any], tuple[Message, ...]]] = []
    if request.system.strip():
        written.append(({"role": "system", "content": request.system}, ()))
    # Tool messages must follow their calls without a gap: pictures wait until the last of them.
    pictures: list[dict[str, Any]] = []
    owners: tuple[Message, ...] = ()
    for sent in sendable(request.messages, OPENAI if images else None, quirks, with_calls="no-tools" not in quirks):
        message = sent.message
        if pictures and not isinstance(message, ToolMessage):
            written.append(({"role": "user", "content": pictures}, owners))
            pictures, owners = [], ()
        match message:
            case UserMessage():
                written.append(({"role": "user", "content": _content(message, images=images)}, sent.sources))
            case AssistantMessage():
                written.append((_assistant(message, quirks, name_call), sent.sources))
            case ToolMessage():
                result, shown = _result(message, images=images)
                tool = {"role": "tool", "tool_call_id": name_call(message.call_id), "content": result}
                written.append((tool, sent.sources))
                pictures += shown
                owners += sent.sources if shown else ()
    if pictures:
        written.append(({"role": "user", "content": pictures}, owners))
    if not written or written[-1][0]["role"] not in {"user", "tool"}:
        written.append(({"role": "user", "content": "Go on."}, ()))
    return written


def _short_id(call_id: str) -> str:
    """Nine letters and digits, the same for the same id."""
    plain = re.sub(r"[^A-Za-z0-9]", "", call_id)
    return plain if len(plain) == 9 and plain == call_id else f"{_hash(call_id):09x}"[-9:]


def _hash(text: str) -> int:
    """FNV-1a: stable between runs, which `hash` is not."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def _content(message: UserMessage, *, images: bool) -> str | list[dict[str, Any]]:
    blocks = [carried(block, images=images) for block in message.content]
    if all(isinstance(block, Text) for block in blocks):
        text = "\n".join(block.text for block in blocks if isinstance(block, Text))
        return text if text.strip() else "(empty message)"
    return [_part(block) for block in blocks if isinstance(block, Image) or block.text.strip()]


def _part(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    data = base64.b64encode(block.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{data}"}}


def _assistant(message: AssistantMessage, quirks: frozenset[str], name_call: Callable[[str], str]) -> dict[str, Any]:
    calls = [
        {
            "id": name_call(call.id),
            "type": "function",
            "function": {"name": name, "arguments": encoded(arguments).decode()},
        }
        for call in message.tool_calls
        for name, arguments in (as_made(call),)
    ]
    written: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        written["tool_calls"] = calls
        written |= _reasoning(message, quirks)
    return written


def _reasoning(message: AssistantMessage, quirks: frozenset[str]) -> dict[str, Any]:
    """Reasoning of this wire, in the field it came in; vendors that need it refuse a call that lacks it."""
    fields: dict[str, Any] = {"reasoning_content": ""} if "reasoning-needed" in quirks else {}
    if "no-reasoning" in quirks:
        return fields
    for block in message.content:
        if not isinstance(block, Thinking):
            continue
        if block.signature.startswith(DETAILS_SIGNATURE):
            fields["reasoning_details"] = msgspec.Raw(block.signature.removeprefix(DETAILS_SIGNATURE).encode())
        elif block.signature.startswith(FIELD_SIGNATURE):
            name = block.signature.removeprefix(FIELD_SIGNATURE)
            fields[name] = fields.get(name, "") + block.text
    return fields


def _result(message: ToolMessage, *, images: bool) -> tuple[str, list[dict[str, Any]]]:
    """The text of a tool message, and the parts of the user message that shows its images."""
    blocks = [carried(block, images=images) for block in message.content]
    pictures = [block for block in blocks if isinstance(block, Image)]
    text = "\n".join(block.text for block in blocks if isinstance(block, Text))
    if pictures:
        text = f"{text}\n[The image follows in the next message.]".lstrip()
    if message.is_error:
        text = f"The call failed. {text}"
    if not pictures:
        return text or "(no output)", []
    label = {"type": "text", "text": f"Returned by the tool {message.name} (call {message.call_id}):"}
    return text, [label, *(_part(picture) for picture in pictures)]
