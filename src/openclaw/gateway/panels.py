"""The panels (MCP Apps) that pages show now: what each may do, for how long and how often.

Owns the open panels of this gateway and what servers answered to the calls they were opened beside. A panel is known by an id that cannot
be guessed; it is bound to one server, agent and session, and forgotten when nobody used it for a while. Sends nothing.
"""

import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable

import msgspec
from msgspec import Raw

from openclaw.agent.events import ToolEnd
from openclaw.mcp.tools.panel import PanelPage, answer_in

# Panels at a time: each may have a megabyte or two of HTML.
MOST_PANELS = 8
# Seconds after the last use.
LEASE = 600.0
# Within a minute, of one panel: everything it asks of its server, and calls of tools among it.
MINUTE = 60.0
MOST_REQUESTS = 120
MOST_CALLS = 30
# Answers that are kept for panels: as many, and all of them together in bytes.
MOST_ANSWERS = 32
MOST_ANSWER_BYTES = 4 * 1024 * 1024
_ID_BYTES = 16


class Panel(msgspec.Struct, eq=False):
    """`origin` is that of the page that shows it, the only one that may."""

    id: str
    agent: str
    session: str
    server: str
    page: PanelPage
    origin: str
    used: float
    requests: deque[float] = msgspec.field(default_factory=deque)
    calls: deque[float] = msgspec.field(default_factory=deque)

    def use(self, now: float) -> None:
        self.used = now


class Panels:
    """`clock` gives seconds that only grow."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The one that was used last is the last.
        self._panels: OrderedDict[str, Panel] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str], Raw] = OrderedDict()
        self._bytes = 0

    def open(self, *, agent: str, session: str, server: str, page: PanelPage, origin: str) -> Panel:
        panel = Panel(secrets.token_urlsafe(_ID_BYTES), agent, session, server, page, origin, self._clock())
        self._panels[panel.id] = panel
        while len(self._panels) > MOST_PANELS:
            self._panels.popitem(last=False)
        return panel

    def find(self, id: str) -> Panel | None:
        """A panel that is open; asking for it is a use."""
        panel = self._panels.get(id)
        if panel is None:
            return None
        now = self._clock()
        if now - panel.used > LEASE:
            del self._panels[id]
            return None
        panel.use(now)
        self._panels.move_to_end(id)
        return panel

    def close(self, id: str) -> None:
        self._panels.pop(id, None)

    def admits(self, panel: Panel, *, is_call: bool) -> bool:
        """Whether it may ask once more; counted if so."""
        now = self._clock()
        counted = ((panel.requests, MOST_REQUESTS), *(((panel.calls, MOST_CALLS),) if is_call else ()))
        for times, most in counted:
            while times and now - times[0] > MINUTE:
                times.popleft()
            if len(times) >= most:
                return False
        for times, _ in counted:
            times.append(now)
        return True

    def note(self, session: str, end: ToolEnd) -> None:
        """Keep what a server answered to a call, if it has a panel that may be shown beside it."""
        answer = answer_in(end.result)
        if answer is None:
            return
        key = (session, end.call.id)
        self._drop(key)
        self._answers[key] = answer
        self._bytes += len(memoryview(answer))
        while len(self._answers) > MOST_ANSWERS or self._bytes > MOST_ANSWER_BYTES:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: tuple[str, str]) -> None:
        if (gone := self._answers.pop(key, None)) is not None:
            self._bytes -= len(memoryview(gone))

    def answer(self, session: str, call: str) -> Raw | None:
        """What the server answered to a call of a session; None when that is not kept."""
        return self._answers.get((session, call))
