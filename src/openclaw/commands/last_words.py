"""What a program that does not come up wrote last to standard error: mostly it says what is missing."""

import asyncio
import re

from openclaw.errors import UsageError
from openclaw.log import iso_time
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import ServerStatus

_SECONDS = len("2026-01-31T12:00:00")
# A variable as programs name the one that they lack: `NOTION_TOKEN is not set`, `Missing API_KEY`.
_VARIABLE = re.compile(r"(?<![\w$./-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w/-])")
_LACKS = re.compile(
    r"\b(?:set|unset|missing|provided?|defined|undefined|found|required?|requires|must|needs?|empty)\b", re.IGNORECASE
)


async def last_words(manager: Manager, status: ServerStatus, agent: str, *, since: float = 0.0) -> str:
    """The line that says what is wrong, with its time; empty where there is none, or none since a moment."""
    if status.state not in ("starting", "restarting", "failed"):
        return ""
    try:
        spec = manager.server(status.name, agent).spec
    except UsageError:
        # A server that cannot be started as it is configured has written nothing.
        return ""
    line = await asyncio.to_thread(manager.stderr_log.error_line, spec) if spec.facts.is_process else ""
    # Of a line the time has whole seconds.
    return line if line[:_SECONDS] >= iso_time(since)[:_SECONDS] else ""


def variable_lacked(lines: list[str]) -> str:
    """The variable that a program says it lacks; empty when it names none, or more than one."""
    names = {name for line in lines if _LACKS.search(line) for name in _VARIABLE.findall(line)}
    return names.pop() if len(names) == 1 else ""
