"""One streamed answer over HTTP, for any vendor's wire: attempts, back-off, deadline, and failure as a final event.

Owns when to try again and how long to wait, and the promise that nothing is raised past `models/provider.py`. A `Wire` is pure: it
writes the request and reads the events (`openai_chat.py`, `openai_responses.py`, `anthropic_messages.py`); `refusal.py` finds the words
for what went wrong.
Once a word of an answer has been passed on there is no second attempt: it could only repeat or contradict what was said.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

import msgspec

from openclaw.content import Message, Usage
from openclaw.errors import LinkLostError, OpenClawError
from openclaw.models.provider import Done, ModelEvent, ModelRequest, Notice
from openclaw.models.refusal import (
    TRANSIENT,
    Reason,
    Refusal,
    RefusalError,
    about_pictures,
    may_fall_back,
    named_message,
    quoted,
    reason_of,
    refusal_of,
    sentence,
)
from openclaw.models.spec import ModelEndpoint
from openclaw.models.transcript import WORDS, remembering
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules
from openclaw.net.response import Response
from openclaw.protocol.sse import SseParser
from openclaw.security.egress import Rules

# Long enough for a model that thinks for minutes, or a laptop that computes; an answer without end still ends.
DEFAULT_TIMEOUT = 600.0
# Error bodies are small; of a web page the first part is enough to see what it is.
ERROR_BYTES = 64 * 1024
# One event carries a few words, or a whole answer from an endpoint that does not stream.
EVENT_BYTES = 16 * 1024 * 1024

# A conversation that is refused for one of its messages is sent again without what was refused there; after that, in words as a whole.
MOST_REPAIRS = 2

# The operator names the endpoint: it may be on this machine or in the house, where models are usually served without TLS.
MODEL_RULES = Rules(allow_loopback=True, allow_private=True, allow_plain_http=True)

_log = logging.getLogger(__name__)


class Pace(msgspec.Struct, frozen=True):
    """How often and how patiently an endpoint is asked. Clock and chance are arguments, for tests."""

    attempts: int = 4
    # Seconds before the second attempt; doubled for each one after it.
    first: float = 0.5
    ceiling: float = 8.0
    # A vendor that asks for more patience than this gets none: the person who waits is told instead.
    longest_wait: float = 60.0
    # Once the outcome is known, the rest (usage after the last word, the body of an error) comes at once or is not waited for.
    after_outcome: float = 5.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def delay(self, attempt: int, asked: float | None) -> float | None:
        """Seconds to wait after attempt number `attempt` (from 1); None when that was the last one."""
        if attempt >= self.attempts or (asked is not None and asked > self.longest_wait):
            return None
        if asked is not None:
            return asked
        # Up to a quarter less, so that many callers do not come back in step.
        return min(self.first * 2.0 ** (attempt - 1), self.ceiling) * (1.0 - 0.25 * self.chance())


class Quirk(msgspec.Struct, frozen=True):
    """Something this endpoint does not take, learned from its refusal; `notice` is for the person, when it makes a difference."""

    name: str
    notice: str = ""


class Decoder(Protocol):
    """One answer being read. `finished`: its last word has come; `closed`: nothing more will. `usage` is what is known so far."""

    finished: bool
    closed: bool
    usage: Usage

    def event(self, data: str) -> list[ModelEvent]:
        """Raises RefusalError for an error event and for data that does not belong to this wire."""
        ...

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that came in one piece although a stream was asked for. Raises RefusalError."""
        ...

    def end(self) -> tuple[list[ModelEvent], Done]:
        """The stream has ended: what is left to say. Raises RefusalError when the answer broke off."""
        ...


class Wire(Protocol):
    """One vendor's format. `quirks` are names of things the endpoint does not take."""

    label: str

    def url(self, base_url: str) -> str: ...

    def headers(self, endpoint: ModelEndpoint) -> dict[str, str]: ...

    def body(self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]) -> bytes: ...

    def quirk(self, refusal: Refusal, quirks: frozenset[str]) -> Quirk | None:
        """What to leave out next time, when the refusal names something we know how to do without."""
        ...

    def sources(
        self, request: ModelRequest, endpoint: ModelEndpoint, quirks: frozenset[str]
    ) -> list[tuple[Message, ...]]:
        """For each message as it is sent, those of the conversation that it stands for."""
        ...

    def decoder(self) -> Decoder: ...


class _Attempt(msgspec.Struct):
    """What one attempt has to show when it fails."""

    spoke: bool = False
    usage: Usage = Usage()
    repairs: int = 0

    def said_something(self) -> None:
        self.spoke = True

    def used(self, usage: Usage) -> None:
        self.usage = usage

    def repaired(self) -> None:
        self.repairs += 1


class HttpProvider:
    """A `Provider` that speaks one wire to one endpoint."""

    def __init__(self, endpoint: ModelEndpoint, wire: Wire, pace: Pace | None = None) -> None:
        self.name = endpoint.provider
        self.endpoint = endpoint
        self.wire = wire
        self._pace = pace or Pace()
        if endpoint.max_retries is not None:
            self._pace = msgspec.structs.replace(self._pace, attempts=endpoint.max_retries + 1)
        self._quirks: dict[str, frozenset[str]] = {}
        proxies = ProxyRules.from_environment(endpoint.environ)
        self._http = HttpClient(ClientOptions(rules=MODEL_RULES, proxies=proxies, user_agent="openclaw"))

    async def close(self) -> None:
        self._http.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        attempt = _Attempt()
        try:
            async with aclosing(self._attempts(request, attempt)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            # A fault of ours, or a vendor's surprise: the contract holds all the same, and the log has the rest.
            _log.exception("the exchange with %s failed", self.name)
            yield Done(
                "error",
                attempt.usage,
                f"Talking to {self.name} failed unexpectedly ({type(error).__name__}). The log has the details.",
                retryable=not attempt.spoke,
                model=f"{self.name}/{request.model}",
            )

    async def _attempts(self, request: ModelRequest, attempt: _Attempt) -> AsyncGenerator[ModelEvent, None]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + (request.timeout or self.endpoint.timeout or DEFAULT_TIMEOUT)
        number = 0
        while True:
            number += 1
            try:
                async with aclosing(self._once(request, attempt, ends - loop.time())) as events:
                    async for event in events:
                        yield event
                return
            except (RefusalError, OpenClawError) as error:
                refusal = error.refusal if isinstance(error, RefusalError) else Refusal(error=error)
            quirk = None if attempt.spoke else self._learn(request.model, refusal)
            if quirk is None and not attempt.spoke and attempt.repairs < MOST_REPAIRS:
                quirk = self._repair(request, refusal, whole=attempt.repairs > 0)
                attempt.repaired()
            if quirk is not None:
                number -= 1
                if quirk.notice:
                    yield Notice(quirk.notice)
                continue
            reason = _reason(refusal, attempt)
            wait = None
            if reason in TRANSIENT and not attempt.spoke and not refusal.final:
                wait = self._pace.delay(number, refusal.retry_after)
            if wait is None or wait >= ends - loop.time():
                yield self._failed(request, reason, refusal, attempt)
                return
            doing = f"{self.name} {_trouble(reason, refusal)}: trying again"
            yield Notice(f"{doing} in {wait:.1f} s.", "retry", doing)
            await self._pace.sleep(wait)

    async def _once(self, request: ModelRequest, attempt: _Attempt, timeout: float) -> AsyncGenerator[ModelEvent, None]:
        """One request and its answer, up to and including `Done`. Raises RefusalError and OpenClawError."""
        endpoint, wire = self.endpoint, self.wire
        decoder = wire.decoder()
        body = wire.body(request, endpoint, self._quirks.get(request.model, frozenset()))
        try:
            async with self._http.stream(
                "POST", wire.url(endpoint.base_url), headers=self._headers(), body=body, timeout=max(timeout, 0.0)
            ) as response:
                async with aclosing(_decoded(response, decoder, self._pace.after_outcome)) as events:
                    async for event in events:
                        attempt.said_something()
                        yield event
            rest, done = decoder.end()
            for event in rest:
                attempt.said_something()
                yield event
            yield msgspec.structs.replace(done, model=f"{self.name}/{request.model}")
        finally:
            attempt.used(decoder.usage)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            # A compressed stream comes in bursts.
            "Accept-Encoding": "identity",
            **self.wire.headers(self.endpoint),
        }
        return sent_headers(headers, self.endpoint)

    def _learn(self, model: str, refusal: Refusal) -> Quirk | None:
        known = self._quirks.get(model, frozenset())
        quirk = self.wire.quirk(refusal, known) if refusal.status else None
        if quirk is None or quirk.name in known:
            return None
        self._quirks[model] = known | {quirk.name}
        return quirk

    def _repair(self, request: ModelRequest, refusal: Refusal, *, whole: bool) -> Quirk | None:
        """Send the message that was refused in words from now on; when that did not do, the whole conversation as it is now."""
        if refusal.status not in {400, 422} or reason_of(refusal) != "request":
            return None
        known = self._quirks.get(request.model, frozenset())
        sources = self.wire.sources(request, self.endpoint, known)
        conversation = [source for group in sources for source in group]
        number = named_message(refusal)
        if number is not None and number < len(sources) and not whole:
            refused, what = list(sources[number]), f"message {number + 1} of this conversation"
        elif number is not None or about_pictures(refusal):
            refused, what = conversation, "this conversation"
        else:
            return None
        learned = remembering(known, refused, conversation)
        if learned <= known:
            return None
        self._quirks[request.model] = learned
        return Quirk(WORDS, f"{self.name} refused {what} ({quoted(refusal.message)}): sending it in words.")

    def _failed(self, request: ModelRequest, reason: Reason, refusal: Refusal, attempt: _Attempt) -> Done:
        return Done(
            "error",
            attempt.usage,
            sentence(
                reason,
                refusal,
                self.endpoint,
                request.model,
                wire=self.wire.label,
                url=self.wire.url(self.endpoint.base_url),
            ),
            retryable=not attempt.spoke and may_fall_back(reason),
            model=f"{self.name}/{request.model}",
            too_long=reason == "too-long",
            key_refused=reason == "key",
        )


def sent_headers(headers: Mapping[str, str], endpoint: ModelEndpoint) -> dict[str, str]:
    """The wire's headers under the operator's: of one name in two spellings, the operator's stays."""
    own = {name.lower() for name, _ in endpoint.headers}
    return {name: value for name, value in headers.items() if name.lower() not in own} | dict(endpoint.headers)


async def _decoded(response: Response, decoder: Decoder, after_outcome: float) -> AsyncGenerator[ModelEvent, None]:
    """The events of an answer, whatever form it came in. Raises RefusalError for one that is none."""
    if response.status != 200:
        raise RefusalError(
            refusal_of(response.status, response.headers, await _start_of(response, after_outcome), now=time.time())
        )
    if response.media_type in {"application/json", "text/html"}:
        body = await response.read(EVENT_BYTES)
        if response.media_type == "text/html":
            raise RefusalError(Refusal(200, what="a web page"))
        for event in decoder.whole(body):
            yield event
        return
    parser = SseParser(max_event_bytes=EVENT_BYTES)
    async with aclosing(_pieces(response, decoder, after_outcome)) as pieces:
        async for piece in pieces:
            for block in parser.feed(piece):
                for event in decoder.event(block.data.decode("utf-8", "replace")) if block.data else []:
                    yield event
            if decoder.closed:
                return


async def _pieces(response: Response, decoder: Decoder, after_outcome: float) -> AsyncGenerator[bytes, None]:
    """The body as it comes, then the blank line that some endpoints forget after the last event."""
    chunks: AsyncIterator[bytes] = response.chunks()
    while True:
        try:
            async with asyncio.timeout(after_outcome if decoder.finished else None):
                piece = await anext(chunks, None)
        except TimeoutError:
            return
        except OpenClawError:
            # What matters has arrived: how the connection ended is nobody's concern.
            if decoder.finished:
                return
            raise
        if piece is None:
            break
        yield piece
    yield b"\n\n"


async def _start_of(response: Response, patience: float) -> bytes:
    """The first part of an error body; a failure to read it leaves the status to speak for itself."""
    start = bytearray()
    try:
        async with asyncio.timeout(patience):
            async for piece in response.chunks():
                start += piece
                if len(start) >= ERROR_BYTES:
                    break
    except (OpenClawError, TimeoutError):
        pass
    return bytes(start[:ERROR_BYTES])


def _reason(refusal: Refusal, attempt: _Attempt) -> Reason:
    reason = reason_of(refusal)
    return "cut" if reason in {"link", "not-an-endpoint"} and attempt.spoke else reason


def _trouble(reason: Reason, refusal: Refusal) -> str:
    if reason == "link":
        return "cannot be reached"
    if reason == "cut":
        return "broke off its answer"
    return f"is busy ({refusal.status})" if reason == "rate" else f"failed ({refusal.status or 'error'})"


def broken_off() -> RefusalError:
    """The stream ended before the answer did."""
    return RefusalError(Refusal(error=LinkLostError("The connection closed before the answer was complete.")))


def not_this_wire(what: str) -> RefusalError:
    """An event or a body that no endpoint of this wire sends."""
    return RefusalError(Refusal(200, what=what))


def stated_error(kind: str, message: str, status: int) -> RefusalError:
    """An error that came inside a stream, with the status it would have had."""
    return RefusalError(Refusal(status, kind, message))
