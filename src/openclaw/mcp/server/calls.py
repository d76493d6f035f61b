"""The calls of one server: a slot for each, at most once, with every failure a value.

Owns which failures may be sent again (those that surely were not processed), what an unknown tool and mismatched headers lead to, and
the words of each error. server.py keeps the server alive meanwhile, and gives the client.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.errors import (
    AuthError,
    ConnectError,
    DeadlineError,
    HttpStatusError,
    LinkLostError,
    OpenClawError,
    ProtocolError,
    RpcError,
    SignInNeededError,
)
from openclaw.late_pattern import late_pattern
from openclaw.mcp.client import Client
from openclaw.mcp.remedies import remedy_sentence
from openclaw.mcp.resources import run_utility
from openclaw.mcp.server.log import Progress, ServerLog
from openclaw.mcp.server.state import ServerState, UnavailableError
from openclaw.mcp.tools.catalog import Catalog
from openclaw.mcp.tools.definition import NOTHING, is_null
from openclaw.mcp.tools.output import checked_by_program, is_large, output_fault
from openclaw.mcp.tools.results import InputRequired, Result, read_call
from openclaw.mcp.wording import MAX_LABEL, timed_out
from openclaw.protocol.eras import HEADER_MISMATCH, MISSING_CAPABILITY
from openclaw.security.external import clean_label
from openclaw.tool import Invocation, OwnWords
from openclaw.transport.connection import OnProgress

_log = logging.getLogger(__name__)

# A broken pipe is noticed before the exit of the process at its other end is.
LOSS_PATIENCE = 1.0
_MAYBE = "The call may or may not have been carried out; it is not repeated."
# How servers say that they do not have a tool: as an error of the protocol, by either of these codes, or as a failed result.
_REFUSES_TOOL = frozenset({-32602, -32601})
_UNKNOWN_TOOL = late_pattern(
    r"(?:MCP error -3260[12]: )?(?:unknown tool\b|tool .{0,160}? (?:not found|does not exist))", re.I
)

T = TypeVar("T")


class CalledServer(Protocol):
    """What a call needs of its server (server.py)."""

    spec: ServerSpec

    async def client(self) -> Client: ...

    def request_failed(self, error: OpenClawError) -> None: ...

    def tool_is_unknown(self, tool: str) -> None: ...

    async def list_again(self) -> None: ...


class Calls:
    def __init__(self, server: CalledServer, state: ServerState, catalog: Catalog, log: ServerLog) -> None:
        self._server = server
        self._state = state
        self._catalog = catalog
        self._log = log
        self._time = asyncio.get_running_loop().time

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,
        max_total: float,
        show_progress: Callable[[str], None] | None = None,
        on_progress: OnProgress | None = None,
        invocation: Invocation | None = None,
    ) -> Result:
        """Call a tool by its own name. Never raises but CancelledError. `timeout` and `max_total` are in seconds: without a sign of life,
        and in all. `invocation` is for whoever answers what the server asks meanwhile."""
        state = self._state
        if not state.try_begin_call(timeout) and (fault := await state.begin_call(timeout, "Tool call")):
            return Result.failed(OwnWords(fault))
        time = self._time
        began = time()
        outcome: Result | InputRequired | OpenClawError | None = None
        try:
            client = state.client
            if client is None or client.connection.is_lost:
                client = await self._server.client()
            progress = Progress(self._log, name, show_progress, on_progress)
            generation = client.generation
            try:
                outcome = read_call(
                    await client.begin_call(
                        name,
                        arguments,
                        timeout=timeout,
                        max_total=max_total,
                        on_progress=progress,
                        headers=self._catalog.headers(name, arguments) if client.mirrors else None,
                        invocation=invocation,
                    )
                )
            except OpenClawError as error:
                outcome = error
            if type(outcome) is not Result or outcome.is_error or outcome.structured_content is not NOTHING:
                # What most calls never need is made for these alone: all that there is to know of one.
                call = _Call(
                    self._server,
                    self._catalog,
                    name,
                    arguments,
                    timeout,
                    max_total,
                    progress,
                    invocation,
                    began,
                    self._time,
                )
                outcome = await call.settled(outcome, client, generation)
            result = outcome
            if _log.isEnabledFor(logging.DEBUG):
                self._tell(name, began, result)
        except OpenClawError as error:
            result = Result(is_error=True, fault=str(error), needs_sign_in=state.name == "needs-auth")
        except Exception as error:
            _log.exception("An internal error in a call to MCP server '%s'.", self._server.spec.name)
            result = Result.failed(OwnWords(f"An internal error: {type(error).__name__}."))
        finally:
            ended = state.end_call()
            # An error knows this frame: together they would keep all of the call until garbage is collected.
            outcome = None
        if invocation is not None and invocation.notes:
            result = _with_notes(result, invocation)
        if result.fault:
            state.failed(result.fault, ended)
        else:
            state.answered(ended - began)
        return result

    def _tell(self, tool: str, began: float, result: Result) -> None:
        milliseconds, note = (self._time() - began) * 1000, ", with an error" if result.is_error else ""
        _log.debug("MCP server '%s': called %s in %.1f ms%s", self._server.spec.name, tool, milliseconds, note)

    async def call_utility(
        self, name: str, arguments: Mapping[str, Any], *, timeout: float, invocation: Invocation | None = None
    ) -> Result:
        """Serve one of the tools of ours that look at the server's resources. Never raises but CancelledError."""
        try:
            result = await self.use(
                lambda client: run_utility(client, name, arguments, timeout=timeout, invocation=invocation),
                timeout=timeout,
            )
        except UnavailableError as error:
            result = Result.failed(str(error))
        except OpenClawError as error:
            # May repeat the server's own words.
            result = Result.refused(str(error))
        return _with_notes(result, invocation) if invocation is not None and invocation.notes else result

    async def use(self, act: Callable[[Client], Awaitable[T]], *, timeout: float) -> T:
        """Do something else with a live client, in a slot like the calls. Raises OpenClawError."""
        state, server = self._state, self._server
        if not state.try_begin_call(timeout) and (fault := await state.begin_call(timeout, "The request")):
            raise UnavailableError(fault)
        try:
            client = await server.client()
            try:
                return await act(client)
            except LinkLostError as error:
                if error.maybe_sent:
                    raise
                await _notice_loss(client)
                return await act(await server.client())
            except OpenClawError as error:
                server.request_failed(error)
                raise
        finally:
            state.end_call()


class _Call(msgspec.Struct, eq=False):
    """A tool call that needs more than to be sent and answered. `began` is when, by `time`."""

    server: CalledServer
    catalog: Catalog
    tool: str
    arguments: Mapping[str, Any]
    timeout: float
    max_total: float
    progress: Progress
    invocation: Invocation | None
    began: float
    time: Callable[[], float]

    def _send(self, client: Client) -> Awaitable[Result]:
        return client.call_tool(
            self.tool,
            self.arguments,
            timeout=self.timeout,
            max_total=self.max_total,
            on_progress=self.progress,
            headers=self.catalog.headers(self.tool, self.arguments) if client.mirrors else None,
            invocation=self.invocation,
        )

    async def settled(self, outcome: Result | InputRequired | OpenClawError, client: Client, generation: int) -> Result:
        """What came of a call whose first request came to `outcome`, as a result. Raises OpenClawError when no connection can be had."""
        if client.goes_on(outcome):
            assert not isinstance(outcome, Result)  # a result is the end of a call
            try:
                outcome = await client.go_on(
                    outcome,
                    generation,
                    self.tool,
                    self.arguments,
                    timeout=self.timeout,
                    max_total=self.max_total,
                    on_progress=self.progress,
                    headers=self.catalog.headers(self.tool, self.arguments) if client.mirrors else None,
                    invocation=self.invocation,
                )
            except OpenClawError as error:
                return await self.failed(error, client, again=True)
        if isinstance(outcome, OpenClawError):
            return await self.failed(outcome, client, again=True)
        assert isinstance(outcome, Result)  # what goes on is over by now
        return await self.fitting(outcome)

    async def _once_more(self) -> Result:
        """It was surely not processed: over a connection that works."""
        client = await self.server.client()
        try:
            result = await self._send(client)
        except OpenClawError as error:
            return await self.failed(error, client, again=False)
        return await self.fitting(result)

    async def failed(self, error: OpenClawError, client: Client, *, again: bool) -> Result:
        """What came of a call that `client` failed to make, as a result; with `again` it is made once more where that does no harm. Raises
        OpenClawError when no connection can be had."""
        server = self.server
        match error:
            case DeadlineError():
                return self._late()
            case RpcError() if error.code != HEADER_MISMATCH:
                return self._refused(error)
            case RpcError():
                # Our idea of the tool is out of date.
                await server.list_again()
                if error.addressed or not again:
                    return Result.refused(f"{error.message} The server's list was read again: the next call may work.")
                # Refused without an answer to our request: nothing was done.
            case ProtocolError():
                # May repeat the server's own words.
                return Result.refused(str(error))
            case LinkLostError() if error.maybe_sent:
                return self._lost(error)
            case LinkLostError():
                if not again:
                    return Result.failed(f"{error.message} The call was not carried out.")
                await _notice_loss(client)
            case ConnectError():
                server.request_failed(error)
                if not again:
                    return Result.failed(f"{error} The next call tries again.")
            case HttpStatusError():
                server.request_failed(error)
                # With the server's own words, where it has any.
                return Result.refused(f"{error} It said: {error.said}") if error.said else Result.failed(str(error))
            case _:
                return self._not_made(error)
        return await self._once_more()

    def _lost(self, error: LinkLostError) -> Result:
        server = self.server
        server.request_failed(error)
        spec = server.spec
        look = remedy_sentence("logs" if spec.facts.is_process else "", spec.name, spec.owner, prefix=spec.commands)
        sentences = " ".join(filter(None, (error.message, look, _MAYBE)))
        # How a program ended is said in our words; why a connection did, perhaps in those of the other side.
        return Result.failed(OwnWords(sentences) if spec.facts.is_process else sentences)

    def _not_made(self, error: OpenClawError) -> Result:
        self.server.request_failed(error)
        needs_sign_in = isinstance(error, SignInNeededError)
        if isinstance(error, AuthError) and error.answer is not None:
            said = f"It said: {error.answer.said}" if error.answer.said else ""
            result = Result.refused(" ".join(filter(None, (str(error), _MAYBE, said))))
            return msgspec.structs.replace(result, needs_sign_in=needs_sign_in, may_have_run=True)
        # That somebody has to sign in is said in our words.
        fault = OwnWords(error) if needs_sign_in else str(error)
        return Result(is_error=True, fault=fault, needs_sign_in=needs_sign_in)

    def _late(self) -> Result:
        # Without progress the time is exactly what was configured; with it, what really passed, up to the limit on all of it.
        seconds = min(self.time() - self.began if self.progress.seen else self.timeout, self.max_total)
        return Result.failed(OwnWords(timed_out(seconds)), timed_out=True)

    def _refused(self, error: RpcError) -> Result:
        if error.code in _REFUSES_TOOL and _UNKNOWN_TOOL.match(error.message):
            return self._unknown()
        if error.code == MISSING_CAPABILITY and _wants_person(error):
            asker = clean_label(self.server.spec.name, MAX_LABEL)
            return Result.failed(OwnWords(f"{asker} asked a question nobody was there to answer."))
        return Result.refused(error.message)

    def _unknown(self) -> Result:
        self.server.tool_is_unknown(self.tool)
        return Result.failed(
            OwnWords("The server no longer has this tool. It was taken out of the list, which is read again.")
        )

    def _known(self, result: Result) -> Result:
        if result.is_error:
            said = (result.content[0].text if result.content else None) or ""
            # A tool may well fail over tools of some other kind; one that its server lacks is named.
            return self._unknown() if self.tool in said and _UNKNOWN_TOOL.match(said) else result
        return result

    async def fitting(self, result: Result) -> Result:
        """A structured result that fits the tool's output schema, or a refusal."""
        if result.is_error or not result.has_structure:
            return self._known(result)
        catalog = self.catalog
        if is_large(result):
            schema = catalog.output_schema(self.tool)
            return result if is_null(schema) else await checked_by_program(result, schema, catalog.checking)
        check = catalog.output_check(self.tool)
        fault = output_fault(result, check) if check is not None else ""
        return Result.refused(fault) if fault else result


def _with_notes(result: Result, invocation: Invocation) -> Result:
    """A result with what a model is told of the questions that the server asked meanwhile."""
    notes = " ".join(filter(None, (result.note, *invocation.notes)))
    return msgspec.structs.replace(result, note=OwnWords(notes))


def _wants_person(error: RpcError) -> bool:
    """Whether a server refused because this call declared nobody who could be asked (2026-07-28)."""
    needed = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    return isinstance(needed, dict) and "elicitation" in needed


async def _notice_loss(client: Client) -> None:
    """Wait until a link that just failed is known to be lost, so that the next attempt takes another. HTTP has no such link."""
    if not client.connection.link.facts.can_be_lost:
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOSS_PATIENCE):
            await client.connection.wait_lost()
