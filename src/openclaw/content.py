"""What conversations are made of: content blocks and messages, as plain values.

Owns the shapes that models, sessions, tools and surfaces share, and their JSON form (camelCase, `type` and `role` tags;
bytes as base64). Knows nothing of any vendor's wire. `Framed` marks text that `security/external.py` has framed: framing is
idempotent by this type, never by looking at the text, and only that module makes one. How many tokens a message takes is a guess by its
length; what a vendor counts it tells itself. `to_json` is the one JSON encoder of the package:
msgspec by itself refuses a subclass of `str`, so an encoder of one's own fails the day a framed text reaches it.
"""

from functools import cached_property
from typing import Any, Final

import msgspec

# Bytes of UTF-8 in one token: about right for English and code, and, unlike characters, not far off for other scripts.
BYTES_PER_TOKEN: Final = 4
# What vendors charge for a large image. Sound is sent as a sentence or costs about as much.
IMAGE_TOKENS: Final = 1_600
# Role, ids and separators around one message.
MESSAGE_TOKENS: Final = 8
# The pictures every vendor's model looks at and every client shows; others travel as files.
PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class Framed(str):
    """Text from outside, already inside its untrusted-content frame."""

    __slots__ = ()


def _text(value: Any) -> str:
    """Framed text is written as the text it is."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


to_json: Final = msgspec.json.Encoder(enc_hook=_text).encode
# The same value always gives the same bytes: for what is compared or hashed.
to_sorted_json: Final = msgspec.json.Encoder(enc_hook=_text, order="sorted").encode


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, tag_field="type", tag="image", rename="camel"):
    data: bytes
    mime_type: str


class Audio(msgspec.Struct, frozen=True, tag_field="type", tag="audio", rename="camel"):
    data: bytes
    mime_type: str


class File(msgspec.Struct, frozen=True, tag_field="type", tag="file", rename="camel"):
    """A file under the media root, for what a model cannot take in directly; models see a sentence that names it."""

    path: str
    name: str
    mime_type: str
    size: int


class Thinking(msgspec.Struct, frozen=True, tag_field="type", tag="thinking"):
    text: str
    # Some vendors sign reasoning and want the signature back with it.
    signature: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    # Set when the model's argument text was not a JSON object: the call then fails with this sentence, without running.
    fault: str = ""
    # The tool of ours by which the model made this call of another (`models/provider.py`); empty when it called it by its own name.
    through: str = ""


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


Block = Text | Image | Audio | File
AssistantBlock = Text | Thinking | ToolCall


def text_tokens(text: str) -> int:
    """About how many tokens a text takes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def block_tokens(block: Block | AssistantBlock) -> int:
    match block:
        case Text(text=text) | Thinking(text=text):
            return text_tokens(text)
        case ToolCall(name=name, arguments=arguments):
            return text_tokens(name) + text_tokens(str(arguments))
        case Image() | Audio():
            return IMAGE_TOKENS
        case File(path=path):
            return text_tokens(path) + MESSAGE_TOKENS


def _tokens(message: "Message") -> int:
    """About how many tokens it takes. Counted once: a turn asks it of every message that the model sees."""
    return MESSAGE_TOKENS + sum(block_tokens(block) for block in message.content)


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user", omit_defaults=True, dict=True):
    content: tuple[Block, ...]
    # Notes on what was left out of a long conversation: a model wrote them, no person said them.
    notes: bool = False
    # Whose text each block is (`conversation.ForeignSources`), empty for the person's own; none at all when every one is.
    sources: tuple[str, ...] = ()

    tokens = cached_property(_tokens)


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant", rename="camel", dict=True):
    content: tuple[AssistantBlock, ...]
    model: str = ""
    usage: Usage = Usage()
    stop_reason: str = ""

    tokens = cached_property(_tokens)

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))


class ToolMessage(msgspec.Struct, frozen=True, tag_field="role", tag="toolResult", rename="camel", dict=True):
    call_id: str
    name: str
    content: tuple[Block, ...]
    is_error: bool = False
    # Whose text it is (`conversation.ForeignSources`); empty when it is the person's or ours.
    source: str = ""
    # Of a search for tools: the names of those it found.
    found: tuple[str, ...] = ()

    tokens = cached_property(_tokens)


Message = UserMessage | AssistantMessage | ToolMessage


def text_of(blocks: tuple[Block, ...]) -> str:
    """The text blocks of `blocks`, one under the other."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))
