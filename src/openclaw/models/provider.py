"""The contract every model provider keeps: one streamed answer to one request, as our own events.

A provider never raises past this contract (CancelledError excepted): failure is a final `Done` with `error`. Every stream
ends with exactly one `Done`. Retries, Retry-After, deadlines and the vendor's wire are the provider's own business;
which provider serves an agent, and fallbacks, are decided elsewhere (`models/catalog.py`).

Reasoning that must go back to its vendor ends with a `ReasoningDelta` that carries a `signature`: one `Thinking` block is the text
since the last signature, with this signature. Signatures are opaque, and name the wire they belong to: no other wire sends them.

**Tools that are searched for.** When an agent has too many tools, most of them are not in `ModelRequest.tools` but in `deferred`, by name,
and `tools` holds `tool_search`, `tool_describe` and `tool_call` besides (`tool.SEARCH_TOOLS`). How the model gets at them is a *door*.
Which door it is, is decided by the wire alone, for each request, when it writes the body:

- *Neutral*, the door of every wire: `tools` goes out as it is, `deferred` stays behind, and a result is its text. A call that the model
  made by `tool_call` is kept in the conversation as a call of the tool itself, with `ToolCall.through`: `as_made` gives it as it was made.
- *The vendor's own*, where `ModelEndpoint.searches(model)` says that the model has one (the table in `vendors.py`, or the config: never a
  guess) and the endpoint has not refused it (`NO_TOOL_SEARCH` among the quirks). Then the wire leaves `tool_describe` and `tool_call` out
  (`own_door_tools`), writes every call under the tool's own name, and answers a search by the names in `ToolMessage.found`, each looked up
  in `deferred`: a name that is not there is gone, and is left out; with none left the text is sent. Search is always ours: a call of the
  vendor's search form becomes a `ToolCall` named `tool_search` with the arguments of our schema (`query`, `limit`, `server`).
  On the messages wire the results are `tool_reference` blocks, and what was found so far (`found_tools`) goes out with `defer_loading`;
  on the Responses wire the definitions stand in the result itself (`tool_search_output`), and nothing else of `deferred` is sent.
- A refusal that names a field of the vendor's door is learned as the quirk `NO_TOOL_SEARCH`, without a word to the person: the same
  request is then written through the neutral door, and so is every later one to that model, as long as the process runs.

So a conversation goes through any door at any time: after a fallback to another model, after a restart, after a refusal. What is written
of its past depends on the past alone, not on which servers are up, except where a vendor refuses a name that it was not given.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from openclaw.content import Message, ToolCall, ToolMessage, Usage
from openclaw.tool import TOOL_CALL, TOOL_DESCRIBE, Tool

# The quirk of an endpoint that refused its vendor's form of tool search.
NO_TOOL_SEARCH: Final = "no-tool-search"

StopReason = Literal["end", "tools", "length", "refused", "cancelled", "error"]


class ModelRequest(msgspec.Struct, frozen=True):
    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    max_tokens: int | None = None
    # Seconds for the whole answer; None means the provider's own default.
    timeout: float | None = None
    # Whether the model may call a tool, has to, or must not. Counts only where there are tools.
    tool_choice: Literal["auto", "required", "none"] = "auto"
    # A wish: not every vendor knows it any more. None leaves it to the vendor.
    temperature: float | None = None
    # Texts that end the answer.
    stop: tuple[str, ...] = ()
    # Tools that the model may use and is not shown until it finds them, by name.
    deferred: Mapping[str, Tool] = {}


def own_door_tools(request: ModelRequest) -> list[Tool]:
    """What a model is shown that finds tools in its vendor's own way, and calls them by their names."""
    return [tool for tool in request.tools if tool.name not in (TOOL_DESCRIBE, TOOL_CALL)]


def found_tools(request: ModelRequest) -> list[Tool]:
    """The deferred tools that were found or called so far in this conversation and are still there, in the order of the first time."""
    names: dict[str, None] = {}
    for message in request.messages if request.deferred else ():
        if isinstance(message, ToolMessage):
            names |= dict.fromkeys((*message.found, message.name))
    return [tool for name in names if (tool := request.deferred.get(name)) is not None]


def as_made(call: ToolCall) -> tuple[str, dict[str, Any]]:
    """The name and the arguments that the model wrote for a call, on a wire without a door of its own."""
    return (
        (call.through, {"id": call.name, "arguments": call.arguments}) if call.through else (call.name, call.arguments)
    )


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    text: str
    signature: str = ""


class ToolCallStart(msgspec.Struct, frozen=True):
    index: int
    id: str
    name: str


class ToolCallDelta(msgspec.Struct, frozen=True):
    index: int
    text: str


class ToolCallEnd(msgspec.Struct, frozen=True):
    index: int
    call: ToolCall


class Notice(msgspec.Struct, frozen=True):
    """Something a waiting person wants to know: a retry, a fallback. Nobody needs a `retry` once the answer comes: until then `doing` says
    what is waited for, without the moment in which it begins."""

    text: str
    kind: Literal["note", "retry"] = "note"
    doing: str = ""


class Done(msgspec.Struct, frozen=True):
    """`error` is one sentence with its next step; `retryable` says whether another model may be tried instead.

    `usage.input_tokens` is all of the prompt, what came from the vendor's cache included. `model` is `provider/model`.
    """

    stop_reason: StopReason
    usage: Usage = Usage()
    error: str = ""
    retryable: bool = False
    model: str = ""
    # The request did not fit the model's context window: compact the conversation and ask again.
    too_long: bool = False
    # The vendor does not take the key that was sent.
    key_refused: bool = False


ModelEvent = TextDelta | ReasoningDelta | ToolCallStart | ToolCallDelta | ToolCallEnd | Notice | Done
# `Provider.stream` of whichever provider serves.
ProviderStream = Callable[[ModelRequest], AsyncGenerator[ModelEvent, None]]


class Provider(Protocol):
    """`name` is the part before the slash in `provider/model`."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Closing the generator (`contextlib.aclosing`) or cancelling its reader ends the exchange with the vendor."""
        ...

    async def close(self) -> None: ...
