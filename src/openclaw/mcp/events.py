"""What happens to servers, as values, and telling everybody who wants to know.

Everything in an event is safe to show: no credential, no MCP session id, no text of a server that was not cleaned. A sink is called at
once, in the event loop. A stream is for who reads at their own pace: one that falls too far behind loses the oldest events, never the
newest, and nobody else is held up by it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable

import msgspec

from openclaw.mcp.status import ShownState
from openclaw.mcp.tools.pins import Change

_log = logging.getLogger(__name__)

# Events kept for one slow reader: far more than a healthy one ever has waiting.
MAX_BEHIND = 1_000


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
    """A turn of an agent goes on without the tools of a server, which did not come up in time; said at every such turn."""

    agent: str
    server: str
    reason: str


EngineEvent = StateChanged | ToolsChanged | DefinitionsChanged | ResourceChanged | PromptsChanged | Awaited | LeftOut
# Called in the event loop; must neither block nor raise.
EventSink = Callable[[EngineEvent], None]


class Broadcast:
    def __init__(self) -> None:
        self._sinks: list[EventSink] = []

    def subscribe(self, sink: EventSink) -> Callable[[], None]:
        """Call `sink` with every event from now on, until the returned function is called."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink) if sink in self._sinks else None

    async def stream(self) -> AsyncIterator[EngineEvent]:
        """Events from now on, without end."""
        waiting: deque[EngineEvent] = deque(maxlen=MAX_BEHIND)
        arrived = asyncio.Event()

        def take(event: EngineEvent) -> None:
            waiting.append(event)
            arrived.set()

        unsubscribe = self.subscribe(take)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                while waiting:
                    yield waiting.popleft()
        finally:
            unsubscribe()

    def send(self, event: EngineEvent) -> None:
        for sink in tuple(self._sinks):
            try:
                sink(event)
            except Exception:
                _log.exception("A subscriber of engine events failed.")
