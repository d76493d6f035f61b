"""What many gateways on one PostgreSQL reach, and what it costs to store something there. Prints JSON.

    python -m bench.ours.fleet turns ROUNDS | appends ROUNDS

`turns`: eight gateways as people run them, all up the whole time, and one more whose sessions are in files; 1, 2, 4 and 8 of them are
given turns over HTTP, in rounds. A model that plays a script answers at once. The database keeps its promises as it comes (fsync is on)
and counts the time of its statements itself (pg_stat_statements). Beside it the processor time of everybody: where all share a machine,
that is what runs out.

`appends`: one message stored in a turn, and a bare INSERT of the same bytes, one after the other all the time: in PostgreSQL over the same
driver, and in an SQLite file.

Needs `tests` on the path, for its PostgreSQL (tests/parts/postgres.py).
"""

import asyncio
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import asyncpg

from bench.drivers import environment
from bench.gateway import Gateway, free_port, running_gateway
from bench.ours.driver import run
from bench.ours.turns import ANSWERS, exchange
from bench.processes import descendants
from openclaw.content import AssistantMessage, Message, Text
from openclaw.sessions.event import Said, pack
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from parts.postgres import PostgresServer, fleet_at

GATEWAYS = (1, 2, 4, 8)
FILES = "1 gateway, files"
# A round ends after so many seconds, or turns of one caller.
SECONDS = 3.0
MOST_TURNS = 2_000
# Conversations at a time, of each gateway; and turns of one, before another begins.
AT_A_TIME = 8
TURNS_OF_ONE = 10
# A turn that takes longer has failed.
PATIENCE = 30.0
# Appends of each kind in a round, and the length of the long message.
APPENDS = 100
LONG = 10_000
# As a database comes, unlike that of the tests.
DURABLE = ("fsync=on", "full_page_writes=on", "shared_buffers=128MB")
COUNTED = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=top")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Round:
    """What one round of turns gave: turns a second, then seconds of each turn on average, and how often the database was asked."""

    turns: float
    turn: float
    gateways: float
    callers: float
    postgres: float
    database: float
    statements: float
    wal: float


def row(gateways: int) -> str:
    return f"{gateways} gateway{'' if gateways == 1 else 's'}"


def processor_time(roots: Sequence[int], *, below: bool = True) -> float:
    """Seconds that these and the processes below them have used so far, also those that have ended."""
    total = 0
    for pid in (pid for root in roots for pid in (root, *(descendants(root) if below else ()))):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15] if below else fields[11:13]))
    return total / TICKS


def write_config(home: Path, url: str) -> None:
    state = Path(environment(home)["OPENCLAW_STATE_DIR"])
    state.mkdir(parents=True)
    script = state / "answers.json"
    script.write_text(json.dumps([{"text": "That is all there is to say."}] * ANSWERS))
    config: dict[str, Any] = {
        "gateway": {"port": free_port()},
        "agents": {"defaults": {"model": f"scripted/{script}"}},
    }
    if url:
        config |= {
            "session": {"store": "postgres", "postgres": {"url": url}},
            "tokenStore": {"key": "secret://env/BENCH_TOKEN_KEY"},
        }
    (state / "openclaw.json").write_text(json.dumps(config))


class Callers:
    """Whoever talks with gateways: so many conversations of each at a time, each one turn after the other."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self._client = client
        self._names = count()

    async def talk(self, gateways: Sequence[Gateway]) -> tuple[list[float], float]:
        """The seconds of every turn, and those from the first to the end of the last."""
        begun = time.perf_counter()
        each = await asyncio.gather(
            *(self._one(gateway, begun + SECONDS) for gateway in gateways for _ in range(AT_A_TIME))
        )
        return [seconds for one in each for seconds in one], time.perf_counter() - begun

    async def _one(self, gateway: Gateway, until: float) -> list[float]:
        took: list[float] = []
        headers = {"Authorization": f"Bearer {gateway.token}"}
        body = {"model": "openclaw/main", "input": "And what is next, after all that was said so far about the ticket?"}
        while time.perf_counter() < until and len(took) < MOST_TURNS:
            if len(took) % TURNS_OF_ONE == 0:
                headers["x-openclaw-session-key"] = f"bench-{next(self._names)}"
            begun = time.perf_counter()
            async with self._client.post(f"{gateway.url}/v1/responses", json=body, headers=headers) as response:
                said = await response.read()
                if response.status != 200:
                    sys.exit(f"a turn was answered with {response.status}: {said[:300]!r}")
            took.append(time.perf_counter() - begun)
        return took


async def turns(rounds: int) -> dict[str, Any]:
    os.environ["BENCH_TOKEN_KEY"] = "a passphrase that is long enough for this"
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(*DURABLE, *COUNTED))
        url = await server.new_database()
        watcher: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url)
        await watcher.execute("CREATE EXTENSION pg_stat_statements")
        gateways = []
        for address in (*[url] * max(GATEWAYS), ""):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            write_config(home, address)
            gateways.append(stack.enter_context(running_gateway(home)))
        *shared, alone = gateways
        postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
        told: list[str] = []
        await watcher.add_listener("openclaw", lambda *notice: told.append(str(notice[-1])))
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as client:
            callers = Callers(client)

            async def one(some: Sequence[Gateway]) -> Round:
                await watcher.execute("SELECT pg_stat_statements_reset()")

                def used_so_far() -> tuple[float, float, float]:
                    theirs = processor_time([gateway.pid for gateway in some])
                    return theirs, processor_time([os.getpid()], below=False), processor_time([postmaster])

                before = used_so_far()
                took, seconds = await callers.talk(some)
                theirs, ours, postgres = (
                    (now - had) / len(took) for now, had in zip(used_so_far(), before, strict=True)
                )
                used = await watcher.fetchrow(
                    "SELECT sum(total_exec_time) AS milliseconds, sum(calls) AS calls, sum(wal_bytes) AS wal FROM pg_stat_statements"
                    " WHERE query NOT LIKE '%pg_stat_statements%'"
                )
                assert used is not None
                database, statements, wal = (
                    float(used[name] or 0) / len(took) for name in ("milliseconds", "calls", "wal")
                )
                speed = len(took) / seconds
                if some == [alone]:
                    # It asks no database: what was seen there is the others' heartbeat.
                    postgres = database = statements = wal = 0.0
                return Round(speed, median(took), theirs, ours, postgres, database / 1000, statements, wal)

            ways = {FILES: [alone], **{row(number): shared[:number] for number in GATEWAYS}}
            for some in ways.values():
                # Connections, caches and compiled statements.
                await callers.talk(some)
            told.clear()
            stored = await _stored(watcher)
            found: dict[str, list[Round]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, some in ways.items():
                    found[name].append(await one(some))
            connections = await watcher.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            events, size, tables = (now - had for now, had in zip(await _stored(watcher), stored, strict=True))
        await watcher.close()
    # A turn of these stores what was asked and what was answered.
    taken = events / 2
    return {
        "rounds": {name: [vars(one) for one in given] for name, given in found.items()},
        "room": {
            "connections": connections / len(shared),
            "notices": len(told) / taken,
            "said": size / taken,
            "stored": tables / taken,
        },
    }


async def _stored(connection: "asyncpg.Connection[asyncpg.Record]") -> tuple[int, int, int]:
    """Events, the bytes that were said in them, and those of all tables with their indexes."""
    found = await connection.fetchrow(
        "SELECT sum(events)::bigint, sum(size)::bigint, (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
        " WHERE c.relnamespace = 'openclaw'::regnamespace AND c.relkind = 'r') FROM openclaw.session"
    )
    assert found is not None
    events, size, tables = found
    return events, size, tables


def messages() -> dict[str, Message]:
    """What is stored: an answer as long as they usually are, and a long one."""
    return {"a message": exchange(1)[-1], "10 KB": AssistantMessage((Text("word " * (LONG // 5)),), "scripted/answers")}


async def appends(rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with postgres_ways() as (store, bare):
        found["PostgreSQL"] = await alternating(store, bare, rounds)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = SqliteStore(Path(folder) / "sessions.sqlite")
        bare_file = BareFile(Path(folder) / "bare.sqlite")
        found["a file"] = await alternating(file, bare_file.insert, rounds)
        bare_file.close()
        await file.close()
    return found


@asynccontextmanager
async def postgres_ways() -> AsyncIterator[tuple[Store, Callable[[int, bytes], Awaitable[object]]]]:
    """The store, and an INSERT over one connection."""
    with PostgresServer(*DURABLE) as server:
        url = await server.new_database()
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url)
        await connection.execute(
            "CREATE TABLE bare (session bigint, seq int, at_ms bigint, body bytea, PRIMARY KEY (session, seq))"
        )
        fleet = fleet_at(url)

        async def bare(number: int, body: bytes) -> object:
            return await connection.execute("INSERT INTO bare VALUES ($1, $2, $3, $4)", 1, number, number, body)

        yield fleet.sessions, bare
        await fleet.close()
        await connection.close()


class BareFile:
    """The same in an SQLite file that is as careful as ours."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE TABLE bare (session INTEGER, seq INTEGER, at_ms INTEGER, body BLOB, PRIMARY KEY (session, seq))"
        )

    async def insert(self, number: int, body: bytes) -> object:
        return self._connection.execute("INSERT INTO bare VALUES (?, ?, ?, ?)", (1, number, number, body))

    def close(self) -> None:
        self._connection.close()


async def alternating(
    store: Store, bare: Callable[[int, bytes], Awaitable[object]], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """By message: the median seconds of an append and of an INSERT in each round; the first round does not count."""
    found: dict[str, dict[str, list[float]]] = {}
    numbers = count(1)
    for name, message in messages().items():
        body = pack(Said(message)).body
        taken: dict[str, list[float]] = {"append": [], "insert": []}
        for _ in range(1 + rounds):
            took: dict[str, list[float]] = {"append": [], "insert": []}
            async with store.turn(f"bench-{next(numbers)}", "main") as turn:
                for _ in range(APPENDS):
                    begun = time.perf_counter()
                    turn.append(message)
                    await turn.commit()
                    between = time.perf_counter()
                    await bare(next(numbers), body)
                    took["append"].append(between - begun)
                    took["insert"].append(time.perf_counter() - between)
            for kind, values in took.items():
                taken[kind].append(median(values))
        found[name] = {kind: values[1:] for kind, values in taken.items()}
    return found


WHAT: dict[str, Callable[[int], Awaitable[dict[str, Any]]]] = {"turns": turns, "appends": appends}


async def main() -> None:
    print(json.dumps(await WHAT[sys.argv[1]](int(sys.argv[2]))))


if __name__ == "__main__":
    run(main())
