"""Tools, calls and results in the words of the two vendors' APIs, for a program that talks to a model itself.

Pure. Owns what `tools=` is given, where the calls stand in a message of a model, and the messages that carry their results back. Reads the
objects of the vendors' libraries and mappings alike, and imports neither library. A schema is rewritten only where vendors refuse it
(tool_form.py), and results arrive here framed (tools/bridge.py). Our own models have wires of their own (models/).
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal, assert_never, get_args

import msgspec

from openclaw.content import Image, Text, ToolCall
from openclaw.errors import UsageError
from openclaw.tool import Tool, ToolResult
from openclaw.tool_form import PROPERTY_NAME, accepted_schema, finished_call

Vendor = Literal["openai", "openai-responses", "anthropic"]
_NOTHING = "(no output)"


def tools_for(vendor: Vendor, tools: Sequence[Tool]) -> list[Any]:
    """What a request has as `tools`. Of any type: each library has its own types for what is plain JSON."""
    return [_tool(_checked(vendor), tool) for tool in tools]


def _checked(vendor: Vendor) -> Vendor:
    if vendor not in get_args(Vendor):
        known = ", ".join(repr(one) for one in get_args(Vendor))
        raise UsageError(f"There is no vendor {vendor!r}.", hint=f"Choose one of {known}.")
    return vendor


def _tool(vendor: Vendor, tool: Tool) -> dict[str, Any]:
    named = {"name": tool.name, "description": tool.description}
    match vendor:
        case "openai":
            return {"type": "function", "function": {**named, "parameters": _schema(tool)}}
        case "openai-responses":
            # A strict schema would have to name every property as required, and servers write their own.
            return {"type": "function", **named, "parameters": _schema(tool), "strict": False}
        case "anthropic":
            return {**named, "input_schema": _schema(tool, anthropic=True)}
    assert_never(vendor)


def _schema(tool: Tool, *, anthropic: bool = False) -> Any:
    return msgspec.json.decode(accepted_schema(tool.parameters, names=PROPERTY_NAME if anthropic else None))


def calls_of(vendor: Vendor, message: object) -> list[ToolCall]:
    """The calls of tools in a message of a model, or in the answer that has the message in it. Raises UsageError when it is neither, or
    when its calls stand where another vendor has them: none would be made, and nobody would know."""
    calls = _calls(_checked(vendor), message)
    if not calls and (other := next((one for one in get_args(Vendor) if _has_calls(one, message)), None)):
        raise UsageError(f"This message is not of {vendor!r}.", hint=f"Its calls are those of {other!r}.")
    return calls


def _has_calls(vendor: Vendor, message: object) -> bool:
    try:
        return bool(_calls(vendor, message))
    except UsageError:
        return False


def _calls(vendor: Vendor, message: object) -> list[ToolCall]:
    match vendor:
        case "openai":
            choices = _get(message, "choices")
            said = _get(choices[0], "message") if choices else message
            calls = _listed(said, "tool_calls", "a message of chat completions, such as completion.choices[0].message")
            wanted = [(_get(call, "id"), _get(call, "function")) for call in calls]
            return [_call(id, function) for id, function in wanted if function is not None]
        case "openai-responses":
            items = _listed(message, "output", "what client.responses.create gave")
            return [_call(_get(item, "call_id"), item) for item in items if _get(item, "type") == "function_call"]
        case "anthropic":
            blocks = _listed(message, "content", "what client.messages.create gave")
            return [
                finished_call(_get(block, "id"), _get(block, "name"), _get(block, "input"))
                for block in blocks
                if _get(block, "type") == "tool_use"
            ]
        case unknown:
            assert_never(unknown)


def _call(id: str, function: object) -> ToolCall:
    return finished_call(id, _get(function, "name"), _get(function, "arguments"))


def _listed(message: object, key: str, what: str) -> Sequence[Any]:
    if not (isinstance(message, Mapping) or hasattr(message, key)):
        raise UsageError(f"A {type(message).__name__} is no message of a model.", hint=f"Give {what}.")
    found = _get(message, key)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def answers_for(vendor: Vendor, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Any]:
    """The messages that give a model the results of its calls; none when there were none."""
    pairs = list(zip(calls, results, strict=True))
    if not pairs:
        return []
    match _checked(vendor):
        case "openai":
            # A tool message has no pictures, and none may stand between them.
            pictures = [part for call, result in pairs for part in _shown(call, result)]
            told = [{"role": "tool", "tool_call_id": call.id, "content": _text(result)} for call, result in pairs]
            return [*told, {"role": "user", "content": pictures}] if pictures else told
        case "openai-responses":
            return [
                {"type": "function_call_output", "call_id": call.id, "output": _output(result)}
                for call, result in pairs
            ]
        case "anthropic":
            return [{"role": "user", "content": [_tool_result(call, result) for call, result in pairs]}]
        case unknown:
            assert_never(unknown)


def _text(result: ToolResult) -> str:
    text = "\n".join(str(block.text) for block in result.content if isinstance(block, Text)) or _NOTHING
    return f"The call failed. {text}" if result.is_error else text


def _pictures(result: ToolResult) -> list[Image]:
    return [block for block in result.content if isinstance(block, Image)]


def _url(image: Image) -> str:
    return f"data:{image.mime_type};base64,{base64.b64encode(image.data).decode()}"


def _shown(call: ToolCall, result: ToolResult) -> list[dict[str, Any]]:
    """The parts of a user message that show the pictures of a result."""
    pictures = [{"type": "image_url", "image_url": {"url": _url(image)}} for image in _pictures(result)]
    label = {"type": "text", "text": f"Returned by the tool {call.name} (call {call.id}):"}
    return [label, *pictures] if pictures else []


def _output(result: ToolResult) -> Any:
    pictures = [{"type": "input_image", "image_url": _url(image)} for image in _pictures(result)]
    return [{"type": "input_text", "text": _text(result)}, *pictures] if pictures else _text(result)


def _tool_result(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    texts = [str(block.text) for block in result.content if isinstance(block, Text)]
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts if text.strip()]
    if not result.is_error:
        # The vendor takes text alone in the result of a failed call.
        content += [_source(image) for image in _pictures(result)]
    given = {"type": "tool_result", "tool_use_id": call.id, "content": content or [{"type": "text", "text": _NOTHING}]}
    return {**given, "is_error": True} if result.is_error else given


def _source(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": data}}
