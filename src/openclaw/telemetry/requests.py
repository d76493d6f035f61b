"""Requests to MCP servers: each in a span, and each told of it in `_meta`, so that the server's own spans belong to the same trace.

A call of a tool that is traced already (`tool_calls.py`) is told in the span of that call. Questions whether a server is still there, and
the stream on which it tells of changes, are nobody's, and left out.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from openclaw.config.servers import ServerSpec
from openclaw.errors import RpcError
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, carrier, error_type, fail, note
from openclaw.telemetry.tool_calls import current_call
from openclaw.transport.connection import LISTEN

_LEFT_OUT: Final = frozenset({"ping", LISTEN})
# What the name of a request is the name of.
_NAMED: Final = {names.TOOLS_CALL: names.TOOL, "prompts/get": names.PROMPT}


class ServerRequests:
    """Those of one connection to a server (`transport/connection.py` has the contract)."""

    def __init__(self, spans: Spans, spec: ServerSpec) -> None:
        self._spans = spans
        self._about: dict[str, Value] = {names.SERVER: spec.name, **_place(spec)}

    def agreed(self, version: str) -> None:
        self._about[names.MCP_VERSION] = version

    def begin(self, method: str, name: str, id: int) -> "RequestSpan | None":
        if method in _LEFT_OUT:
            return None
        about: dict[str, Value] = {names.MCP_METHOD: method, **self._about}
        target = name if name and method in _NAMED else ""
        if target:
            about[_NAMED[method]] = target
        if method == names.TOOLS_CALL:
            about[names.OPERATION] = names.EXECUTE_TOOL
        words = f"{method} {target}" if target else method
        call = current_call.get() if method == names.TOOLS_CALL else None
        if call is not None and call is trace.get_current_span():
            if call.is_recording():
                call.update_name(words)
            note(call, {**about, names.REQUEST_ID: str(id)})
            return RequestSpan(self._spans, call, about, is_own=False)
        span = self._spans.begin(words, {**about, names.REQUEST_ID: str(id)}, kind=SpanKind.CLIENT)
        return RequestSpan(self._spans, span, about, is_own=True)


class RequestSpan:
    """One request, from its beginning to whatever comes of it. `carrier` is what the server is told."""

    def __init__(self, spans: Spans, span: Span, about: Mapping[str, Value], *, is_own: bool) -> None:
        self.carrier = carrier(span)
        self._spans = spans
        self._span = span
        self._about = about
        self._is_own = is_own
        self._began = time.monotonic()

    def end(self, answer: "asyncio.Future[Any]") -> None:
        error = asyncio.CancelledError() if answer.cancelled() else answer.exception()
        kind = error_type(error) if error is not None else ""
        if isinstance(error, RpcError):
            note(self._span, {names.RPC_STATUS: str(error.code)})
        if self._is_own:
            if kind:
                fail(self._span, kind)
            self._span.end()
        failed: dict[str, Value] = {names.ERROR: kind} if kind else {}
        self._spans.measure(names.MCP_CLIENT_SECONDS, time.monotonic() - self._began, {**self._about, **failed})


def _place(spec: ServerSpec) -> dict[str, Value]:
    """Where a server is: of an address the host and the port alone, since the rest may hold anything."""
    if not spec.url:
        return {names.NETWORK: "pipe"} if spec.facts.is_process else {}
    found: dict[str, Value] = {names.NETWORK: "tcp"}
    try:
        parts = urlsplit(spec.url)
        if parts.hostname:
            found[names.SERVER_ADDRESS] = parts.hostname
            found[names.SERVER_PORT] = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        pass
    return found
