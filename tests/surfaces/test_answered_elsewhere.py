"""Questions of a gateway of its own, answered with `openclaw approvals`, in a chat and over HTTP; terminals and gateways that go."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

from openclaw.commands.console import clock_time
from parts.asking import FORM, MAY_IT, Watcher, asking_home, done, watching
from parts.gateways import PROGRAM, GatewayProcess, Home, gateway_process
from parts.processes import HANG_GUARD
from parts.terminal import Terminal

PLAIN = {"kind": "approval", "text": "Forget all notes?"}


@asynccontextmanager
async def gateway_that_asks(
    folder: Path, question: dict[str, Any], query: str = "", **config: Any
) -> AsyncIterator[tuple[GatewayProcess, Watcher]]:
    """A gateway whose model lets a tool ask this, and somebody who watches what happens."""
    with asking_home(folder) as place:
        turns: list[dict[str, Any]] = [
            {"toolCalls": [{"name": "ask", "arguments": {"question": question}}]},
            {"text": "It says: {result}"},
        ]
        plugins = json.loads(place.config_file.read_text())["plugins"]
        place.save(place.script(*turns * 5), plugins=plugins, **config)
        with gateway_process(place) as gateway:
            async with watching(f"http://127.0.0.1:{gateway.port}", place.token, query) as watcher:
                yield gateway, watcher


def at_a_terminal(place: Home, *words: str) -> Terminal:
    return Terminal([*PROGRAM, *words], cwd=place.state, env={**place.env, "PROMPT_TOOLKIT_NO_CPR": "1"})


async def run(place: Home, *words: str, **options: Any) -> tuple[int, str, str]:
    ended = await asyncio.to_thread(place.run, *words, **options)
    return ended.returncode, ended.stdout, ended.stderr


async def test_a_command_answers_in_the_place_of_the_terminal_that_shows_the_question(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, PLAIN) as (gateway, watcher):
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            told = await watcher.next()
            await asyncio.to_thread(terminal.shows, "Forget all notes?")
            code, said, _ = await run(gateway.home, "approvals", "answer", told["id"][:8], "deny", "--note=Keep them.")
            await asyncio.to_thread(terminal.shows, "(This is no longer asked.)")
            ended, rest = await asyncio.to_thread(terminal.ends)
        again = await run(gateway.home, "approvals", "answer", told["id"], "allow-once")
    assert (code, said) == (0, "Declined: approval.\n")
    assert (ended, '"note": "Keep them."' in rest.replace("\r\n", "")) == (0, True)
    assert (again[0], again[2]) == (2, "error: This question is over already: declined by command.\n")
    assert done(gateway.home) == []


async def test_of_a_key_and_a_request_at_the_same_time_one_counts(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, PLAIN) as (gateway, watcher):
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            told = await watcher.next()
            await asyncio.to_thread(terminal.shows, "Forget all notes?")
            url, headers = (
                f"http://127.0.0.1:{gateway.port}/v1/approvals/{told['id']}",
                {"Authorization": f"Bearer {gateway.home.token}"},
            )
            async with aiohttp.ClientSession(headers=headers) as client:
                async with client.get(url) as response:
                    digest = (await response.json())["digest"]
                _, response = await asyncio.gather(
                    asyncio.to_thread(terminal.type, "y"), client.post(url, json={"digest": digest, "choice": "deny"})
                )
                body = await response.json()
            ended = await watcher.next()
            code, rest = await asyncio.to_thread(terminal.ends)
    by, word = {"accepted": ("terminal", "accept"), "declined": ("http", "decline")}[ended["state"]]
    assert (code, ended["by"], f'"action": "{word}"' in rest.replace("\r\n", "")) == (0, by, True)
    assert (response.status, body.get("question", body)["state"]) == (200 if by == "http" else 409, ended["state"])
    assert done(gateway.home) == ([{}] if by == "terminal" else [])


async def test_the_questions_that_wait_are_listed_and_shown(tmp_path: Path) -> None:
    hostile = {**MAY_IT, "text": "first\n  answer     accept\x1b[2J"}
    async with gateway_that_asks(tmp_path, hostile, "?answers=approval") as (gateway, watcher):
        asking = asyncio.create_task(run(gateway.home, "agent", "-m", "go"))
        told = await watcher.next()
        _, listed, _ = await run(gateway.home, "approvals")
        _, as_json, _ = await run(gateway.home, "approvals", "list", "--json")
        _, shown, _ = await run(gateway.home, "approvals", "show", told["id"])
        wrong = await run(gateway.home, "approvals", "answer", told["id"], "perhaps")
        short = await run(gateway.home, "approvals", "answer", told["id"][:5], "once")
        stale = await run(gateway.home, "approvals", "answer", told["id"], "once", "--digest=0")
        code, said, _ = await run(gateway.home, "approvals", "answer", told["id"], "allow-once", "--json")
        _, answer, _ = await asking
        _, recent, _ = await run(gateway.home, "approvals", "list", "--recent")
        _, trail, _ = await run(gateway.home, "audit", "tail")
        _, nothing, _ = await run(gateway.home, "approvals")
    (one,) = json.loads(as_json)
    assert [told["id"] in listed, "files__write" in listed, "a-private-name" in listed] == [True, True, False]
    assert shown.splitlines() == [
        f"approval {told['id']}, agent main",
        '  text       "first\\n  answer     accept\\u001b[2J"',
        '  tool       "files__write"',
        '  server     "files"',
        '  argument   "path": "/notes/a-private-name"',
        "  answer     once: once",
        "  answer     always: always below /notes",
        "  answer     decline, cancel",
        f"  digest     {one['digest']}",
        f"  until      {clock_time(datetime.fromisoformat(one['expiresAt']).timestamp())}",
    ]
    assert (wrong[0], "'perhaps' is no answer to this question." in wrong[2]) == (2, True)
    needed = "it may be over. At least 6 letters of its id are needed.\n"
    assert (short[0], short[2]) == (2, f"error: There is no question {told['id'][:5]!r}; {needed}")
    assert (stale[0], "look at it again" in stale[2]) == (2, True)
    assert (code, json.loads(said)["option"], '"by": "command"' in answer) == (0, "once", True)
    # A day and a time of day in two words, as everywhere at a terminal.
    assert recent.splitlines()[1].split()[2] == "approval"
    assert ["command" in recent, "question" in trail, "asked" in trail, "once" in trail] == [True] * 4
    assert nothing == "No question waits.\n"


async def test_with_json_questions_are_lines_and_a_command_answers_them(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, FORM) as (gateway, _):
        program = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *("agent", "--json", "--answers=approval,form", "-m", "go"),
            env=gateway.home.env,
            stdout=asyncio.subprocess.PIPE,
        )
        assert program.stdout is not None
        asked = json.loads(await asyncio.wait_for(program.stdout.readline(), HANG_GUARD))
        content = '--content={"name": "Yü"}'
        code, _, error = await run(
            gateway.home, "approvals", "answer", asked["id"], "accept", content, f"--digest={asked['digest']}"
        )
        rest = [json.loads(line) for line in (await program.communicate())[0].splitlines()]
        # Without the option, and in the process of the command, nobody is asked.
        plain = await run(gateway.home, "agent", "--json", "-m", "go")
        here = await run(gateway.home, "--local", "agent", "--json", "--answers=form", "-m", "go")
        loud = await run(gateway.home, "agent", "--answers=form", "-m", "go")
        unknown = await run(gateway.home, "agent", "--json", "--answers=sign-in", "-m", "go")
    assert (asked["event"], asked["kind"], asked["schema"], code, error) == ("question", "form", FORM["schema"], 0, "")
    assert [one["event"] for one in rest] == ["answer", "reply"]
    assert (rest[0]["state"], rest[0]["by"], done(gateway.home)) == ("accepted", "command", [{"name": "Yü"}])
    assert (plain[0], "nobody" in plain[1]) == (0, True)
    assert [one[0] for one in (here, loud, unknown)] == [2, 2, 2]
    assert "needs a gateway" in json.loads(here[1])["error"]["message"]


async def test_somebody_in_another_chat_answers_with_a_slash_command(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, MAY_IT, "?answers=approval") as (gateway, watcher):
        asking = asyncio.create_task(run(gateway.home, "agent", "-m", "go"))
        told = await watcher.next()
        lines = f"/approvals\n/approvals {told['id'][:6]}\n/approve\n/approve {told['id']} deny not there\n/approvals\n"
        code, said, error = await run(gateway.home, "chat", input=lines)
        _, answer, _ = await asking
    assert (code, told["id"] in said, said.splitlines()[-2:]) == (
        0,
        True,
        ["Declined: files__write.", "No question waits."],
    )
    assert f"approval {told['id']}, agent main\n" in said
    assert '  argument   "path": "/notes/a-private-name"\n' in said
    assert ("/approve needs an id and a word." in error, '"note": "not there"' in answer) == (True, True)
    assert done(gateway.home) == []


async def test_a_terminal_that_dies_while_it_asks_ends_the_question_whoever_watches(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, MAY_IT, "?answers=approval") as (gateway, watcher):
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            told = await watcher.next()
            terminal.kill()
            after = await watcher.next()
    assert (after["id"], after["state"], done(gateway.home)) == (told["id"], "withdrawn", [])


async def test_a_question_left_unanswered_at_a_terminal_expires_and_the_turn_goes_on(tmp_path: Path) -> None:
    tools = {"approval": {"timeoutMs": 200}}
    async with gateway_that_asks(tmp_path, PLAIN, tools=tools) as (gateway, watcher):
        with at_a_terminal(gateway.home, "agent", "-m", "go") as terminal:
            states = [(await watcher.next())["state"] for _ in range(2)]
            await asyncio.to_thread(terminal.shows, "(This is no longer asked.)")
            code, rest = await asyncio.to_thread(terminal.ends)
    assert (states, code, '"why": "expired"' in " ".join(rest.split())) == (["pending", "expired"], 0, True)
    assert done(gateway.home) == []


async def test_an_order_whose_process_dies_takes_its_question_along(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, MAY_IT, "?answers=approval") as (gateway, watcher):
        order = await asyncio.create_subprocess_exec(
            *PROGRAM, "order", env=gateway.home.env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        asking = asyncio.create_task(order.communicate(b'{"message": "go"}'))
        told = await watcher.next()
        order.kill()
        after = await watcher.next()
        await asking
    assert (after["id"], after["state"], done(gateway.home)) == (told["id"], "withdrawn", [])


async def test_a_gateway_that_dies_takes_its_questions_along_and_the_next_knows_none(tmp_path: Path) -> None:
    async with gateway_that_asks(tmp_path, MAY_IT, "?answers=approval") as (gateway, watcher):
        asking = asyncio.create_task(run(gateway.home, "agent", "-m", "go"))
        told = await watcher.next()
        one = json.loads((await run(gateway.home, "approvals", "show", told["id"], "--json"))[1])
        gateway.process.send_signal(signal.SIGKILL)
        assert (await asking)[0] != 0
        await asyncio.to_thread(gateway.process.wait)
        with gateway_process(gateway.home) as new:
            url = f"http://127.0.0.1:{new.port}/v1/approvals/{told['id']}"
            headers = {"Authorization": f"Bearer {new.home.token}"}
            body = {"digest": one["digest"], "choice": "once"}
            async with aiohttp.ClientSession() as client, client.post(url, json=body, headers=headers) as response:
                assert response.status == 404
            assert (await run(new.home, "approvals", "answer", told["id"], "once"))[0] == 2
    assert done(gateway.home) == []


async def test_without_a_gateway_there_is_nothing_to_answer(tmp_path: Path) -> None:
    with asking_home(tmp_path) as place:
        code, said, _ = await run(place, "approvals")
        answered = await run(place, "approvals", "answer", "q7Hk2dQm", "allow-once")
    assert (code, "running gateway" in said, answered[0]) == (0, True, 2)
