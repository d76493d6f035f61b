"""All sides of the telemetry of one engine, as it is handed to the parts that are traced."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import SpanKind, TracerProvider

from openclaw.config.servers import ServerSpec
from openclaw.event_hub import EventHub
from openclaw.sessions.store import Store
from openclaw.telemetry import names
from openclaw.telemetry.heard import Heard
from openclaw.telemetry.model_calls import ModelCalls
from openclaw.telemetry.requests import ServerRequests
from openclaw.telemetry.spans import Spans
from openclaw.telemetry.stores import TracedStore
from openclaw.telemetry.tool_calls import ToolCalls
from openclaw.telemetry.turns import R, Served, Turns
from openclaw.version import __version__

# What spans and metrics say they are from.
_SCOPE = "openclaw"


async def _nothing() -> None:
    return


class Telemetry:
    """`close` sends what is left; providers that belong to the program around us are left alone."""

    def __init__(
        self,
        tracers: TracerProvider,
        meters: MeterProvider,
        *,
        content: bool = False,
        close: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._spans = Spans(
            tracers.get_tracer(_SCOPE, __version__), meters.get_meter(_SCOPE, __version__), content=content
        )
        self._turns = Turns(self._spans)
        self._close = close
        # The step of the stack around every tool call.
        self.trace_call = ToolCalls(self._spans)
        # Around every request to a model.
        self.trace_model = ModelCalls(self._spans)

    async def close(self) -> None:
        await self._close()

    def hear(self, events: EventHub) -> None:
        """Tell of what happens there too."""
        Heard(self._spans, events)

    async def turn(self, agent: str, session: str, surface: str, message: str, answer: Awaitable[R]) -> R:
        """What `answer` gives, within the span of a turn."""
        return await self._turns.turn(agent, session, surface, message, answer)

    def serving_mcp(self, method: str, tool: str, caller: Mapping[str, str]) -> AbstractContextManager[Served]:
        """Meanwhile a request of an MCP client is served."""
        about = {names.MCP_METHOD: method, names.TOOL: tool, names.OPERATION: names.EXECUTE_TOOL}
        return self._turns.serving(f"{method} {tool}", caller, names.MCP_SERVER_SECONDS, about)

    def serving_http(self, method: str, route: str, caller: Mapping[str, str]) -> AbstractContextManager[Served]:
        """Meanwhile a request to the HTTP port is served."""
        about = {names.HTTP_METHOD: method, names.HTTP_ROUTE: route}
        return self._turns.serving(f"{method} {route}", caller, names.HTTP_SECONDS, about)

    def serving_acp(self, method: str, caller: Mapping[str, str]) -> AbstractContextManager[Served]:
        """Meanwhile a request of an editor is served."""
        return self._turns.serving(
            method, caller, names.ACP_SECONDS, {names.RPC_SYSTEM: "jsonrpc", names.RPC_METHOD: method}
        )

    def requests(self, spec: ServerSpec) -> ServerRequests:
        """For one connection to a server."""
        return ServerRequests(self._spans, spec)

    def store(self, store: Store) -> Store:
        return TracedStore(self._spans, store)

    async def sign_in(self, step: str, server: str, work: Awaitable[Any]) -> Any:
        """What `work` gives: a step of a sign-in to a server, or the renewal of one."""
        with self._spans.current(f"{step} {server}", {names.SERVER: server}, kind=SpanKind.CLIENT):
            return await work
