"""The one caller of a Tool: the steps around `tool.run`, the same for all calls (`Engine.invoke`).

From the outside in:

    audited → traced → sourced → contained → policy → arguments → revocable → approved → fenced → deadline → run

Owns this order and the promise that a call ends in a ToolResult: a refusal, wrong arguments, a missed deadline and a fault inside the
tool all come back as error results that tell the model what to change. Only cancellation of the caller passes through. No text of a result
leaves here that is neither framed nor clean, and none with a known secret. Who decides, approves, traces and keeps the trail is given in:
security/policy.py and security/audit.py hold the rules.

The steps stand one after the other in two coroutines, `__call__` (audited) and `_make` (all that a trace is about), and not in one for
each: of a call that takes 50 µs of processor time, a coroutine more on its way takes 0.3 µs, its frame and the objects between them 0.3 µs
more.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Literal, Protocol

import msgspec

from openclaw.content import Audio, File, Image, Text, ToolCall
from openclaw.conversation import MEDIA, Nobody
from openclaw.errors import OpenClawError
from openclaw.json_schema import CheckerCache
from openclaw.security.audit import AuditEntry
from openclaw.security.external import frame, framed_text, guarded
from openclaw.security.policy import Decision, Named
from openclaw.standstill import PausingAsker, Standstill
from openclaw.tool import Absence, Invocation, OwnWords, Tool, ToolResult
from openclaw.tools.running import RunningCall, RunningCalls

_log = logging.getLogger(__name__)

Outcome = Literal["ok", "error", "refused", "invalid", "timeout", "failed", "cancelled", "unknown"]

# How a call that was made ends: the result may hold words of the tool.
_FOREIGN_ENDS: frozenset[Outcome] = frozenset({"ok", "error", "failed"})
# How one ends that was never made.
_NEVER_MADE: frozenset[Outcome] = frozenset({"refused", "invalid"})
# Made once: to write `A | B` inside `isinstance` makes an object at every call.
_SEEN_OR_HEARD = (Image, Audio)
# Names offered when a model calls a tool that does not exist, and how alike they must be.
NEAREST = 3
LIKENESS = 0.5


class Call(msgspec.Struct, frozen=True, eq=False):
    """One call on its way through the steps. `entry` is its place in the audit trail."""

    tool: Tool
    request: ToolCall
    invocation: Invocation
    entry: AuditEntry


class CallEnd(msgspec.Struct, frozen=True, eq=False):
    """What came of a call. `size` is how many bytes of it the model gets to see; None of one that was never made, whose end is told in our
    words."""

    result: ToolResult
    outcome: Outcome
    size: int | None = None


Step = Callable[[Call], Awaitable[CallEnd]]
# Asked for a tool and an agent.
PolicyDecide = Callable[[Named, str], Decision]
# Why a call may not be made, in words that end a sentence; None when it may. May take as long as a person takes to answer: the person of
# `call.invocation.conversation`; what is known at once to need nobody may be said so without waiting, by a plain None. Is asked only about
# calls that policy admits and whose arguments are right, and not about those that it marked as needing nobody (`Decision.cleared`).
Approve = Callable[[Call], Awaitable[str | None] | None]
# Is given a call and how to make it, makes it once, and returns how it ended. Must not raise anything of its own.
Trace = Callable[[Call, Step], Awaitable[CallEnd]]
# Why nothing may be started now, in words that end a sentence; None when it may. Must neither raise nor block.
Fence = Callable[[], str | None]


class Audit(Protocol):
    """Writes one line when a call is asked for and one when it is over. Must not raise or block."""

    def asked(self, entry: AuditEntry, decision: Decision) -> None: ...

    def ended(self, entry: AuditEntry, outcome: str, seconds: float, *, result_bytes: int | None = None) -> None: ...


class Invoke:
    """`await invoke(tool, call, invocation)`: all steps. One that is not given costs nothing."""

    def __init__(
        self,
        *,
        policy_decide: PolicyDecide,
        audit: Audit,
        clock: Callable[[], float],
        running: RunningCalls,
        approve: Approve | None = None,
        trace: Trace | None = None,
        fence: Fence | None = None,
    ) -> None:
        self._decide = policy_decide
        self._audit = audit
        self._clock = clock
        self._running = running
        self._approve = approve
        self._trace = trace
        self._fence = fence
        self._check = CheckerCache().check

    async def __call__(self, tool: Tool, call: ToolCall, invocation: Invocation) -> ToolResult:
        """Call `tool`. Raises CancelledError when the caller is cancelled, and nothing else.

        Audited: how it ended is noted, and how long it took without the time of a person who was asked.
        """
        if tool.narrowed is not None:
            tool = tool.narrowed(call.arguments)
        entry = AuditEntry(call, invocation, tool)
        made = Call(tool, call, invocation, entry)
        clock = self._clock
        asker = invocation.conversation.asker
        pausing: PausingAsker | None = None
        if type(asker) is not Nobody:
            pausing = asker if isinstance(asker, PausingAsker) else PausingAsker(asker, clock=clock)
            if pausing is not asker:
                made = _asked_by(pausing, made)
        started = clock()
        end: CallEnd | None = None
        try:
            end = await (self._make(made) if self._trace is None else self._trace(made, self._make))
            return end.result
        finally:
            outcome, size = ("cancelled", None) if end is None else (end.outcome, end.size)
            seconds = clock() - started
            if pausing is not None:
                seconds -= pausing.waited
                pausing.end()
            self._audit.ended(entry, outcome, seconds, result_bytes=size)
            if _log.isEnabledFor(logging.DEBUG):
                agent = invocation.agent
                _log.debug("tool %s for agent %s: %s in %.1f ms", tool.name, agent, outcome, seconds * 1000)

    async def _make(self, call: Call) -> CallEnd:
        """Everything inside of the trace. Whatever goes wrong is a result, and every result is fit for a model."""
        tool = call.tool
        under_way: RunningCall | None = None
        result: ToolResult
        outcome: Outcome
        try:
            conversation = call.invocation.conversation
            # What is called as an attribute is looked for as a method first, at every call.
            decide = self._decide
            decision = decide(tool, conversation.agent)
            # What the rules say is in the audit trail before anything else happens.
            self._audit.asked(call.entry, decision)
            check = self._check
            if not decision.allowed:
                result, outcome = _end("refused", f"{tool.name} may not be used: {decision}.")
            elif fault := call.request.fault or check(tool.parameters, call.request.arguments):
                result, outcome = _invalid(call, fault)
            else:
                # Before the approval: a tool may be taken away while a person still thinks about its call.
                under_way = self._running.begin(conversation.agent, tool)
                # Here and not in a function, and without one object more: memory that others pushed out of the caches is what costs.
                asking: Awaitable[str | None] | None = None
                if (approve := self._approve) is None:
                    pass
                elif (
                    decision.cleared is not tool
                    or not conversation.declined.is_empty
                    or ((until := decision.until) is not None and self._clock() >= until)
                ):
                    asking = approve(call)
                elif (plain_names := decision.plain_names) is not None and conversation.foreign.was_read:
                    arguments = call.request.arguments
                    for name in arguments:
                        value = arguments[name]
                        if type(value) is not str or ":" in value or name not in plain_names:
                            asking = approve(call)
                            break
                # By a person perhaps. The tool's own time has not begun.
                refusal = None if asking is None else await asking
                if refusal is None and self._fence is not None:
                    # Behind the approval, which takes as long as a person takes: another gateway may go on with the conversation by now.
                    refusal = self._fence()
                if refusal is not None:
                    result, outcome = _end("refused", f"{tool.name} was not called: {refusal}")
                elif tool.timeout is None:
                    run = tool.run
                    result = await run(call.request.arguments, call.invocation)
                    outcome = result.ending or ("error" if result.is_error else "ok")
                else:
                    result, outcome = await _in_time(call, tool.timeout)
        except asyncio.CancelledError:
            if under_way is not None and under_way.was_revoked():
                result, outcome = _end("refused", f"{tool.name} was taken away while it ran; the call was cancelled.")
            else:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Nobody cancelled us: something inside the tool was, and its error must not end the run.
                result, outcome = _end("failed", f"{tool.name} was cancelled before it finished.")
        except Exception as error:
            # The tool failed, or policy, schema or approval did; then the call is not made. The model is told so.
            result, outcome = _failed(tool, error), "failed"
        finally:
            if under_way is not None:
                self._running.end(under_way)
        return _for_model(call, result, outcome)

    def unknown(
        self, call: ToolCall, invocation: Invocation, offered: Iterable[str], absence: Absence | None
    ) -> ToolResult:
        """The answer to a call of a tool that is not offered: why it is missing if that is known, and what there is instead."""
        self._audit.ended(AuditEntry(call, invocation, None), "unknown", 0.0)
        result = _unknown(call.name, offered, absence)
        return msgspec.structs.replace(result, content=guarded(result.content))


def _for_model(call: Call, result: ToolResult, outcome: Outcome) -> CallEnd:
    """What came of a call, as a model may see it, and measured. Whose text it reads from now on is noted in the conversation."""
    text = framed_text(result.content)
    if text is not None and call.tool.kind == "mcp" and (source := result.source) and outcome in _FOREIGN_ENDS:
        # As nearly every call of a server ends: all in one look.
        call.invocation.conversation.foreign.add_text(source, text)
        return CallEnd(result, outcome, len(text) if text.isascii() else len(text.encode("utf-8", "replace")))
    content = guarded(result.content)
    source = ""
    # Every other end is told in our words alone, unless it is the tool that said how it ended.
    if (outcome in _FOREIGN_ENDS or result.ending) and (source := _source(call.tool, result)):
        foreign = call.invocation.conversation.foreign
        foreign.add(source, *[block.text for block in content if isinstance(block, Text)])
        if any(isinstance(block, _SEEN_OR_HEARD) for block in content):
            foreign.add(f"{MEDIA}{source}")
    source = source or result.source
    if content is not result.content or source != result.source:
        result = msgspec.structs.replace(result, content=content, source=source)
    return CallEnd(result, outcome, None if outcome in _NEVER_MADE else _size(result))


async def _in_time(call: Call, timeout: float) -> tuple[ToolResult, Outcome]:
    """End the tool when its time is over. It stands still while the tool asks a person something."""
    try:
        async with asyncio.timeout(timeout) as limit:
            call = _pausing(call, limit)
            result = await call.tool.run(call.request.arguments, call.invocation)
            return result, result.ending or ("error" if result.is_error else "ok")
    except TimeoutError:
        # A tool may well raise one of its own.
        if not limit.expired():
            raise
        return _end("timeout", f"{call.tool.name} did not finish within {timeout * 1000:.0f} ms.")


def _pausing(call: Call, limit: asyncio.Timeout) -> Call:
    conversation = call.invocation.conversation
    if isinstance(conversation.asker, Nobody):
        return call
    time = Standstill(limit)

    @asynccontextmanager
    async def pause() -> AsyncIterator[None]:
        with time.waiting():
            yield

    return _asked_by(PausingAsker(conversation.asker, pause), call)


def _asked_by(asker: PausingAsker, call: Call) -> Call:
    conversation = msgspec.structs.replace(call.invocation.conversation, asker=asker)
    return msgspec.structs.replace(call, invocation=msgspec.structs.replace(call.invocation, conversation=conversation))


def _unknown(called: str, offered: Iterable[str], absence: Absence | None) -> ToolResult:
    if absence is not None:
        where = f" ({absence.where})" if absence.where else ""
        if isinstance(absence.reason, OwnWords):
            return ToolResult.error(f"{called} is not available: {absence.reason}{where}")
        said = Text(frame(absence.reason, source="unknown", sender=absence.name))
        head = Text(f"{called} is not available{where}:")
        return ToolResult((head, said), is_error=True, details={"error": True})
    import difflib

    names = {name.lower(): name for name in offered}
    nearest = [names[name] for name in difflib.get_close_matches(called.lower(), names, NEAREST, LIKENESS)]
    hint = f"Did you mean {' or '.join(nearest)}?" if nearest else "Use one of the tools you were given."
    return ToolResult.error(f"There is no tool named {called}. {hint}")


def _end(outcome: Outcome, sentence: str) -> tuple[ToolResult, Outcome]:
    return ToolResult.error(sentence), outcome


def _invalid(call: Call, fault: str) -> tuple[ToolResult, Outcome]:
    tool = call.tool
    if not call.invocation.is_shown:
        fault = f"{fault} Its arguments are of this schema: {bytes(tool.parameters).decode()}"
    return _told(f"{tool.name} was not called:", fault, tool), "invalid"


def _source(tool: Tool, result: ToolResult) -> str:
    if tool.kind == "native":
        return result.source
    # A plugin makes its results itself: what it says of them counts for nothing. Of a server's the bridge does, and names it where it can.
    if tool.kind == "mcp" and (result.source or result.own_words):
        return result.source
    return f"{tool.kind}:{tool.origin}"


def _size(result: ToolResult) -> int:
    """Bytes of what the model gets to see."""
    size = 0
    for block in result.content:
        if isinstance(block, Text):
            text = block.text
            size += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            continue
        match block:
            case Image(data=data) | Audio(data=data):
                size += len(data)
            case File(size=bytes_kept):
                size += bytes_kept
    return size


def _failed(tool: Tool, error: Exception) -> ToolResult:
    if isinstance(error, OpenClawError):
        return _told(f"{tool.name} failed:", str(error), tool)
    _log.error("tool %s raised %s", tool.name, type(error).__name__)
    _log.debug("tool %s raised", tool.name, exc_info=error)
    return _told(f"{tool.name} failed:", f"{type(error).__name__}: {error}", tool)


def _told(head: str, words: str, tool: Tool) -> ToolResult:
    """An error of ours about a tool. What is said of a server's tool may repeat the server's own words, and is framed."""
    if tool.kind != "mcp":
        return ToolResult.error(f"{head} {words}")
    said = Text(frame(words, source="mcp_server", sender=tool.origin))
    return ToolResult((Text(head), said), is_error=True, details={"error": True})
