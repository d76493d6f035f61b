"""A session that is busy with another turn costs nobody more than the time they have."""

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from openclaw.sessions.sqlite import SqliteStore
from parts.gateways import Home, home, running
from parts.model_servers import Answer, ChatServer, Hold
from parts.order_process import OrderProcess, local_model
from parts.processes import HANG_GUARD

BUSY = "The session is busy with another turn, and was not free within {} seconds."


def saved(place: Home, **agent: Any) -> None:
    config = place.script(*[{"text": "Said."}] * 9)
    config["agents"]["defaults"] |= agent
    place.save(config)


@pytest.mark.parametrize("where", ["here", "by the gateway"])
async def test_the_time_of_a_command_covers_waiting_for_its_session(where: str, tmp_path: Path) -> None:
    with home(tmp_path) as place:
        saved(place)
        local = ("--local",) if where == "here" else ()
        async with running(place):
            store = SqliteStore(place.paths.sessions_file)
            async with store.turn("agent:main:mine", "main"):
                words = (*local, "agent", "--session-key", "mine", "--timeout", "0.5", "-m", "hi")
                done = await asyncio.to_thread(place.run, *words)
            free = await asyncio.to_thread(place.run, *words)
            await store.close()

    assert (done.returncode, done.stdout, BUSY.format("0.5") in done.stderr) == (1, "", True), done.stderr
    assert free.stdout == "Said.\n"


@pytest.mark.parametrize("where", ["here", "by the gateway"])
async def test_a_conversation_in_the_middle_of_a_turn_is_not_deleted_and_the_answer_is_kept(
    where: str, tmp_path: Path
) -> None:
    words = ("sessions", "delete", "mine")
    go_on = asyncio.Event()
    async with ChatServer([Answer([go_on, "Said."])]) as chat:
        with home(tmp_path) as place:
            place.save(local_model(chat.url, chat.key))
            async with running(place) if where == "by the gateway" else nullcontext():
                turn = asyncio.create_task(asyncio.to_thread(place.run, "agent", "--session-key", "mine", "-m", "hi"))
                await asyncio.wait_for(chat.waiting.wait(), HANG_GUARD)
                refused = await asyncio.to_thread(place.run, *words)
                go_on.set()
                answered = await turn
                kept = await asyncio.to_thread(place.run, "sessions", "show", "mine")
                deleted = await asyncio.to_thread(place.run, *words)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "The conversation agent:main:mine is in the middle of a turn; nothing was deleted." in refused.stderr
    assert "Wait until that turn has ended, or stop it (Ctrl+C where it runs), and delete again." in refused.stderr
    assert answered.stdout == "Said.\n"
    assert kept.stdout == "you: hi\nagent: Said.\n"
    assert (deleted.returncode, deleted.stdout) == (0, "Deleted.\n")


async def test_a_request_and_an_order_wait_no_longer_than_their_agent_may_take(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        saved(place, timeoutSeconds=1)
        async with running(place) as gateway:
            store = gateway.gateway.app.store
            async with store.turn("agent:main:openai-user:ann", "main"), store.turn("agent:main:mcp:k", "main"):
                body = {"model": "openclaw", "user": "ann", "messages": [{"role": "user", "content": "hi"}]}
                asked = [
                    await gateway.post("/v1/chat/completions", {**body, "stream": stream}) for stream in (False, True)
                ]
                told = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}, *body["messages"]]
                asked.append(await gateway.post("/v1/chat/completions", {**body, "messages": told}))
                order = json.dumps({"message": "hi", "sessionKey": "k"})
                ordered = await asyncio.to_thread(place.run, "order", input=order)

    assert [(status, answer["error"]["code"]) for status, answer in asked] == [(409, "session_busy")] * 3
    assert all(answer["error"]["message"].startswith(BUSY.format("1")) for _, answer in asked)
    result = json.loads(ordered.stdout.splitlines()[-1])["result"]
    assert (result["isError"], BUSY.format("1") in result["content"][0]["text"]) == (True, True)


async def test_orders_of_one_conversation_wait_no_longer_than_their_agent_may_take(tmp_path: Path) -> None:
    async with ChatServer([Answer([Hold()])] * 3) as chat:
        config = local_model(chat.url, chat.key, timeoutSeconds=1)
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            results = await asyncio.gather(*(server.order(text, sessionKey="k") for text in ("one", "two", "three")))

    texts = [result["content"][0]["text"] for result in results]
    assert [result["isError"] for result in results] == [True] * 3
    assert (texts[0], texts[2].startswith("Error: The session is busy with another turn")) == (
        "Error: The answer was not complete after 1 seconds.",
        True,
    )
