"""A negotiated connection to one server: lists, calls, reads, prompts, subscriptions.

Owns the meaning of requests and answers over a negotiated connection: paging, requests sent again with answers (`rounds.py`), the headers
and declared capabilities of 2026-07-28, and beginning a new MCP session once when the server has forgotten the old one.
Raises what the connection raises; keeps no tool list and
decides nothing about reconnecting: server/server.py does. connect.py makes it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Raw

from openclaw.errors import (
    ConnectError,
    OpenClawError,
    ProtocolError,
    RpcError,
    SessionExpiredError,
    TransportError,
)
from openclaw.mcp.handlers import Handlers, Mode
from openclaw.mcp.paging import Pages
from openclaw.mcp.rounds import PAGES_NEEDED, Rounds, VisitedPages, visit_pages
from openclaw.mcp.tools.results import (
    InputRequired,
    Prompt,
    ResourceContents,
    Result,
    input_required,
    read_call,
    read_prompt,
    read_resource,
)
from openclaw.protocol.eras import Agreement, capabilities_meta
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND, parse
from openclaw.tool import Invocation
from openclaw.transport.connection import Connection, OnProgress

# A list of many pages may take so many times as long as one answer: then what came of it has to do.
PATIENT_LIST = 4
# For what a person or a model waits for: as long as a tool call gets by default.
READ_TIMEOUT = 60.0
# Offered values of a completion; the protocol allows a server 100.
MAX_COMPLETIONS = 100

Listable = Literal["tools", "resources", "templates", "prompts", "skills"]
# Method, and the key its entries stand under.
_LISTS: dict[Listable, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
    "skills": ("skills/list", "skills"),
}


Renew = Callable[[], Awaitable[Agreement]]


def offers(agreement: Agreement, capability: str, feature: str = "") -> bool:
    """Whether the server declared a capability, or a feature within one."""
    declared = agreement.capabilities.get(capability)
    if not feature:
        return declared is not None
    return isinstance(declared, Mapping) and bool(declared.get(feature))


class _Completion(msgspec.Struct):
    values: list[str] = []


class _CompletionAnswer(msgspec.Struct):
    completion: _Completion


class Client:
    """`renew` begins a new MCP session on the same link. `timeout` is for lists and for what keeps the link going. `visited` hears of
    the pages that the server wanted somebody to visit."""

    def __init__(
        self,
        server: str,
        connection: Connection,
        agreement: Agreement,
        *,
        renew: Renew,
        handlers: Handlers,
        timeout: float,
        visited: VisitedPages,
    ) -> None:
        self.connection = connection
        self.agreement = agreement
        self.mirrors = agreement.modern and connection.link.facts.mirrors_headers
        self._has_sessions = connection.link.facts.has_sessions
        self._server = server
        self._renew = renew
        self._handlers = handlers
        self._visited = visited
        # Only a server that is told with each request what can be answered: one that declares it once has done so.
        self._modes_of_call = handlers.modes_of_call if agreement.modern else None
        self._metas: dict[tuple[Mode, ...], Mapping[str, Any]] = {}
        self.timeout = timeout
        self._renewing = asyncio.Lock()
        # From when a session was found to be forgotten until there is another.
        self._is_renewing = False
        # How many sessions were begun anew.
        self.generation = 0
        self._failed_renewals = 0

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        invocation: Invocation | None = None,
    ) -> Result:
        """Call a tool to the end of it: `begin_call`, and `go_on` where that needs more."""
        generation = self.generation
        outcome: Result | InputRequired | RpcError | SessionExpiredError
        try:
            outcome = read_call(
                await self.begin_call(
                    name,
                    arguments,
                    timeout=timeout,
                    max_total=max_total,
                    on_progress=on_progress,
                    headers=headers,
                    invocation=invocation,
                )
            )
            if isinstance(outcome, Result):
                return outcome
        except (RpcError, SessionExpiredError) as error:
            if not self.goes_on(error):
                raise
            outcome = error
        return await self.go_on(
            outcome,
            generation,
            name,
            arguments,
            timeout=timeout,
            max_total=max_total,
            on_progress=on_progress,
            headers=headers,
            invocation=invocation,
        )

    def begin_call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        invocation: Invocation | None = None,
    ) -> Awaitable[Raw]:
        """Send `tools/call` and wait for what comes, which `read_call` reads; `goes_on` says whether that is not the end of it. Who awaits
        this awaits the connection itself: the two coroutines that stood between took a call over HTTP 3 to 4 % of its instructions.
        `invocation` is handed to whoever answers what the server asks about this call."""
        meta = None
        if (modes_of_call := self._modes_of_call) is not None:
            modes = modes_of_call(invocation)
            meta = self._metas.get(modes) or self._declared(modes)
        params = {"name": name, "arguments": arguments}
        if self._has_sessions and (self._is_renewing or self.connection.link.session_is_doubtful):
            return self._in_session(
                "tools/call", params, timeout, max_total, on_progress, name, headers, invocation, meta
            )
        return self.connection.request(
            "tools/call",
            params,
            timeout=timeout,
            max_total=max_total,
            on_progress=on_progress,
            name=name,
            headers=headers,
            owner=invocation,
            meta=meta,
        )

    def goes_on(self, outcome: object) -> bool:
        """Whether a call that came to this needs more: answers, pages that somebody visits first, or another session."""
        if isinstance(outcome, RpcError):
            # Nothing was done: the server said what has to come first.
            return outcome.code == PAGES_NEEDED and not self.agreement.modern
        if isinstance(outcome, SessionExpiredError):
            return not outcome.is_second
        return isinstance(outcome, InputRequired)

    async def go_on(
        self,
        outcome: InputRequired | OpenClawError,
        generation: int,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        invocation: Invocation | None = None,
    ) -> Result:
        """The rest of a call that `goes_on`. `generation` is that of the session it began in."""
        params = {"name": name, "arguments": arguments}
        answer: Result | InputRequired | None = outcome if isinstance(outcome, InputRequired) else None
        if isinstance(outcome, SessionExpiredError):
            # Surely not processed: one new session for everybody who is told so, then this request once more.
            await self._begin_again(generation)
            modes_of_call = self._modes_of_call
            meta = None if modes_of_call is None else self._declared(modes_of_call(invocation))
            try:
                answer = read_call(
                    await self._in_session(
                        *("tools/call", params, timeout, max_total, on_progress, name, headers, invocation, meta),
                        is_second=True,
                    )
                )
            except RpcError as error:
                if not self.goes_on(error):
                    raise
                await visit_pages(self._server, self._handlers, error, invocation, self._visited, timeout=timeout)
        elif isinstance(outcome, RpcError):
            await visit_pages(self._server, self._handlers, outcome, invocation, self._visited, timeout=timeout)
        if isinstance(answer, Result):
            return answer
        return await self._call_in_rounds(
            answer,
            params,
            timeout=timeout,
            max_total=max_total,
            on_progress=on_progress,
            headers=headers,
            invocation=invocation,
        )

    async def _call_in_rounds(
        self,
        answer: InputRequired | None,
        params: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        on_progress: OnProgress | None,
        headers: Mapping[str, str] | None,
        invocation: Invocation | None,
    ) -> Result:
        """Go on with a call that the server asked something back about, or that waited for a page to be visited. A coroutine of its own:
        the variables that the inner one shares would cost every call 0.2 µs."""

        async def again(params: Mapping[str, Any]) -> Result | InputRequired:
            return read_call(
                await self._request(
                    "tools/call",
                    params,
                    timeout=timeout,
                    max_total=max_total,
                    on_progress=on_progress,
                    name=params["name"],
                    headers=headers,
                    invocation=invocation,
                )
            )

        rounds = Rounds(self._server, self._handlers, invocation)
        try:
            going: Result | InputRequired = await again(params) if answer is None else answer
            while isinstance(going, InputRequired):
                going = await again({**params, **await rounds.answers(going)})
            return going
        finally:
            await rounds.close()

    async def collect(self, kind: Listable) -> Pages:
        """Everything of one kind, page after page, within the bounds of paging.py and of time."""
        method, key = _LISTS[kind]
        pages = Pages(key)
        params: Mapping[str, Any] = {}
        time = asyncio.get_running_loop().time
        ends = time() + self.timeout * PATIENT_LIST
        while True:
            cursor = pages.add(await self._request(method, params, timeout=self.timeout))
            if cursor is None:
                return pages
            if time() >= ends:
                pages.cut_short(f"the list takes longer than {self.timeout * PATIENT_LIST:g} s")
                return pages
            params = {"cursor": cursor}

    async def read_resource(
        self, uri: str, *, timeout: float = READ_TIMEOUT, invocation: Invocation | None = None
    ) -> list[ResourceContents]:
        """`invocation` is handed to whoever answers what the server asks before it gives the resource; so it is for prompts."""
        raw = await self._rounds("resources/read", {"uri": uri}, name=uri, timeout=timeout, invocation=invocation)
        return read_resource(raw)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], *, invocation: Invocation | None = None
    ) -> Prompt:
        params = {"name": name, "arguments": arguments}
        return read_prompt(
            await self._rounds("prompts/get", params, name=name, timeout=READ_TIMEOUT, invocation=invocation)
        )

    async def complete(
        self, reference: Mapping[str, str], argument: str, value: str, context: Mapping[str, str] | None = None
    ) -> list[str]:
        """What an argument of a prompt (`ref/prompt`) or template (`ref/resource`) may become, given how it begins."""
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": context}
        raw = await self._request("completion/complete", params, timeout=READ_TIMEOUT)
        return parse(raw, _CompletionAnswer).completion.values[:MAX_COMPLETIONS]

    async def subscribe(self, uri: str) -> None:
        """Ask to be told when a resource changes (up to 2025-11-25; later revisions listen instead)."""
        await self._request("resources/subscribe", {"uri": uri}, timeout=self.timeout)

    async def roots_changed(self) -> None:
        """Tell the server that its roots are others now. The newest revision has no word for it: there each request may ask anew."""
        if self._handlers.roots_change and not self.agreement.modern:
            async with asyncio.timeout(self.timeout):
                await self.connection.notify("notifications/roots/list_changed")

    async def probe(self, timeout: float) -> None:
        """Find out whether the server still answers. The newest revision has no ping; its cheapest question is a list."""
        try:
            await self._request("tools/list" if self.agreement.modern else "ping", {}, timeout=timeout)
        except RpcError as error:
            # Whoever says that it knows no such question has answered it.
            if error.code != METHOD_NOT_FOUND:
                raise

    async def listen(self, notifications: Mapping[str, Any]) -> None:
        """Hold a subscription open (2026-07-28) until the server ends it or the link breaks. Notifications go the usual way."""
        await self._request("subscriptions/listen", {"notifications": notifications}, timeout=None)

    async def _rounds(
        self, method: str, params: Mapping[str, Any], *, name: str, timeout: float, invocation: Invocation | None
    ) -> Raw:
        rounds = Rounds(self._server, self._handlers, invocation)
        asked = params
        try:
            while True:
                raw = await self._request(method, asked, timeout=timeout, name=name, invocation=invocation)
                needed = input_required(raw)
                if needed is None:
                    return raw
                asked = {**params, **await rounds.answers(needed)}
        finally:
            await rounds.close()

    def _request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None,
        max_total: float | None = None,
        on_progress: OnProgress | None = None,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        invocation: Invocation | None = None,
    ) -> Awaitable[Raw]:
        modes_of_call = self._modes_of_call
        meta = None if modes_of_call is None else self._declared(modes_of_call(invocation))
        # In both cases the same: to hand them on in an object would cost each call another one.
        if self._has_sessions:
            return self._in_session(method, params, timeout, max_total, on_progress, name, headers, invocation, meta)
        return self.connection.request(
            method,
            params,
            timeout=timeout,
            max_total=max_total,
            on_progress=on_progress,
            name=name,
            owner=invocation,
            meta=meta,
        )

    def _declared(self, modes: tuple[Mode, ...]) -> Mapping[str, Any]:
        """What a request says of what can be answered for its call: the same object for calls of which the same can."""
        meta = self._metas.get(modes)
        if meta is None:
            meta = self._metas[modes] = capabilities_meta(self._handlers.declared(modes))
        return meta

    async def _in_session(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float | None,
        max_total: float | None,
        on_progress: OnProgress | None,
        name: str,
        headers: Mapping[str, str] | None,
        invocation: Invocation | None,
        meta: Mapping[str, Any] | None,
        *,
        is_second: bool = False,
    ) -> Raw:
        """The answer to a request, which is sent once more when its session was forgotten; not when this `is_second` time already."""
        if self._is_renewing or self.connection.link.session_is_doubtful:
            # What is sent now would belong to no session, or to one that the server does not seem to know.
            await self._begin_again(self.generation)
        while True:
            generation = self.generation
            try:
                return await self.connection.request(
                    method,
                    params,
                    timeout=timeout,
                    max_total=max_total,
                    on_progress=on_progress,
                    name=name,
                    headers=headers,
                    owner=invocation,
                    meta=meta,
                )
            except SessionExpiredError as error:
                if is_second:
                    raise SessionExpiredError(error.message, is_second=True) from error
            # Surely not processed: one new session for everybody who is told so, then this request once more.
            await self._begin_again(generation)
            is_second = True

    async def _begin_again(self, generation: int) -> None:
        """A new MCP session, made once for all who wait for it. Raises ConnectError when there is none: nothing was sent then."""
        failures = self._failed_renewals
        async with self._renewing:
            if generation != self.generation:
                return
            if failures != self._failed_renewals:
                raise ConnectError("The MCP session was forgotten, and a new one could not be begun.")
            self._is_renewing = True
            self.connection.link.reset()
            try:
                self.agreement = await self._renew()
            except (TransportError, ProtocolError) as error:
                self._failed_renewals += 1
                raise ConnectError(error.message, hint=error.hint) from error
            self._is_renewing = False
            self.generation += 1
