"""The contract every model provider keeps: one streamed answer to one request, as our own events.

A provider never raises past this contract (CancelledError excepted): failure is a final `Done` with `error`. Every stream
ends with exactly one `Done`. Retries, Retry-After, deadlines and the vendor's wire are the provider's own business;
which provider serves an agent, and fallbacks, are decided elsewhere (`models/catalog.py`).

Reasoning that must go back to its vendor ends with a `ReasoningDelta` that carries a `signature`: one `Thinking` block is the text
since the last signature, with this signature. Signatures are opaque, and name the wire they belong to: no other wire sends them.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal, Protocol

import msgspec

from openclaw.content import Message, ToolCall, Usage
from openclaw.tool import Tool

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
    """Something a waiting person wants to know: a retry, a fallback."""

    text: str


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
