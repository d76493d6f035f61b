"""What a server asks a model, and what comes back: read, shown and written as the protocol has it. Pure.

Owns what is taken of `sampling/createMessage` and what is refused (`-32602`), which of the allowed models a hint means, and what a person
sees of a prompt and of an answer. Who may ask, how often and at what cost is sampling.py's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from openclaw.config.servers import SamplingSpec
from openclaw.content import (
    AssistantBlock,
    AssistantMessage,
    Audio,
    Block,
    Image,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
    to_json,
)
from openclaw.errors import MediaError, RpcError
from openclaw.media import decode_base64
from openclaw.protocol.jsonrpc import INVALID_PARAMS
from openclaw.security.external import clean_label, clean_text
from openclaw.tool import Invocation, Tool, ToolResult, parameters

ToolChoice = Literal["auto", "required", "none"]

# More than any honest request has; a model's window is smaller.
MOST_MESSAGES = 1_000
MOST_TOOLS = 128
# Of one picture or recording.
MOST_BYTES = 10 * 1024 * 1024
# A terminal shows the beginning, and the rest page by page.
_LONGEST_SHOWN = 100_000
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STOP_REASONS = {"end": "endTurn", "tools": "toolUse", "length": "maxTokens"}


class SampleRequest(msgspec.Struct, frozen=True):
    """What a model is asked. An empty `model` is the one of the `agent`."""

    model: str
    agent: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = 0
    temperature: float | None = None
    stop: tuple[str, ...] = ()


class Sample(msgspec.Struct, frozen=True):
    """What it answered; `error` is one sentence when it did not. `tokens` are those of prompt and answer together."""

    content: tuple[AssistantBlock, ...] = ()
    stop_reason: str = "end"
    model: str = ""
    tokens: int = 0
    error: str = ""


class _Part(msgspec.Struct, rename="camel"):
    """One content block of a message, of any kind."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    content: list[dict[str, Any]] = []
    structured_content: Any = None
    is_error: bool = False


class _Said(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: _Part | list[_Part]

    @property
    def parts(self) -> list[_Part]:
        return self.content if isinstance(self.content, list) else [self.content]


class _Hint(msgspec.Struct):
    name: str = ""


class _Preferences(msgspec.Struct, frozen=True):
    hints: tuple[_Hint, ...] = ()


class _Choice(msgspec.Struct, frozen=True):
    mode: ToolChoice = "auto"


class _ServerTool(msgspec.Struct, rename="camel"):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}


class _Params(msgspec.Struct, rename="camel"):
    messages: list[_Said]
    max_tokens: int
    model_preferences: _Preferences = _Preferences()
    system_prompt: str = ""
    temperature: float | None = None
    stop_sequences: list[str] = []
    tools: list[_ServerTool] = []
    tool_choice: _Choice = _Choice()


# What is taken of a request


def read_request(params: Mapping[str, Any], allowed: SamplingSpec, agent: str) -> SampleRequest:
    """The request as a model gets it. Raises RpcError for what the protocol forbids, or nobody here could send on."""
    try:
        asked = msgspec.convert(params, _Params)
    except msgspec.ValidationError as error:
        raise _wrong(f"The request cannot be read: {clean_label(str(error), 200)}.") from None
    if asked.max_tokens < 1 or not asked.messages or len(asked.messages) > MOST_MESSAGES:
        raise _wrong(f"maxTokens is at least 1, and there are 1 to {MOST_MESSAGES} messages.")
    if len(asked.tools) > MOST_TOOLS or not all(_TOOL_NAME.fullmatch(tool.name) for tool in asked.tools):
        raise _wrong(f"There are at most {MOST_TOOLS} tools, named with letters, digits, '_' and '-'.")
    _check_tool_results(asked.messages)
    return SampleRequest(
        model=chosen_model([hint.name for hint in asked.model_preferences.hints], allowed.models),
        agent=agent,
        system=asked.system_prompt,
        messages=tuple(_messages(asked.messages)),
        tools=tuple(_tool(tool) for tool in asked.tools),
        tool_choice=asked.tool_choice.mode,
        max_tokens=min(asked.max_tokens, allowed.max_tokens),
        temperature=asked.temperature,
        stop=tuple(asked.stop_sequences),
    )


def chosen_model(hints: Sequence[str], models: Sequence[str]) -> str:
    """The first of the allowed models whose name has a hint in it, by the order of hints; else the first. Empty when any one will do."""
    for hint in filter(None, (hint.strip().casefold() for hint in hints)):
        for model in models:
            if hint in model.casefold():
                return model
    return models[0] if models else ""


def _check_tool_results(messages: Sequence[_Said]) -> None:
    """Results stand alone, and every use of a tool is followed by its result before anything else."""
    open_uses: set[str] = set()
    for message in messages:
        parts = message.parts
        results = {part.tool_use_id for part in parts if part.type == "tool_result"}
        if results and (message.role != "user" or any(part.type != "tool_result" for part in parts)):
            raise _wrong("A message with a tool_result is the user's and holds nothing but tool_results.")
        if results != open_uses:
            raise _wrong("Every tool_use is answered by a tool_result in the next message, and by nothing else.")
        uses = [part.id for part in parts if part.type == "tool_use"]
        if uses and message.role != "assistant":
            raise _wrong("A tool_use is the assistant's.")
        if len(set(uses)) != len(uses) or "" in uses:
            raise _wrong("Every tool_use has an id of its own.")
        open_uses = set(uses)
    if open_uses:
        raise _wrong("Every tool_use is answered by a tool_result in the next message, and by nothing else.")


def _messages(messages: Sequence[_Said]) -> list[Message]:
    made: list[Message] = []
    names: dict[str, str] = {}
    for message in messages:
        parts = message.parts
        if message.role == "assistant":
            names |= {part.id: part.name for part in parts if part.type == "tool_use"}
            made.append(AssistantMessage(tuple(_assistant_block(part) for part in parts)))
        elif parts and parts[0].type == "tool_result":
            made += [_tool_message(part, names[part.tool_use_id]) for part in parts]
        else:
            made.append(UserMessage(tuple(_block(part) for part in parts)))
    return made


def _assistant_block(part: _Part) -> AssistantBlock:
    if part.type == "tool_use":
        return ToolCall(part.id, part.name, part.input)
    if part.type == "text":
        return Text(part.text)
    raise _wrong("An assistant's message holds text and tool_use.")


def _tool_message(part: _Part, name: str) -> ToolMessage:
    try:
        inner = msgspec.convert(part.content, list[_Part])
    except msgspec.ValidationError:
        raise _wrong("The content of a tool_result cannot be read.") from None
    blocks: tuple[Block, ...] = tuple(_block(one) for one in inner)
    if not blocks and part.structured_content is not None:
        blocks = (Text(to_json(part.structured_content).decode()),)
    return ToolMessage(part.tool_use_id, name, blocks, part.is_error)


def _block(part: _Part) -> Block:
    match part.type:
        case "text":
            return Text(part.text)
        case "image":
            return Image(_bytes(part), part.mime_type)
        case "audio":
            return Audio(_bytes(part), part.mime_type)
        case _:
            raise _wrong(f"Content of the kind '{clean_label(part.type, 40)}' cannot be sent to a model.")


def _bytes(part: _Part) -> bytes:
    try:
        return decode_base64(part.data, limit=MOST_BYTES)
    except MediaError as error:
        raise _wrong(error.message) from None


def _tool(tool: _ServerTool) -> Tool:
    return Tool(tool.name, tool.description, parameters(tool.input_schema or {"type": "object"}), _never)


async def _never(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    raise AssertionError("a server runs its own tools")


def _wrong(sentence: str) -> RpcError:
    return RpcError(INVALID_PARAMS, sentence)


# What is shown and sent


def shown_prompt(request: SampleRequest) -> str:
    lines = [f"I want {request.model or 'your model'} to answer this, with at most {request.max_tokens} tokens:"]
    if request.system:
        lines.append(f"[system] {request.system}")
    for message in request.messages:
        match message:
            case AssistantMessage():
                lines.append(f"[assistant] {_words(message.content)}")
            case ToolMessage():
                lines.append(f"[result of {message.name}] {text_of(message.content)}")
            case UserMessage():
                lines.append(f"[user] {_words(message.content)}")
    if request.tools:
        lines.append(f"[tools] {', '.join(tool.name for tool in request.tools)}")
    return _bounded("\n".join(lines))


def shown_answer(sample: Sample) -> str:
    return _bounded(f"Let me have the model's answer:\n{_words(sample.content)}")


def _words(blocks: Sequence[Block | AssistantBlock]) -> str:
    said = []
    for block in blocks:
        match block:
            case Text(text=text):
                said.append(text)
            case ToolCall(name=name, arguments=arguments):
                said.append(f"{name}({to_json(arguments).decode()})")
            case Image(mime_type=kind) | Audio(mime_type=kind):
                said.append(f"({kind})")
            case _:
                pass
    return " ".join(said)


def _bounded(text: str) -> str:
    clean = clean_text(text, len(text))
    if len(clean) <= _LONGEST_SHOWN:
        return clean
    return f"{clean[:_LONGEST_SHOWN]}… ({len(clean) - _LONGEST_SHOWN:,} more characters)"


def result_of(sample: Sample) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for block in sample.content:
        match block:
            case Text(text=text):
                blocks.append({"type": "text", "text": text})
            case ToolCall(id=id, name=name, arguments=arguments):
                blocks.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
            case _:
                # What a model thought is its vendor's.
                pass
    # One block alone, as every revision has it; several only a server asked for that gave tools.
    content: Any = blocks[0] if len(blocks) == 1 else blocks or {"type": "text", "text": ""}
    reason = _STOP_REASONS.get(sample.stop_reason, sample.stop_reason)
    return {"role": "assistant", "content": content, "model": sample.model, "stopReason": reason}
