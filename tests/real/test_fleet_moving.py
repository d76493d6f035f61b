"""Tokens, grants, pins, pages and the audit trail are moved from files into the database: equal, again at will, and after kill -9."""

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Raw

from openclaw.auth.credentials import Credentials, token_files
from openclaw.config.servers import ServerSpec
from openclaw.errors import StoreError
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.moving import Moved, Part
from openclaw.fleet.moving_records import AuditMoved, GrantsMoved, PagesMoved, PinsMoved, Tokens, counts, exported
from openclaw.gateway.page_tokens import PageTokens
from openclaw.grant import Grant
from openclaw.mcp.pin_store import PinFiles, Pins
from openclaw.mcp.tools.pins import Pin
from openclaw.security.audit_file import AuditFile
from openclaw.security.grants import GrantStore
from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer
from parts.moving import killed
from parts.postgres import PostgresServer, fleet_at

pytestmark = pytest.mark.real

REFERENCE = "secret://env/OPENCLAW_TEST_KEY"
LINES = 5_000


async def resolve(text: str) -> str:
    return "correct horse battery staple" if text == REFERENCE else text


@pytest.fixture
async def fleet(postgres: PostgresServer) -> AsyncIterator[Fleet]:
    fleet = fleet_at(await postgres.new_database())
    await fleet.open()
    yield fleet
    await fleet.close()


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


async def moved(part: Part) -> Moved:
    """What a whole move of it comes to; nothing differs afterwards."""
    done = await part.copy(lambda done, of: None)
    assert await part.differences(lambda done, of: None) in ([], ())
    await part.close()
    return done


def tokens_of(folder: Path, fleet: Fleet, *specs: ServerSpec) -> Tokens:
    target = fleet.token_store(REFERENCE, resolve)
    return Tokens(folder, fleet.database, target, specs=specs, key=REFERENCE, resolve=resolve)


@pytest.mark.parametrize("key", [REFERENCE, ""], ids=["as they are", "sealed anew"])
async def test_a_sign_in_in_files_goes_on_in_the_database(
    server: AuthServer, fleet: Fleet, tmp_path: Path, key: str
) -> None:
    """With `tokenStore.key` the sealed records are copied; those of a key file are opened, and sealed with the key of the fleet."""
    program = Program(server, tmp_path, clock=Clock(time.time))
    in_files = token_files(tmp_path, resolve=resolve, key=key, keychain=None)
    program.credentials = Credentials(in_files, resolve=resolve, clock=program.clock)
    await program.sign_in()
    done = await moved(tokens_of(tmp_path, fleet, program.spec))
    assert (done.copied, done.kept, done.refused) == (3, 0, ())
    shared = fleet.token_store(REFERENCE, resolve)
    program.credentials = Credentials(shared, resolve=resolve, clock=program.clock)
    await fleet.revisions.look()
    program.clock.ahead = 3600
    assert await program.call() == 200
    assert server.paths().count("/register") == 1

    # What was forgotten there since then does not come back from the files.
    await program.credentials.logout(program.spec)
    assert await moved(tokens_of(tmp_path, fleet, program.spec)) == Moved(kept=3)
    assert (await program.credentials.status(program.spec)).state == "none"


async def test_records_of_servers_that_nobody_has_any_more_are_named_when_they_cannot_be_opened(
    server: AuthServer, fleet: Fleet, tmp_path: Path
) -> None:
    program = Program(server, tmp_path, clock=Clock(time.time))
    await program.sign_in()
    done = await tokens_of(tmp_path, fleet).copy(lambda done, of: None)
    assert (done.copied, len(done.refused)) == (0, 1)
    assert "3 records belong to servers that are not in the config any more" in done.refused[0]
    os.remove(tmp_path / "store.json")
    with pytest.raises(StoreError, match=r"store\.json cannot be read"):
        await tokens_of(tmp_path, fleet, program.spec).copy(lambda done, of: None)


async def test_grants_are_moved_once_and_one_that_is_revoked_then_stays_revoked(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    store = GrantStore(file)
    grants = [Grant(f"g_{number}", f"tool-{number}", "server", created="2026-01-01") for number in range(20)]
    await store.add(*grants)
    store.used(["g_3"])
    assert await moved(GrantsMoved(file, fleet.database)) == Moved(20, 0)
    assert await fleet.grants.kept() == await store.kept()
    await fleet.grants.revoke("g_4")
    assert await moved(GrantsMoved(file, fleet.database)) == Moved(0, 20)
    assert not fleet.grants.has(["g_4"])
    # A file that changed since then is another one.
    await store.add(Grant("g_20", "tool-20", "server"))
    assert (await moved(GrantsMoved(file, fleet.database))).copied == 2


async def test_pins_are_moved_and_what_others_pinned_first_is_told(fleet: Fleet, tmp_path: Path) -> None:
    specs = [ServerSpec(f"shop-{number}", command="shop") for number in range(3)]
    here = PinFiles(tmp_path)
    pins = Pins({name: Pin(f"{name}.", Raw(b'{"type":"object"}')) for name in ("a", "b")}, ["form"], "1.0")
    for spec in specs:
        await here.accept(spec, pins)
    assert await moved(PinsMoved(tmp_path / "pins", fleet.database)) == Moved(6, 0)
    assert [await fleet.pins.read(spec) for spec in specs] == [pins] * 3

    other = ServerSpec("other", command="other")
    await fleet.pins.add(other, Pins(), Pins({"a": Pin("Seen first elsewhere.")}))
    await here.accept(other, pins)
    part = PinsMoved(tmp_path / "pins", fleet.database)
    assert (await part.copy(lambda done, of: None)).copied == 1
    assert await part.differences(lambda done, of: None) == ["other: another form of a is pinned in the database"]


async def test_a_page_stays_signed_in(fleet: Fleet, tmp_path: Path) -> None:
    token = await PageTokens(tmp_path / "pages.json").issue()
    assert await moved(PagesMoved(tmp_path / "pages.json", fleet.database)) == Moved(1, 0)
    assert await fleet.pages.admits(token)


def write_trail(file: Path) -> None:
    with file.open("w") as lines:
        for number in range(LINES):
            lines.write(f'{{"time":"2026-01-01T00:00:{number % 60:02}.000Z","call":"{number}"}}\n')
        lines.write('{"torn')


async def test_a_trail_is_moved_line_by_line_also_after_kill_9_and_comes_before_what_is_written_now(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url, file = await postgres.new_database(), tmp_path / "calls.jsonl"
    write_trail(file)
    for lots in (1, 2):
        await killed("audit", file, url, lots=lots)
    fleet = fleet_at(url)
    trail = fleet.audit_trail(AuditFile(tmp_path / "instead.jsonl"))
    trail.start()
    trail.append(['{"call":"now"}\n'])
    await trail.last(1)
    done = await moved(AuditMoved(AuditFile(file), fleet.database, "one"))
    assert (done.copied + done.kept, done.kept >= 1_000, done.refused) == (LINES, True, ())
    read = [record["call"] async for batch in trail.batches() for record in batch]
    assert read == [*map(str, range(LINES)), "now"]
    await trail.end()
    await fleet.close()


async def test_everything_is_counted_and_written_out_and_tokens_stay_sealed(
    server: AuthServer, fleet: Fleet, tmp_path: Path
) -> None:
    program = Program(server, tmp_path, clock=Clock(time.time))
    program.credentials = Credentials(fleet.token_store(REFERENCE, resolve), resolve=resolve, clock=program.clock)
    await program.sign_in()
    await fleet.grants.add(Grant("g_1", "echo", "server"))
    await fleet.pins.accept(ServerSpec("shop", command="shop"), Pins({"a": Pin("A.")}))
    await fleet.pages.issue()
    assert await counts(fleet.database) == {"records": 3, "grants": 1, "pins": 1, "pages": 1, "lines": 0}
    values = [value async for value in exported(fleet.database)]
    assert [value["type"] for value in values] == ["record"] * 4 + ["grant", "pin"]
    assert not [secret for secret in server.secrets if secret in str(values)]
