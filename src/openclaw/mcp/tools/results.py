"""What servers answer, as small structs decoded straight from the wire.

Content blocks share one loose struct: a kind of block nobody has heard of must not cost the rest of the result. bridge.py turns a
`Result` into what a model sees; `openclaw mcp call --json` prints it as it is.
"""

from typing import Any, Self

import msgspec
from msgspec import Raw

from openclaw.content import Image
from openclaw.errors import CallError, MediaError, ProtocolError
from openclaw.mcp.tools.definition import NOTHING, is_null
from openclaw.media import RESULT_ITEM_BYTES, decode_base64
from openclaw.protocol.jsonrpc import parse
from openclaw.security.external import clean_text
from openclaw.tool import Ending

INPUT_REQUIRED = "input_required"
# The result types that are known here; an absent one means "complete".
_COMPLETE = ("", "complete")
# The kinds of content block that are known here.
_KINDS = ("text", "image", "audio", "resource_link", "resource")
# Of what a server said when a call failed, as the words of an exception.
_MAX_RAISED = 2_000
# What servers wrap a value in that is no object: structured content has to be one.
_WRAPPER = "result"


class Content(msgspec.Struct, rename="camel", omit_defaults=True, repr_omit_defaults=True):
    """One content block of any kind; which fields are set depends on `type`."""

    type: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    size: int | float | None = None
    resource: Raw = NOTHING


class ResourceContents(msgspec.Struct, rename="camel", omit_defaults=True, repr_omit_defaults=True):
    """What a resource holds: `text`, or `blob` in base64. `meta` is what else the server says of it, as JSON."""

    uri: str = ""
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: Raw = msgspec.field(default=NOTHING, name="_meta")


class Result(msgspec.Struct, rename="camel", omit_defaults=True, repr_omit_defaults=True):
    """The answer to a tool call. `text`, `data`, `structured` and `images` read it; `is_error` says that the call failed.

    `fault` is our own sentence when there was no answer, framed for a model unless it is in `OwnWords`; it is
    then the only thing set besides `is_error`, and `needs_sign_in` when a person has to sign in for this call. `may_have_run` says that a
    call which needs it may have been carried out all the same, `timed_out` that no answer came in time. `note` is a sentence of ours beside
    the answer. `raw` is the result object as the server sent it, absent when it sent an error."""

    content: list[Content] = []
    is_error: bool = False
    structured_content: Raw = NOTHING
    fault: str = ""
    raw: Raw = NOTHING
    needs_sign_in: bool = False
    may_have_run: bool = False
    note: str = ""
    timed_out: bool = False

    @property
    def ending(self) -> Ending:
        """How the call ended when there was no answer."""
        if not self.fault:
            return ""
        return "timeout" if self.timed_out else "failed"

    @property
    def has_structure(self) -> bool:
        return not is_null(self.structured_content)

    # For programs. All of it is the server's own words, except for `fault`: frame it before a model sees it.

    @property
    def text(self) -> str:
        """All text of the answer, a line break between blocks; our own sentence when there was no answer."""
        return str(self.fault) or "\n".join(block.text for block in self.content if block.type == "text" and block.text)

    @property
    def structured(self) -> Any:
        """The structured content as the server sent it, decoded; None when it sent none."""
        return msgspec.json.decode(self.structured_content) if self.has_structure else None

    @property
    def data(self) -> Any:
        """What the tool returned, as Python data: the structured content, without the `{"result": …}` that servers put around what is no
        object; without structured content the text, decoded when it is a JSON object or array. None when the call failed."""
        if self.is_error:
            return None
        if self.has_structure:
            structure = self.structured
            is_wrapped = isinstance(structure, dict) and structure.keys() == {_WRAPPER}
            return structure[_WRAPPER] if is_wrapped else structure
        text = self.text
        if text.lstrip()[:1] in ("{", "["):
            try:
                return msgspec.json.decode(text)
            except (msgspec.MsgspecError, RecursionError):
                pass
        return text

    @property
    def images(self) -> list[Image]:
        """The pictures of the answer, decoded. One whose data cannot be read is left out; `content` has it as it came."""
        found = []
        for block in self.content:
            if block.type == "image" and block.data is not None:
                try:
                    data = decode_base64(block.data, limit=RESULT_ITEM_BYTES)
                except MediaError:
                    continue
                found.append(Image(data, block.mime_type or "application/octet-stream"))
        return found

    def raise_for_error(self) -> Self:
        """The result itself when the call went well. Raises CallError, with our sentence or the server's words, when it failed."""
        if self.is_error:
            raise CallError(clean_text(self.text, _MAX_RAISED) or "The tool failed without a word.")
        return self

    @classmethod
    def failed(cls, sentence: str, *, timed_out: bool = False) -> "Result":
        return cls(is_error=True, fault=sentence, timed_out=timed_out)

    @classmethod
    def refused(cls, message: str) -> "Result":
        """The server answered with an error: its words are content like any other, and as untrusted."""
        return cls([Content("text", text=message)], is_error=True)


class InputRequired(msgspec.Struct, rename="camel"):
    """The server wants answers before it goes on (2026-07-28). `request_state` goes back exactly as it came."""

    input_requests: dict[str, Raw] | None = None
    request_state: str | None = None


class Prompt(msgspec.Struct, rename="camel", omit_defaults=True, repr_omit_defaults=True):
    messages: list["PromptMessage"]
    description: str | None = None


class PromptMessage(msgspec.Struct):
    role: str
    content: Content


class ResourceEntry(msgspec.Struct, rename="camel", omit_defaults=True, repr_omit_defaults=True):
    """A listed resource (`uri`) or template (`uri_template`)."""

    name: str = ""
    uri: str = ""
    uri_template: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | float | None = None


class PromptArgument(msgspec.Struct, omit_defaults=True, repr_omit_defaults=True):
    name: str
    description: str | None = None
    required: bool = False


class PromptEntry(msgspec.Struct, omit_defaults=True, repr_omit_defaults=True):
    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None


class _CallAnswer(msgspec.Struct, rename="camel"):
    content: list[Content] | None = None
    is_error: bool | None = None
    structured_content: Raw = NOTHING
    result_type: str = ""


class _LooseAnswer(msgspec.Struct, rename="camel"):
    """The same with blocks that may be anything."""

    content: list[Raw]
    is_error: bool | None = None
    structured_content: Raw = NOTHING
    result_type: str = ""


class _Typed(msgspec.Struct):
    type: str


_call_answer = msgspec.json.Decoder(_CallAnswer)


class _ReadAnswer(msgspec.Struct):
    contents: list[ResourceContents]


class _Kind(msgspec.Struct, rename="camel"):
    result_type: str = ""


def read_call(raw: Raw) -> Result | InputRequired:
    """The result of `tools/call`. Raises ProtocolError when it is not one."""
    try:
        answer = _call_answer.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        answer = _mended(raw)
    if answer.result_type not in _COMPLETE:
        if answer.result_type == INPUT_REQUIRED:
            return parse(raw, InputRequired)
        raise ProtocolError(f"The server answered with a result of the unknown type '{answer.result_type[:40]}'.")
    if answer.content is None and is_null(answer.structured_content):
        raise ProtocolError("The server answered with neither content nor structuredContent.")
    return Result(answer.content or [], bool(answer.is_error), answer.structured_content, "", raw)


def _mended(raw: Raw) -> _CallAnswer:
    """An answer that is not quite one: mended where that can be done, without the blocks that cannot be read, or the reason why not."""
    try:
        return parse(raw, _CallAnswer)
    except ProtocolError:
        loose = parse(raw, _LooseAnswer)
        blocks = [_block(item) for item in loose.content]
        if not any(is_good for _, is_good in blocks) and is_null(loose.structured_content):
            raise
    return _CallAnswer([block for block, _ in blocks], loose.is_error, loose.structured_content, loose.result_type)


def _block(item: Raw) -> tuple[Content, bool]:
    """A content block, or words in place of one that cannot be read; and which of the two it is."""
    try:
        return parse(item, Content), True
    except ProtocolError:
        pass
    try:
        kind = parse(item, _Typed).type
    except ProtocolError:
        kind = ""
    if kind in ("", *_KINDS):
        return Content("text", text=f"[{kind or 'some'} content that could not be read]"), False
    # Nobody knows what its fields mean, so nothing can be wrong with them.
    return Content(kind), True


def input_required(raw: Raw) -> InputRequired | None:
    """Whether an answer asks for input instead of giving a result."""
    # Every result may say so, but almost none does: look at the bytes before decoding a second time.
    if b'"input_required"' not in bytes(memoryview(raw)) or parse(raw, _Kind).result_type != INPUT_REQUIRED:
        return None
    return parse(raw, InputRequired)


def read_resource(raw: Raw) -> list[ResourceContents]:
    return parse(raw, _ReadAnswer).contents


def read_prompt(raw: Raw) -> Prompt:
    return parse(raw, Prompt)


def as_json(result: Result) -> dict[str, Any]:
    """A call's outcome in the protocol's own shape, also when the failure is ours."""
    if not is_null(result.raw):
        whole: dict[str, Any] = msgspec.json.decode(result.raw)
        return {"content": [], **whole, "isError": result.is_error}
    content = result.content or [Content("text", text=str(result.fault))]
    return {"content": msgspec.to_builtins(content), "isError": result.is_error}
