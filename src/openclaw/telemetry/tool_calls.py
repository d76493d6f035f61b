"""Tool calls, as the step `traced` of their stack (`tools/invoke.py`).

One span for each call, whatever its tool: when it is a server's, the request to the server is told in the same span (`requests.py`), as the
conventions ask.
"""

import time
from contextvars import ContextVar

from opentelemetry.trace import Span, SpanKind

from openclaw.content import text_of
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, fail, note
from openclaw.tools.invoke import Call, CallEnd, Step

# The span of the call that is being made: a request of its server is told there.
current_call: ContextVar[Span | None] = ContextVar("openclaw-call", default=None)


class ToolCalls:
    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    async def __call__(self, call: Call, step: Step) -> CallEnd:
        tool = call.tool
        about: dict[str, Value] = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL: tool.name, names.KIND: tool.kind}
        if tool.origin:
            about[names.SERVER if tool.kind == "mcp" else names.PLUGIN] = tool.origin
        kind = SpanKind.CLIENT if tool.kind == "mcp" else SpanKind.INTERNAL
        began, outcome = time.monotonic(), "cancelled"
        try:
            with self._spans.current(
                f"{names.EXECUTE_TOOL} {tool.name}", {**about, names.CALL_ID: call.invocation.call_id}, kind=kind
            ) as span:
                mark = current_call.set(span)
                try:
                    self._spans.tell(span, names.ARGUMENTS, lambda: call.request.arguments)
                    end = await step(call)
                finally:
                    current_call.reset(mark)
                outcome = end.outcome
                note(span, {names.OUTCOME: outcome})
                self._spans.tell(span, names.RESULT, lambda: text_of(end.result.content))
                if outcome != "ok":
                    fail(span, names.TOOL_ERROR if outcome == "error" else outcome)
                return end
        finally:
            failed: dict[str, Value] = {} if outcome == "ok" else {names.ERROR: outcome}
            self._spans.measure(names.TOOL_SECONDS, time.monotonic() - began, {**about, **failed})
