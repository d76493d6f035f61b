"""From an MCP server's tool to a Tool, and from its answer to what a model sees.

Owns the label, the marked description, and the shape of results: all text of an answer in one untrusted frame, pictures as pictures,
everything a model cannot take saved and described, nothing dropped in silence. Every text passes `security/external.py` here.
Sends nothing: server/calls.py calls, this module shapes what comes back.
"""

import codecs
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import msgspec

from openclaw.content import PICTURES, Block, File, Image, Text, to_json
from openclaw.errors import MediaError, ProtocolError, StoreError
from openclaw.mcp.cache import identity
from openclaw.mcp.tools.definition import NOTHING, Details, is_null, schema_of
from openclaw.mcp.tools.output import is_large
from openclaw.mcp.tools.pins import digest, pin_of
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.mcp.tools.results import Content, ResourceContents, Result
from openclaw.mcp.wording import MAX_LABEL
from openclaw.media import RESULT_ITEM_BYTES, MediaStore, clean_type, decode_base64, sniff
from openclaw.protocol.jsonrpc import parse
from openclaw.redact import redact
from openclaw.security.external import clean_label, clean_schema_strings, clean_text, frame, frame_at_once
from openclaw.tool import Absence, OwnWords, Run, Tool, ToolFacts, ToolResult

_log = logging.getLogger(__name__)

# What a model gets of one result; the whole is kept in a file.
MAX_TEXT = 100_000
# Of a tool's description: more than the wordiest honest ones have. Of what is said about a link in a result: a page.
MAX_DESCRIPTION = 16_384
MAX_NOTE = 4_096
# Of a large structure so many bytes become text in one go: others run in between.
_PIECE = 1024 * 1024
MAX_URI = 2_048
# Tools whose results' details are kept made: as many as a large gateway has.
_MOST_ORIGINS = 4_096
_origins: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
# The smallest bound among vendors for one picture.
MAX_PICTURE = 5 * 1024 * 1024


class _Hints(msgspec.Struct, frozen=True, rename="camel"):
    """What a server says of a tool. A hint that is no yes or no says nothing."""

    read_only_hint: Any = None
    destructive_hint: Any = None
    open_world_hint: Any = None


def facts_of(entry: ToolEntry) -> ToolFacts:
    """What an approval needs to know of the tool. The digest is of its pin, and of what the server says of it now when that differs: who
    allowed the one did not allow the other."""
    pin = pin_of(entry.definition)
    hints = _Hints() if is_null(pin.annotations) else msgspec.json.decode(pin.annotations, type=_Hints)
    spec = entry.spec
    return ToolFacts(
        identity(spec),
        entry.definition.name,
        entry.changed or digest(pin),
        read_only=_said(hints.read_only_hint),
        destructive=_said(hints.destructive_hint),
        open_world=_said(hints.open_world_hint),
        approval=spec.approval,
        trusts_annotations=spec.annotations == "trusted",
    )


def _said(hint: Any) -> bool | None:
    return hint if isinstance(hint, bool) else None


def tool_of(entry: ToolEntry, run: Run, facts: Callable[[], ToolFacts] | None = None) -> Tool:
    """The Tool a model is offered. A server's hints (`readOnlyHint`, …) relax nothing by themselves."""
    details = entry.definition.details()
    server = clean_label(entry.spec.name, MAX_LABEL)
    return Tool(
        name=entry.name,
        description=describe(server, details),
        parameters=clean_schema_strings(schema_of(details)),
        run=run,
        kind="mcp",
        origin=entry.spec.name,
        label=f"MCP: {server}/{clean_label(entry.definition.name, MAX_LABEL)}",
        read_only=entry.is_utility,
        timeout=None,
        facts=facts or partial(facts_of, entry),
        output=None if is_null(details.output_schema) else details.output_schema,
    )


def describe(server: str, details: Details) -> str:
    text = clean_text(details.description or details.title or "", MAX_DESCRIPTION)
    return f"{label_of(server)}{text or 'No description'}"


def label_of(server: str) -> str:
    """What every description of a server's tool begins with: a model is to know whose words they are."""
    return f"[MCP server: {clean_label(server, MAX_LABEL)}] "


def _failed(call: Result, server: str, tool: str) -> ToolResult:
    """A call that has no answer: a sentence of ours, framed when it may repeat what the server said."""
    head = " ".join(filter(None, (call.note, _error_head(server, tool))))
    if isinstance(call.fault, OwnWords):
        sentence = Text(f"{head} {call.fault}")
        return ToolResult((sentence,), True, details={"error": True}, ending=call.ending, own_words=True)
    said = frame(redact(call.fault), source="mcp_server", sender=server)
    return ToolResult((Text(head), Text(said)), True, details={"error": True}, ending=call.ending)


def _error_head(server: str, tool: str) -> str:
    return f"MCP tool error ({clean_label(server, MAX_LABEL)}/{clean_label(tool, MAX_LABEL)}):"


def unavailable(name: str, absence: Absence | None) -> ToolResult:
    """The answer to a call of a tool that was there a moment ago."""
    details = {"error": True}
    if absence is None:
        gone = Text(f"The tool {name} is no longer there.")
        return ToolResult((gone,), True, details, ending="failed", own_words=True)
    said = Text(frame(absence.reason, source="mcp_server", sender=absence.name))
    return ToolResult((Text(f"{name} is not available:"), said), True, details, ending="failed")


def is_heavy(call: Result) -> bool:
    """Whether `result_of` may take a while: it decodes what is not text, and keeps it and long texts on the disk."""
    length = 0 if call.structured_content is NOTHING else size_of(call.structured_content)
    for item in call.content:
        if item.type != "text":
            return True
        length += len(item.text or "")
    return length > MAX_TEXT


def size_of(raw: msgspec.Raw) -> int:
    return len(memoryview(raw))


def result_of(call: Result, server: str, tool: str, media: MediaStore | None) -> ToolResult:
    """What a model sees of an answer. `details` say where it came from."""
    if call.fault:
        return _failed(call, server, tool)
    if (plain := plain_result(call, server, tool)) is not None:
        return plain
    answer = _Answer(server, tool, media)
    for item in call.content:
        if item.type == "text":
            answer.texts.append(item.text or "")
        else:
            _TAKERS.get(item.type, _Answer._unknown)(answer, item)
    details: dict[str, Any] = {"externalContent": external(server, tool)}
    if call.has_structure and is_large(call):
        # As it came: making objects of it would hold up everybody, and for nothing, since a model gets the beginning only.
        answer.say(_text_of(memoryview(call.structured_content)))
        details["structuredContent"] = call.structured_content
    elif call.has_structure:
        structure = msgspec.json.decode(call.structured_content)
        if structure is not None and not answer.says(structure):
            answer.texts.append(to_json(structure).decode())
        if structure is not None:
            details["structuredContent"] = structure
    blocks = (*((Text(call.note),) if call.note else ()), *answer.blocks())
    if answer.whole:
        details["wholeText"] = answer.whole
    if not call.is_error:
        return ToolResult(blocks, details=details, source=f"mcp:{server}")
    return ToolResult((Text(_error_head(server, tool)), *blocks), is_error=True, details={"error": True, **details})


def plain_result(call: Result, server: str, tool: str) -> ToolResult | None:
    """`result_of` for an answer that is one text in one block and went well, as nearly all are: it needs nothing put together, and is never
    heavy. None for any other."""
    content = call.content
    if call.is_error or call.note or len(content) != 1 or call.structured_content is not NOTHING:
        return None
    item = content[0]
    text = item.text
    if not text or item.type != "text" or len(text) > MAX_TEXT:
        return None
    framed = frame_at_once(text, "mcp_server", server)
    if framed is None:
        framed = frame(text, source="mcp_server", sender=server, suspect=partial(_suspect, server, tool))
    details, source = _origins.get((server, tool)) or _origin(server, tool)
    return ToolResult((Text(framed),), False, details, source)


def _origin(server: str, tool: str) -> tuple[Mapping[str, Any], str]:
    """What is said of all plain results of a tool: made once, since nobody changes it."""
    if len(_origins) >= _MOST_ORIGINS:
        _origins.clear()
    found = _origins[server, tool] = {"externalContent": external(server, tool)}, f"mcp:{server}"
    return found


def _suspect(server: str, tool: str, found: tuple[str, ...]) -> None:
    _log.warning("MCP server '%s' tool '%s' returned suspicious patterns: %s", server, tool, ", ".join(found))


def _text_of(structure: memoryview) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    starts = range(0, len(structure), _PIECE)
    pieces = [decoder.decode(bytes(structure[start : start + _PIECE])) for start in starts]
    return "".join([*pieces, decoder.decode(b"", final=True)])


def external(server: str, tool: str) -> dict[str, Any]:
    return {"untrusted": True, "source": "mcp_server", "server": server, "tool": tool, "wrapped": True}


class _Answer(msgspec.Struct, eq=False):
    """One answer being put together: the texts in order, and the blocks that go beside them. `store` keeps what models cannot take."""

    server: str
    tool: str
    store: MediaStore | None
    texts: list[str] = []
    beside: list[Block] = []
    # Where the whole text is, when a model gets its beginning only.
    whole: str = ""

    def says(self, structure: Any) -> bool:
        """Whether a text block already carries the structured content, as servers are asked to send it; or is all there is to it."""
        if isinstance(structure, dict) and len(structure) == 1 and [*structure.values()] == self.texts:
            return True
        for text in self.texts:
            if text[:1] in '{["' or not isinstance(structure, dict | list | str):
                try:
                    if msgspec.json.decode(text) == structure:
                        return True
                except (msgspec.MsgspecError, RecursionError):
                    continue
        return False

    def say(self, structure: str) -> None:
        """Add a large structure in the words that came, unless a text block has the same."""
        if structure not in self.texts:
            self.texts.append(structure)

    def blocks(self) -> tuple[Block, ...]:
        text = "\n".join(self.texts)
        if not text and not self.beside:
            return (Text(frame("(The tool returned nothing.)", source="mcp_server", sender=self.server)),)
        if len(text) > MAX_TEXT:
            text = self._cut(text)
        framed = frame(text, source="mcp_server", sender=self.server, suspect=partial(_suspect, self.server, self.tool))
        return (Text(framed), *self.beside)

    def _cut(self, text: str) -> str:
        """The beginning of a long text, and where the whole of it is."""
        kept = self._keep(text, "text/plain", f"{self.server}-{self.tool}.txt")
        self.whole = kept.path if kept else ""
        rest = f"{len(text) - MAX_TEXT:,} more of {len(text):,} characters"
        place = f"the whole text is in {kept.path}" if kept else "the whole text could not be kept"
        # In plain ASCII: one other character would send all of an ASCII text the slow way through the frame.
        return f"{text[:MAX_TEXT]}\n[cut: {rest}; {place}]"

    def _media(self, item: Content) -> None:
        self._binary(item.data or "", item.mime_type or "application/octet-stream", item.type)

    def _link(self, item: Content) -> None:
        parts = [clean_label(item.title or item.name or "resource", MAX_LABEL), clean_label(item.uri or "", MAX_URI)]
        note = clean_label(item.description or "", MAX_NOTE)
        self.texts.append(f"[resource link: {' '.join(parts)}]" + (f" {note}" if note else ""))

    def _embedded(self, item: Content) -> None:
        try:
            held = parse(item.resource, ResourceContents)
        except ProtocolError:
            self.texts.append("[an embedded resource that cannot be read]")
            return
        where = clean_label(held.uri, MAX_URI)
        if held.text is not None:
            self.texts.append(f"[resource {where}]\n{held.text}")
        elif held.blob is not None:
            name = unquote(held.uri.partition("?")[0].rpartition("/")[2])
            self._binary(held.blob, held.mime_type or "application/octet-stream", f"resource {where}", name)
        else:
            self.texts.append(f"[resource {where}: empty]")

    def _unknown(self, item: Content) -> None:
        self.texts.append(f"[content of an unknown kind: {clean_label(item.type, MAX_LABEL)}]")

    def _binary(self, encoded: str, mime_type: str, what: str, name: str = "") -> None:
        mime = clean_type(mime_type)
        try:
            data = decode_base64(encoded, limit=RESULT_ITEM_BYTES)
        except MediaError:
            self.texts.append(f"[{what} ({mime}) whose data is not valid base64]")
            return
        # What the bytes are counts, not what they are called: vendors refuse a picture that is another kind than it says.
        picture = sniff(data)
        if mime.startswith("image/") and picture in PICTURES and len(data) <= MAX_PICTURE:
            self.beside.append(Image(data, picture))
            self.texts.append(
                f"[{what}: {picture}, {len(data):,} bytes, shown below; it is untrusted external data too]"
            )
            return
        kept = self._keep(data, mime, name or f"{self.server}-{self.tool}")
        if kept is None:
            self.texts.append(f"[{what}: {mime}, {len(data):,} bytes, which could not be kept]")
        else:
            self.beside.append(kept)
            self.texts.append(f"[{what}: {mime}, {len(data):,} bytes, saved as {kept.path}]")

    def _keep(self, data: bytes | str, mime: str, name: str) -> File | None:
        if self.store is None:
            return None
        try:
            return self.store.save(data, mime, name)
        except StoreError as error:
            _log.warning("Could not keep a %s of MCP server '%s': %s", mime, self.server, error)
            return None


_TAKERS: dict[str, Callable[[_Answer, Content], None]] = {
    "image": _Answer._media,
    "audio": _Answer._media,
    "resource_link": _Answer._link,
    "resource": _Answer._embedded,
}
