"""One call under way: the request that waits for it, what its client is told and asked meanwhile, and its answer, given once.

Owns the rounds of 2026-07-28: what is asked is the answer to the request that waits, together with all that is asked in the same moment;
the call is parked then, and goes on with the request that comes back. What that does not answer is asked again, a few times.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.mcp_server.client_requests import ClientRequest, SentRequests, value_of
from openclaw.mcp_server.dialogue import Ability, Placed, Service, failure
from openclaw.mcp_server.progress import CallProgress
from openclaw.protocol.eras import MODERN
from openclaw.protocol.jsonrpc import RequestId, encode_result

# How often the same question is put to a client that comes back without an answer to it.
MOST_ROUNDS = 10

_log = logging.getLogger(__name__)

# Takes the answer to one request; None when there will be none.
Reply = Callable[[bytes | None], None]

_NO_OBJECT = "Invalid params: inputResponses must be an object."


class _Asked:
    """A request to the client that has no answer yet, and how often it was put."""

    def __init__(self, request: ClientRequest, params: Raw) -> None:
        self.request = request
        self.params = params
        self.rounds = 0
        self.value: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def put(self) -> dict[str, Any]:
        self.rounds += 1
        return {"method": self.request.method, "params": self.params}

    def answer(self, value: Any) -> None:
        if not self.value.done():
            self.value.set_result(value)


class UnderWay:
    """One call under way, as whoever carries it out knows it. It is answered once: what comes after the first `close` is dropped.

    `id` is that of the request that waits for the answer, None while the call is parked; `declared` is what that request's client can be
    asked. `digest` tells the call from others.
    """

    def __init__(
        self, service: Service[Any], sent: SentRequests, park: "Callable[[UnderWay], tuple[str, asyncio.TimerHandle]]"
    ) -> None:
        self.id: RequestId | None = None
        self.version = ""
        self.declared: frozenset[Ability] = frozenset()
        # The trace that the client is part of: that of the request that began the call.
        self.caller: Mapping[str, str] = {}
        self.digest = b""
        self._expiry: asyncio.TimerHandle | None = None
        self._service = service
        self._sent = sent
        self._park = park
        self._reply: Reply | None = None
        self._progress: CallProgress | None = None
        self._told = ""
        self._asked: dict[str, _Asked] = {}
        self._early: Raw | None = None
        self._answer: dict[str, Any] | None = None
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether it is answered, as far as it ever will be."""
        return self._is_closed and self._answer is None

    def tell(self, text: str) -> None:
        """Show a sentence to the client that waits."""
        self._told = text
        if self._progress is not None:
            self._progress.tell(text)

    async def ask(self, request: ClientRequest) -> Any:
        """The value of what the client answers; None when it does not, or cannot be asked."""
        if request.needs not in self.declared:
            return None
        if self.version not in MODERN:
            return await self._sent.ask(request)
        try:
            asked = self._asked[request.key] = _Asked(request, Raw(to_json(request.params)))
        except (TypeError, ValueError, RecursionError) as error:
            _log.error("a question to the client cannot be sent: %s", error)
            return None
        self._take_early(asked)
        # What is asked in the same moment goes out together.
        asyncio.get_running_loop().call_soon(self._put)
        try:
            return await asked.value
        finally:
            self._asked.pop(request.key, None)

    def attach(self, placed: Placed[Any], reply: Reply, progress: "CallProgress | None") -> None:
        """Let this request wait for the answer."""
        self.id, self.version, self.declared = placed.id, placed.version, placed.declared
        self.caller = self.caller or placed.caller
        self._reply, self._progress = reply, progress
        if self._expiry is not None:
            self._expiry.cancel()
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self._send(answer)
        elif progress is not None and self._told:
            progress.tell(self._told)

    def answer_early(self, responses: Raw) -> None:
        """Keep these for what will be asked first. Raises UsageError."""
        _read_responses(responses, ())
        self._early = responses

    def read_responses(self, responses: Raw) -> dict[str, Raw]:
        """What a client answers of what it was asked; the rest is passed over. Raises UsageError."""
        return _read_responses(responses, self._asked) if memoryview(responses).nbytes else {}

    def take(self, responses: dict[str, Raw]) -> None:
        """The client came back. What it did not answer is asked again, a few times."""
        for key, asked in self._asked.items():
            value = value_of(asked.request, responses[key]) if key in responses else None
            gives_up = asked.rounds >= MOST_ROUNDS or asked.request.needs not in self.declared
            if value is not None or gives_up:
                asked.answer(value)
        asyncio.get_running_loop().call_soon(self._put)

    def close(self, answer: dict[str, Any] | None) -> None:
        """Send the answer, or none at all. With nobody waiting for it, keep it until somebody does."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._reply is not None:
            self._send(answer)
        else:
            self._answer = answer

    def leave(self) -> None:
        """Nobody will come back to it."""
        self._is_closed, self._answer = True, None
        if self._expiry is not None:
            self._expiry.cancel()

    def _take_early(self, asked: _Asked) -> None:
        if self._early is not None:
            given = _read_responses(self._early, (asked.request.key,))
            if asked.request.key in given:
                value = value_of(asked.request, given[asked.request.key])
                if value is not None:
                    asked.answer(value)

    def _put(self) -> None:
        """Answer the request that waits with what is asked, if anything still is."""
        # What comes with a later request answers what was asked then.
        self._early = None
        waiting = {key: asked for key, asked in self._asked.items() if not asked.value.done()}
        if not waiting or self._reply is None:
            return
        requests = {key: asked.put() for key, asked in waiting.items()}
        state, self._expiry = self._park(self)
        self._send({"resultType": "input_required", "inputRequests": requests, "requestState": state})

    def _send(self, answer: dict[str, Any] | None) -> None:
        reply, id = self._reply, self.id
        self._reply, self.id = None, None
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        if reply is None or id is None:
            return
        if answer is None:
            reply(None)
            return
        try:
            line = encode_result(id, self._service.result(answer, self.version))
        except UsageError as error:
            _log.error("%s", error)
            told = self._service.result(failure("The answer cannot be written as JSON."), self.version)
            line = encode_result(id, told)
        reply(line)


def _read_responses(responses: Raw, keys: Iterable[str]) -> dict[str, Raw]:
    """Those of the keys that are there; what else is in it is passed over, which takes no memory. Raises UsageError."""
    known: Any = TypedDict("_Responses", dict.fromkeys(keys, Raw), total=False)  # type: ignore[misc]
    try:
        found: dict[str, Raw] = msgspec.json.decode(responses, type=known)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(_NO_OBJECT) from None
    return found
