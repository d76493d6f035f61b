"""What a server wants to know before it goes on with a request: rounds of `input_required` (2026-07-28), and pages to visit first (-32042).

Owns how many rounds there are, what each retry carries, that a question is not put over and over, and how long a page that somebody
visits is waited for. Who answers is `handlers.py`; sending a request, and sending it again, is `client.py`'s.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.errors import ProtocolError, RpcError
from openclaw.mcp.handlers import ELICIT, Handlers
from openclaw.mcp.tools.results import InputRequired
from openclaw.protocol.jsonrpc import parse
from openclaw.tool import Invocation

# A server may ask for input this often in one request; each round is a whole request of its own.
MAX_ROUNDS = 10
# So often it may put the very same question in a row.
MOST_REPEATED = 3
# Seconds between requests while somebody visits a page, unless they say that they have finished.
VISIT_SECONDS = (5.0, 10.0, 30.0)
# Seconds before a request is sent again because the server said no more than that: none at first, then this, doubled, up to that.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
# "Visit these pages first" (2025-11-25), and that somebody has.
PAGES_NEEDED = -32042
VISITED = "notifications/elicitation/complete"
MOST_PAGES = 5
# Pages known to be visited, kept because the notice may come before we wait for it.
_MOST_VISITED = 64


class _InputRequest(msgspec.Struct):
    method: str
    params: dict[str, Any] | None = None

    @property
    def page(self) -> str:
        """The address that a person is to visit; empty when it is another question."""
        params = self.params or {}
        return str(params.get("url", "")) if self.method == ELICIT and params.get("mode") == "url" else ""


class _Visited(msgspec.Struct, rename="camel"):
    elicitation_id: str


class VisitedPages:
    """What a server tells of pages that somebody visits, by the ids it gave them."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._changed = asyncio.Event()

    def note(self, params: Raw) -> None:
        """One `notifications/elicitation/complete`. Of a page that nobody waits for it changes nothing."""
        try:
            self._ids[parse(params, _Visited).elicitation_id] = None
        except ProtocolError:
            return
        if len(self._ids) > _MOST_VISITED:
            self._ids.popitem(last=False)
        self._changed.set()

    async def wait(self, ids: Iterable[str]) -> None:
        missing = set(ids)
        while missing := missing - self._ids.keys():
            self._changed.clear()
            await self._changed.wait()


class Rounds:
    """The rounds of one request. `close` it when the request is over: it may still be waiting for somebody's word."""

    def __init__(self, server: str, handlers: Handlers, invocation: Invocation | None) -> None:
        self._server = server
        self._handlers = handlers
        self._invocation = invocation
        self._count = 0
        self._last: tuple[tuple[str, bytes], ...] = ()
        self._repeated = 0
        # The pages that somebody agreed to visit, and whether they wait no longer for what comes of it.
        self._pages: set[str] = set()
        self._gave_up = False
        self._visits = 0
        self._finished: asyncio.Task[bool] | None = None

    async def answers(self, needed: InputRequired) -> dict[str, Any]:
        """What the retry carries: an answer to each question, and the state exactly as it came. Raises ProtocolError when it is enough."""
        self._count += 1
        if self._count == MAX_ROUNDS:
            raise ProtocolError(f"The server still asked for input after {MAX_ROUNDS} rounds.")
        asked = needed.input_requests or {}
        requests = {key: parse(raw, _InputRequest) for key, raw in asked.items()}
        self._count_repeated(tuple((key, bytes(raw)) for key, raw in asked.items() if not requests[key].page))
        if not requests:
            await asyncio.sleep(_pause(self._count))
        visits = False
        answers: dict[str, Any] = {}
        for key, request in requests.items():
            answers[key] = await self._answer(request)
            visits |= bool(request.page) and answers[key].get("action") == "accept"
        if visits and not await self._has_visited():
            pages = {key for key, request in requests.items() if request.page in self._pages}
            answers |= {key: {"action": "cancel"} for key in pages}
        more: dict[str, Any] = {"inputResponses": answers} if answers else {}
        if needed.request_state is not None:
            more["requestState"] = needed.request_state
        return more

    async def close(self) -> None:
        task, self._finished = self._finished, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _count_repeated(self, asked: tuple[tuple[str, bytes], ...]) -> None:
        self._repeated = self._repeated + 1 if asked and asked == self._last else 1
        self._last = asked
        if self._repeated == MOST_REPEATED:
            raise ProtocolError(f"The server asked the same question {MOST_REPEATED} times in a row.")

    async def _answer(self, request: _InputRequest) -> Mapping[str, Any]:
        page = request.page
        if page and page in self._pages:
            return {"action": "cancel" if self._gave_up else "accept"}
        # One question at a time: whether they have finished elsewhere can be asked again.
        await self.close()
        try:
            answer = await self._handlers.answer(self._server, request.method, request.params or {}, self._invocation)
        except RpcError as error:
            raise ProtocolError(f"The server asks for input that nobody here can give: {error.message}") from error
        if page and answer.get("action") == "accept":
            self._pages.add(page)
        return answer

    async def _has_visited(self) -> bool:
        """Wait a while for the person's word that they have finished. False when they will not wait any longer."""
        seconds = VISIT_SECONDS[min(self._visits, len(VISIT_SECONDS) - 1)]
        self._visits += 1
        if self._handlers.finished is None:
            await asyncio.sleep(seconds)
            return True
        if self._finished is None:
            asking = self._handlers.finished(self._server, self._invocation)
            self._finished = asyncio.ensure_future(asking)
        # The last request is not sent before they say so.
        is_last = self._count == MAX_ROUNDS - 1
        done, _ = await asyncio.wait({self._finished}, timeout=None if is_last else seconds)
        if not done:
            return True
        task, self._finished = self._finished, None
        self._gave_up = not task.result()
        return not self._gave_up


def _pause(count: int) -> float:
    return 0.0 if count == 1 else min(FIRST_PAUSE * 2.0 ** (count - 2), LONGEST_PAUSE)


async def visit_pages(
    server: str,
    handlers: Handlers,
    error: RpcError,
    invocation: Invocation | None,
    visited: VisitedPages,
    *,
    timeout: float,
) -> None:
    """Have the person of a call visit the pages that the server wants visited before it answers. Raises `error` when they do not, and
    after `timeout` seconds where nobody can say that they have."""
    pages = _pages(error)
    if not pages or handlers.elicitation is None or "url" not in handlers.modes:
        raise error
    for page in pages:
        try:
            answer = await handlers.answer(server, ELICIT, page, invocation)
        except RpcError as fault:
            raise ProtocolError(f"The server wants a page to be visited that cannot be: {fault.message}") from fault
        if answer.get("action") != "accept":
            raise error
    ids = [page["elicitationId"] for page in pages if isinstance(page.get("elicitationId"), str)]
    waits = [asyncio.ensure_future(_told(visited, ids))]
    if handlers.finished is not None:
        waits.append(asyncio.ensure_future(handlers.finished(server, invocation)))
    try:
        limit = None if handlers.finished is not None else timeout
        done, _ = await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if not any(task.result() for task in done):
            raise error
    finally:
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _told(visited: VisitedPages, ids: list[str]) -> bool:
    await visited.wait(ids)
    return True


def _pages(error: RpcError) -> list[dict[str, Any]]:
    listed = error.data.get("elicitations") if isinstance(error.data, dict) else None
    pages = [page for page in listed if isinstance(page, dict)] if isinstance(listed, list) else []
    return [{**page, "mode": "url"} for page in pages[:MOST_PAGES]]
