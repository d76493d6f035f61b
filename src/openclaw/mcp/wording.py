"""Sentences about how a server is doing: the log lines operators know, why a call cannot be made, and what a person is told and can do.

One fact has one wording, wherever it is said. Pure, but for the log.
"""

import logging
from collections.abc import Sequence

from openclaw.config.servers import ServerSpec
from openclaw.errors import UsageError
from openclaw.mcp.events import LeftOut
from openclaw.mcp.remedies import EDITOR, PYTHON, SHELL, CommandPrefix, command, try_again, with_remedy
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.pins import Change, Upgrade
from openclaw.protocol.lifecycle import TELL_AFTER_ATTEMPTS, LifecycleEvent, LifecycleStatus
from openclaw.security.external import clean_label

_log = logging.getLogger("openclaw.mcp")

# Of many tools: how many are named in passing.
NAMED = 3
MAX_LABEL = 128
# What to do about an entry that is refused.
CORRECT = "Correct it, then check it with `openclaw config validate`."
# Where a gateway finds no such program: whoever reads it may well find it in a terminal of theirs.
NOT_FOUND_BY_GATEWAY = (
    "The gateway looks along a search path of its own: install it, give its full path as `command`, or run "
    "`openclaw gateway restart` in a terminal where it is found."
)
# Of names that are like the one that was asked for, so many are offered.
ALIKE = 3
# Two tools of one server begin alike: only a slip of the pen is alike enough.
LIKENESS = 0.8


def report(spec: ServerSpec, before: LifecycleStatus, now: LifecycleStatus, event: LifecycleEvent) -> None:
    """Write one step of a server's lifecycle to the log."""
    name, why = spec.name, with_remedy(event.reason, event.remedy, spec.name, spec.owner, prefix=spec.commands)
    match now.state:
        case "ready":
            _log.info("MCP server '%s' is ready.", name)
        case "restarting" | "unreachable" if before.counted:
            was_up = before.state == "ready"
            what = "crashed" if was_up else "failed to start"
            verb = "restarting" if now.state == "restarting" else "trying again"
            if now.state == "unreachable":
                what = "is unreachable"
            delay = round((now.delay or 0) * 1000)
            _log.warning("MCP server '%s' %s, %s in %dms (attempt %d): %s", name, what, verb, delay, now.attempts, why)
        case "failed" if event.name == "lost":
            _log.error("MCP server '%s' crashed and max restarts exceeded: %s", name, why)
        case "failed":
            _log.error("MCP server '%s' failed to start: %s", name, why)
        case "needs-auth":
            _log.warning("MCP server '%s' needs a sign-in: %s", name, why)
        case "stopped":
            _log.info("MCP server '%s' stopped%s", name, f" ({why})." if why else ".")
        case "starting" if event.name == "restart":
            _log.info("MCP server '%s' is being restarted.", name)
        case _:
            _log.debug("MCP server '%s' is %s.", name, now.state)


STILL_STARTING = "it is still starting"


def refusal(spec: ServerSpec, status: LifecycleStatus, next_attempt: float | None, *, tried: bool) -> str:
    """Why a call cannot be made; empty when a connection may come. `tried` says that an attempt made for the call has failed."""
    name, why = spec.name, with_remedy(status.reason, status.remedy, spec.name, spec.owner, prefix=spec.commands)
    match status.state:
        case "needs-auth":
            return _sign_in(name, why)
        case "failed":
            return f"MCP server '{name}' has failed: {_sentence(why)} {try_again(name, prefix=spec.commands)}"
    if not tried:
        return ""
    return _sentence(f"MCP server '{name}' is not available: {why or STILL_STARTING}") + _when(next_attempt)


def late(seconds: float) -> str:
    """What is said of a server that used up its connect timeout."""
    return f"it did not come up within {seconds:g} s"


def away_for_long(status: LifecycleStatus) -> str:
    """What an agent is told of a server that is away for longer than a blip. The same words at every turn: prompts stay cacheable."""
    if status.attempts < TELL_AFTER_ATTEMPTS:
        return ""
    more = "" if status.state == "failed" else "; it is tried again by itself"
    return f"at least {TELL_AFTER_ATTEMPTS} attempts to reach it failed{more}"


def limit(slots: int) -> str:
    """Why a server is stopped that would run if more were allowed to."""
    return f"limit: maxConcurrentServers is {slots}"


def at_limit(name: str) -> str:
    """Why a server waits for a slot."""
    return f"MCP server '{name}' waits because as many servers run as maxConcurrentServers allows, and all are busy."


def absence(status: ServerStatus) -> str:
    """Why a server's tools are missing as a whole. Its place in the config is said beside it."""
    if status.is_refused:
        return not_started(status.name, status.reason)
    if status.state == "ready":
        return trouble(status)
    if status.state == "needs-auth" and status.reason:
        return _sign_in(status.name, status.told)
    said = f"MCP server '{status.name}' {_state_words(status)}"
    return _sentence(f"{said}: {status.told}" if status.reason else said) + _when(status.next_attempt)


def trouble(status: ServerStatus, prefix: CommandPrefix = SHELL) -> str:
    """What is wrong with a server, in one sentence that names it; empty when nothing is. `prefix` is how its commands begin."""
    name, reason = status.name, status.told_for(prefix)
    if status.is_refused:
        return not_started(name, reason, "" if status.reason_has_place else status.where)
    if not reason or status.state == "disabled":
        return ""
    if status.state == "needs-auth":
        # It names the server itself.
        return _sentence(reason)
    if status.state == "ready":
        return _sentence(f"MCP server '{name}' is up, but {reason[:1].lower()}{reason[1:]}")
    return _sentence(f"MCP server '{name}' {_state_words(status)}: {reason}")


def next_step(status: ServerStatus, prefix: CommandPrefix = SHELL) -> str:
    """What a person can do about that, with the command; empty when what is wrong says so already, or nothing is."""
    if status.is_refused:
        return correction(status.commands)
    return "" if not trouble(status) or status.remedy else try_again(status.name, status.owner, prefix=prefix)


def correction(prefix: CommandPrefix) -> str:
    """What to do about an entry that is refused, for who has these commands."""
    return "Correct it." if prefix in (PYTHON, EDITOR) else CORRECT


def no_such_tool(name: str, tools: Sequence[str]) -> str:
    """What is said of a name that is no tool's, with those that may be meant."""
    from difflib import get_close_matches

    alike = (
        get_close_matches(name, tools, ALIKE, LIKENESS) or [tool for tool in tools if tool.endswith(f"_{name}")][:ALIKE]
    )
    meant = f" Did you mean {' or '.join(alike)}?" if alike else ""
    return f"There is no tool named {clean_label(name, MAX_LABEL)}.{meant}"


def timed_out(seconds: float) -> str:
    """What is said of a call whose time was over."""
    return f"Tool call timed out after {round(seconds * 1000)}ms"


def other_loop() -> UsageError:
    """What a program is told that calls from an event loop in which nothing of the manager runs: futures of two loops do not meet."""
    return UsageError(
        "The manager was opened in another event loop.",
        hint="Use it from that one: one asyncio.run for the whole program, or asyncio.run_coroutine_threadsafe from a thread.",
    )


def not_started(name: str, fault: str, where: str = "") -> str:
    """What is wrong with an entry that the check of the config refuses, with its place if that is given."""
    place = f" ({where})" if where else ""
    return _sentence(f"MCP server '{name}' is not started: {fault.rstrip('.')}{place}")


def going_on_without(left_out: LeftOut, owner: str = "", prefix: CommandPrefix = SHELL) -> str:
    """What a person is told when a turn goes on without a server that did not come up in time."""
    said = f"Without {left_out.server}: {left_out.reason}."
    return said if left_out.is_starting else f"{said} {try_again(left_out.server, owner, prefix=prefix)}"


def trust_command(server: str, owner: str = "", prefix: CommandPrefix = SHELL) -> str:
    """What a person runs to see how a server's tools changed, and to accept that."""
    return command("trust", server, owner, prefix=prefix)


def held_back(status: ServerStatus, prefix: CommandPrefix = SHELL) -> str:
    """What changed since its tools were accepted, and the one command that shows and accepts it; empty when nothing did."""
    said = changed_tools(status.changes, status.upgrade)
    return f"{said}; see and accept it: {trust_command(status.name, status.owner, prefix)}" if said else ""


def held_back_by(status: ServerStatus, prefix: CommandPrefix = SHELL) -> str:
    """The same with the name of the server."""
    said = held_back(status, prefix)
    return f"MCP server '{status.name}': {said}" if said else ""


def changed_tools(changes: Sequence[Change], upgrade: Upgrade | None) -> str:
    """How a server's tools differ from those that were accepted, said once for all of them; empty when they do not."""
    held = [change.tool for change in changes if change.held]
    kept = [change.tool for change in changes if not change.held]
    parts = []
    if held:
        parts.append(f"{_tools(held)} held back because calls valid before may fail ({named(held)})")
    if kept:
        word = "keeps its" if len(kept) == 1 else "keep their"
        parts.append(f"{len(kept)} changed tool{'' if len(kept) == 1 else 's'} {word} old description")
    since = f" since version {upgrade.before} became {upgrade.now or 'another'}" if upgrade else ""
    return " and ".join(parts) + since if parts else ""


def named(tools: Sequence[str]) -> str:
    """The first few of many names, which are words of a server."""
    return ", ".join(clean_label(tool, MAX_LABEL) for tool in tools[:NAMED]) + (", …" if len(tools) > NAMED else "")


def _sign_in(name: str, why: str) -> str:
    """Why a server waits for a sign-in. Most reasons name it, and say what is wrong by themselves."""
    return _sentence(why if f"'{name}'" in why else f"MCP server '{name}' needs a sign-in: {why}")


def _state_words(status: ServerStatus) -> str:
    match status.state:
        case "failed":
            return "has failed"
        case "needs-auth":
            return "needs a sign-in"
        case "restarting":
            return "is down"
        case "starting" if status.reason:
            # Why the attempt before this one failed.
            return "is down"
        case state:
            return f"is {state}"


def _tools(names: Sequence[str]) -> str:
    return "1 tool is" if len(names) == 1 else f"{len(names)} tools are"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _when(next_attempt: float | None) -> str:
    return "" if next_attempt is None else f" The next attempt is in {next_attempt:.0f} s."
