"""The Responses wire: OpenAI's own, and what other endpoints offer under `/responses`.

Owns the form of the request. Pure; `exchange.py` sends, waits and tries again, `openai_responses_stream.py` reads the answer. Nothing is
kept at the vendor's (`store: false`): a conversation goes out whole at each turn, reasoning included, as the encrypted items it came in.
Of an item's ids only a call's own goes back, by which its result finds it: the vendor wants every other id in the company it first had.

There is no `prompt_cache_key`: requests are routed by their beginning anyway, and a key for each conversation would part it from the
others, whose system prompt and tools are the same.

A model that knows the vendor's tool search is given ours in that form (`provider.py`): it asks with a `tool_search_call`, and is answered
with the definitions of what was found. No other deferred tool is sent, so that what stands before a conversation never changes.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from openclaw.content import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolMessage, UserMessage
from openclaw.models import openai_endpoints
from openclaw.models.exchange import HttpProvider, Pace, Quirk
from openclaw.models.openai_endpoints import NO_IMAGES, NO_TOOLS, Refused, key_header, learned, most_tools, refused
from openclaw.models.openai_responses_stream import PHASE, REASONING, ResponsesDecoder
from openclaw.models.pictures import OPENAI
from openclaw.models.provider import NO_TOOL_SEARCH, ModelRequest, as_made, own_door_tools
from openclaw.models.refusal import Refusal
from openclaw.models.spec import ModelEndpoint
from openclaw.models.transcript import carried, sendable
from openclaw.tool import TOOL_SEARCH, Tool
from openclaw.tool_form import accepted_schema, encoded

# The vendor refuses a smaller limit.
LEAST_TOKENS: Final = 16

# What an endpoint may refuse, most telling first.
_PARTS: tuple[Refused, ...] = (
    refused(NO_TOOL_SEARCH, r"tool_search|defer_loading"),
    refused("no-encrypted-reasoning", r"encrypted[ _]content is not supported|\binclude\W*(?:\[|\.|'|`)"),
    # Of another account, or without the item that followed it; and where none is understood.
    refused("no-reasoning", r"encrypted[ _]content|\breasoning\b|items are not persisted"),
    refused("no-phase", r"\bphase\b"),
    refused("no-temperature", r"\btemperature\b"),
    NO_TOOLS,
    NO_IMAGES,
)


class ResponsesWire:
    label = "responses"

    def url(self, base_url: str) -> str:
        return openai_endpoints.url(base_url, "/responses")

    def headers(self, endpoint: ModelEndpoint) -> dict[str, str]:
        return key_header(endpoint)

    def body(self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bytes:
        payload: dict[str, Any] = {"model": request.model, "stream": True, "store": False}
        if "no-encrypted-reasoning" not in quirks:
            payload["include"] = ["reasoning.encrypted_content"]
        if request.system.strip():
            payload["instructions"] = request.system
        limit = request.max_tokens or endpoint.model(request.model).max_tokens
        if limit is not None:
            payload["max_output_tokens"] = max(limit, LEAST_TOKENS)
        if request.tools and "no-tools" not in quirks:
            own_door = _own_door(request, endpoint, quirks)
            shown = own_door_tools(request) if own_door else request.tools
            payload["tools"] = [
                _search(tool) if own_door and tool.name == TOOL_SEARCH else _tool(tool)
                for tool in shown[: most_tools(quirks)]
            ]
            if request.tool_choice != "auto":
                payload["tool_choice"] = request.tool_choice
        if request.temperature is not None and "no-temperature" not in quirks:
            payload["temperature"] = request.temperature
        # This wire knows no texts that end an answer.
        payload["input"] = [item for item, _ in _items(request, endpoint, quirks)]
        return encoded(payload)

    def quirk(self, refusal: Refusal, quirks: frozenset[str]) -> Quirk | None:
        return learned(refusal, quirks, _PARTS)

    def sources(
        self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
    ) -> list[tuple[Message, ...]]:
        return [sources for _, sources in _items(request, endpoint, quirks)]

    def decoder(self) -> ResponsesDecoder:
        return ResponsesDecoder()


def connect(endpoint: ModelEndpoint, pace: Pace | None = None) -> HttpProvider:
    return HttpProvider(endpoint, ResponsesWire(), pace)


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": accepted_schema(tool.parameters),
        # Left to itself the vendor makes every optional property a required one.
        "strict": False,
    }


def _own_door(request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bool:
    return bool(request.deferred) and NO_TOOL_SEARCH not in quirks and endpoint.searches(request.model)


def _search(tool: Tool) -> dict[str, Any]:
    schema = accepted_schema(tool.parameters)
    return {"type": "tool_search", "execution": "client", "description": tool.description, "parameters": schema}


def _items(
    request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
) -> list[tuple[dict[str, Any], tuple[Message, ...]]]:
    """The items of the input, and for each what it stands for."""
    images = "image" in endpoint.model(request.model).input and "no-images" not in quirks
    deferred = request.deferred if _own_door(request, endpoint, quirks) else None
    written: list[tuple[dict[str, Any], tuple[Message, ...]]] = []
    # The answer to a search has room for definitions alone: other words follow the last result.
    words: list[tuple[dict[str, Any], tuple[Message, ...]]] = []
    last: Message | None = None
    for sent in sendable(request.messages, OPENAI if images else None, quirks, with_calls="no-tools" not in quirks):
        last = sent.message
        if not isinstance(last, ToolMessage):
            written, words = [*written, *words], []
        match sent.message:
            case UserMessage():
                items = [{"role": "user", "content": _content(sent.message, images=images)}]
            case AssistantMessage():
                items = _said(sent.message, quirks, own_door=deferred is not None)
            case ToolMessage(name=name) if deferred is not None and name == TOOL_SEARCH:
                items = [_found(sent.message, deferred)]
                if not items[0]["tools"]:
                    told = UserMessage((Text("The search for tools found none. It says:"), *sent.message.content))
                    words.append(({"role": "user", "content": _content(told, images=images)}, sent.sources))
            case ToolMessage():
                items = [_result(sent.message, images=images)]
        written += [(item, sent.sources) for item in items]
    written += words
    if last is None or isinstance(last, AssistantMessage):
        written.append(({"role": "user", "content": "Go on."}, ()))
    return written


def _content(message: UserMessage, *, images: bool) -> str | list[dict[str, Any]]:
    blocks = [carried(block, images=images) for block in message.content]
    if all(isinstance(block, Text) for block in blocks):
        text = "\n".join(block.text for block in blocks if isinstance(block, Text))
        return text if text.strip() else "(empty message)"
    return [_part(block) for block in blocks if isinstance(block, Image) or block.text.strip()]


def _result(message: ToolMessage, *, images: bool) -> dict[str, Any]:
    blocks = [carried(block, images=images) for block in message.content]
    if message.is_error:
        # A result has no other mark of it.
        blocks = [Text("The call failed."), *blocks]
    output: str | list[dict[str, Any]]
    if any(isinstance(block, Image) for block in blocks):
        output = [_part(block) for block in blocks if isinstance(block, Image) or block.text.strip()]
    else:
        output = "\n".join(block.text for block in blocks if isinstance(block, Text)) or "(no output)"
    return {"type": "function_call_output", "call_id": message.call_id, "output": output}


def _found(message: ToolMessage, deferred: Mapping[str, Tool]) -> dict[str, Any]:
    """The answer to a search. A tool that is gone is left out."""
    tools = [{**_tool(deferred[name]), "defer_loading": True} for name in message.found if name in deferred]
    answer = {"type": "tool_search_output", "call_id": message.call_id, "execution": "client", "status": "completed"}
    return {**answer, "tools": tools}


def _part(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    data = base64.b64encode(block.data).decode()
    return {"type": "input_image", "image_url": f"data:{block.mime_type};base64,{data}", "detail": "auto"}


def _said(message: AssistantMessage, quirks: frozenset[str], *, own_door: bool) -> list[dict[str, Any]]:
    """The items of one answer, in the order they came."""
    items: list[dict[str, Any]] = []
    phase: dict[str, Any] = {}
    for block in message.content:
        match block:
            case Thinking() if block.signature.startswith(PHASE):
                phase = {} if "no-phase" in quirks else {"phase": block.signature.removeprefix(PHASE)}
            case Thinking() if block.signature.startswith(REASONING):
                if "no-reasoning" not in quirks:
                    item = msgspec.json.decode(block.signature.removeprefix(REASONING), type=dict[str, msgspec.Raw])
                    items.append({"type": "reasoning", **item})
            case Thinking():
                pass
            case Text():
                # Blank lines stand between the messages of one answer, and belong to none of them.
                items.append({"role": "assistant", "content": block.text.lstrip("\n"), **phase})
                phase = {}
            case ToolCall(name=name) if own_door and name == TOOL_SEARCH:
                search = {"type": "tool_search_call", "call_id": block.id, "execution": "client", "status": "completed"}
                items.append({**search, "arguments": block.arguments})
            case ToolCall():
                name, arguments = (block.name, block.arguments) if own_door else as_made(block)
                call = {"type": "function_call", "call_id": block.id, "name": name}
                items.append({**call, "arguments": encoded(arguments).decode()})
    # The vendor refuses reasoning that nothing follows.
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items
