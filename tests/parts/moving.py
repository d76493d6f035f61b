"""A move from files into the database that is killed on the way: `python -m parts.moving PART FILE URL` copies and prints what is done."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from openclaw.fleet.fleet import Fleet
from openclaw.fleet.moving import Part, Sessions
from openclaw.fleet.moving_records import AuditMoved
from openclaw.security.audit_file import AuditFile
from parts.postgres import fleet_at

PARTS: dict[str, Callable[[Path, Fleet], Part]] = {
    "sessions": lambda file, fleet: Sessions(file, fleet.database, fleet.sessions),
    "audit": lambda file, fleet: AuditMoved(AuditFile(file), fleet.database, "one"),
}


async def killed(part: str, file: Path, url: str, *, lots: int) -> None:
    """Begin to copy in a process of its own, which is killed after so many lots."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "parts.moving", part, str(file), url),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": os.defpath},
    )
    assert process.stdout
    for _ in range(lots):
        await process.stdout.readline()
    process.kill()
    await process.communicate()


async def main() -> None:
    part = PARTS[sys.argv[1]](Path(sys.argv[2]), fleet_at(sys.argv[3]))
    await part.copy(lambda done, of: print(done, flush=True))


if __name__ == "__main__":
    asyncio.run(main())
