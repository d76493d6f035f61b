"""What is made of events: servers that come up, fail and go, and calls that a person was asked about."""

import time

from opentelemetry.trace import SpanKind

from openclaw.asking.approver import ApprovalDecided
from openclaw.event_hub import Event, EventHub
from openclaw.mcp.events import StateChanged
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, fail, nowhere


class Heard:
    """Listens until the hub ends."""

    def __init__(self, spans: Spans, events: EventHub) -> None:
        self._spans = spans
        # Since when each server is starting, and since when it is up.
        self._starting: dict[str, float] = {}
        self._up: dict[str, float] = {}
        events.subscribe(self._changed, StateChanged)
        events.subscribe(self._approved, ApprovalDecided)

    def _changed(self, event: Event[StateChanged]) -> None:
        name, state, now = event.value.server, event.value.state, time.monotonic()
        about: dict[str, Value] = {names.SERVER: name}
        if (up := self._up.pop(name, None)) is not None and state != "ready":
            self._spans.measure(names.MCP_SESSION_SECONDS, now - up, about)
        elif up is not None:
            self._up[name] = up
        if state == "starting":
            self._starting.setdefault(name, now)
            return
        if (began := self._starting.pop(name, None)) is not None:
            # Nobody's: it outlives whoever needed it first.
            span = self._spans.begin(
                f"start {name}",
                {**about, names.STATE: state},
                kind=SpanKind.INTERNAL,
                context=nowhere(),
                ago=now - began,
            )
            if state != "ready":
                fail(span, state)
            span.end()
        if state == "ready":
            self._up.setdefault(name, now)

    def _approved(self, event: Event[ApprovalDecided]) -> None:
        """Told in the course of the call: the current span is the call's."""
        decided = event.value
        if decided.seconds is not None:
            about: dict[str, Value] = {names.ANSWER: decided.answer, names.KIND: decided.tool_kind}
            self._spans.begin("approval", about, ago=decided.seconds).end()
