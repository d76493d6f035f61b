"""Everything that is known of one server now, as one object with methods.

`ServerState` holds the lifecycle state, the live client, who waits for one, the calls under way and how the last ones went. From that it
answers whether a call may begin now or has to queue, why it cannot be made, whether the tools may be offered, and what `status` shows. It
is changed by its methods alone. It connects to nothing and sends nothing, and the next lifecycle state is not its choice:
protocol/lifecycle.py decides that, server.py acts and writes down here what came of it.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConnectError
from openclaw.log import short_hash
from openclaw.mcp.client import Client
from openclaw.mcp.limiter import Limiter
from openclaw.mcp.status import ServerStatus, auth_of, target_of
from openclaw.mcp.tools.catalog import Catalog
from openclaw.mcp.wording import at_limit, away_for_long, late, refusal
from openclaw.protocol.lifecycle import LifecycleEvent, LifecycleStatus, Remedy, State
from openclaw.redact import redact
from openclaw.security.external import clean_label

MAX_LABEL = 200
# Calls that may wait for a server that already runs as many as it may.
MAX_QUEUED = 1_000
# Answers whose time is remembered: enough for a 95th percentile that means something, little enough to sort whenever somebody looks.
MAX_LATENCIES = 256


class UnavailableError(ConnectError):
    """The server cannot be called now, and this is why."""


class ServerState:
    """`limit` says why the server is stopped when as many run as may."""

    def __init__(self, spec: ServerSpec, catalog: Catalog, limit: Callable[[], str]) -> None:
        self.lifecycle = LifecycleStatus()
        self.client: Client | None = None
        # The attempt to connect has used up the connect timeout; one that may be fetching its program goes on all the same.
        self.is_late = False
        self.is_fetching = False
        # A server that was stopped by hand is started again by hand only.
        self.is_stopped_by_hand = False
        self.is_closing = self._has_ended = False
        # As many servers run as may, and this one is not among them; one of those is about to give up its slot for it.
        self.waits_for_slot = False
        self.slot_is_promised = False
        # From when it was asked to give up its slot until it has.
        self.is_giving_up_slot = False
        # Attempts that brought no connection. Counted when the state tells why: who finds that an attempt failed says so.
        self.failed_attempts = 0
        # Loop time at which the state changes by itself: another attempt, or good health.
        self.due: float | None = None
        # Seconds that a call may stay without a sign of life: the most that any had.
        self.longest_call = 0.0
        self._spec = spec
        self._catalog = catalog
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._ready_at: float | None = None
        self._changed: asyncio.Future[None] = self._loop.create_future()
        self._waiting = 0
        self._slots = Limiter(spec.max_in_flight if spec.parallel_calls else 1, queue=MAX_QUEUED)
        # Loop time of the end of the last call, or of coming up.
        self.last_call = self._time()
        self._latencies: deque[float] = deque(maxlen=MAX_LATENCIES)
        self._error = ""
        self._error_at = 0.0

    # The lifecycle

    @property
    def name(self) -> State:
        """The lifecycle state by its name."""
        return self.lifecycle.state

    def enter(self, after: LifecycleStatus, event: LifecycleEvent) -> bool:
        """Take the lifecycle state that followed an event. Whether it is another one, or asks for something to be done."""
        before, self.lifecycle = self.lifecycle, after
        if not after.actions and after.state == before.state:
            return False
        now = self._time()
        self.due = None if after.delay is None else now + after.delay
        if after.state != "ready":
            self._ready_at = None
        elif event.name == "ready":
            self._ready_at = now
        if "disconnect" in after.actions:
            self.client = None
        self.announce()
        return True

    def come_due(self) -> LifecycleEvent:
        """The time has come at which the state changes by itself. The event that this is."""
        self.due = None
        return LifecycleEvent("healthy" if self.name == "ready" else "due")

    def stop_by_hand(self) -> None:
        self.is_stopped_by_hand = True

    def start_by_hand(self) -> None:
        self.is_stopped_by_hand = False

    def close(self) -> None:
        """It is being shut down, for good."""
        self.is_closing = True

    # A connection: begun, up, lost, closed

    def attempt_began(self, *, fetches: bool) -> None:
        """It is being started now; with `fetches` it may have to fetch its program first."""
        self.is_late, self.is_fetching = False, fetches

    def attempt_is_late(self) -> None:
        """The attempt has used up the connect timeout, and goes on."""
        self.is_late = True
        self.failed_attempts += 1
        self.announce()

    def attempt_failed(self) -> None:
        self.failed_attempts += 1

    def connected(self, client: Client) -> None:
        self.client = client
        self.last_call = self._time()
        self.announce()

    def listed(self) -> None:
        """Its lists were read, or cannot be."""
        self.is_late = False

    def disconnected(self) -> bool:
        """The connection has ended. Whether there was one to use."""
        was_up, self.client = self.client is not None, None
        return was_up

    def connection_closing(self) -> None:
        """What was opened for the connection is being closed: there is nothing to wait for any more."""
        self.waits_for_slot = self.slot_is_promised = self.is_late = False

    def connection_closed(self) -> None:
        """Nothing is left of the connection, and its slot is another's."""
        self.is_giving_up_slot = False

    def ended(self) -> None:
        """It does not run any more, and will not again."""
        self.is_closing = self._has_ended = True
        self.client = self._ready_at = None
        self.announce()

    # When there is not a slot for every server

    def queue_for_slot(self, *, waits: bool) -> None:
        """Starting waits, or no longer waits, because as many servers run as may."""
        self.waits_for_slot, self.slot_is_promised = waits, False

    def promise_slot(self, *, is_promised: bool) -> None:
        self.slot_is_promised = is_promised

    def give_up_slot(self) -> None:
        self.is_giving_up_slot = True

    @property
    def limit(self) -> str:
        """Why it waits for a slot, with the setting."""
        return self._limit()

    # Waiting for a change

    def announce(self) -> None:
        """Wake whoever waits for a change."""
        changed, self._changed = self._changed, self._loop.create_future()
        changed.set_result(None)

    async def change(self) -> None:
        """Wait for the next change."""
        await asyncio.shield(self._changed)

    def begin_waiting(self) -> None:
        """Somebody needs the server."""
        self._waiting += 1

    def end_waiting(self) -> None:
        self._waiting -= 1

    @property
    def is_wanted(self) -> bool:
        """Whether anybody waits for a connection."""
        return self._waiting > 0

    # Calls. Reading resources and filling in prompts are calls too. What we ask for ourselves (lists, probes, injected resources) takes no
    # slot: a server that is busy with calls must still be seen to live.

    def try_begin_call(self, timeout: float) -> bool:
        """Begin a call that may stay `timeout` seconds without a sign of life, if it need not wait for a slot."""
        if timeout > self.longest_call:
            self.longest_call = timeout
        return self._slots.try_acquire()

    async def begin_call(self, timeout: float, what: str) -> str:
        """Begin it after those that came before it. Why it did not begin, in a sentence about `what`; empty when it did."""
        slots = self._slots
        if slots.is_full:
            return f"The server is busy: {slots.in_use} calls run and {slots.waiting} wait. Try again later."
        try:
            async with asyncio.timeout(timeout):
                await slots.acquire()
        except TimeoutError:
            return f"{what} timed out after {round(timeout * 1000)}ms waiting for a slot."
        return ""

    def end_call(self) -> float:
        """End it. The loop's time, at which it ended."""
        self._slots.release()
        time = self._time
        self.last_call = now = time()
        return now

    @property
    def is_busy(self) -> bool:
        """Whether anybody waits for an answer of the server."""
        return self._slots.in_use > 0

    def answered(self, seconds: float) -> None:
        """A call was answered in this time."""
        self._latencies.append(seconds)

    def failed(self, sentence: str, now: float) -> None:
        """Something went wrong: a sentence of ours, or words of the server that were cleaned."""
        self._error, self._error_at = sentence, now

    # Questions

    @property
    def live(self) -> Client | None:
        """The client, when there is one that works as far as we know."""
        client = self.client
        return client if client is not None and not client.connection.is_lost else None

    @property
    def is_out_of_reach(self) -> bool:
        """Whether no attempt to connect is made now, whoever asks for one."""
        return self.is_closing or (self.waits_for_slot and not self.slot_is_promised)

    @property
    def is_offering(self) -> bool:
        """Whether the server's tools may be offered: it runs, or a call would bring it up, or say why that cannot be now.

        One that waits for a slot keeps the tools it is known for: the list would change with every server that comes and goes.
        """
        if self.name == "stopped" and self.is_stopped_by_hand:
            return False
        return self.name != "failed"

    @property
    def next_attempt(self) -> float | None:
        """Seconds until the server is tried again by itself."""
        if self.due is None or self.name == "ready":
            return None
        return max(0.0, self.due - self._time())

    def refusal(self, *, tried: bool) -> str:
        """Why a call cannot be made now; empty when a connection may come. `tried` says that an attempt made for it has failed."""
        name = self._spec.name
        if self.is_closing:
            return f"MCP server '{name}' is being shut down."
        if self.is_stopped_by_hand:
            return f"MCP server '{name}' is stopped: {self.lifecycle.reason}."
        if self.waits_for_slot and not self.slot_is_promised:
            return at_limit(name)
        if self.is_late and (tried or self.is_fetching):
            return f"MCP server '{name}' is not available: {late(self._spec.connect_timeout)}."
        return refusal(self._spec, self.lifecycle, self.next_attempt, tried=tried)

    def status(self) -> ServerStatus:
        """All of it, to be shown. Whoever knows the agent fills in its tools, its owner and where it is configured."""
        spec, catalog, client, now = self._spec, self._catalog, self.client, self._time()
        link = client.connection.link if client else None
        info = client.agreement.server_info if client else {}
        return ServerStatus(
            name=spec.name,
            state="stopped" if self.waits_for_slot or self._has_ended else self.name,
            reason=self._reason(),
            transport=link.facts.name if link else catalog.transport or spec.transport,
            target=target_of(spec),
            revision=client.agreement.version if client else catalog.revision,
            auth=auth_of(spec),
            tools=len(catalog.toolset.offered),
            pid=link.pid if link else None,
            restarts=self.lifecycle.attempts,
            next_attempt=self.next_attempt,
            last_heard=now - client.connection.last_heard if client else None,
            ready_for=None if self._ready_at is None else now - self._ready_at,
            in_flight=self._slots.in_use,
            queued=self._slots.waiting,
            mcp_session_id=short_hash(link.mcp_session_id) if link and link.mcp_session_id else "",
            server_name=clean_label(redact(str(info.get("name", ""))), MAX_LABEL),
            server_version=clean_label(redact(str(info.get("version", ""))), MAX_LABEL),
            changes=catalog.toolset.changes,
            upgrade=catalog.toolset.upgrade,
            latency_p50=_percentile(self._latencies, 0.5),
            latency_p95=_percentile(self._latencies, 0.95),
            last_error=self._error,
            last_error_ago=now - self._error_at if self._error else None,
            note=self._note(),
            remedy=self._remedy(),
            commands=spec.commands,
            comes_up=self._comes_up(),
        )

    def _reason(self) -> str:
        if self.waits_for_slot:
            return self.limit
        if self.name == "ready":
            # One that is up and does not say what it offers is up for nothing.
            return self._catalog.trouble
        if self._catalog.is_overdue and self.name in ("starting", "stopped"):
            return self.lifecycle.reason or late(self._spec.connect_timeout)
        return self.lifecycle.reason

    def _comes_up(self) -> bool:
        """Whether it is down, or still starting, and nothing is known that would keep a call from bringing it up."""
        if not self._catalog.is_known or self._catalog.is_overdue or self.lifecycle.attempts:
            return False
        return self.name == "starting" or (self.name == "stopped" and not self.is_stopped_by_hand)

    def _remedy(self) -> Remedy:
        """What to do about the reason, when that is one of the lifecycle's."""
        return "" if self.waits_for_slot or self.name == "ready" else self.lifecycle.remedy

    def _note(self) -> str:
        if self.name == "ready":
            return ""
        return late(self._spec.connect_timeout) if self._catalog.is_overdue else away_for_long(self.lifecycle)


def _percentile(seconds: deque[float], share: float) -> float | None:
    """The time within which that share of the answers came; None when there were none."""
    ordered = sorted(seconds)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else None
