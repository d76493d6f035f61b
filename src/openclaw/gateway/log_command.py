"""`openclaw gateway logs`: what the gateway wrote to its log, and what it writes.

Reads the file that `gateway start` and the service of macOS let it write to. One that runs in a terminal writes there, and one that systemd
started to its journal: then this says where to look.
"""

import sys
from collections.abc import Sequence

from openclaw.commands.dispatch import Context
from openclaw.commands.follow import follow, last_lines
from openclaw.commands.parse import Parsed
from openclaw.errors import OpenClawError
from openclaw.gateway.command import log_file
from openclaw.gateway.service import UNIT

# A screen or two.
LINES = 80


async def logs(context: Context, parsed: Parsed) -> int:
    """Without end when it follows."""
    file, count = log_file(context.paths), parsed.count("lines", LINES)
    if not file.exists():
        journal = (
            f", one that systemd started in: journalctl --user -u {UNIT}" if sys.platform.startswith("linux") else ""
        )
        raise OpenClawError(
            f"There is no log at {file} yet: `openclaw gateway start` begins it.",
            hint=f"A gateway that runs in a terminal has its log on that screen{journal}.",
        )
    if not parsed.flag("follow"):
        _print(context, parsed, last_lines(file, count))
        return 0
    with context.console.live.waiting("Waiting for what the gateway writes"):
        async for lines in follow(file, count):
            _print(context, parsed, lines)
            await context.console.flush()
    return 0


def _print(context: Context, parsed: Parsed, lines: Sequence[str]) -> None:
    for line in lines:
        if parsed.flag("json"):
            context.console.data(line)
        else:
            context.console.verbatim(line)
