"""Panels: what a server shows beside the results of its tools (MCP Apps, SEP-1865). Pure.

Owns what a tool and a resource say of a panel (`_meta.ui`), which HTML is taken for one, and which hosts it may reach: those it names, by
https and by name alone. Shows nothing: the gateway's page does, where the config lets it.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, structs

from openclaw.errors import MediaError, ProtocolError
from openclaw.late_pattern import late_pattern
from openclaw.mcp.tools.definition import Definition, is_null, ui_of
from openclaw.mcp.tools.results import ResourceContents, Result
from openclaw.media import decode_base64
from openclaw.tool import ToolResult

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
SCHEME = "ui://"
# Bytes of a panel's HTML, and of one result that it is given.
MAX_HTML = 2 * 1024 * 1024
MAX_RESULT = 1024 * 1024
# Under this name details of a result have what the server answered, as JSON.
ANSWER = "panelAnswer"
# How servers named the panel of a tool before `_meta.ui` was settled.
_OLD_KEY = "ui/resourceUri"
# Hosts of one kind that a panel may name.
_MOST_HOSTS = 50
_LONGEST_URI = 2_048
# A name with a dot in it that does not end in a number: neither an address, which may be one of this network, nor this machine.
_HOST = late_pattern(r"(https|wss)://(\*\.)?([a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{0,62}(:[0-9]{1,5})?", re.I)


class PanelPage(msgspec.Struct, frozen=True):
    """The HTML of a panel, and the hosts it may send to, load from, show frames of and resolve addresses against."""

    html: str
    connect: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    has_border: bool = True

    @property
    def hosts(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.connect, *self.resources, *self.frames)))


class _OldMeta(msgspec.Struct):
    uri: Any = msgspec.field(default=None, name=_OLD_KEY)


def panel_of(definition: Definition) -> str:
    """The address of the panel that shows a tool's results; empty when it has none."""
    # Most tools have none, and then nothing has to be decoded.
    if b"ui" not in bytes(definition.raw):
        return ""
    meta = definition.details().meta
    uri = ui_of(meta).get("resourceUri")
    if uri is None and not is_null(meta):
        try:
            uri = msgspec.json.decode(meta, type=_OldMeta).uri
        except msgspec.DecodeError:
            return ""
    return uri if isinstance(uri, str) and uri.startswith(SCHEME) and len(uri) <= _LONGEST_URI else ""


def page_of(contents: Sequence[ResourceContents], uri: str) -> PanelPage:
    """The panel in what a server gave for an address. Raises ProtocolError when it is none."""
    held = next((one for one in contents if _is_html(one.mime_type)), None)
    if held is None:
        raise ProtocolError(f"{uri} is not {MIME_TYPE}.")
    html = held.text if held.text is not None else _decoded(held.blob or "", uri)
    if len(html) > MAX_HTML or len(html.encode("utf-8", "replace")) > MAX_HTML:
        raise ProtocolError(f"{uri} is larger than {MAX_HTML:,} bytes.")
    ui = ui_of(held.meta)
    csp = ui.get("csp")
    said: dict[str, Any] = csp if isinstance(csp, dict) else {}
    return PanelPage(
        html,
        connect=_hosts(said.get("connectDomains"), ("https", "wss")),
        resources=_hosts(said.get("resourceDomains"), ("https",)),
        frames=_hosts(said.get("frameDomains"), ("https",)),
        bases=_hosts(said.get("baseUriDomains"), ("https",)),
        has_border=ui.get("prefersBorder") is not False,
    )


def for_panel(shown: ToolResult, result: Result) -> ToolResult:
    """A result for a model that also keeps what the server answered, as it came, unless that is too much."""
    if is_null(result.raw) or len(memoryview(result.raw)) > MAX_RESULT:
        return shown
    return structs.replace(shown, details={**shown.details, ANSWER: result.raw})


def answer_in(result: ToolResult) -> Raw | None:
    """What the server answered, where it was kept."""
    answer = result.details.get(ANSWER)
    return answer if isinstance(answer, Raw) else None


def _is_html(mime_type: str | None) -> bool:
    kind, _, parameters = (mime_type or "").replace(" ", "").lower().partition(";")
    return f"{kind};{parameters}" == MIME_TYPE


def _decoded(blob: str, uri: str) -> str:
    try:
        return decode_base64(blob, limit=MAX_HTML).decode("utf-8", "replace")
    except MediaError as error:
        raise ProtocolError(f"{uri} cannot be read: {error.message}") from None


def _hosts(named: Any, schemes: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(named, list):
        return ()
    good = (one.lower() for one in named if isinstance(one, str) and _HOST.fullmatch(one))
    return tuple(one for one in good if one.startswith(schemes))[:_MOST_HOSTS]
