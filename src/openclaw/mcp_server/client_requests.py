"""What a server asks its client while it works for it, and how that is done where requests go both ways: revisions up to 2025-11-25.

Owns the ids of these requests. One that is no longer waited for is cancelled at the client too. An error, something unusable and an answer
that never comes are all no answer; one that names no open request is ignored. `rounds.py` has the way of 2026-07-28.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.errors import UsageError
from openclaw.mcp_server.dialogue import CANCELLED, Ability
from openclaw.protocol.jsonrpc import Failure, RequestId, Result, encode_notification, encode_request

# Bytes of one answer. A form is some lines of text, and what a model writes for a server a few pages.
MOST_ANSWER_BYTES = 1 << 20

_log = logging.getLogger(__name__)


class ClientRequest(msgspec.Struct, frozen=True):
    """Something to ask the client. `key` names it among those that are asked together, `needs` is what the client must have declared.

    `read` makes a value of the client's result: None when it cannot be used. It may raise what msgspec raises for what is not JSON.
    """

    key: str
    method: str
    params: Mapping[str, Any]
    needs: Ability
    read: Callable[[Raw], Any]


def value_of(request: ClientRequest, answer: Raw) -> Any:
    """What a client's result comes to; None when it cannot be used."""
    if memoryview(answer).nbytes > MOST_ANSWER_BYTES:
        return None
    try:
        return request.read(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class SentRequests:
    """Requests that went out to a client and were not answered yet. `write` takes one line and never waits."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._numbers = itertools.count(1)
        self._open: dict[RequestId, asyncio.Future[Result | Failure]] = {}

    async def ask(self, request: ClientRequest) -> Any:
        """The value of its answer; None when there is none."""
        # No number: those are what most clients count their own requests with, and people read both in one log.
        id = f"openclaw-{next(self._numbers)}"
        try:
            line = encode_request(id, request.method, request.params)
        except UsageError as error:
            _log.error("a question to the client cannot be sent: %s", error)
            return None
        self._open[id] = asyncio.get_running_loop().create_future()
        self._write(line)
        try:
            answer = await self._open[id]
        except asyncio.CancelledError:
            self._write(encode_notification(CANCELLED, {"requestId": id, "reason": "This is no longer asked."}))
            raise
        finally:
            del self._open[id]
        return value_of(request, answer.result) if isinstance(answer, Result) else None

    def receive(self, answer: Result | Failure) -> None:
        waiting = None if answer.id is None else self._open.get(answer.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
