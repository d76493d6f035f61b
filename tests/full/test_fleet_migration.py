"""A home of 10,000 conversations with tokens, pins, grants and an audit trail is moved by `openclaw store migrate`, which is killed again
and again on the way: in the end both sides are the same, read each in its own way."""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec import Raw

from openclaw.auth.credentials import token_files
from openclaw.auth.records import Endpoints, Grant, Registration, ServerRecord
from openclaw.config.servers import ServerSpec
from openclaw.content import AssistantMessage, Image, Text, ToolCall, ToolMessage, UserMessage
from openclaw.gateway.page_tokens import PageTokens
from openclaw.grant import Grant as Allowed
from openclaw.mcp.pin_store import PinFiles, Pins
from openclaw.mcp.tools.pins import Pin
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.security.grants import GrantStore
from openclaw.sessions.sqlite import SqliteStore
from parts import loaded
from parts.gateways import PROGRAM, Home, home
from parts.postgres import PostgresServer, fleet_at

pytestmark = [pytest.mark.full, pytest.mark.timeout(3600)]

SESSIONS, SERVERS, TOOLS, GRANTS, LINES = 10_000, 300, 20, 300, 30_000
SEED = 20_261_118
QUICK = "/dev/shm"
# Seconds for a whole move, on a machine that has other things to do.
GUARD = 1_800.0
KEY = "correct horse battery staple"
REFERENCE = "secret://env/TOKEN_KEY"
# A move is killed when the database has so many of these: conversations twice, and then each of what follows them.
COUNTS = {
    "session": "SELECT count(*) FROM openclaw.session",
    "record": "SELECT count(*) FROM openclaw.record",
    "pin": "SELECT count(*) FROM openclaw.pin WHERE tool <> ''",
    "audit": "SELECT count(*) FROM openclaw.audit",
}


async def resolve(text: str) -> str:
    return KEY if text == REFERENCE else text


async def fill_sessions(file: Path) -> None:
    """In memory first: ten thousand turns would wait for the disk ten thousand times."""
    with tempfile.TemporaryDirectory(dir=QUICK if os.path.isdir(QUICK) else None) as folder:  # noqa: ASYNC240 (nobody waits)
        store = SqliteStore(Path(folder) / "sessions" / file.name)
        for number in range(SESSIONS):
            async with store.turn(f"agent:main:{number}", "main") as turn:
                picture = (Image(b"\x89PNG" + number.to_bytes(4), "image/png"),) if number % 100 == 0 else ()
                turn.append(
                    UserMessage((Text(f"Question {number} \N{SNOWMAN}"), *picture)),
                    AssistantMessage((ToolCall("1", "read", {"path": f"a{number}"}),)),
                    ToolMessage("1", "read", (Text("found\n" * (number % 40)),), source="mcp:tickets"),
                    AssistantMessage((Text(f"Answer {number}"),)),
                )
                if number % 3 == 0:
                    turn.compact("They spoke.", [AssistantMessage((Text("Answer"),))])
            if number % 50 == 0:
                await store.rename(f"agent:main:{number}", f"Named {number}")
        await store.close()
        file.parent.mkdir(parents=True, exist_ok=True)
        for made in (Path(folder) / "sessions").iterdir():
            shutil.move(made, file.parent / made.name)


async def fill_records(place: Home) -> None:
    paths = place.paths
    tokens = token_files(paths.tokens_dir, resolve=resolve, key=REFERENCE, keychain=None)
    pins = PinFiles(paths.data_dir / "mcp")
    for number in range(SERVERS):
        issuer, url = f"https://as-{number}.example", f"https://server-{number}.example/mcp"
        client = OAuthClient(f"client-{number}", issuer, "dynamic", secret=f"very-secret-{number}")
        grant = Grant(
            how="authorization_code",
            issuer=issuer,
            resource=url,
            client=client,
            endpoints=Endpoints(f"{issuer}/token"),
            access_token=f"access-{number}",
            refresh_token=f"refresh-{number}",
            expires_at=2e9,
            obtained_at=1e9,
            signed_in_at=1e9,
            requested=("read",),
            scopes=("read", "write"),
        )
        await tokens.write(ServerRecord(issuer, url, registered_at=issuer), url, "")
        await tokens.write(Registration(client), issuer, url, "")
        await tokens.write(grant, issuer, url, url, "")
        known = {f"tool-{tool}": Pin(f"Does {tool}.", Raw(b'{"type":"object"}')) for tool in range(TOOLS)}
        await pins.accept(ServerSpec(f"server-{number}", url=url), Pins(known, ["form"], "1.0"))
    grants = GrantStore(paths.approvals_file)
    await grants.add(*(Allowed(f"g_{n}", f"tool-{n}", "server", arguments={"path": "/a/**"}) for n in range(GRANTS)))
    await grants.close()
    await PageTokens(paths.page_tokens_file).issue()
    paths.audit_dir.mkdir(parents=True, exist_ok=True)
    with (paths.audit_dir / "calls.jsonl").open("w") as lines:
        for n in range(LINES):
            lines.write(f'{{"time":"2026-01-01T00:{n // 600 % 60:02}:{n % 60:02}.000Z","event":"call","call":"{n}"}}\n')


@contextlib.contextmanager
def filled_home(folder: Path, url: str) -> Iterator[Home]:
    with home(folder, env={"DATABASE": url, "TOKEN_KEY": KEY}) as place:
        asyncio.run(fill_sessions(place.paths.sessions_file))
        asyncio.run(fill_records(place))
        place.save(
            {"session": {"store": "postgres", "postgres": {"url": "${DATABASE}"}}, "tokenStore": {"key": REFERENCE}}
        )
        yield place


async def killed_at(place: Home, url: str, what: str, most: int) -> int:
    """Run the move and kill it when the database has so many; how many it had when it was dead."""
    connection = await asyncpg.connect(url)
    process = loaded.begin([*PROGRAM, "store", "migrate", "--from", "file"], env=place.env, cwd=place.state)
    try:
        while process.poll() is None and await connection.fetchval(COUNTS[what]) < most:
            await asyncio.sleep(0.01)
        assert process.poll() is None, f"it ended before there were {most} of {what}"
        process.kill()
        process.wait()
        return int(await connection.fetchval(COUNTS[what]))
    finally:
        process.kill()
        process.wait()
        await connection.close()


def printed(place: Home, *words: str) -> str:
    """What a command prints that may take minutes."""
    done = loaded.run(words, env=place.env, cwd=place.state, guard=GUARD)
    assert done.code == 0, done.out + done.err
    return done.out


def conversations_of_the_file(place: Home) -> dict[str, str]:
    """By key: a digest of everything that is kept of a conversation."""
    found: dict[str, list[Any]] = {}
    with contextlib.closing(sqlite3.connect(place.paths.sessions_file)) as connection:
        for key, *rest in connection.execute(
            "SELECT key, id, agent, created_ms, updated_ms, events, messages, base, name, opening FROM sessions"
        ):
            found[key] = rest
        for key, seq, at, body in connection.execute(
            "SELECT s.key, e.seq, e.at_ms, e.body FROM events e JOIN sessions s ON s.number = e.session ORDER BY s.key, e.seq"
        ):
            found[key].append((seq, at, body))
        for key, seq, position, digest in connection.execute(
            "SELECT s.key, e.seq, m.position, m.digest FROM media m JOIN events e ON e.number = m.event"
            " JOIN sessions s ON s.number = e.session ORDER BY s.key, e.seq, m.position"
        ):
            found[key].append((seq, position, digest))
    return {key: hashlib.sha256(repr(rest).encode()).hexdigest() for key, rest in found.items()}


async def conversations_of_the_database(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[str, str]:
    found: dict[str, list[Any]] = {}
    for row in await connection.fetch(
        "SELECT convert_from(key, 'UTF8'), id, agent, created_ms, updated_ms, events, messages, base, name, opening"
        " FROM openclaw.session"
    ):
        key, *rest = row
        found[key] = rest
    for key, seq, at, body in await connection.fetch(
        "SELECT convert_from(s.key, 'UTF8'), e.seq, e.at_ms, e.body FROM openclaw.event e"
        " JOIN openclaw.session s ON s.number = e.session ORDER BY s.key, e.seq"
    ):
        found[key].append((seq, at, body))
    for key, seq, position, body in await connection.fetch(
        "SELECT convert_from(s.key, 'UTF8'), m.seq, m.position, m.body FROM openclaw.media m"
        " JOIN openclaw.session s ON s.number = m.session ORDER BY s.key, m.seq, m.position"
    ):
        found[key].append((seq, position, hashlib.sha256(body).hexdigest()))
    return {key: hashlib.sha256(repr(rest).encode()).hexdigest() for key, rest in found.items()}


async def records_of_the_database(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[str, Any]:
    records = await connection.fetch("SELECT name, sealed FROM openclaw.record WHERE kind <> 'StoreInfo'")
    pins = await connection.fetch("SELECT server, tool, pin FROM openclaw.pin WHERE tool <> ''")
    grants = await connection.fetch("SELECT id, body FROM openclaw.approval_grant")
    chains = await connection.fetch("SELECT DISTINCT chain FROM openclaw.audit")
    lines = await connection.fetch("SELECT line FROM openclaw.audit ORDER BY n")
    return {
        "tokens": {row["name"].hex(): bytes(row["sealed"]) for row in records},
        "pins": {(row["server"], row["tool"]): json.loads(row["pin"]) for row in pins},
        "grants": {row["id"]: json.loads(row["body"]) for row in grants},
        "chains": len(chains),
        "audit": b"".join(row["line"] for row in lines),
        "pages": await connection.fetchval("SELECT count(*) FROM openclaw.page"),
    }


def records_of_the_files(place: Home) -> dict[str, Any]:
    paths = place.paths
    tokens = {file.stem: file.read_bytes() for file in paths.tokens_dir.glob("*.json") if len(file.stem) == 64}
    pins: dict[tuple[str, str], Any] = {}
    for file in (paths.data_dir / "mcp" / "pins").glob("*.json"):
        for tool, pin in json.loads(file.read_bytes())["pins"]["tools"].items():
            pins[file.stem, tool] = pin
    grants = json.loads(paths.approvals_file.read_bytes())["grants"]
    return {
        "tokens": tokens,
        "pins": pins,
        "grants": {one["grant"]["id"]: one["grant"] for one in grants},
        "chains": 1,
        "audit": (paths.audit_dir / "calls.jsonl").read_bytes(),
        "pages": 1,
    }


def test_a_large_home_is_moved_whole_though_the_move_is_killed_again_and_again(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    with PostgresServer() as server:
        url = asyncio.run(server.new_database())
        with filled_home(tmp_path, url) as place:
            first, second = sorted(chance.sample(range(1, SESSIONS - 500), 2))
            for what, most in (
                *(("session", first), ("session", second)),
                ("record", 1),
                ("pin", chance.randrange(1, SERVERS * TOOLS // 2)),
                ("audit", chance.randrange(1, LINES // 2)),
            ):
                had = asyncio.run(killed_at(place, url, what, most))
                print(f"killed with {had} of {what} in the database")

            moved = json.loads(printed(place, "store", "migrate", "--from", "file", "--json"))
            told = {part["part"]: part for part in moved}
            assert [part for part in told.values() if part["refused"] or part["different"]] == []
            assert {name: part["copied"] + part["kept"] for name, part in told.items()} == {
                "conversations": SESSIONS,
                "tokens and registrations": 3 * SERVERS,
                "grants": GRANTS,
                "pins": SERVERS * TOOLS,
                "signed-in pages": 1,
                "lines of the audit trail": LINES,
            }
            checked = json.loads(printed(place, "store", "check", "--json"))
            counted = {name: checked[name] for name in ("sessions", "records", "grants", "pins", "pages", "lines")}
            assert list(counted.values()) == [SESSIONS, 3 * SERVERS, GRANTS, SERVERS * TOOLS, 1, LINES]
            asyncio.run(compare(place, url))

            kinds: dict[str, int] = {}
            for line in printed(place, "store", "export").splitlines():
                kind = json.loads(line)["type"]
                kinds[kind] = kinds.get(kind, 0) + 1
            expected = {"conversation": SESSIONS, "grant": GRANTS, "pin": SERVERS * TOOLS, "audit": LINES}
            assert {kind: kinds[kind] for kind in expected} == expected


async def compare(place: Home, url: str) -> None:
    """Both sides as they are kept, by neither's own code; and a token that was moved, opened."""
    connection = await asyncpg.connect(url)
    there = await conversations_of_the_database(connection)
    records = await records_of_the_database(connection)
    await connection.close()
    here = conversations_of_the_file(place)
    assert {key for key in here if here[key] != there.get(key)} == set()
    assert len(there) == len(here)
    for name, kept in records_of_the_files(place).items():
        assert records[name] == kept, name
    fleet = fleet_at(url)
    opened = await fleet.token_store(REFERENCE, resolve).read(
        Registration, "https://as-7.example", "https://server-7.example/mcp", ""
    )
    assert opened is not None
    assert opened.client.secret == "very-secret-7"
    await fleet.close()
