"""The vendors' rules that the local model servers hold: a request that keeps them all passes, each breach is refused with its place."""

import base64
import copy
import re
from typing import Any

import pytest

from parts.media_server import png
from parts.vendor_rules import chat_fault, messages_fault

PICTURE = base64.b64encode(png()).decode()
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}
CHAT: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "tools": [FUNCTION],
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": ""}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}
                for name in ("c1", "c2")
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "tool", "tool_call_id": "c2", "content": "y"},
        {"role": "user", "content": "and?"},
    ],
}
MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "stream": True,
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "read", "input_schema": SCHEMA}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": {}}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in ("c1", "c2")],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "x"}],
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "c2", "content": "y"},
                {"type": "text", "text": "and?"},
            ],
        },
    ],
}
CHAT["messages"][0]["content"][1]["image_url"]["url"] = f"data:image/png;base64,{PICTURE}"
SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}
MESSAGES["messages"][0]["content"][1]["source"] = SOURCE


def changed(request: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one place changed; a list is made longer by naming the place after its last."""
    copied = copy.deepcopy(request)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = copied
    for step in steps:
        place = place[step]
    if isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
    return copied


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def wide(width: int) -> str:
    picture = bytearray(png())
    picture[16:20] = width.to_bytes(4)
    return base64.b64encode(picture).decode()


def test_what_keeps_every_rule_is_taken() -> None:
    assert (chat_fault(CHAT, 1_000), messages_fault(MESSAGES, 1_000)) == (None, None)


def _called(name: str) -> list[dict[str, Any]]:
    call = {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": "x"},
    ]


CALL = {"id": "c3", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CHAT_BREACHES: dict[str, tuple[str, Any, str]] = {
    "an unknown key": ("temperatur", 1, "temperatur"),
    "an unknown key of a message": ("messages.4.reasoning_content", "x", "messages[4]"),
    "a wrong type": ("messages.4.content", 5, "messages[4]"),
    "a picture in a tool message": ("messages.2.content", CHAT["messages"][0]["content"], "messages[2]"),
    "no tools in a list": ("tools", [], "tools"),
    "too many tools": ("tools", [FUNCTION] * 129, "'tools': array too long.*maximum length 128"),
    "a tool's name": ("tools.0.function.name", "a b", "tools[0].function.name.*pattern"),
    "a schema without type": ("tools.0.function.parameters", {"properties": {}}, "tools[0].*object"),
    "a schema without properties": ("tools.0.function.parameters", {"type": "object"}, "missing properties"),
    "alternatives at the top": ("tools.0.function.parameters.anyOf", [], "anyOf at the top"),
    "an array of nothing": (
        "tools.0.function.parameters.properties.list",
        {"type": ["array", "null"]},
        "'properties', 'list'.*missing items",
    ),
    "a call's name": ("messages.1.tool_calls.0.function.name", "rm -rf", "messages[1].tool_calls[0].function.name"),
    "a call's long id": ("messages", [*_called("c" * 41)], "messages[0].tool_calls[0].id.*too long"),
    "arguments that are no JSON": ("messages.1.tool_calls.0.function.arguments", "{", "messages[1].*JSON"),
    "arguments that are no object": ("messages.1.tool_calls.0.function.arguments", "[]", "messages[1].*JSON"),
    "one id twice": ("messages.1.tool_calls.1.id", "c1", "Duplicate"),
    "a call without a result": ("messages.1.tool_calls.2", CALL, "did not have response messages: c3"),
    "a result without a call": ("messages.5", {"role": "tool", "tool_call_id": "c9", "content": ""}, "messages[5]"),
    "no calls in a list": (
        "messages",
        [{"role": "assistant", "content": "x", "tool_calls": []}, CHAT["messages"][4]],
        "messages[0].tool_calls.*empty array",
    ),
    "an answer of nothing": (
        "messages",
        [{"role": "assistant", "content": None}, CHAT["messages"][4]],
        "messages[0].*null",
    ),
    "content of nothing": ("messages.4.content", [], "messages[4].content"),
    "a text of nothing": ("messages.4.content", [{"type": "text", "text": ""}], "messages[4].content[0]"),
    "an unknown kind of picture": (
        "messages.0.content.1.image_url.url",
        f"data:image/bmp;base64,{PICTURE}",
        "messages[0].*unsupported image",
    ),
    "a picture of another kind": (
        "messages.0.content.1.image_url.url",
        f"data:image/gif;base64,{PICTURE}",
        "messages[0].*appears to be a image/png",
    ),
    "a picture of nothing": ("messages.0.content.1.image_url.url", "data:image/png;base64,", "Could not process"),
    "a picture that is none": ("messages.0.content.1.image_url.url", "data:image/png;base64,AAAA", "Could not process"),
    "a picture that is too large": (
        "messages.0.content.1.image_url.url",
        f"data:image/png;base64,{'A' * 30_000_000}",
        "MB maximum",
    ),
    "an answer at the end": ("messages.5", {"role": "assistant", "content": "x"}, "last message"),
    "nesting": ("tools.0.function.parameters.properties", deep(130), "recursion limit"),
}


@pytest.mark.parametrize("breach", CHAT_BREACHES)
def test_chat_completions_refuse(breach: str) -> None:
    path, value, said = CHAT_BREACHES[breach]
    fault = chat_fault(changed(CHAT, path, value), 1_000)
    assert fault is not None
    assert re.search(said.replace("[", r"\["), fault.message), fault.message


def block(number: int, index: int) -> str:
    return f"messages.{number}.content.{index}"


def _twice() -> list[dict[str, Any]]:
    user, assistant, _ = MESSAGES["messages"]
    call = assistant["content"][0]
    return [user, {"role": "assistant", "content": [call, call]}, user]


IMAGE = {"type": "image", "source": SOURCE}
MARK = {"type": "ephemeral"}
MESSAGES_BREACHES: dict[str, tuple[str, Any, str]] = {
    "an unknown key": ("temperatur", 1, "temperatur"),
    "an unknown key of a block": (f"{block(0, 0)}.citation", "x", "messages.0.content.0"),
    "a wrong type": (f"{block(0, 0)}.text", 5, "messages.0.content.0"),
    "no limit": ("max_tokens", None, "max_tokens"),
    "no tools": ("tools", [], "must define tools"),
    "two tools of one name": ("tools.1", MESSAGES["tools"][0], "unique"),
    "a tool's name": ("tools.0.name", "a b", "tools.0.*pattern"),
    "a schema of another type": ("tools.0.input_schema.type", "string", "tools.0.custom.input_schema.*object"),
    "alternatives at the top": ("tools.0.input_schema.oneOf", [], "oneOf at the top"),
    "a property's name": ("tools.0.input_schema.properties.a b", {}, "Property keys"),
    "an answer at the beginning": ("messages", [{"role": "assistant", "content": "x"}, *CHAT["messages"][4:]], "first"),
    "an answer at the end": ("messages.3", {"role": "assistant", "content": "x"}, "must end with a user message"),
    "content of nothing": ("messages.0.content", [], "messages.0.*non-empty"),
    "a text of nothing": (f"{block(0, 0)}.text", "", "messages.0.content.0.*non-empty"),
    "a text of blanks": (f"{block(0, 0)}.text", " \n", "messages.0.content.0.*non-whitespace"),
    "a system prompt of nothing": ("system.0.text", "", "system.0.*non-empty"),
    "a text of nothing in a result": (f"{block(2, 0)}.content.0.text", "", "messages.2.content.0.*non-empty"),
    "a call's name": (f"{block(1, 0)}.name", "rm -rf", "messages.1.content.0.tool_use.name.*pattern"),
    "arguments that are no object": (f"{block(1, 0)}.input", "{}", "messages.1.content.0"),
    "one id in two messages": ("messages", [*MESSAGES["messages"], *MESSAGES["messages"][1:]], "messages.3.*unique"),
    "one id twice": ("messages", _twice(), "messages.1.*unique"),
    "a call without a result": (f"{block(1, 2)}", {**MESSAGES["messages"][1]["content"][0], "id": "c3"}, "without.*c3"),
    "a result without a call": (f"{block(2, 3)}", {"type": "tool_result", "tool_use_id": "c9"}, "unexpected.*c9"),
    "two results of a call": (f"{block(2, 1)}.tool_use_id", "c1", "single result"),
    "words before the results": ("messages.2.content", MESSAGES["messages"][2]["content"][::-1], "without"),
    "a call of the user": (f"{block(0, 0)}", MESSAGES["messages"][1]["content"][0], "only be in `assistant`"),
    "a picture in an error": (f"{block(2, 0)}.content.1", IMAGE, "messages.2.content.0.*is_error"),
    "an unknown kind of picture": (f"{block(0, 1)}.source.media_type", "image/bmp", "messages.0.content.1"),
    "a picture of another kind": (
        f"{block(0, 1)}.source.media_type",
        "image/gif",
        "messages.0.*appears to be a image/png",
    ),
    "a picture of nothing": (f"{block(0, 1)}.source.data", "", "messages.0.*Could not process"),
    "a picture that is none": (f"{block(0, 1)}.source.data", "AAAA", "messages.0.*Could not process"),
    "a picture that is too large": (f"{block(0, 1)}.source.data", "A" * 5_242_881, "messages.0.*5 MB maximum"),
    "a picture that is too wide": (f"{block(0, 1)}.source.data", wide(8_001), "messages.0.*8000 pixels"),
    "many pictures, one of them wide": (
        "messages.0.content",
        [*[IMAGE] * 20, {"type": "image", "source": {**SOURCE, "data": wide(2_001)}}],
        "messages.0.content.20.*2000 pixels",
    ),
    "too many pictures": ("messages.0.content", [IMAGE] * 101, "too many images"),
    "too many cache marks": (
        "messages.0.content",
        [{"type": "text", "text": "x", "cache_control": MARK}] * 5,
        "Found 5",
    ),
    "a signature that is not theirs": (
        f"{block(1, 2)}",
        {"type": "thinking", "thinking": "x", "signature": "mine"},
        "messages.1.content.2.*signature",
    ),
    "nesting": (f"{block(1, 0)}.input", deep(130), "recursion limit"),
}


@pytest.mark.parametrize("breach", MESSAGES_BREACHES)
def test_anthropic_messages_refuse(breach: str) -> None:
    path, value, said = MESSAGES_BREACHES[breach]
    fault = messages_fault(changed(MESSAGES, path, value), 1_000)
    assert fault is not None
    assert re.search(said, fault.message), fault.message


def test_a_body_that_is_too_large_is_refused_by_both() -> None:
    chat, messages = chat_fault(CHAT, 60_000_000), messages_fault(MESSAGES, 34_000_000)
    assert chat is not None
    assert messages is not None
    assert (chat.status, messages.status, messages.kind) == (413, 413, "request_too_large")


DEFERRED = {"name": "mail__send", "input_schema": SCHEMA, "defer_loading": True}
REFERENCE = {"type": "tool_reference", "tool_name": "mail__send"}


def _searched(*tools: dict[str, Any], named: str = "mail__send") -> dict[str, Any]:
    """A search that was answered with a reference."""
    found = changed(MESSAGES, f"{block(2, 0)}", {"type": "tool_result", "tool_use_id": "c1"})
    found = changed(found, f"{block(2, 0)}.content", [{**REFERENCE, "tool_name": named}])
    return changed(found, "tools", [*MESSAGES["tools"], *tools])


def test_a_reference_to_a_deferred_tool_is_taken() -> None:
    assert messages_fault(_searched(DEFERRED), 1_000) is None


@pytest.mark.parametrize(
    ("request_body", "says"),
    [
        (changed(MESSAGES, "tools", [DEFERRED]), "All tools cannot be deferred"),
        (_searched({**DEFERRED, "cache_control": {"type": "ephemeral"}}), "tools.1.*cache_control"),
        (_searched(), "Tool reference 'mail__send' not found in available tools"),
        (_searched(DEFERRED, named="mail__read"), "Tool reference 'mail__read' not found"),
        (_searched({**DEFERRED, "defer_loading": "yes"}), "tools.1.*defer_loading"),
        (_searched(*({**DEFERRED, "name": f"t{number}"} for number in range(10_001))), "at most 10000"),
    ],
    ids=["all deferred", "cache mark", "unknown name", "other name", "wrong type", "too many"],
)
def test_anthropic_messages_refuse_deferred_tools(request_body: dict[str, Any], says: str) -> None:
    fault = messages_fault(request_body, 1_000)
    assert fault is not None
    assert re.search(says, fault.message)


def test_a_model_that_does_not_know_deferred_tools_refuses_the_field_by_name() -> None:
    fault = messages_fault(_searched(DEFERRED), 1_000, searches=False)
    assert fault is not None
    assert fault.message == "tools.1.custom.defer_loading: Extra inputs are not permitted"
