"""`openclaw store` and `openclaw fleet`, and gateways that share a PostgreSQL, as a user has them."""

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.content import AssistantMessage, Image, Text, ToolCall, ToolMessage, UserMessage
from openclaw.conversation import Conversation, Question
from openclaw.fleet.members import members_of
from openclaw.fleet.migrations.steps import NEWEST
from openclaw.fleet.moving import Sessions
from openclaw.run_state import RunState
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from parts.gateways import Home, gateway_process, home, running
from parts.moving import killed
from parts.postgres import PostgresServer, fleet_at
from parts.processes import HANG_GUARD

pytestmark = pytest.mark.real


def in_database(url: str, **more: Any) -> dict[str, Any]:
    return {"session": {"store": "postgres", "postgres": {"url": url, **more}}}


@contextmanager
def place_at(folder: Path, url: str, **more: Any) -> Iterator[Home]:
    folder.mkdir(exist_ok=True)
    with home(folder, env={"DATABASE": url, "TOKEN_KEY": "correct horse battery staple"}) as made:
        script = made.script({"text": "hello"}, {"text": "again"}, {"text": "more"})
        made.save({**in_database("${DATABASE}"), "tokenStore": {"key": "secret://env/TOKEN_KEY"}}, **script, **more)
        yield made


async def fill(store: Store, count: int) -> None:
    for number in range(count):
        async with store.turn(f"agent:main:{number}", "main") as turn:
            turn.append(
                UserMessage((Text(f"Question {number}"), Image(b"\x89PNG" + bytes(number), "image/png"))),
                AssistantMessage((ToolCall("1", "read", {"path": "a"}),)),
                ToolMessage("1", "read", (Text("found"),)),
                AssistantMessage((Text("Answer"),)),
            )
            if number % 3 == 0:
                turn.compact("They spoke.", [AssistantMessage((Text("Answer"),))])
        if number % 5 == 0:
            await store.rename(f"agent:main:{number}", f"Named {number}")


def test_the_tables_are_made_checked_and_filled_from_files(postgres: PostgresServer, tmp_path: Path) -> None:
    url = asyncio.run(postgres.new_database(tables=False))
    with place_at(tmp_path, url) as place:
        before = place.run("store", "check")
        assert (before.returncode, before.stdout) == (1, "")
        assert "has no tables of OpenClaw yet. Run: openclaw store init" in before.stderr
        assert place.run("store", "init").stdout.startswith("Made the tables in postgres://127.0.0.1:")
        assert f"has all tables already (step {NEWEST})" in place.run("store", "init").stdout
        asyncio.run(fill(SqliteStore(place.paths.sessions_file), 12))

        moved = place.run("store", "migrate", "--from", "file")
        names = ["tokens and registrations", "grants", "pins", "signed-in pages", "lines of the audit trail"]
        assert (moved.returncode, moved.stdout.splitlines()) == (
            0,
            [
                "conversations: 12 copied, 0 there already; all compared equal.",
                *(f"{name}: 0 copied, 0 there already; all compared equal." for name in names),
            ],
        )
        again = place.run("store", "migrate", "--from", "file", "--json")
        assert json.loads(again.stdout)[0] == {
            "part": "conversations",
            "copied": 0,
            "kept": 12,
            "refused": [],
            "different": [],
        }
        checked = place.run("store", "check")
        assert "PostgreSQL" in checked.stdout
        assert "12 conversations" in checked.stdout
        shown = place.run("sessions", "show", "3").stdout
        assert "Question 3" in shown
        lines = [json.loads(line) for line in place.run("store", "export").stdout.splitlines()]
        assert [line["key"] for line in lines if line["type"] == "conversation"] == [
            f"agent:main:{number}" for number in range(12)
        ]
        exported = [json.loads(line) for line in place.run("sessions", "export", "0").stdout.splitlines()]
        assert lines[1 : 1 + len(exported)] == exported


def test_without_a_database_the_commands_say_what_to_set(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        done = place.run("store", "check")
    assert done.returncode == 2
    assert "No database is configured: session.store is not postgres." in done.stderr


def test_an_address_that_is_missing_or_none_is_a_fault_of_the_config_and_a_password_is_never_shown(
    tmp_path: Path,
) -> None:
    with home(tmp_path) as place:
        place.save({"session": {"store": "postgres"}})
        assert 'session.postgres: expected the key "url"' in place.run("config", "validate").stdout
        place.save(in_database("mysql://x"))
        assert "session.postgres.url: this is no address of a PostgreSQL" in place.run("config", "validate").stdout
        place.save(in_database("postgres://me:hunter22pass@127.0.0.1:1/x"))
        place.run("config", "validate")
        for words in (["store", "check"], ["doctor", "--offline"], ["config", "get", "session.postgres.url"]):
            done = place.run(*words)
            assert "hunter22pass" not in done.stdout + done.stderr
        place.save(in_database("${NOT_SET_ANYWHERE}"))
        assert "${NOT_SET_ANYWHERE} is not set" in place.run("store", "check").stderr


async def test_migrating_can_be_killed_at_any_moment_and_run_again(postgres: PostgresServer, tmp_path: Path) -> None:
    url = await postgres.new_database()
    file = tmp_path / "sessions.sqlite"
    source = SqliteStore(file)
    await fill(source, 160)
    await source.close()
    for lots in (1, 2):
        await killed("sessions", file, url, lots=lots)

    fleet = fleet_at(url)
    part = Sessions(file, fleet.database, fleet.sessions)
    moved = await part.copy(lambda done, of: None)
    assert (moved.copied + moved.kept, moved.refused) == (160, ())
    assert moved.kept > 0
    assert await part.differences(lambda done, of: None) == []
    # What goes on in the file is copied too, what goes on in the database stays, and a difference is seen.
    again = SqliteStore(file)
    async with again.turn("agent:main:1", "main") as turn:
        turn.append(UserMessage((Text("in the file"),)))
    async with fleet.sessions.turn("agent:main:2", "main") as turn:
        turn.append(UserMessage((Text("in the database"),)))
    moved = await part.copy(lambda done, of: None)
    assert (moved.copied, moved.kept, moved.refused) == (1, 159, ())
    assert await part.differences(lambda done, of: None) == []
    await fleet.database.value(
        "WITH changed AS (UPDATE openclaw.event SET body = $1 WHERE seq = 4 AND session ="
        " (SELECT number FROM openclaw.session WHERE key = 'agent:main:7') RETURNING 1) SELECT count(*) FROM changed",
        b'{"type":"reset"}',
    )
    assert await part.differences(lambda done, of: None) == [
        "agent:main:7: what was said is not the same in the database"
    ]
    async with again.turn("agent:main:2", "main") as turn:
        turn.append(UserMessage((Text("on both sides"),)))
    moved = await part.copy(lambda done, of: None)
    assert moved.refused == ("agent:main:2: it is in the database too, and went on there and here",)
    await again.close()
    await part.close()
    await fleet.close()


async def test_two_gateways_go_on_with_each_others_conversations(postgres: PostgresServer, tmp_path: Path) -> None:
    url = await postgres.new_database()
    with place_at(tmp_path / "one", url) as first, place_at(tmp_path / "two", url) as second:
        async with running(first) as one, running(second) as two:
            body = {"model": "openclaw/main", "input": "hi"}
            headers = {"x-openclaw-session-key": "shared"}
            answers = []
            for gateway in (one, two, one):
                async with gateway.client.post(
                    gateway.url + "/v1/responses", json=body, headers={**gateway.headers, **headers}
                ) as response:
                    answers.append((response.status, (await response.json())["output"][0]["content"][0]["text"]))
            fleet = one.gateway.app.engine.fleet
            assert fleet is not None
            assert await fleet.database.value("SELECT count(*) FROM openclaw.gateway") == 2
            shown = [await gateway.gateway.app.store.list() for gateway in (one, two)]
        after = fleet_at(url)
        assert await after.database.value("SELECT count(*) FROM openclaw.gateway") == 0
        await after.close()
    assert [status for status, _ in answers] == [200, 200, 200]
    assert shown[0] == shown[1]
    assert [info.messages for info in shown[0]] == [6]


async def test_a_gateway_whose_database_is_away_is_not_ready_says_why_and_recovers_by_itself(tmp_path: Path) -> None:
    with PostgresServer() as server:
        url = await server.new_database()
        with place_at(tmp_path, url) as place:
            async with running(place) as gateway:

                async def asked() -> tuple[int, Any]:
                    async with gateway.client.get(gateway.url + "/ready") as response:
                        return response.status, await response.json()

                assert await asked() == (200, {"ok": True, "status": "ready"})
                server.stop()
                async with asyncio.timeout(HANG_GUARD):
                    while (answer := await asked())[0] == 200:
                        await asyncio.sleep(0.05)
                assert answer[1]["status"] == "not ready"
                assert [reason["code"] for reason in answer[1]["reasons"]] in (["store"], ["fleet"])
                server.start()
                async with asyncio.timeout(HANG_GUARD):
                    while (await asked())[0] != 200:
                        await asyncio.sleep(0.05)
                reply = await gateway.gateway.app.reply("hi")
                assert reply.text == "hello"


def test_a_killed_gateway_comes_back_without_waiting_for_its_former_self(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = asyncio.run(postgres.new_database())
    with place_at(tmp_path, url) as place:
        with gateway_process(place) as gateway:
            gateway.end(signal.SIGKILL)

        async def gateways() -> list[str]:
            fleet = fleet_at(url)
            try:
                return [row["name"] for row in await fleet.database.rows("SELECT name FROM openclaw.gateway")]
            finally:
                await fleet.close()

        [left] = asyncio.run(gateways())
        with gateway_process(place):
            assert asyncio.run(gateways()) == [left]
        assert asyncio.run(gateways()) == []


async def test_the_gateways_of_a_fleet_are_listed_with_what_they_hold_and_whether_they_are_heard(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    with place_at(tmp_path, url) as place:
        nobody = await asyncio.to_thread(place.run, "fleet")
        async with running(place) as gateway:
            app = gateway.gateway.app
            fleet = app.engine.fleet
            assert fleet is not None
            async with app.store.turn("agent:main:one", "main"), fleet.leases.hold("token:clock"):
                busy = json.loads((await asyncio.to_thread(place.run, "fleet", "--json")).stdout)
                shown = (await asyncio.to_thread(place.run, "fleet")).stdout
            await fleet.database.value(
                "SELECT openclaw.join_fleet(gen_random_uuid(), 'gone', '0', '', '', interval '0', false)"
            )
            dead = json.loads((await asyncio.to_thread(place.run, "fleet", "--json")).stdout)
    assert nobody.returncode == 0
    assert nobody.stdout.startswith("No gateway uses postgres://127.0.0.1:")
    [one] = busy["gateways"]
    assert (one["alive"], one["turns"], one["servers"], one["leases"]) == (True, 1, [], ["token:clock"])
    assert one["url"].startswith("http://127.0.0.1:")
    assert [row.split()[0] for row in shown.splitlines()] == ["gateway", one["name"]]
    assert "token:clock" in shown
    assert [(each["name"], each["alive"], each["turns"]) for each in dead["gateways"]] == [
        (one["name"], True, 0),
        ("gone", False, 0),
    ]


def test_doctor_names_the_database_and_what_could_be_better(postgres: PostgresServer, tmp_path: Path) -> None:
    url = asyncio.run(postgres.new_database())
    with place_at(tmp_path, url) as place:
        said = place.run("doctor", "--offline").stdout
        assert "Sessions: 0 in postgres://127.0.0.1:" in said
        lazy = url + "?options=-c%20synchronous_commit%3Doff"
        place.save(in_database(lazy))
        assert "Database: synchronous_commit is off" in place.run("doctor", "--offline").stdout


def test_a_gateway_whose_tokens_no_other_could_open_is_refused_at_its_start(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = asyncio.run(postgres.new_database())
    with home(tmp_path) as place:
        place.save(in_database(url))
        done = place.run("gateway", "run")
    assert done.returncode == 1
    assert "a key in the keychain or in a file of one machine opens them nowhere else" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_page_and_an_approval_of_one_gateway_hold_at_the_other(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """As behind a balancer: the page signs in here, asks there, and watches elsewhere."""
    url = await postgres.new_database()
    with place_at(tmp_path / "one", url) as first, place_at(tmp_path / "two", url) as second:
        async with running(first) as one, running(second) as two:
            ticket = (await one.gateway.page(revoke=False))["ticket"]
            async with two.client.post(two.url + "/v1/page/session", json={"ticket": ticket}) as response:
                token = (await response.json())["token"]
            for gateway in (one, two):
                async with gateway.client.get(
                    gateway.url + "/v1/status", headers={"Authorization": f"Bearer {token}"}
                ) as response:
                    assert response.status == 200
            engine = one.gateway.app.engine
            with two.gateway.app.engine.questions.watch(["approval"]):
                while not engine.questions.is_watched("approval", "agent:main:x"):
                    await asyncio.sleep(0)
                asker = engine.asking(Conversation("main", "agent:main:x", surface="http")).asker
                asking = asyncio.create_task(asker.ask(Question("approval", "Go on? ", options=("once",))))
                while not (found := (await two.get("/v1/approvals"))[1]["questions"]):
                    await asyncio.sleep(0)
                answer = {"digest": found[0]["digest"], "choice": "once"}
                status, said = await two.post(f"/v1/approvals/{found[0]['id']}", answer)
                assert (status, said["state"], said["option"]) == (200, "accepted", "once")
                assert (await asking).is_yes
                assert (await two.post(f"/v1/approvals/{found[0]['id']}", answer))[0] == 409
            assert await two.gateway.page(revoke=True) == {"revoked": 1}
            while True:
                async with one.client.get(
                    one.url + "/v1/status", headers={"Authorization": f"Bearer {token}"}
                ) as response:
                    if response.status == 401:
                        break
            records = (await two.get("/v1/audit"))[1]["records"]
            assert {record["event"] for record in records} == {"question", "answer"}


async def test_a_run_is_begun_once_by_all_gateways_and_watched_from_any(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    with place_at(tmp_path / "one", url) as first, place_at(tmp_path / "two", url) as second:
        async with running(first) as one, running(second) as two:
            body = {"message": "hi", "id": "mine", "sessionKey": "shared"}
            begun = await asyncio.gather(*(gateway.post("/v1/runs", body) for gateway in (one, two, one, two)))
            assert {status for status, _ in begun} == {202}
            assert {state["run"] for _, state in begun} == {"mine"}
            for gateway in (one, two):
                async with gateway.client.get(
                    gateway.url + "/v1/runs/mine/events", headers=gateway.headers
                ) as response:
                    assert b"event: ended" in await response.read()
                state = (await gateway.get("/v1/runs/mine"))[1]
                assert (state["state"], state["reason"]) == ("over", "done")
            # One of them carried it out, once.
            (info,) = await two.gateway.app.store.list()
            assert (info.key, info.messages) == ("agent:main:shared", 2)


async def test_who_watches_a_run_of_another_gateway_is_told_its_end_also_when_the_database_failed_meanwhile(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    elsewhere = fleet_at(url, name="elsewhere")
    run = RunState("mine", "main", "agent:main:x", "running", "", 0, 0.0)
    assert await elsewhere.runs.claim(run) is None
    with place_at(tmp_path, url) as place:
        async with running(place) as gateway:
            where = gateway.url + "/v1/runs/mine/events"
            async with gateway.client.get(where, headers=gateway.headers) as response:
                lines = response.content
                while await lines.readline() != b": still here\n":
                    pass
                # Whatever is asked about runs fails at once.
                await elsewhere.database.run(lambda one: one.execute("ALTER TABLE openclaw.run RENAME TO away"))
                for _ in range(2):
                    while await lines.readline() != b": still here\n":
                        pass
                await elsewhere.database.run(lambda one: one.execute("ALTER TABLE openclaw.away RENAME TO run"))
                elsewhere.runs.over(msgspec.structs.replace(run, state="over", reason="done"))
                rest = await lines.read()
    await elsewhere.close()
    assert b"event: ended" in rest
    assert b'"reason":"done"' in rest


async def test_a_turn_whose_gateway_died_says_so_in_the_conversation(postgres: PostgresServer, tmp_path: Path) -> None:
    url = await postgres.new_database()
    dead = fleet_at(url, name="dead")
    with place_at(tmp_path, url) as place:
        async with dead.sessions.turn("agent:main:shared", "main") as turn:
            turn.append(UserMessage((Text("Are you there?"),)))
        # As kill -9 leaves it: the turn is held by somebody who is no more.
        await dead.database.value("UPDATE openclaw.session SET holder = gen_random_uuid() RETURNING 1")
        await dead.close()
        async with running(place) as gateway:
            body = {"model": "openclaw/main", "input": "hi"}
            headers = {**gateway.headers, "x-openclaw-session-key": "shared"}
            async with gateway.client.post(gateway.url + "/v1/responses", json=body, headers=headers) as response:
                assert response.status == 200
            (info,) = await gateway.gateway.app.store.list()
            _, told = await gateway.get(f"/v1/sessions/{info.id}")
            shown = (await asyncio.to_thread(place.run, "sessions", "show", "shared")).stdout
    kinds = [(one["type"], one.get("role") or one.get("text")) for one in told["entries"]]
    sentence = "The gateway that answered this ended before it was done."
    assert kinds == [("message", "user"), ("note", sentence), ("message", "user"), ("message", "assistant")]
    assert f"[{sentence}]" in shown.splitlines()


async def test_gateways_with_different_configs_are_named_until_they_have_the_same(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.new_database()
    more = {"tools": {"deny": ["exec"]}}
    with place_at(tmp_path / "one", url) as first, place_at(tmp_path / "two", url) as second:
        # The same file for both: a script's path is part of it.
        config = json.loads(first.config_file.read_text())
        second.save(config)
        async with running(first) as one, running(second):
            alike = (await asyncio.to_thread(first.run, "fleet")).stdout
            reloaded = asyncio.create_task(one.reloaded())
            await asyncio.sleep(0)
            first.save({**config, **more})
            assert (await reloaded)["ok"]
            fleet = one.gateway.app.engine.fleet
            assert fleet is not None
            async with asyncio.timeout(HANG_GUARD):
                while len({member.config for member in await members_of(fleet.database)}) < 2:
                    await asyncio.sleep(0.01)
            differ = (await asyncio.to_thread(first.run, "fleet")).stdout
            doctor = (await asyncio.to_thread(first.run, "doctor", "--offline")).stdout
    assert "same config" not in alike
    assert "!!  Its gateways do not have the same config: " in differ
    assert "its gateways do not have the same config: " in doctor
