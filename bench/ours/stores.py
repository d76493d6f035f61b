"""What it costs to look at what was kept: a page of sessions and a search among them, the end of the audit trail and a search in it; and to
take over a config in which one of many servers changed. Prints JSON.

    python -m bench.ours.stores sessions COUNT | audit BYTES | reconcile SERVERS

Sessions are rows in the session file as turns leave them, without what was said. An audit trail is real for its last 200 MB; what comes
before takes no room on the disk (a sparse file). Servers are not started: what is measured is our own work.
"""

import json
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.ours.driver import run
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.engine import Engine
from openclaw.security.audit_file import AuditFile
from openclaw.sessions.sqlite import SqliteStore

TIMES = 9
PAGE = 50
# Bytes of an audit trail that are really there.
WRITTEN = 200_000_000
LINES = 20
# What this text stands in is rare.
RARE = "needle"


async def typical(work: Callable[[], Awaitable[object]], times: int = TIMES) -> float:
    """The median time of some, after one that does not count."""
    await work()
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        await work()
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


async def sessions(count: int) -> dict[str, float]:
    path = Paths.from_env(os.environ).sessions_file
    store = SqliteStore(path)
    async with store.turn("agent:main:first", "main") as turn:
        turn.note("begun")
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO sessions (key, id, agent, created_ms, updated_ms, events, messages, base, opening)"
            " VALUES (?, ?, 'main', ?, ?, 2, 2, 0, ?)",
            (
                (f"agent:main:{n}", f"id-{n}", n, n, f"What did I write about {RARE if not n % 9973 else 'trip'} {n}?")
                for n in range(count)
            ),
        )
    connection.close()
    found = {
        "page": await typical(lambda: store.find(limit=PAGE)),
        "search": await typical(lambda: store.find([RARE], limit=PAGE), 3),
    }
    await store.close()
    return found


async def audit(size: int) -> dict[str, float]:
    folder = Paths.from_env(os.environ).audit_dir
    folder.mkdir(parents=True)
    write_trail(folder / "calls.jsonl", size)

    async def last() -> object:
        return await AuditFile(folder / "calls.jsonl").last(LINES)

    async def search() -> object:
        return await AuditFile(folder / "calls.jsonl").matching(LINES, [RARE])

    return {"last": await typical(last), "search": await typical(search, 3)}


def write_trail(path: Path, size: int) -> None:
    fields = {"agent": "main", "session": "3f9a2c01", "kind": "mcp", "origin": "tickets", "tool": "tickets__search"}
    shape = {"arguments": {"query": "string", "limit": "number"}, "outcome": "ok", "durationMs": 1.234}

    def line(number: int) -> bytes:
        call = RARE if not number % 9973 else f"call-{number}"
        record = {"time": "2026-01-02T03:04:05.678Z", "event": "outcome", "call": call, **fields, **shape}
        return json.dumps(record).encode() + b"\n"

    block = b"".join(map(line, range(10_000)))
    with path.open("wb") as file:
        file.truncate(max(0, size - WRITTEN))
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
        while file.tell() < size:
            file.write(block)


async def reconcile(servers: int) -> dict[str, float]:
    paths = Paths.from_env(os.environ)
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)

    def config(changed: int) -> Any:
        entries = {f"s{n}": {"command": "echo-server", "args": [str(n)], "lazy": True} for n in range(servers)}
        entries["s0"]["args"] = [f"changed-{changed}"]
        paths.config_file.write_text(json.dumps({"mcp": {"servers": entries, "maxConcurrentServers": servers}}))
        return load_config(paths, os.environ)

    async with Engine(config(0), paths=paths) as engine:
        await engine.manager()
        loads, changes = [], []
        for number in range(1, TIMES + 1):
            begun = time.perf_counter()
            changed = config(number)
            read = time.perf_counter()
            await engine.reload(changed)
            loads.append(read - begun)
            changes.append(time.perf_counter() - read)
        return {"read": statistics.median(loads), "change": statistics.median(changes)}


WHAT: dict[str, Callable[[int], Awaitable[dict[str, float]]]] = {
    "sessions": sessions,
    "audit": audit,
    "reconcile": reconcile,
}


async def main() -> None:
    print(json.dumps(await WHAT[sys.argv[1]](int(sys.argv[2]))))


if __name__ == "__main__":
    run(main())
