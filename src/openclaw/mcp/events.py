"""What happens to servers, as values, which `event_hub.py` tells to everybody who wants to know.

Everything in an event is safe to show: no credential, no MCP session id, no text of a server that was not cleaned.
"""

import msgspec

from openclaw.mcp.status import ShownState
from openclaw.mcp.tools.pins import Change


class StateChanged(msgspec.Struct, frozen=True):
    """`tell` is set when the agent should know: the server needs a person, or has been away for a while."""

    server: str
    state: ShownState
    reason: str = ""
    next_attempt: float | None = None
    tell: bool = False


class ToolsChanged(msgspec.Struct, frozen=True):
    """Names as agents know them."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class DefinitionsChanged(msgspec.Struct, frozen=True):
    """Pinned tools are described differently now: all of them that changed together. Said once for each new form.

    `sentence` says so to a person, with the command that shows and accepts it.
    """

    server: str
    changes: tuple[Change, ...]
    sentence: str


class ResourceChanged(msgspec.Struct, frozen=True):
    """A resource changed; an empty `uri` means the list of them."""

    server: str
    uri: str = ""


class PromptsChanged(msgspec.Struct, frozen=True):
    server: str


class Awaited(msgspec.Struct, frozen=True):
    """Somebody waits for servers of an agent that are coming up; for none of them any more when it names none."""

    agent: str
    servers: tuple[str, ...]


class LeftOut(msgspec.Struct, frozen=True):
    """A turn of an agent goes on without the tools of a server, which did not come up in time; said at every such turn.

    `is_starting`: it may come by itself, and then the next turn has it.
    """

    agent: str
    server: str
    reason: str
    is_starting: bool = False


ServerEvent = StateChanged | ToolsChanged | DefinitionsChanged | ResourceChanged | PromptsChanged | Awaited | LeftOut
