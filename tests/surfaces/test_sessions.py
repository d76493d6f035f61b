"""`openclaw sessions` as a person uses it: keys that can be pasted, and old conversations that make room."""

import asyncio
import json
import os
import shlex
import threading
import time
from pathlib import Path

import pytest

from openclaw.app import App
from openclaw.content import Image, Text, UserMessage
from openclaw.conversation import Conversation
from openclaw.sessions.key import is_unnamed, new_key, session_key
from openclaw.sessions.sqlite import SqliteStore
from parts.command_line import Home
from parts.commands_here import run_here
from parts.gateways import gateway_process, home
from parts.processes import HANG_GUARD
from parts.program import OPENCLAW, Program
from parts.terminal import Terminal

DAY = 24 * 3600.0
OFFLINE = {"agents": {"defaults": {"model": "builtin/offline"}}}


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def remember(file: Path, key: str, *, days: float = 0.0, agent: str = "main", picture: bytes = b"") -> None:
    """A conversation that was last used so many days ago."""

    async def write() -> None:
        store = SqliteStore(file, clock=lambda: time.time() - days * DAY)
        async with store.turn(key, agent) as turn:
            turn.append(UserMessage((Text("remember this"), Image(picture or b"png", "image/png"))))
        await store.close()

    asyncio.run(write())


def sessions_file(person: Program) -> Path:
    return person.config.parent / "py" / "sessions.sqlite"


def listed(person: Program) -> set[str]:
    return {one["key"] for one in person.run("sessions", "--json").data}


def test_the_file_can_be_listed_while_new_conversations_are_kept_in_memory(person: Program) -> None:
    remember(sessions_file(person), "agent:main:trip")
    person.config.write_text('{session: {store: "memory"}}')
    assert listed(person) == set()
    assert [one["key"] for one in person.run("sessions", "--store", "file", "--json").data] == ["agent:main:trip"]


async def test_at_a_terminal_what_was_asked_once_stands_apart_and_only_the_last_of_it(tmp_path: Path) -> None:
    home = Home(tmp_path, **OFFLINE)
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        for number in range(7):
            await app.reply(f"once {number}", Conversation("main"))
        await app.reply("plan a trip", Conversation("main", "trip"))
    short = (await run_here(home, "sessions", screen=True, width=120)).out.splitlines()
    whole = (await run_here(home, "sessions", "--all", screen=True, width=120)).out.splitlines()
    piped = (await run_here(home, "sessions")).out.splitlines()
    assert [line.split()[0] for line in short[:2]] == ["key", "trip"]
    assert (short[2:4], short[-1]) == (
        ["", "Asked once, without a session key"],
        "… 2 more: openclaw sessions list --all",
    )
    assert [len(short), len(whole), len(piped)] == [2 + 2 + 1 + 5 + 1, 2 + 2 + 1 + 7, 1 + 8]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
async def test_a_key_stands_whole_on_one_line_and_a_long_title_gives_way(tmp_path: Path, width: int) -> None:
    home = Home(tmp_path, **OFFLINE)
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        await app.reply("tell me everything there is to know about trains and their tickets", Conversation("main"))
        (info,) = await app.store.list()
    head, row = (await run_here(home, "sessions", screen=True, width=width)).out.splitlines()
    assert (head.split()[0], row.split()[0]) == ("key", info.key.removeprefix("agent:main:"))
    assert len(row) <= width
    assert "tell me" in row


async def test_a_long_list_is_cut_and_says_how_many_are_left(tmp_path: Path) -> None:
    home = Home(tmp_path, **OFFLINE)
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        for number in range(3):
            await app.reply("hello", Conversation("main", f"trip-{number}"))
    cut = await run_here(home, "sessions", "list", "--limit", "2", "--json")
    whole = await run_here(home, "sessions", "list", "--limit", "2", "--all", "--json")
    assert [len(json.loads(cut.out)), len(json.loads(whole.out))] == [2, 3]
    assert (cut.err, whole.err) == ("… 1 more: openclaw sessions list --all\n", "")


# Prune


def test_prune_says_what_it_removes_and_how_much_room_that_gives(person: Program) -> None:
    old, young = session_key("main", new_key()), session_key("main", new_key())
    remember(sessions_file(person), old, days=31, picture=os.urandom(2_000_000))
    remember(sessions_file(person), young, days=29)
    remember(sessions_file(person), "agent:main:trip", days=400)

    planned = person.run("sessions", "prune", "--dry-run")
    assert old in planned.out
    assert planned.out.endswith("\nWould remove 1 conversation, 1.9 MB.\n")
    assert listed(person) == {old, young, "agent:main:trip"}

    done = person.run("sessions", "prune")
    assert (done.code, old in done.out, young in done.out) == (0, True, False)
    assert done.out.endswith("\nRemoved 1 conversation; 1.9 MB of disk space freed.\n")
    assert listed(person) == {young, "agent:main:trip"}
    again = person.run("sessions", "prune")
    assert again.out.startswith("Nothing to remove: `sessions.keep` in the config says")


def test_the_config_says_what_is_kept(person: Program) -> None:
    unnamed = session_key("main", new_key())
    remember(sessions_file(person), unnamed, days=31)
    remember(sessions_file(person), "agent:main:trip", days=20, picture=os.urandom(3_000_000))
    remember(sessions_file(person), "agent:main:home", days=1, picture=os.urandom(3_000_000))

    def planned(keep: str) -> list[str]:
        person.configure(f"{{ sessions: {{ keep: {keep} }} }}")
        data = person.run("sessions", "prune", "--dry-run", "--json").data
        return [one["key"] for one in data["removed"]]

    assert planned("{}") == [unnamed]
    assert planned("{ unnamedDays: null }") == []
    assert planned("{ days: 10 }") == [unnamed, "agent:main:trip"]
    assert planned("{ unnamedDays: 90, megabytes: 4 }") == [unnamed, "agent:main:trip"]
    person.configure("{ sessions: { keep: { days: 0 } } }")
    refused = person.run("sessions", "prune")
    assert (refused.code, "sessions.keep.days" in refused.err) == (2, True)


def test_older_than_goes_before_the_config(person: Program) -> None:
    remember(sessions_file(person), "agent:main:trip", days=8)
    remember(sessions_file(person), "agent:main:home", days=6)
    done = person.run("sessions", "prune", "--older-than", "7", "--json").data
    assert ([one["key"] for one in done["removed"]], done["dryRun"]) == (["agent:main:trip"], False)
    assert done["freedBytes"] >= 0
    assert listed(person) == {"agent:main:home"}


@pytest.mark.parametrize("days", ["-5", "nan"])
def test_older_than_what_is_no_age_is_refused(person: Program, days: str) -> None:
    remember(sessions_file(person), "agent:main:trip", days=8)
    refused = person.run("sessions", "prune", f"--older-than={days}")
    assert (refused.code, f"--older-than needs a number from 0 on; {days} is not one." in refused.err) == (2, True)
    assert listed(person) == {"agent:main:trip"}


# By itself


def test_a_turn_tidies_up_beside_itself_once_a_day(tmp_path: Path) -> None:
    place = Home(tmp_path, **OFFLINE)
    file = place.paths.sessions_file

    async def turn() -> list[str]:
        async with App(place.config(), paths=place.paths, env=place.environ) as app:
            await app.reply("hello", Conversation(session="now"))
            for thread in threading.enumerate():
                if thread.name == "sessions-prune":
                    await asyncio.to_thread(thread.join, HANG_GUARD)
            return [info.key for info in await app.store.list()]

    remember(file, session_key("main", new_key()), days=31)
    assert asyncio.run(turn()) == ["agent:main:now"]
    late = session_key("main", new_key())
    remember(file, late, days=31)
    # It was done a moment ago: not again today.
    assert asyncio.run(turn()) == ["agent:main:now", late]
    yesterday = time.time() - 1.1 * DAY
    os.utime(file.with_name(f"{file.name}.pruned"), (yesterday, yesterday))
    assert asyncio.run(turn()) == ["agent:main:now"]


def test_a_gateway_tidies_up_when_it_starts(tmp_path: Path) -> None:
    with home(tmp_path, OFFLINE) as place:
        file = place.paths.sessions_file
        remember(file, session_key("main", new_key()), days=31)
        remember(file, "agent:main:trip", days=31)
        with gateway_process(place) as gateway:
            gateway.wait_until("Old conversations removed: 1 (")
            assert [one["key"] for one in json.loads(place.run("sessions", "--json").stdout)] == ["agent:main:trip"]


# Keys

LONG = "agent:main:" + "a long name for a journey through many towns, " * 5 + "the end"


def test_in_a_pipe_no_key_is_cut(person: Program) -> None:
    unnamed = session_key("main", new_key())
    for key in (LONG, unnamed):
        remember(sessions_file(person), key)
    lines = person.run("sessions").out.splitlines()
    assert [line.partition("  ")[0] for line in lines] == ["key", unnamed, LONG]


def test_a_key_shown_at_a_terminal_can_be_pasted(person: Program) -> None:
    person.configure(
        '{ agents: { defaults: { model: "builtin/offline" }, list: [{ id: "main", default: true }, { id: "cook" }] } }'
    )
    unnamed = session_key("main", new_key())
    kept = {
        unnamed: "main",
        "agent:main:it's a trip": "main",
        "agent:cook:soup": "cook",
        "agent:main:agent:cook:pie": "main",
    }
    for key, agent in kept.items():
        remember(sessions_file(person), key, agent=agent)

    with Terminal([OPENCLAW, "sessions"], cwd=person.workspace, env=person.env()) as terminal:
        code, shown = terminal.ends()
    assert code == 0
    # A waiting line may have been there before; both tables have a head.
    firsts = [line.split("  ")[0].strip() for line in shown.splitlines() if "  " in line]
    pasted = [first for first in firsts if first != "key" and "\x1b" not in first]
    assert len(pasted) == len(kept)
    # The usual ones fit the screen.
    assert max(len(line) for line in shown.splitlines()) <= 80
    for text in pasted:
        [word] = shlex.split(text)
        said = person.run("agent", "--session-key", word, "-m", "hello")
        assert said.code == 0, said.err
        assert "remember this" in person.run("sessions", "show", word).out
    assert {one["key"]: (one["agent"], one["messages"]) for one in person.run("sessions", "--json").data} == {
        key: (agent, 3) for key, agent in kept.items()
    }


@pytest.mark.parametrize("words", [["delete", "nosuch"], ["rename", "nosuch", "a trip"], ["show", "nosuch"]])
def test_a_conversation_that_is_not_there_is_an_error_with_the_next_step(person: Program, words: list[str]) -> None:
    ran = person.run("sessions", *words)
    said = "error: There is no session with the key 'agent:main:nosuch'. `openclaw sessions` lists them.\n"
    assert (ran.code, ran.out, ran.err) == (1, "", said)


def test_a_program_is_told_as_data_that_there_was_nothing_to_delete(person: Program) -> None:
    ran = person.run("sessions", "delete", "nosuch", "--json")
    assert (ran.code, ran.data) == (1, {"deleted": False})


async def test_an_order_that_named_no_conversation_leaves_one_that_nobody_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ordered = [
        await home.openclaw("order", text=json.dumps(order))
        for order in ({"message": "hi"}, {"message": "hi", "sessionKey": "trip"})
    ]
    listed = json.loads((await home.openclaw("sessions", "list", "--json")).out)
    assert [one.code for one in ordered] == [0, 0]
    assert {is_unnamed(one["key"]) for one in listed if "trip" not in one["key"]} == {True}
    assert [one["key"] for one in listed if not is_unnamed(one["key"])] == ["agent:main:mcp:trip"]
