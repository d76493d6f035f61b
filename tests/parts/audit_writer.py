"""A process that writes audit records, for tests that need several of them or one with a full disk.

audit_writer.py PATH many WRITER    200 records, numbered, into a file that is turned over often
audit_writer.py PATH full -         records beyond a limit on the file's size, then one more without it
audit_writer.py PATH killed -       a call that ends and one that begins, and no more
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.event_hub import EventHub
from openclaw.security.audit import AuditEntry, AuditLog, CallRecorded
from openclaw.security.audit_file import AuditFile
from openclaw.security.policy import Decision
from openclaw.tool import Invocation

INVOCATION = Invocation(Conversation("main", "key"))


def write_many(path: Path, writer: str) -> None:
    log = AuditLog(AuditFile(path, max_bytes=5_000, keep=10_000))
    for number in range(200):
        log.ended(AuditEntry(ToolCall(f"{writer}-{number}", "t", {"x": "y" * 50}), INVOCATION, None), "ok", 0.0)


def write_beyond_the_limit(path: Path) -> None:
    import resource  # Windows has none

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = AuditLog(AuditFile(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    for _ in range(3):
        log.ended(AuditEntry(ToolCall("1", "t", {}), INVOCATION, None), "lost", 0.0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    log.ended(AuditEntry(ToolCall("2", "t", {}), INVOCATION, None), "kept", 0.0)


async def write_and_be_killed(path: Path) -> None:
    events = EventHub()
    log = AuditLog(AuditFile(path), events=events)
    one, two = (AuditEntry(ToolCall(name, "t", {}), INVOCATION, None) for name in "12")
    log.asked(one, Decision(True, "any"))
    log.ended(one, "ok", 0.0)
    written = asyncio.Event()
    events.subscribe(lambda _: written.set(), CallRecorded)
    log.asked(two, Decision(True, "any"))
    await written.wait()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    path, task, writer = sys.argv[1:]
    if task == "many":
        write_many(Path(path), writer)
    elif task == "killed":
        asyncio.run(write_and_be_killed(Path(path)))
    else:
        write_beyond_the_limit(Path(path))
