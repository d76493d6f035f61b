"""The one caller of a Tool: policy → arguments against the schema → revocation → deadline → run → audit line.

Owns the order of these steps and the promise that a call ends in a ToolResult: a refusal, wrong arguments, a missed deadline
and a fault inside the tool all come back as error results that tell the model what to change. Only cancellation of
the caller passes through. No text of a result leaves here that is neither framed nor clean, and none with a known secret. Policy and audit
are callables given in: security/policy.py and security/audit.py hold the rules.
"""

import asyncio
import difflib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from openclaw.content import Audio, File, Image, Text, ToolCall
from openclaw.errors import OpenClawError
from openclaw.schema import Checker
from openclaw.security.audit import AuditEntry
from openclaw.security.external import frame, guarded
from openclaw.security.policy import Decision
from openclaw.tool import Absence, Invocation, OwnWords, Tool, ToolResult
from openclaw.tools.running import RunningCall, RunningCalls

_log = logging.getLogger(__name__)

Outcome = Literal["ok", "error", "refused", "invalid", "timeout", "failed", "cancelled", "unknown"]
# Asked for a tool and an agent.
PolicyDecide = Callable[[Tool, str], Decision]

# Compiled checkers kept. A gateway with every server of its limit offers about a thousand tools.
CHECKERS = 4_096
# Names offered when a model calls a tool that does not exist, and how alike they must be.
NEAREST = 3
LIKENESS = 0.5


class Audit(Protocol):
    """Writes one line when a call is asked for and one when it is over. Must not raise or block."""

    def asked(self, entry: AuditEntry, decision: Decision) -> None: ...

    def ended(self, entry: AuditEntry, outcome: str, seconds: float, *, result_bytes: int | None = None) -> None: ...


class CheckerCache:
    """One compiled checker for each schema, made on the first call. Keyed by the raw schema object, which it keeps alive."""

    def __init__(self) -> None:
        self._checkers: dict[int, tuple[msgspec.Raw, Checker]] = {}

    def __len__(self) -> int:
        return len(self._checkers)

    def check(self, tool: Tool, arguments: dict[str, object]) -> str | None:
        """What is wrong with the arguments; None when nothing is."""
        entry = self._checkers.get(id(tool.parameters))
        if entry is None:
            if len(self._checkers) >= CHECKERS:
                self._checkers.pop(next(iter(self._checkers)))
            entry = self._checkers[id(tool.parameters)] = (tool.parameters, Checker(tool.parameters))
        return entry[1].check(arguments)


async def invoke(
    tool: Tool,
    call: ToolCall,
    invocation: Invocation,
    *,
    policy_decide: PolicyDecide,
    checker_cache: CheckerCache,
    audit: Audit,
    clock: Callable[[], float],
    running: RunningCalls | None = None,
) -> ToolResult:
    """Call `tool`. Raises CancelledError when the caller is cancelled, and nothing else."""
    started = clock()
    entry = AuditEntry(call, invocation, tool)
    outcome: Outcome = "cancelled"
    result: ToolResult | None = None
    under_way: RunningCall | None = None
    try:
        decision = policy_decide(tool, invocation.agent)
        audit.asked(entry, decision)
        if not decision.allowed:
            outcome, result = "refused", ToolResult.error(f"{tool.name} may not be used: {decision}.")
        elif fault := call.fault or checker_cache.check(tool, call.arguments):
            outcome, result = "invalid", _told(f"{tool.name} was not called:", fault, tool)
        else:
            run = tool.run(call.arguments, invocation)
            if tool.timeout is not None:
                run = _in_time(run, tool.timeout)
            if running is not None:
                under_way = running.begin(invocation.agent, tool.name)
            result = await run
            outcome = "error" if result.is_error else "ok"
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if under_way is not None and under_way.was_revoked():
            told = f"{tool.name} was taken away while it ran; the call was cancelled."
            outcome, result = "refused", ToolResult.error(told)
        elif task is None or task.cancelling():
            raise
        else:
            # Nobody cancelled us: something inside the tool was, and its error must not end the run.
            outcome, result = "failed", ToolResult.error(f"{tool.name} was cancelled before it finished.")
    except _TooLateError:
        milliseconds = (tool.timeout or 0.0) * 1000
        outcome, result = "timeout", ToolResult.error(f"{tool.name} did not finish within {milliseconds:.0f} ms.")
    except Exception as error:
        # The tool failed, or policy or schema did; then the call is not made. The model is told so.
        outcome, result = "failed", _failed(tool, error)
    finally:
        if running is not None and under_way is not None:
            running.end(under_way)
        if result is not None:
            result = _guarded(result)
        # What a refusal says is ours, not something the call brought.
        size = None if result is None or outcome in ("refused", "invalid") else _size(result)
        seconds = clock() - started
        audit.ended(entry, outcome, seconds, result_bytes=size)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("tool %s for agent %s: %s in %.1f ms", tool.name, invocation.agent, outcome, seconds * 1000)
    return result


def unknown(call: ToolCall, offered: Iterable[str], absences: Sequence[Absence]) -> ToolResult:
    """The answer to a call of a tool that is not offered: why it is missing if that is known, and what there is instead."""
    known = next((absence for absence in absences if absence.covers(call.name)), None)
    if known is not None:
        where = f" ({known.where})" if known.where else ""
        if isinstance(known.reason, OwnWords):
            return _guarded(ToolResult.error(f"{call.name} is not available: {known.reason}{where}"))
        said = Text(frame(known.reason, source="unknown", sender=known.name))
        head = Text(f"{call.name} is not available{where}:")
        return _guarded(ToolResult((head, said), is_error=True, details={"error": True}))
    names = {name.lower(): name for name in offered}
    nearest = [names[name] for name in difflib.get_close_matches(call.name.lower(), names, NEAREST, LIKENESS)]
    hint = f"Did you mean {' or '.join(nearest)}?" if nearest else "Use one of the tools you were given."
    return _guarded(ToolResult.error(f"There is no tool named {call.name}. {hint}"))


class _TooLateError(Exception):
    """The tool's own time is up."""


async def _in_time(run: Awaitable[ToolResult], timeout: float) -> ToolResult:
    try:
        async with asyncio.timeout(timeout) as limit:
            return await run
    except TimeoutError:
        # A tool may well raise one of its own.
        if limit.expired():
            raise _TooLateError from None
        raise


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


def _guarded(result: ToolResult) -> ToolResult:
    content = guarded(result.content)
    if all(new is old for new, old in zip(content, result.content, strict=True)):
        return result
    return msgspec.structs.replace(result, content=content)
