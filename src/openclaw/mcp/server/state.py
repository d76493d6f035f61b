"""Where one server stands: the state of its life, its live client, and what both mean for callers, tool lists and status.

Runs nothing and decides nothing: protocol/lifecycle.py decides, supervisor.py acts and writes down here what came of it.
"""

import asyncio
from collections.abc import Callable

from openclaw.config.servers import ServerSpec
from openclaw.log import short_hash
from openclaw.mcp.client import Client
from openclaw.mcp.server.record import Record
from openclaw.mcp.server.workload import Workload
from openclaw.mcp.status import ServerStatus, auth_of, target_of
from openclaw.mcp.tools.catalog import Catalog
from openclaw.mcp.wording import at_limit, late, refusal, troubled
from openclaw.protocol.lifecycle import Event, Status
from openclaw.redact import redact
from openclaw.security.external import clean_label

MAX_LABEL = 200


class Standing:
    """`limit` says why the server is stopped when as many run as may."""

    def __init__(self, spec: ServerSpec, limit: Callable[[], str]) -> None:
        self.status = Status()
        self.client: Client | None = None
        # The attempt to connect has used up the connect timeout; one that may be fetching its program goes on all the same.
        self.is_late = False
        self.is_fetching = False
        # Stopped by hand: who did that starts it again by hand.
        self.is_parked = False
        self.is_closing = False
        # As many servers run as may, and this one is not among them; one of those is about to give up its place.
        self.is_queued = False
        self.is_promised_place = False
        # Loop time at which the state changes by itself: another attempt, or good health.
        self.due: float | None = None
        self._spec = spec
        self._server = spec.name
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._ready_at: float | None = None
        self._changed: asyncio.Future[None] = self._loop.create_future()

    def enter(self, status: Status, event: Event) -> None:
        """Take the state that followed an event."""
        now, self.status = self._loop.time(), status
        self.due = None if status.delay is None else now + status.delay
        if status.state != "ready":
            self._ready_at = None
        elif event.name == "ready":
            self._ready_at = now
        if "disconnect" in status.actions:
            self.client = None
        self.announce()

    def announce(self) -> None:
        """Wake whoever waits for a change."""
        changed, self._changed = self._changed, self._loop.create_future()
        changed.set_result(None)

    async def change(self) -> None:
        """Wait for the next change."""
        await asyncio.shield(self._changed)

    @property
    def is_out_of_reach(self) -> bool:
        """Whether no attempt to connect is made now, whoever asks for one."""
        return self.is_closing or (self.is_queued and not self.is_promised_place)

    @property
    def limit(self) -> str:
        """Why it waits for a place, with the setting."""
        return self._limit()

    @property
    def is_offering(self) -> bool:
        """Whether the server's tools may be offered: it runs, or a call would bring it up, or say why that cannot be now.

        One that waits for a place keeps the tools it is known for: the list would change with every server that comes and goes.
        """
        if self.status.state == "stopped" and self.is_parked:
            return False
        return self.status.state != "failed"

    @property
    def next_attempt(self) -> float | None:
        """Seconds until the server is tried again by itself."""
        if self.due is None or self.status.state == "ready":
            return None
        return max(0.0, self.due - self._loop.time())

    def refusal(self, *, tried: bool) -> str:
        """Why a call cannot be made now; empty when a connection may come. `tried` says that an attempt made for it has failed."""
        if self.is_closing:
            return f"MCP server '{self._server}' is being shut down."
        if self.is_parked:
            return f"MCP server '{self._server}' is stopped: {self.status.reason}."
        if self.is_queued and not self.is_promised_place:
            return at_limit(self._server)
        if self.is_late and (tried or self.is_fetching):
            return f"MCP server '{self._server}' is not available: {late(self._spec.connect_timeout)}."
        return refusal(self._server, self.status, self.next_attempt, tried=tried)

    def _reason(self, catalog: Catalog) -> str:
        if self.is_queued:
            return self.limit
        if self.status.state == "ready":
            # One that is up and does not say what it offers is up for nothing.
            return catalog.trouble
        if catalog.is_overdue and self.status.state in ("starting", "stopped"):
            return self.status.reason or late(self._spec.connect_timeout)
        return self.status.reason

    def _note(self, catalog: Catalog) -> str:
        if self.status.state == "ready":
            return ""
        return late(self._spec.connect_timeout) if catalog.is_overdue else troubled(self.status)

    def describe(self, catalog: Catalog, workload: Workload, record: Record) -> ServerStatus:
        """All of it, to be shown. Whoever knows the agent fills in its tools, owner and place."""
        spec, client, now = self._spec, self.client, self._loop.time()
        link = client.connection.link if client else None
        info = client.agreement.server_info if client else {}
        return ServerStatus(
            name=spec.name,
            state="stopped" if self.is_queued else self.status.state,
            reason=self._reason(catalog),
            transport=link.kind if link else catalog.transport or spec.transport,
            target=target_of(spec),
            revision=client.agreement.version if client else catalog.revision,
            auth=auth_of(spec),
            tools=len(catalog.toolset.offered),
            pid=link.pid if link else None,
            restarts=self.status.attempts,
            next_attempt=self.next_attempt,
            last_heard=now - client.connection.last_heard if client else None,
            ready_for=None if self._ready_at is None else now - self._ready_at,
            in_flight=workload.turns.inside,
            queued=workload.turns.waiting,
            mcp_session_id=short_hash(link.mcp_session_id) if link and link.mcp_session_id else "",
            server_name=clean_label(redact(str(info.get("name", ""))), MAX_LABEL),
            server_version=clean_label(redact(str(info.get("version", ""))), MAX_LABEL),
            changes=catalog.toolset.changes,
            upgrade=catalog.toolset.upgrade,
            latency_p50=record.latency(0.5),
            latency_p95=record.latency(0.95),
            last_error=record.error,
            last_error_ago=now - record.error_at if record.error else None,
            note=self._note(catalog),
        )
