"""Resources of a server: listed, read, kept in the prompt.

Owns the two tools that let a model look for itself (`resources_list`, `resources_read`), the resources a spec wants in the system context
(`inject`), and how their contents are shown: framed, bounded, described where they are not text. Every function takes a live client;
`LiveServer.use` gives one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Raw

from openclaw.content import Framed, to_json
from openclaw.errors import ProtocolError, RpcError, StepUpNeededError, TransportError
from openclaw.mcp.client import Client, Listable
from openclaw.mcp.tools.definition import Definition
from openclaw.mcp.tools.results import Content, PromptEntry, ResourceContents, ResourceEntry, Result
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND, parse
from openclaw.security.external import clean_label, frame
from openclaw.tool import Invocation
from openclaw.wildcard import first_match, is_pattern

# A glob may fit thousands; the bound on bytes would be reached long before, but each is a request.
MAX_INJECTED = 50
# What a model is shown of one server's list.
MAX_LISTED = 500
MAX_LABEL = 200
MAX_URI = 2_048

LIST_TOOL = "resources_list"
READ_TOOL = "resources_read"


def _utility(name: str, description: str, properties: Mapping[str, Any]) -> Definition:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Definition(name, Raw(to_json({"name": name, "description": description, "inputSchema": schema})))


UTILITIES = (
    _utility(LIST_TOOL, "List the resources of this server, and the templates of addresses it understands.", {}),
    _utility(
        READ_TOOL,
        "Read one resource of this server.",
        {"uri": {"type": "string", "description": "The resource's address, from the list or made from a template."}},
    ),
)

E = TypeVar("E", ResourceEntry, PromptEntry)


async def entries(client: Client, kind: Listable, shape: type[E]) -> list[E]:
    """A list of the server's, as values; entries that cannot be read are left out. Empty when the server has no such list."""
    try:
        pages = await client.collect(kind)
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return []
        raise
    found: list[E] = []
    for item in pages.items:
        try:
            found.append(parse(item, shape))
        except ProtocolError:
            continue
    return found


async def list_resources(client: Client) -> list[ResourceEntry]:
    return [entry for entry in await entries(client, "resources", ResourceEntry) if entry.uri]


async def list_templates(client: Client) -> list[ResourceEntry]:
    return [entry for entry in await entries(client, "templates", ResourceEntry) if entry.uri_template]


async def read_resource(client: Client, uri: str, *, invocation: Invocation | None = None) -> list[ResourceContents]:
    return await client.read_resource(uri, invocation=invocation)


async def run_utility(
    client: Client,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    timeout: float,
    invocation: Invocation | None = None,
) -> Result:
    """Serve one of our own tools, in the shape of a server's answer."""
    if tool == READ_TOOL:
        uri = str(arguments.get("uri", ""))
        contents = await client.read_resource(uri, timeout=timeout, invocation=invocation)
        return Result([Content("resource", resource=Raw(to_json(held))) for held in contents])
    lines = [_line(entry.uri, entry) for entry in await list_resources(client)]
    lines += [_line(f"{entry.uri_template} (template)", entry) for entry in await list_templates(client)]
    if len(lines) > MAX_LISTED:
        lines = [*lines[:MAX_LISTED], f"… and {len(lines) - MAX_LISTED} more"]
    return Result([Content("text", text="\n".join(lines) or "The server lists no resources.")])


def _line(address: str, entry: ResourceEntry) -> str:
    parts = [clean_label(address, MAX_URI)]
    for part in (entry.title or entry.name, entry.mime_type, entry.description):
        if part:
            parts.append(clean_label(part, MAX_LABEL))
    return " — ".join(parts)


def show(server: str, contents: Sequence[ResourceContents], max_bytes: int) -> Framed:
    """Contents as framed text of at most `max_bytes`."""
    return frame(_bounded(contents, max_bytes), source="mcp_server", sender=server, subject="resources")


def _bounded(contents: Sequence[ResourceContents], max_bytes: int) -> str:
    pieces: list[str] = []
    left = max_bytes
    for held in contents:
        data = _words(held).encode("utf-8", "replace")
        if len(data) > left:
            pieces.append(data[:left].decode("utf-8", "ignore"))
            pieces.append(f"[… cut: more than {max_bytes:,} bytes]")
            break
        pieces.append(data.decode("utf-8"))
        left -= len(data)
    return "\n".join(pieces)


def _words(held: ResourceContents) -> str:
    where = clean_label(held.uri, MAX_URI)
    if held.text is not None:
        return f"[resource {where}]\n{held.text}"
    mime = clean_label(held.mime_type or "unknown type", MAX_LABEL)
    # Base64 has four characters for three bytes, and fills up the last four.
    size = len((held.blob or "").rstrip("=")) * 3 // 4
    return f"[resource {where}: binary, {mime}, {size:,} bytes]"


class InjectedResources:
    """The resources of one server that stand in the system context. `text` is empty until they were read."""

    def __init__(self, server: str, patterns: Sequence[str], max_bytes: int) -> None:
        self.text = ""
        # The addresses in use now, to be subscribed to.
        self.uris: tuple[str, ...] = ()
        self.was_read = False
        # Whether one of them did not come the last time, which may have passed.
        self.lacks_some = False
        self._server = server
        self._patterns = tuple(patterns)
        self._max_bytes = max_bytes
        self._shown = ""

    @property
    def is_wanted(self) -> bool:
        return bool(self._patterns)

    async def refresh(self, client: Client) -> None:
        """Read everything anew. A resource that cannot be read is named with the reason, and costs no other."""
        self.uris = await self._addresses(client)
        self.lacks_some = False
        contents: list[ResourceContents] = []
        for uri in self.uris:
            try:
                contents += await client.read_resource(uri, timeout=client.timeout)
            except (ProtocolError, TransportError, StepUpNeededError) as error:
                self.lacks_some |= isinstance(error, TransportError)
                contents.append(ResourceContents(uri=uri, text=f"(It cannot be read: {error.message})"))
        words = _bounded(contents, self._max_bytes)
        # A frame has a fresh id each time: unchanged words keep theirs, so that prompts stay cacheable.
        if words != self._shown:
            self._shown = words
            self.text = frame(words, source="mcp_server", sender=self._server, subject="resources") if words else ""
        self.was_read = True

    async def _addresses(self, client: Client) -> tuple[str, ...]:
        """Plain addresses as they are; globs against the list, in the order they are configured."""
        found = [pattern for pattern in self._patterns if not is_pattern(pattern)]
        globs = [pattern for pattern in self._patterns if is_pattern(pattern)]
        if globs:
            found += [e.uri for e in await list_resources(client) if first_match(globs, e.uri) is not None]
        return tuple(dict.fromkeys(found))[:MAX_INJECTED]
