"""Turns of agents, and the callers that they belong to."""

import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeVar

from opentelemetry.trace import Span, SpanKind

from openclaw.content import Usage
from openclaw.log import short_hash
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, error_type, fail, note, parent_of


class Ended(Protocol):
    """What is told of a reply (`reply.py`)."""

    @property
    def text(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def usage(self) -> Usage: ...


R = TypeVar("R", bound=Ended)


class Served:
    """A request of a caller while it is served."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.error = ""

    def status(self, code: int) -> None:
        """The HTTP status of the answer: from 500 on it is our fault."""
        note(self._span, {names.HTTP_STATUS: code})
        if code >= 500:
            self.fail(str(code))

    def fail(self, kind: str) -> None:
        self.error = kind
        fail(self._span, kind)


class Turns:
    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    async def turn(self, agent: str, session: str, surface: str, message: str, answer: Awaitable[R]) -> R:
        """What `answer` gives, within the span of a turn."""
        about: dict[str, Value] = {names.OPERATION: names.INVOKE_AGENT, names.AGENT: agent}
        more: dict[str, Value] = {names.CONVERSATION: short_hash(session), names.SURFACE: surface}
        began, error = time.monotonic(), ""
        try:
            with self._spans.current(f"{names.INVOKE_AGENT} {agent}", {**about, **more}) as span:
                self._spans.tell(span, names.INPUT_MESSAGES, lambda: message)
                reply = await answer
                usage = reply.usage
                note(
                    span,
                    {
                        names.RESPONSE_MODEL: reply.model,
                        names.INPUT_TOKENS: usage.input_tokens,
                        names.OUTPUT_TOKENS: usage.output_tokens,
                        names.OUTCOME: reply.reason,
                    },
                )
                self._spans.tell(span, names.OUTPUT_MESSAGES, lambda: reply.text)
                if reply.reason != "done":
                    error = reply.reason
                    fail(span, error)
                return reply
        except BaseException as problem:
            error = error_type(problem)
            raise
        finally:
            failed: dict[str, Value] = {names.ERROR: error} if error else {}
            self._spans.measure(names.AGENT_SECONDS, time.monotonic() - began, {**about, **failed})

    @contextmanager
    def serving(
        self, name: str, caller: Mapping[str, str], metric: str, attributes: Mapping[str, str]
    ) -> Iterator[Served]:
        """The span of a request that a caller made of us, in the caller's trace if it says one."""
        began = time.monotonic()
        served: Served | None = None
        error = ""
        try:
            with self._spans.current(name, attributes, kind=SpanKind.SERVER, context=parent_of(caller)) as span:
                served = Served(span)
                yield served
        except BaseException as problem:
            error = error_type(problem)
            raise
        finally:
            error = error or (served.error if served is not None else "")
            failed = {names.ERROR: error} if error else {}
            self._spans.measure(metric, time.monotonic() - began, {**attributes, **failed})
