"""The agent that a client speaks to: which methods there are, and in which order they count.

Owns that nothing comes before `initialize`. What methods do is sessions.py's, which is loaded with the first of them, so that a client that
only greets us pays for nothing else.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from openclaw.acp import wire
from openclaw.acp.connection import RequestError, params_of
from openclaw.acp.greeting import greeting
from openclaw.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Notification,
    Request,
    RequestId,
)

if TYPE_CHECKING:
    from openclaw.acp.sessions import Sessions

# Characters of a method's name that are repeated in an error.
_SHOWN = 100
PROMPT = "session/prompt"

_P = TypeVar("_P", bound=wire.Part)
# Reads what a request brings; what comes of it does the work, once there are sessions.
_Method = Callable[[Request], Callable[["Sessions"], Awaitable[Any]]]


def _method(kind: type[_P], call: Callable[["Sessions", _P], Awaitable[Any]]) -> _Method:
    def read(request: Request) -> Callable[["Sessions"], Awaitable[Any]]:
        params = params_of(request, kind)
        return lambda sessions: call(sessions, params)

    return read


# What each method takes, and which method of `Sessions` does it.
_METHODS: dict[str, _Method] = {
    "authenticate": _method(wire.Authenticate, lambda sessions, params: sessions.authenticate(params)),
    "session/new": _method(wire.NewSession, lambda sessions, params: sessions.new(params)),
    "session/load": _method(wire.OpenSession, lambda sessions, params: sessions.load(params)),
    "session/resume": _method(wire.OpenSession, lambda sessions, params: sessions.resume(params)),
    "session/list": _method(wire.ListSessions, lambda sessions, params: sessions.list(params)),
    "session/close": _method(wire.NamedSession, lambda sessions, params: sessions.close(params)),
    "session/delete": _method(wire.NamedSession, lambda sessions, params: sessions.delete(params)),
    "session/set_mode": _method(wire.SetMode, lambda sessions, params: sessions.set_mode(params)),
    "session/set_config_option": _method(wire.SetOption, lambda sessions, params: sessions.set_option(params)),
}

# Makes the sessions of a client that has introduced itself.
OpenSessions = Callable[[wire.Initialize], "Awaitable[Sessions]"]
# Whether there is a model to answer with.
HasModel = Callable[[], Awaitable[bool]]


class AcpAgent:
    """A `connection.Handler`. `greeted` is the `initialize` that was answered already, before there was an agent."""

    def __init__(
        self, open_sessions: OpenSessions, has_model: HasModel, greeted: wire.Initialize | None = None
    ) -> None:
        self._open = open_sessions
        self._has_model = has_model
        self._client = greeted
        self._sessions: Sessions | None = None

    def requested(self, request: Request) -> Awaitable[Any]:
        if request.method == "initialize":
            return self._initialize(request)
        if self._client is None:
            raise RequestError(INVALID_REQUEST, "Invalid request: send initialize first.")
        if request.method == PROMPT:
            prompt = params_of(request, wire.Prompt)
            if self._sessions is not None:
                # At once: a cancel that follows must find it.
                return self._sessions.prompt(request.id, prompt)
            return self._first_prompt(request.id, prompt)
        if request.method not in _METHODS:
            raise RequestError(METHOD_NOT_FOUND, f"Method not found: {request.method[:_SHOWN]}")
        return self._call(_METHODS[request.method](request))

    def notified(self, notification: Notification) -> None:
        if notification.method == wire.CANCEL and self._sessions is not None:
            try:
                self._sessions.cancel(params_of(notification, wire.NamedSession).session_id)
            except RequestError:
                # Nobody waits for an answer.
                return

    def taken_back(self, id: RequestId) -> bool:
        return self._sessions is not None and self._sessions.cancel_prompt(id)

    async def close(self) -> None:
        """End every session."""
        if self._sessions is not None:
            await self._sessions.close_all()

    async def _initialize(self, request: Request) -> Any:
        client = params_of(request, wire.Initialize)
        # Before anything is waited for: what comes behind it counts.
        self._client = client
        told = greeting(msgspec.json.decode(request.params), has_model=await self._has_model())
        if told is None:
            raise RequestError(INVALID_PARAMS, "Invalid params: protocolVersion must be a number.")
        return told

    async def _call(self, do: Callable[["Sessions"], Awaitable[Any]]) -> Any:
        return await do(await self._loaded())

    async def _first_prompt(self, id: RequestId, prompt: wire.Prompt) -> Any:
        return await (await self._loaded()).prompt(id, prompt)

    async def _loaded(self) -> "Sessions":
        if self._sessions is None:
            assert self._client is not None  # asked before
            made = await self._open(self._client)
            # Two may have asked at the same time.
            self._sessions = self._sessions or made
        return self._sessions
