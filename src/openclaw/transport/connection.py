"""A protocol peer running over any transport: calls out, answers back, requests of the server answered.

Owns the deadline of every call, cancellation (the server is told), and what becomes of calls when the link breaks: each ends
exactly once, and nothing is ever sent a second time from here. While a question of the server about a call is answered its time stands
still, and when nobody waits for the call such a question is taken back. No task and no queue stands between the bytes and the caller.
Secrets that are known here are masked in whatever the server says, so that nobody behind this point can keep or show one.
What the messages mean is the client's business (mcp/client.py); when to connect again is mcp/server/server.py's.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Protocol, Self, assert_never

from msgspec import Raw, Struct, structs

from openclaw.conversation import Conversation
from openclaw.errors import DeadlineError, LinkLostError, OpenClawError, ProtocolError, RpcError, TransportError
from openclaw.protocol import jsonrpc
from openclaw.protocol.jsonrpc import Notification, Request, RequestId
from openclaw.protocol.peer import Answered, Peer, Progressed, Refused, Stray, Unreadable
from openclaw.redact import knows_secrets, mask, mask_json, mask_value
from openclaw.tool import Invocation
from openclaw.transport.base import LARGE, PAUSE, Link, Outgoing, Transport

_log = logging.getLogger(__name__)

CANCELLED = "notifications/cancelled"
LISTEN = "subscriptions/listen"

# Requests of one server answered at a time. A server that asks faster than it reads our answers is not worth more memory.
MAX_ANSWERING = 64
# A server that does not read would otherwise keep the notice of a cancelled call waiting for ever.
NOTICE_PATIENCE = 5.0
# A transport ends what it is handing over when its link breaks, and knows best what became of it. One that is caught in a half-open
# connection does not.
SEND_PATIENCE = 1.0

# An answer from this size on is searched for secrets in a thread: a millisecond a megabyte, which others should not wait for.
MASK_IN_THREAD = 512 * 1024
# What is sent back to the server exactly as it came, and shown to nobody.
_OPAQUE = frozenset({"requestState", "nextCursor"})

# Calls that nobody waits for any more, and that a question of the server may still be about: so many of them, and for so many seconds after
# we said that we no longer wait. A server that obeys never answers such a call.
MAX_LEFT = 64
LEFT_FOR = 60.0

# Forms of `_meta` that are kept encoded: a client has one for each kind of person that may be asked something.
MAX_ENCODED = 16
_NOTHING: Mapping[str, str] = {}
# Of an object; `id` is that of a request here.
_id = id

# `initialize` must not be cancelled (2025-11-25, basic/utilities/cancellation); an unanswered probe means a server too old to know it.
_NEVER_CANCELLED = ("initialize", "server/discover")

# progress, total (None when the server does not say), message
OnProgress = Callable[[float, float | None, str], None]


class Asked(Struct, frozen=True):
    """What a request of the other side came with: the call of a tool, without its id when it may be one of several in a conversation; None
    when even the conversation is not sure. `calls` are all that it may be about."""

    owner: Invocation | None = None
    calls: tuple[Invocation, ...] = ()


class RequestSpan(Protocol):
    """A request that is traced. `carrier` goes with it, so that the other side may belong to the same trace; `end` is given what came
    of it."""

    @property
    def carrier(self) -> Mapping[str, str]: ...

    def end(self, answer: "asyncio.Future[Any]") -> None: ...


class RequestTrace(Protocol):
    """Traces the requests of one connection. Must not raise."""

    def begin(self, method: str, name: str, id: int) -> RequestSpan | None:
        """A request is about to be sent; None when it is not worth a trace."""
        ...

    def agreed(self, version: str) -> None:
        """The revision that is spoken from now on."""
        ...


# What answers a request of the other side: returns the result, or raises RpcError to refuse.
Handler = Callable[[Request, Asked], Awaitable[Any]]
OnNotification = Callable[[str, Raw], None]
Report = Callable[[str], None]


class _Call(Struct, eq=False):
    method: str
    future: asyncio.Future[Raw]
    on_progress: OnProgress | None
    timeout: float
    # Loop times: when it began, when it expires, and how far progress may move that.
    started: float
    deadline: float
    limit: float
    owner: Invocation | None = None
    id: int = 0
    expired: bool = False
    # Whether the answer is large: to read it takes a while. Asked of the bytes that came: to ask the answer itself takes 0.2 µs.
    is_large: bool = False
    # Still being handed over when the link was long gone, and ended for that.
    stuck: bool = False
    # Set while the message is being handed over, so that expiry can interrupt that too.
    sender: asyncio.Task[Any] | None = None
    # Questions of the server about it that are being answered, since when its time stands still, and how much of it was left.
    questions: int = 0
    stood_at: float = 0.0
    left: float = 0.0

    def sent_by(self, task: "asyncio.Task[Any] | None") -> None:
        self.sender = task

    def put_off(self, now: float) -> None:
        """Progress was made: its time starts anew."""
        if self.questions:
            self.left = self.timeout
        else:
            self.deadline = min(now + self.timeout, self.limit)

    def stand(self, now: float) -> None:
        """We are asked something about it: its time stands still."""
        self.questions += 1
        if self.questions == 1:
            self.stood_at, self.left, self.deadline = now, self.deadline - now, math.inf

    def go_on(self, now: float) -> None:
        """One question less. With the last its time goes on where it stood."""
        self.questions -= 1
        if not self.questions:
            stood = now - self.stood_at
            self.started, self.limit = self.started + stood, self.limit + stood
            self.deadline = min(now + self.left, self.limit)

    def answered(self, result: Raw, size: int) -> None:
        """Its answer came, in so many bytes."""
        if size >= LARGE:
            self.is_large = True
        try:
            self.future.set_result(result)
        except asyncio.InvalidStateError:
            # It was cancelled a moment ago, and its task does not know yet.
            pass

    def expire(self) -> None:
        self.expired = True

    def interrupt(self) -> None:
        """The link is long gone: it is handed over no more."""
        if self.sender is not None:
            self.stuck = True
            self.sender.cancel()


def _log_stray(reason: str) -> None:
    _log.debug("Dropped from a server: %s", reason)


class Connection:
    """`async with Connection(transport) as connection`: opened, used and closed by one task; called from any.

    `handler` answers requests of the server (`ping` is answered without it, anything else refused when there is none);
    `on_notification` gets every notification but progress; `report` gets one sentence for each message that was dropped.
    Neither callback may block. `meta` is merged into the `_meta` of every request (2026-07-28). `trace` is told of every request.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        handler: Handler | None = None,
        on_notification: OnNotification | None = None,
        report: Report = _log_stray,
        trace: RequestTrace | None = None,
    ) -> None:
        self.meta: Mapping[str, Any] = {}
        # The same with what requests add to it, encoded, by the id of that.
        self._encoded: dict[int, tuple[Mapping[str, Any] | None, bytes]] = {}
        self.link: Link
        # Whether the link is gone. No property: every call asks.
        self.is_lost = False
        # When the other side was last heard, in loop time.
        self.last_heard = 0.0
        self._transport = transport
        self._handler = handler
        self._on_notification = on_notification
        self._report = report
        self._trace = trace
        self._peer: Peer[_Call] = Peer()
        self._stack = AsyncExitStack()
        # Whose calls were left without an answer, and when (loop time).
        self._left: dict[int, tuple[Conversation, float]] = {}
        self._answering: dict[RequestId, asyncio.Task[None]] = {}
        # The calls that those answers are about.
        self._about: dict[RequestId, list[_Call]] = {}
        self._notices: set[asyncio.Task[None]] = set()
        # One timer for all calls, set for the earliest deadline: a timer a call would cost more than the call's own work.
        self._sweep: asyncio.TimerHandle | None = None
        self._sweep_at = math.inf

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._lost: asyncio.Future[TransportError | None] = self._loop.create_future()
        self.last_heard = self._loop.time()
        self.link = await self._stack.enter_async_context(self._transport.open(self))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed(None)
        tasks = [*self._answering.values(), *self._notices]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await self._stack.aclose()

    async def wait_lost(self) -> TransportError | None:
        """Wait until the link is gone. Returns the error that says why; None when it ended in order."""
        return await asyncio.shield(self._lost)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None,
        max_total: float | None = None,
        on_progress: OnProgress | None = None,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        owner: Invocation | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Raw:
        """Send one request and wait for its answer. `owner` is handed to whoever answers what the server asks meanwhile. `meta` goes into
        its `_meta`; whoever sends the same often gives the same object, which is encoded once.

        Ends after `timeout` seconds without an answer; each progress notification starts that time anew, up to `max_total` seconds
        in all. None waits as long as the link lives: for subscription streams only. Raises RpcError when the server refuses,
        ProtocolError when its answer cannot be read, DeadlineError, LinkLostError (whose `maybe_sent` says whether the server
        may have acted on it), or what the transport reports.
        """
        if self.is_lost:
            raise self._gone(maybe_sent=False)
        # What is called as an attribute is looked for as a method first, at every call.
        time = self._time
        now = time()
        patience = math.inf if timeout is None else timeout
        limit = now + (patience if max_total is None else max_total)
        deadline = now + patience
        if deadline > limit:
            deadline = limit
        future = self._loop.create_future()
        call = _Call(method, future, on_progress, patience, now, deadline, limit, owner)
        call.id = id = self._peer.begin(call)
        if deadline < self._sweep_at:
            self._arm(deadline)
        try:
            carrier: Mapping[str, str] = _NOTHING
            if self._trace is not None and (span := self._trace.begin(method, name, id)) is not None:
                # Every call ends by its future, whichever way.
                future.add_done_callback(span.end)
                carrier = span.carrier
                headers = {**(headers or {}), **carrier}
            has_token = on_progress is not None or max_total is not None
            if carrier or not has_token or not params or "_meta" in params:
                token = {"progressToken": id} if has_token else {}
                data = jsonrpc.encode_request(id, method, self._with_meta(params, {**(meta or {}), **token, **carrier}))
            else:
                known = self._encoded.get(_id(meta))
                members = self._members(meta) if known is None else known[1]
                data = jsonrpc.encode_request_with_meta(id, method, params, members)
            message = Outgoing(data, method, id, name, headers or _NOTHING)
            if not self.link.post(message):
                await self._hand_over(call, message)
            result = await future
        except asyncio.CancelledError:
            self._leave(call)
            self._tell_cancelled(call)
            raise
        except BaseException:
            self._leave(call)
            raise
        if call.is_large:
            await asyncio.sleep(PAUSE)
        return await _masked(result) if knows_secrets() else result

    async def _hand_over(self, call: _Call, message: Outgoing) -> None:
        """Send a request that takes a while, so that its deadline and the loss of the link can interrupt it."""
        task = asyncio.current_task(self._loop)
        assert task is not None  # a coroutine of ours runs in a task
        cancelling = task.cancelling()
        call.sent_by(task)
        try:
            await self.link.send(message)
        except asyncio.CancelledError:
            # Ours only when we asked for it, and nobody else did as well.
            if (call.expired or call.stuck) and task.uncancel() <= cancelling:
                self._tell_cancelled(call)
                raise (self._late(call) if call.expired else self._gone(maybe_sent=True)) from None
            raise
        finally:
            call.sent_by(None)

    def _leave(self, call: _Call) -> None:
        """Nobody waits for this call any more."""
        self._abandon(call)
        if call.questions:
            self._withdraw(call)
        if not call.future.done():
            call.future.cancel()
        elif not call.future.cancelled():
            call.future.exception()  # seen, also when the caller left before it

    def _abandon(self, call: _Call) -> None:
        if self._peer.abandon(call.id) is not None and call.owner is not None:
            self._left[call.id] = (call.owner.conversation, self._loop.time())
            if len(self._left) > MAX_LEFT:
                del self._left[next(iter(self._left))]

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send one notification. Raises OpenClawError when it cannot be sent."""
        if self.is_lost:
            raise self._gone(maybe_sent=False)
        await self.link.send(Outgoing(jsonrpc.encode_notification(method, params), method))

    # The transport's end (base.Receiver).

    def received(self, data: bytes, origin: int | None) -> None:
        time = self._time
        self.last_heard = time()
        answer = self._peer.answered(data, origin)
        if answer is not None:
            call, result = answer
            call.answered(result, len(data))
            return
        for event in self._peer.receive(data, origin):
            match event:
                case Answered():
                    event.waiter.answered(event.result, len(data))
                case Refused():
                    _fail(event.waiter, _masked_error(event.error))
                case Notification():
                    self._told(event)
                case Progressed():
                    self._progressed(event)
                case Request():
                    self._asked(event, origin)
                case Unreadable():
                    self._refuse_unreadable(event)
                case Stray():
                    if event.answers is not None:
                        self._left.pop(event.answers, None)
                    self._report(event.reason)
                case _:
                    assert_never(event)

    def awaits(self, request_id: int) -> bool:
        return request_id in self._peer.waiters

    def failed(self, request_id: int, error: Exception) -> None:
        call = self._peer.abandon(request_id)
        if call is not None:
            _fail(call, error)

    def closed(self, error: TransportError | None) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        self._lost.set_result(error)
        if self._sweep is not None:
            self._sweep.cancel()
        for _, call in self._peer.abandon_all():
            _fail(call, self._gone(maybe_sent=True))
            if call.sender is not None:
                self._loop.call_later(SEND_PATIENCE, call.interrupt)

    # Deadlines and cancellation.

    def _arm(self, when: float) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        self._sweep_at = when
        self._sweep = None if when == math.inf else self._loop.call_at(when, self._expire)

    def _expire(self) -> None:
        # The loop may fire a timer a hair before its time.
        now = max(self._loop.time(), self._sweep_at)
        for call in [call for call in self._peer.waiters.values() if call.deadline <= now]:
            self._abandon(call)
            call.expire()
            _fail(call, self._late(call))
            if call.sender is not None:
                call.sender.cancel()
            else:
                self._tell_cancelled(call)
        self._arm(min((call.deadline for call in self._peer.waiters.values()), default=math.inf))

    def _late(self, call: _Call) -> DeadlineError:
        waited = round((call.deadline - call.started) * 1000)
        return DeadlineError(f"No answer to {call.method} within {waited} ms.")

    def _progressed(self, event: Progressed[_Call]) -> None:
        call = event.waiter
        # The timer stays as it is: when it fires it finds the deadline moved.
        call.put_off(self._loop.time())
        if call.on_progress is not None:
            try:
                call.on_progress(event.progress, event.total, mask(event.message))
            except Exception:
                _log.exception("A progress callback failed.")

    def _tell_cancelled(self, call: _Call) -> None:
        if self.is_lost or self.link.cancel(call.id) or call.method in _NEVER_CANCELLED:
            return
        reason = "The caller's time is up." if call.expired else "The caller no longer waits."
        notice = jsonrpc.encode_notification(CANCELLED, {"requestId": call.id, "reason": reason})
        self._send_later(Outgoing(notice, CANCELLED))

    def _send_later(self, message: Outgoing) -> None:
        task = self._loop.create_task(self._send_notice(message))
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    async def _send_notice(self, message: Outgoing) -> None:
        try:
            async with asyncio.timeout(NOTICE_PATIENCE):
                await self.link.send(message)
        except (OpenClawError, TimeoutError) as error:
            _log.debug("A notice could not be sent: %s", error)

    def _gone(self, *, maybe_sent: bool) -> LinkLostError:
        cause = self._lost.result()
        if cause is None:
            return LinkLostError("The connection to the server was closed.", maybe_sent=maybe_sent)
        return LinkLostError(cause.message, hint=cause.hint, maybe_sent=maybe_sent)

    def use_meta(self, meta: Mapping[str, Any]) -> None:
        """Send this in the `_meta` of every request from now on (2026-07-28)."""
        self.meta = meta
        self._encoded.clear()

    def _members(self, meta: Mapping[str, Any] | None) -> bytes:
        """What stands in the `_meta` of every request with this `meta`, encoded."""
        if len(self._encoded) >= MAX_ENCODED:
            self._encoded.clear()
        # Kept with the object, so that no other gets its id.
        known = self._encoded[_id(meta)] = (meta, jsonrpc.encode_members({**self.meta, **(meta or {})}))
        return known[1]

    def _with_meta(self, params: Mapping[str, Any] | None, meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if not meta and not self.meta:
            return params
        params = params or {}
        return {**params, "_meta": {**self.meta, **params.get("_meta", {}), **meta}}

    # Requests and notifications of the other side.

    def _told(self, notification: Notification) -> None:
        if notification.method == CANCELLED:
            self._stop_answering(notification)
        elif self._on_notification is not None:
            try:
                self._on_notification(notification.method, _masked_params(notification.params))
            except Exception:
                _log.exception("A notification callback failed.")

    def _stop_answering(self, notification: Notification) -> None:
        try:
            id = jsonrpc.parse(notification.params, _Cancelled).requestId
        except ProtocolError as error:
            self._report(f"a cancellation that cannot be read: {error}")
            return
        if task := self._answering.get(id):
            task.cancel()
        elif isinstance(id, int) and (call := self._peer.waiters.get(id)) and call.method == LISTEN:
            # A modern server ends a subscription this way; it has no requests of its own that it could take back.
            self.failed(id, TransportError("The server ended the subscription."))

    def _concerned(self, origin: int | None) -> list[_Call]:
        """The calls that a request of the server may be about: the one whose stream carried it, or on a shared stream all of them.

        What we ask for ourselves (pings, lists) is nobody's.
        """
        if origin is not None:
            call = self._peer.waiters.get(origin)
            return [] if call is None or call.owner is None else [call]
        return [call for call in self._peer.waiters.values() if call.owner is not None]

    def _owner(self, origin: int | None, owners: Sequence[Invocation]) -> Invocation | None:
        """The only one of them. When it may be one of several calls of one conversation, it is that conversation without a call; of several
        conversations, it is none."""
        since = self._loop.time() - LEFT_FOR
        left = [] if origin is not None else [who for who, at in self._left.values() if at > since]
        if not owners or (len(owners) == 1 and not left):
            return owners[0] if owners else None
        newest = owners[-1].conversation
        all_of_them = (*(owner.conversation for owner in owners), *left)
        if not all(one.is_same(newest) for one in all_of_them):
            return None
        return structs.replace(owners[-1], call_id="")

    def _asked(self, request: Request, origin: int | None) -> None:
        if len(self._answering) >= MAX_ANSWERING:
            self._report(f"a request ({request.method!r}) while {MAX_ANSWERING} others wait for our answer")
        elif request.id in self._answering:
            self._report(f"a request with the id of another one that is under way ({request.id!r})")
        else:
            calls = self._concerned(origin)
            owners = [call.owner for call in calls if call.owner is not None]
            asked = Asked(self._owner(origin, owners), tuple(owners))
            task = self._loop.create_task(self._answer(request, asked))
            self._answering[request.id] = task
            if asked.owner is not None:
                self._about[request.id] = calls
                now = self._loop.time()
                for call in calls:
                    call.stand(now)
            # Not in the task itself: one that is cancelled before its first step never runs.
            task.add_done_callback(lambda _: self._was_answered(request.id))

    def _was_answered(self, id: RequestId) -> None:
        self._answering.pop(id, None)
        now = self._loop.time()
        for call in self._about.pop(id, ()):
            call.go_on(now)
            if call.deadline < self._sweep_at and self.awaits(call.id):
                self._arm(call.deadline)

    def _withdraw(self, call: _Call) -> None:
        """A call has no answer: what the server asked about it, and about no other that is under way, is answered no more."""
        for id, calls in self._about.items():
            if call in calls and not any(self.awaits(one.id) for one in calls):
                self._answering[id].cancel()
                if not self.is_lost:
                    over = jsonrpc.encode_error(id, jsonrpc.INTERNAL_ERROR, "The call that this was about is over.")
                    self._send_later(Outgoing(over))

    async def _answer(self, request: Request, asked: Asked) -> None:
        try:
            await self.link.send(Outgoing(await self._answer_to(request, asked)))
        except OpenClawError as error:
            _log.debug("An answer could not be sent: %s", error)

    async def _answer_to(self, request: Request, asked: Asked) -> bytes:
        if request.method == "ping":
            return jsonrpc.encode_result(request.id, {})
        if self._handler is None:
            return jsonrpc.encode_error(request.id, jsonrpc.METHOD_NOT_FOUND, "This client does not support that.")
        try:
            request = structs.replace(request, params=_masked_params(request.params))
            return jsonrpc.encode_result(request.id, await self._handler(request, asked))
        except RpcError as error:
            return jsonrpc.encode_error(request.id, error.code, error.message, error.data)
        except OpenClawError as error:
            return jsonrpc.encode_error(request.id, jsonrpc.INTERNAL_ERROR, str(error))
        except Exception:
            _log.exception("The handler of %s failed.", request.method)
            return jsonrpc.encode_error(request.id, jsonrpc.INTERNAL_ERROR, "Internal error")

    def _refuse_unreadable(self, event: Unreadable) -> None:
        self._report(event.reason)
        if event.id is not None and len(self._notices) < MAX_ANSWERING:
            error = jsonrpc.encode_error(event.id, jsonrpc.INVALID_REQUEST, "The request cannot be read.")
            self._send_later(Outgoing(error))


class _Cancelled(Struct):
    requestId: RequestId


async def _masked(result: Raw) -> Raw:
    if len(memoryview(result)) < MASK_IN_THREAD:
        return _as_raw(mask_json(result, keep=_OPAQUE))
    return _as_raw(await asyncio.to_thread(mask_json, result, keep=_OPAQUE))


def _masked_params(params: Raw) -> Raw:
    return _as_raw(mask_json(params)) if knows_secrets() and len(memoryview(params)) else params


def _as_raw(data: bytes | Raw) -> Raw:
    return data if isinstance(data, Raw) else Raw(data)


def _masked_error(error: ProtocolError) -> ProtocolError:
    """The same error without secrets in its words, or in the data that came with it."""
    if not knows_secrets():
        return error
    if isinstance(error, RpcError):
        return RpcError(error.code, mask(error.message), mask_value(error.data), addressed=error.addressed)
    return ProtocolError(mask(error.message), hint=error.hint)


def _fail(call: _Call, error: Exception) -> None:
    if not call.future.done():
        call.future.set_exception(error)
