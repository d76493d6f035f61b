"""What two vendors refuse, as pure checks of a request body: their own SDKs' types, closed and strict, and the rules types do not carry.

Written from what the vendors document and answer, never from what our wires send. `chat_fault` is for chat completions, `messages_fault`
for Anthropic messages; both name the place in the vendor's way, and return the first thing that is wrong. The same for Responses is in
`responses_rules.py`.
"""

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator, ValidationError

MEGABYTE = 1024 * 1024
DEEPEST = 128
CHAT_MOST_TOOLS = 128
CHAT_LARGEST_IMAGE = 20 * MEGABYTE
CHAT_LARGEST_BODY = 50 * MEGABYTE
CHAT_LONGEST_ID = 40
MESSAGES_LARGEST_IMAGE = 5 * MEGABYTE
MESSAGES_LARGEST_BODY = 32 * MEGABYTE
MESSAGES_MOST_IMAGES = 100
MESSAGES_MOST_CACHE_MARKS = 4
MESSAGES_MOST_DEFERRED = 10_000
LONGEST_SIDE = 8_000
MANY_IMAGES, LONGEST_SIDE_OF_MANY = 20, 2_000

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DATA_URL = re.compile(r"data:(image/[a-z]+);base64,(.*)", re.DOTALL)
_KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True)
class Fault:
    message: str
    status: int = 400
    kind: str = "invalid_request_error"
    param: str | None = None


class BrokenRuleError(Exception):
    def __init__(self, place: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.place, self.more = place, more


def _closed(schema: Any) -> Any:
    """A core schema whose dictionaries take no unknown keys, and whose lists are looked at from beginning to end."""
    match schema:
        case {"type": "typed-dict", "fields": dict()} if "allow" not in (
            schema.get("extra_behavior"),
            schema.get("config", {}).get("extra_fields_behavior"),
        ):
            return {**{key: _closed(value) for key, value in schema.items()}, "extra_behavior": "forbid"}
        case {"type": "model", "cls": cls}:
            # The SDK also takes objects of its own, which no body holds.
            return {"type": "is-instance", "cls": cls, **({"ref": schema["ref"]} if "ref" in schema else {})}
        case {"type": "generator", "items_schema": items}:
            return {**schema, "type": "list", "items_schema": _closed(items)}
        case dict():
            return {key: _closed(value) for key, value in schema.items()}
        case list() | tuple():
            return type(schema)(_closed(item) for item in schema)
    return schema


# By whether the answer is to be streamed. Each SDK takes seconds to load: who needs one has it, and not everybody who imports this.
Validators = dict[bool, SchemaValidator]


@cache
def _chat() -> Validators:
    from openai.types.chat import completion_create_params as params

    return {
        True: validator(params.CompletionCreateParamsStreaming),
        False: validator(params.CompletionCreateParamsNonStreaming),
    }


@cache
def _messages() -> Validators:
    from anthropic.types import message_create_params as params

    return {
        True: validator(params.MessageCreateParamsStreaming),
        False: validator(params.MessageCreateParamsNonStreaming),
    }


def validator(kind: Any) -> SchemaValidator:
    from pydantic import TypeAdapter

    return SchemaValidator(_closed(TypeAdapter(kind).core_schema))


def check_types(validators: Validators, asked: dict[str, Any]) -> None:
    try:
        validators[bool(asked.get("stream"))].validate_python(asked, strict=True)
    except ValidationError as error:
        # Of all the kinds that a part could have been, the one it came nearest to.
        found = max(error.errors(include_url=False), key=lambda one: (one["type"] != "literal_error", len(one["loc"])))
        path = [str(step) for step in found["loc"] if isinstance(step, int) or re.fullmatch("[a-z_]+", step)]
        raise BrokenRuleError(".".join(path), found["msg"]) from None


def chat_fault(asked: dict[str, Any], size: int) -> Fault | None:
    try:
        if size > CHAT_LARGEST_BODY:
            raise BrokenRuleError("", "Request body too large.", status=413)
        check_depth(asked)
        check_types(_chat(), asked)
        _check_chat_tools(asked.get("tools"))
        _check_chat_order(asked["messages"])
        for number, message in enumerate(asked["messages"]):
            _check_chat_message(f"messages.{number}", message)
    except BrokenRuleError as rule:
        return openai_fault(rule)
    return None


def openai_fault(rule: BrokenRuleError) -> Fault:
    """A broken rule in the words of the vendor."""
    place = re.sub(r"\.(\d+)", r"[\1]", rule.place)
    return Fault(f"Invalid '{place}': {rule}" if place else str(rule), param=place or None, **rule.more)


def _check_chat_tools(tools: list[Any] | None) -> None:
    if tools is None:
        return
    if not tools:
        raise BrokenRuleError("tools", "empty array. Expected an array with minimum length 1.")
    check_openai_number(tools)
    for number, tool in enumerate(tools):
        function, place = tool["function"], f"tools.{number}.function"
        check_openai_function(place, function)


def check_openai_number(tools: list[Any]) -> None:
    if len(tools) > CHAT_MOST_TOOLS:
        raise BrokenRuleError(
            "tools",
            f"array too long. Expected an array with maximum length {CHAT_MOST_TOOLS}, but got an array with length {len(tools)} instead.",
            kind="array_above_max_length",
        )


def check_openai_function(place: str, function: dict[str, Any]) -> None:
    check_openai_name(f"{place}.name", function["name"])
    check_top(f"{place}.parameters", function.get("parameters"), also=("enum", "not"))
    if "properties" not in function["parameters"]:
        raise BrokenRuleError(f"{place}.parameters", "In context=(), object schema missing properties.")
    for context, schema in _schemas(function["parameters"]):
        kind = schema.get("type")
        if "array" in (kind if isinstance(kind, list) else [kind]) and "items" not in schema:
            raise BrokenRuleError(f"{place}.parameters", f"In context={context}, array schema missing items.")


def check_openai_name(place: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BrokenRuleError(
            place, "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$'."
        )


def _check_chat_order(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        place = f"messages.{number}"
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise BrokenRuleError(
                    place, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        calls = [call["id"] for call in message.get("tool_calls") or []]
        if len({*calls}) < len(calls) or seen & {*calls}:
            raise BrokenRuleError(place, "Duplicate value for 'tool_call_id'.")
        seen |= {*calls}
        waiting = calls
    if waiting:
        raise BrokenRuleError(
            place,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
            f" The following tool_call_ids did not have response messages: {', '.join(waiting)}",
        )
    if not messages or messages[-1]["role"] not in ("user", "tool"):
        raise BrokenRuleError("messages", "the last message must be from a user or a tool.")


def _check_chat_message(place: str, message: dict[str, Any]) -> None:
    content, calls = message.get("content"), message.get("tool_calls")
    if calls == []:
        raise BrokenRuleError(f"{place}.tool_calls", "empty array. Expected an array with minimum length 1.")
    if content is None and not calls:
        raise BrokenRuleError(f"{place}.content", "expected a string, got null.")
    if content in ([], "") and not calls:
        raise BrokenRuleError(f"{place}.content", "empty. Expected a length of at least 1.")
    for number, call in enumerate(calls or ()):
        at = f"{place}.tool_calls.{number}"
        if not 0 < len(call["id"]) <= CHAT_LONGEST_ID:
            raise BrokenRuleError(
                f"{at}.id", f"string too long. Expected a string with maximum length {CHAT_LONGEST_ID}."
            )
        check_openai_name(f"{at}.function.name", call["function"]["name"])
        check_openai_arguments(f"{at}.function.arguments", call["function"]["arguments"])
    for number, part in enumerate(content if isinstance(content, list) else ()):
        at = f"{place}.content.{number}"
        if part["type"] == "text" and not part["text"]:
            raise BrokenRuleError(f"{at}.text", "empty string.")
        if part["type"] == "image_url":
            check_openai_image(f"{at}.image_url", part["image_url"]["url"])


def check_openai_arguments(place: str, text: str) -> None:
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise BrokenRuleError(place, "expected the JSON of an object.")
    check_depth(arguments)


def check_openai_image(place: str, url: str) -> None:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        raise BrokenRuleError(place, "Invalid base64 image_url.")
    check_image(place, found[1], found[2], CHAT_LARGEST_IMAGE * 4 // 3, LONGEST_SIDE * 8)


def messages_fault(asked: dict[str, Any], size: int, *, searches: bool = True) -> Fault | None:
    """`searches` is false for an endpoint or a model that does not know deferred tools."""
    try:
        if size > MESSAGES_LARGEST_BODY:
            raise BrokenRuleError("", "Request exceeds the maximum size", status=413, kind="request_too_large")
        check_depth(asked)
        check_types(_messages(), asked)
        _check_messages_tools(asked)
        _check_deferred(asked, searches=searches)
        _check_messages_order(asked["messages"])
        for place, block in _blocks(asked):
            _check_block(place, block)
        _check_many(asked)
    except BrokenRuleError as rule:
        return Fault(f"{rule.place}: {rule}" if rule.place else str(rule), **rule.more)
    return None


def _check_messages_tools(asked: dict[str, Any]) -> None:
    tools = asked.get("tools") or []
    if not tools and any(block["type"] in ("tool_use", "tool_result") for _, block in _blocks(asked)):
        raise BrokenRuleError("", "Requests which include `tool_use` or `tool_result` blocks must define tools")
    if len({tool["name"] for tool in tools}) < len(tools):
        raise BrokenRuleError("tools", "Tool names must be unique.")
    for number, tool in enumerate(tools):
        place = f"tools.{number}.custom"
        _check_messages_name(f"{place}.name", tool["name"])
        check_top(f"{place}.input_schema", tool["input_schema"])
        for name in tool["input_schema"].get("properties") or {}:
            if not _PROPERTY.fullmatch(name):
                raise BrokenRuleError(
                    f"{place}.input_schema.properties",
                    "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
                )


def _check_deferred(asked: dict[str, Any], *, searches: bool) -> None:
    """What the vendor documents of tools that are loaded on demand."""
    tools = asked.get("tools") or []
    deferred = [(number, tool) for number, tool in enumerate(tools) if tool.get("defer_loading")]
    if tools and len(deferred) == len(tools):
        raise BrokenRuleError("", "At least one tool must have defer_loading=false. All tools cannot be deferred.")
    if len(deferred) > MESSAGES_MOST_DEFERRED:
        raise BrokenRuleError("tools", f"at most {MESSAGES_MOST_DEFERRED} tools may have defer_loading=true")
    for number, tool in deferred:
        if not searches:
            raise BrokenRuleError(f"tools.{number}.custom.defer_loading", "Extra inputs are not permitted")
        if tool.get("cache_control"):
            raise BrokenRuleError(
                f"tools.{number}.custom", "a tool with defer_loading=true cannot have cache_control set"
            )
    known = {tool["name"] for tool in tools}
    for place, block in _blocks(asked):
        if block["type"] != "tool_reference":
            continue
        if not searches:
            raise BrokenRuleError(place, "Input tag 'tool_reference' found using 'type' does not match any of the tags")
        if block["tool_name"] not in known:
            raise BrokenRuleError("", f"Tool reference '{block['tool_name']}' not found in available tools")


def _check_messages_name(place: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BrokenRuleError(place, "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")


def _check_messages_order(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise BrokenRuleError("messages", "at least one message is required")
    if messages[0]["role"] != "user":
        raise BrokenRuleError("messages.0", "first message must use the user role")
    if messages[-1]["role"] != "user":
        raise BrokenRuleError(
            "", "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    seen: set[str] = set()
    waiting: list[str] = []
    for number, message in enumerate(messages):
        place, content = f"messages.{number}", message["content"]
        if not content:
            raise BrokenRuleError(place, "all messages must have non-empty content")
        blocks = content if isinstance(content, list) else []
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        first = [block["tool_use_id"] for block in blocks[: len(results)] if block["type"] == "tool_result"]
        for result in results:
            if result not in waiting:
                raise BrokenRuleError(
                    place,
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {result}. Each `tool_result` block must have a "
                    "corresponding `tool_use` block in the previous message.",
                )
        if len({*results}) < len(results):
            raise BrokenRuleError(place, "each tool_use must have a single result. Found multiple `tool_result` blocks")
        if missing := [call for call in waiting if call not in first]:
            raise BrokenRuleError(
                f"messages.{number - 1}",
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}.",
            )
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if waiting and message["role"] != "assistant":
            raise BrokenRuleError(place, "`tool_use` blocks can only be in `assistant` messages")
        if seen & {*waiting} or len({*waiting}) < len(waiting):
            raise BrokenRuleError(place, "`tool_use` ids must be unique")
        seen |= {*waiting}


def _blocks(asked: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every block of a request and where it stands, those inside of results included."""
    system = asked.get("system")
    for number, block in enumerate(system if isinstance(system, list) else []):
        yield f"system.{number}", block
    for number, message in enumerate(asked["messages"]):
        content = message["content"]
        if isinstance(content, str):
            yield f"messages.{number}", {"type": "text", "text": content}
            continue
        for index, block in enumerate(content):
            place = f"messages.{number}.content.{index}"
            yield place, block
            inner = block.get("content") if block["type"] == "tool_result" else None
            for step, part in enumerate(inner if isinstance(inner, list) else ()):
                yield f"{place}.tool_result.content.{step}", part


def _check_block(place: str, block: dict[str, Any]) -> None:
    match block["type"]:
        case "text" if not block["text"]:
            raise BrokenRuleError(place, "text content blocks must be non-empty")
        case "text" if not block["text"].strip():
            raise BrokenRuleError(place, "text content blocks must contain non-whitespace text")
        case "tool_use":
            _check_messages_name(f"{place}.tool_use.name", block["name"])
            if not _ID.fullmatch(block["id"]):
                raise BrokenRuleError(f"{place}.tool_use.id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
        case "tool_result" if block.get("is_error"):
            inner = block.get("content")
            if isinstance(inner, list) and any(part["type"] != "text" for part in inner):
                raise BrokenRuleError(
                    f"{place}.tool_result", 'content: all content must be type "text" if `is_error` is true'
                )
        case "image" if block["source"]["type"] == "base64":
            source = block["source"]
            at = f"{place}.image.source.base64"
            check_image(f"{at}.data", source["media_type"], source["data"], MESSAGES_LARGEST_IMAGE, LONGEST_SIDE)
        case "thinking" if block["signature"] != "c2lnbmVk":
            raise BrokenRuleError(place, "Invalid `signature` in `thinking` block")


def _check_many(asked: dict[str, Any]) -> None:
    """What concerns all pictures and all cache marks together."""
    pictures = [(place, block) for place, block in _blocks(asked) if block["type"] == "image"]
    if len(pictures) > MESSAGES_MOST_IMAGES:
        raise BrokenRuleError("messages", f"too many images: {len(pictures)} > {MESSAGES_MOST_IMAGES}")
    for place, block in pictures if len(pictures) > MANY_IMAGES else ():
        if max(picture_of(base64.b64decode(block["source"]["data"]))[1]) > LONGEST_SIDE_OF_MANY:
            raise BrokenRuleError(
                f"{place}.image.source.base64.data",
                "At least one of the image dimensions exceed max allowed size for many-image requests:"
                f" {LONGEST_SIDE_OF_MANY} pixels",
            )
    marks = sum("cache_control" in block for _, block in _blocks(asked))
    marks += sum("cache_control" in tool for tool in asked.get("tools") or ())
    if marks > MESSAGES_MOST_CACHE_MARKS:
        raise BrokenRuleError(
            "",
            f"A maximum of {MESSAGES_MOST_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}.",
        )


def check_image(place: str, kind: str, data: str, most: int, side: int) -> None:
    if kind not in _KINDS:
        raise BrokenRuleError(
            place, "You uploaded an unsupported image. Use one of the formats ['png', 'jpeg', 'gif', 'webp']."
        )
    if len(data) > most:
        raise BrokenRuleError(place, f"image exceeds {most // MEGABYTE} MB maximum: {len(data)} bytes > {most} bytes")
    try:
        found, size = picture_of(base64.b64decode(data, validate=True))
    except ValueError:
        raise BrokenRuleError(place, "Could not process image") from None
    if found != kind:
        raise BrokenRuleError(
            place,
            f"The image was specified using the {kind} media type, but the image appears to be a {found} image",
        )
    if max(size) > side:
        raise BrokenRuleError(place, f"At least one of the image dimensions exceed max allowed size: {side} pixels")


def picture_of(data: bytes) -> tuple[str, tuple[int, int]]:
    """What a picture is, and its width and height. Raises ValueError for one that cannot be shown."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", _png_size(data)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) > 10:
        return "image/gif", struct.unpack("<HH", data[6:10])
    if data.startswith(b"\xff\xd8\xff"):
        found = re.search(rb"\xff[\xc0-\xc2]..\x08(..)(..)", data, re.DOTALL)
        if found:
            return "image/jpeg", (int.from_bytes(found[2]), int.from_bytes(found[1]))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) > 30:
        return "image/webp", (1, 1)
    raise ValueError("not a picture")


def _png_size(data: bytes) -> tuple[int, int]:
    place, size, packed = 8, (0, 0), b""
    while place + 12 <= len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        place += 12 + length
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        elif kind == b"IEND":
            try:
                zlib.decompress(packed)
            except zlib.error as error:
                raise ValueError("not a picture") from error
            if min(size) > 0:
                return size
    raise ValueError("not a picture")


def check_top(place: str, schema: Any, also: tuple[str, ...] = ()) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise BrokenRuleError(place, "schema must be a JSON Schema of 'type: \"object\"'")
    refused = [keyword for keyword in ("oneOf", "anyOf", "allOf", *also) if keyword in schema]
    if refused:
        raise BrokenRuleError(place, f"schema does not support {', '.join(refused)} at the top level")


def _schemas(schema: Any, context: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """A schema and those inside of it, each with the way to it."""
    if isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from _schemas(item, (*context, str(number)))
    if not isinstance(schema, dict):
        return
    yield context, schema
    for keyword in ("properties", "$defs", "definitions", "patternProperties"):
        for name, item in (schema.get(keyword) or {}).items():
            yield from _schemas(item, (*context, keyword, name))
    for keyword in ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "not"):
        if keyword in schema:
            yield from _schemas(schema[keyword], (*context, keyword))


def check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        if not level:
            return
    raise BrokenRuleError("", "The request body is not valid JSON: recursion limit exceeded")
