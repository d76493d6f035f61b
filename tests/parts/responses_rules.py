"""What OpenAI refuses of a Responses request, as a pure check of its body: the SDK's own types, closed and strict, and the rules types do
not carry. Written from what the vendor documents and answers, never from what our wire sends.
"""

from collections import Counter
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator

from parts.vendor_rules import (
    CHAT_LARGEST_BODY,
    BrokenRuleError,
    Fault,
    check_depth,
    check_openai_arguments,
    check_openai_function,
    check_openai_image,
    check_openai_name,
    check_openai_number,
    check_types,
    openai_fault,
    validator,
)

LONGEST_ID = 64
LEAST_TOKENS = 16
# What the vendor's encrypted reasoning looks like here: anything else was not made by it.
ENCRYPTED = "c2lnbmVk"
# What answers a call, by the kind of call, and what the vendor calls that one.
_OUTPUTS = {"function_call": "function_call_output", "tool_search_call": "tool_search_output"}
_NAMES = {"function_call": "function call", "tool_search_call": "tool search call"}
_IDS = {"reasoning": "rs", "function_call": "fc", "function_call_output": "fc", "message": "msg"}


@cache
def _types() -> dict[bool, SchemaValidator]:
    # Loaded when it is needed: the types of this wire take a second to build.
    from openai.types.responses.response_create_params import (
        ResponseCreateParamsNonStreaming,
        ResponseCreateParamsStreaming,
    )

    return {True: validator(ResponseCreateParamsStreaming), False: validator(ResponseCreateParamsNonStreaming)}


def responses_fault(asked: dict[str, Any], size: int, *, searches: bool = False) -> Fault | None:
    """The first thing that is wrong. `searches` is whether the model knows tool search."""
    try:
        if size > CHAT_LARGEST_BODY:
            raise BrokenRuleError("", "Request body too large.", status=413)
        check_depth(asked)
        check_types(_types(), asked)
        if "model" not in asked or "input" not in asked:
            raise BrokenRuleError("", "Missing required parameter: 'model' or 'input'.")
        if (asked.get("max_output_tokens") or LEAST_TOKENS) < LEAST_TOKENS:
            raise BrokenRuleError(
                "max_output_tokens", f"integer below minimum value. Expected a value >= {LEAST_TOKENS}."
            )
        _check_tools("tools", asked.get("tools") or [], searches=searches)
        items = asked["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not items:
            raise BrokenRuleError("input", "empty array. Expected an array with minimum length 1.")
        for number, item in enumerate(items):
            _check_item(f"input.{number}", item, is_stored=asked.get("store") is not False, searches=searches)
        _check_pairs(items)
        _check_company(items)
    except BrokenRuleError as rule:
        return openai_fault(rule)
    return None


def _check_tools(place: str, tools: list[dict[str, Any]], *, searches: bool, is_result: bool = False) -> None:
    check_openai_number(tools)
    kinds = [tool["type"] for tool in tools]
    if "tool_search" in kinds and not searches:
        raise BrokenRuleError(
            f"{place}.{kinds.index('tool_search')}.type", "'tool_search' is not supported with this model."
        )
    for number, tool in enumerate(tools):
        at = f"{place}.{number}"
        if tool["type"] == "function":
            check_openai_function(at, tool)
            if tool.get("defer_loading") and not searches:
                raise BrokenRuleError(f"{at}.defer_loading", "Unknown parameter: 'defer_loading'.")
            if tool.get("defer_loading") and not is_result and "tool_search" not in kinds:
                raise BrokenRuleError(f"{at}.defer_loading", "deferred tools need a 'tool_search' tool.")
        elif tool["type"] == "tool_search" and (tool.get("execution") != "client" and "parameters" in tool):
            raise BrokenRuleError(f"{at}.parameters", "only a client-executed tool search takes parameters.")
    names = Counter(tool["name"] for tool in tools if tool["type"] == "function")
    if doubled := [name for name, times in names.items() if times > 1]:
        raise BrokenRuleError(place, f"tool names must be unique. Found twice: {doubled[0]}.")


def _check_item(place: str, item: dict[str, Any], *, is_stored: bool, searches: bool) -> None:
    kind = item.get("type", "message")
    identity = item.get("id")
    if identity is not None and not identity.startswith(_IDS.get(kind, "")):
        raise BrokenRuleError(f"{place}.id", f"'{identity}'. Expected an ID that begins with '{_IDS[kind]}'.")
    if "call_id" in item and not 0 < len(item["call_id"] or "") <= LONGEST_ID:
        raise BrokenRuleError(
            f"{place}.call_id", f"string too long. Expected a string with maximum length {LONGEST_ID}."
        )
    match kind:
        case "message":
            if item.get("phase") and item["role"] != "assistant":
                raise BrokenRuleError(f"{place}.phase", "only assistant messages have a phase.")
            _check_content(f"{place}.content", item["content"])
        case "function_call":
            check_openai_name(f"{place}.name", item["name"])
            check_openai_arguments(f"{place}.arguments", item["arguments"])
        case "function_call_output":
            _check_content(f"{place}.output", item["output"])
        case "reasoning":
            if not item.get("encrypted_content") and not is_stored:
                raise BrokenRuleError(
                    "",
                    f"Item with id '{identity}' not found. Items are not persisted when `store` is set to false."
                    " Try again with `store` set to true, or remove this item from your input.",
                    status=404,
                )
            if item.get("encrypted_content") not in (None, ENCRYPTED):
                raise BrokenRuleError(
                    "",
                    f"The encrypted content for item {identity} could not be verified.",
                    kind="invalid_encrypted_content",
                )
        case "tool_search_call" | "tool_search_output":
            if not searches:
                raise BrokenRuleError(f"{place}.type", f"'{kind}' is not supported with this model.")
            if item.get("execution") != "client" or not item.get("call_id"):
                raise BrokenRuleError(f"{place}.execution", "a search that the vendor did not make is the client's.")
            if kind == "tool_search_output":
                _check_tools(f"{place}.tools", item["tools"], searches=True, is_result=True)
        case _:
            raise BrokenRuleError(f"{place}.type", f"'{kind}' is not expected here.")


def _check_content(place: str, content: str | list[dict[str, Any]]) -> None:
    if not content:
        raise BrokenRuleError(place, "empty. Expected a length of at least 1.")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        at = f"{place}.{number}"
        if part["type"] == "input_text" and not part["text"]:
            raise BrokenRuleError(f"{at}.text", "empty string.")
        if part["type"] == "input_image":
            check_openai_image(f"{at}.image_url", part["image_url"])


def _check_pairs(items: list[dict[str, Any]]) -> None:
    """Every call has its output behind it, and every output its call before it."""
    waiting: dict[str, str] = {}
    seen: set[str] = set()
    for item in items:
        kind = item.get("type")
        if kind in _OUTPUTS:
            if item["call_id"] in seen:
                raise BrokenRuleError("", f"Duplicate call found with call_id {item['call_id']}.")
            waiting[item["call_id"]] = kind
            seen.add(item["call_id"])
        elif kind in _OUTPUTS.values():
            call = waiting.pop(item["call_id"], "")
            if _OUTPUTS.get(call) != kind:
                name = "function call" if kind == "function_call_output" else "tool search call"
                raise BrokenRuleError("", f"No tool call found for {name} output with call_id {item['call_id']}.")
    for call_id, kind in waiting.items():
        raise BrokenRuleError("", f"No tool output found for {_NAMES[kind]} {call_id}.")


def _check_company(items: list[dict[str, Any]]) -> None:
    """Reasoning is followed by what it led to, and comes once."""
    ids: set[str] = set()
    for item, following in zip(items, [*items[1:], None], strict=True):
        identity = item.get("id")
        if identity in ids:
            raise BrokenRuleError(
                "", f"Duplicate item found with id {identity}. Remove duplicate items from your input."
            )
        ids |= {identity} if identity else set()
        if item.get("type") != "reasoning":
            continue
        led = following is not None and (
            following.get("role") == "assistant" or following.get("type") in ("reasoning", *_OUTPUTS)
        )
        if not led:
            raise BrokenRuleError(
                "", f"Item '{identity}' of type 'reasoning' was provided without its required following item."
            )
