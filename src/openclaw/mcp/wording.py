"""Sentences about the life of a server: the log lines operators know, and why a call cannot be made. Pure, but for the log."""

import logging
import shlex
from collections.abc import Sequence

from openclaw.config.servers import ServerSpec
from openclaw.mcp.pins import Change, Upgrade
from openclaw.mcp.status import ShownState
from openclaw.protocol.lifecycle import TELL_AFTER_ATTEMPTS, Event, Status
from openclaw.security.external import clean_label

_log = logging.getLogger("openclaw.mcp")

# Of many tools: how many are named in passing.
NAMED = 3
MAX_LABEL = 128


def report(name: str, before: Status, now: Status, event: Event) -> None:
    """Write down one step of a server's life."""
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
            _log.warning(
                "MCP server '%s' %s, %s in %dms (attempt %d): %s", name, what, verb, delay, now.attempts, event.reason
            )
        case "failed" if event.name == "lost":
            _log.error("MCP server '%s' crashed and max restarts exceeded: %s", name, event.reason)
        case "failed":
            _log.error("MCP server '%s' failed to start: %s", name, event.reason)
        case "needs-auth":
            _log.warning("MCP server '%s' needs a sign-in: %s", name, event.reason)
        case "stopped":
            _log.info("MCP server '%s' stopped%s", name, f" ({event.reason})." if event.reason else ".")
        case "starting" if event.name == "restart":
            _log.info("MCP server '%s' is being restarted.", name)
        case _:
            _log.debug("MCP server '%s' is %s.", name, now.state)


def where_to_look(spec: ServerSpec) -> str:
    """The next step when a program of ours is gone: it mostly said why. Empty for a remote server, whose words do not reach us."""
    return f"`openclaw mcp logs {shlex.quote(spec.name)}` shows what it wrote." if spec.command else ""


def refusal(name: str, status: Status, next_attempt: float | None, *, tried: bool) -> str:
    """Why a call cannot be made; empty when a connection may come. `tried` says that an attempt made for the call has failed."""
    match status.state:
        case "needs-auth":
            return f"MCP server '{name}' needs a sign-in. {status.reason}"
        case "failed":
            return f"MCP server '{name}' has failed: {_sentence(status.reason)} `mcp refresh {name}` starts it again."
    if not tried:
        return ""
    return _sentence(f"MCP server '{name}' is not available: {status.reason}") + _when(next_attempt)


def late(seconds: float) -> str:
    """What is said of a server that used up its connect timeout."""
    return f"it did not come up within {seconds:g} s"


def troubled(status: Status) -> str:
    """What an agent is told of a server that is away for longer than a blip. The same words at every turn: prompts stay cacheable."""
    if status.attempts < TELL_AFTER_ATTEMPTS:
        return ""
    more = "" if status.state == "failed" else "; it is tried again by itself"
    return f"at least {TELL_AFTER_ATTEMPTS} attempts to reach it failed{more}"


def limit(places: int) -> str:
    """Why a server is stopped that would run if more were allowed to."""
    return f"limit: maxConcurrentServers is {places}"


def at_limit(name: str) -> str:
    """Why a server waits for its place."""
    return f"MCP server '{name}' waits because as many servers run as maxConcurrentServers allows, and all are busy."


def absence(name: str, state: ShownState, reason: str, next_attempt: float | None) -> str:
    """Why a server's tools are missing as a whole."""
    match state:
        case "failed":
            said = f"MCP server '{name}' has failed"
        case "needs-auth":
            said = f"MCP server '{name}' needs a sign-in"
        case _:
            said = f"MCP server '{name}' is {state}"
    return _sentence(f"{said}: {reason}" if reason else said) + _when(next_attempt)


def trust_command(server: str, owner: str = "") -> str:
    """What a person runs to see how a server's tools changed, and to accept that."""
    return f"openclaw mcp trust {shlex.quote(server)}" + (f" --agent {shlex.quote(owner)}" if owner else "")


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


def _tools(names: Sequence[str]) -> str:
    return "1 tool is" if len(names) == 1 else f"{len(names)} tools are"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _when(next_attempt: float | None) -> str:
    return "" if next_attempt is None else f" The next attempt is in {next_attempt:.0f} s."
