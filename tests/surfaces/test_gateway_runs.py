"""Runs that go on without their caller, and the conversations they leave, over HTTP."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.gateway.runs import RunChanged
from openclaw.reply import ReplyEnded
from parts.gateways import Running, sse_events
from parts.openai_client import playing
from parts.processes import HANG_GUARD

ECHO = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "from the server"}}], "text": "Let me ask."}
LAST = {"text": ["It said: ", "{result}"], "usage": {"inputTokens": 7, "outputTokens": 3}}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
# A call that a script answers when it is cancelled, and not before.
HANG = {"toolCalls": [{"name": "part__hang", "arguments": {}}], "text": "One moment."}


async def watched(gateway: Running, run: str, after: int = 0) -> list[tuple[str, Any]]:
    """All events of a run from there to its end."""
    path = f"{gateway.url}/v1/runs/{run}/events?after={after}"
    async with asyncio.timeout(HANG_GUARD), gateway.client.get(path, headers=gateway.headers) as response:
        assert response.status == 200
        return sse_events((await response.read()).splitlines(keepends=True))


@asynccontextmanager
async def watching(gateway: Running, run: str) -> AsyncIterator[Any]:
    async with gateway.client.get(f"{gateway.url}/v1/runs/{run}/events", headers=gateway.headers) as response:
        yield response.content


async def begun(gateway: Running, message: str = "hello", **more: Any) -> dict[str, Any]:
    status, run = await gateway.post("/v1/runs", {"message": message, **more})
    assert status == 202, run
    return dict(run)


async def test_a_run_is_watched_from_any_event_on_and_its_session_has_what_was_said(tmp_path: Path) -> None:
    async with playing(tmp_path, ECHO, LAST) as gateway:
        run = await begun(gateway, "ask the server")
        events = await watched(gateway, run["run"])
        again = await watched(gateway, run["run"], after=3)
        _, listed = await gateway.get("/v1/sessions")
        (session,) = listed["sessions"]
        _, shown = await gateway.get(f"/v1/sessions/{session['id']}")

    kinds = [kind for kind, _ in events]
    assert kinds == [
        *("said", "started", "turn", "text", "message", "call", "result"),
        *("turn", "text", "message", "ended"),
    ]
    assert [kind for kind, _ in again] == kinds[3:]
    data = dict(events)
    assert {"text": "ask the server", "files": []}.items() <= data["said"].items()
    assert data["call"]["arguments"] == {"text": "from the server"}
    # Without the frame that the model had around it.
    assert data["result"]["content"] == [{"type": "text", "text": "from the server"}]
    assert data["ended"]["reason"] == "done"
    assert session["key"] == run["sessionKey"]
    said = [(entry["role"], [block["type"] for block in entry["content"]]) for entry in shown["entries"]]
    assert said == [
        ("user", ["text"]),
        ("assistant", ["text", "toolCall"]),
        ("tool", ["text"]),
        ("assistant", ["text"]),
    ]
    assert shown["entries"][2]["source"] == "mcp:part"
    assert [one["run"] for one in shown["runs"]] == [run["run"]]


async def test_a_run_goes_on_when_its_watcher_leaves_and_a_second_turn_continues_its_session(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}, {"text": "two"}) as gateway:
        with gateway.gateway.app.engine.events.reader(RunChanged) as reader:
            run = await begun(gateway)
            async with watching(gateway, run["run"]) as stream:
                await stream.readline()
            while (event := await reader.next(HANG_GUARD)) is not None and not event.value.reason:
                pass
        assert event is not None
        assert event.value == RunChanged(run["run"], "main", run["sessionKey"], "done")
        second = await begun(gateway, "and now?", sessionKey=run["sessionKey"])
        assert dict(await watched(gateway, second["run"]))["message"]["text"] == "two"
        _, listed = await gateway.get("/v1/sessions?search=HELLO")

    assert [(one["key"], one["messages"]) for one in listed["sessions"]] == [(run["sessionKey"], 4)]


async def test_asking_twice_with_the_same_id_begins_one_run(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}) as gateway:
        runs = [await begun(gateway, id="made-up-here") for _ in range(2)]
        events = await watched(gateway, "made-up-here")

    assert runs[0]["sessionKey"] == runs[1]["sessionKey"]
    assert [data["delta"] for kind, data in events if kind == "text"] == ["one"]


async def test_a_cancelled_run_ends_with_one_event_and_its_server_lives_on(tmp_path: Path) -> None:
    async with playing(tmp_path, HANG, {"text": "later"}) as gateway:
        ended: list[ReplyEnded] = []
        gateway.gateway.app.engine.events.subscribe(lambda event: ended.append(event.value), ReplyEnded)
        run = await begun(gateway)
        async with watching(gateway, run["run"]) as stream:
            while b"event: call" not in await stream.readline():
                pass
            assert (await gateway.post(f"/v1/runs/{run['run']}/cancel"))[0] == 200
            rest = sse_events((await stream.read()).splitlines(keepends=True))
        again = await begun(gateway, "again")
        assert dict(await watched(gateway, again["run"]))["ended"]["reason"] == "done"
        _, shown = await gateway.get(f"/v1/runs/{run['run']}")

    assert [data["reason"] for kind, data in rest if kind == "ended"] == ["cancelled"]
    assert (shown["state"], shown["reason"]) == ("over", "cancelled")
    assert [one.reply.reason for one in ended] == ["cancelled", "done"]


async def test_pictures_go_in_and_are_fetched_again_one_by_one(tmp_path: Path) -> None:
    picture = {"name": "cat.png", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}
    async with playing(tmp_path, {"text": "A cat."}) as gateway:
        run = await begun(gateway, "look", attachments=[picture])
        await watched(gateway, run["run"])
        _, listed = await gateway.get("/v1/sessions")
        session = listed["sessions"][0]["id"]
        _, shown = await gateway.get(f"/v1/sessions/{session}")
        block = next(block for block in shown["entries"][0]["content"] if block["type"] == "image")
        path = f"{gateway.url}/v1/sessions/{session}/media/{block['media']}"
        async with gateway.client.get(path, headers=gateway.headers) as response:
            fetched = (response.content_type, response.headers["Content-Disposition"], await response.read())
        missing, _ = await gateway.get(f"/v1/sessions/{session}/media/{block['media'].partition('/')[0]}/99")

    assert fetched == ("image/png", "attachment", PNG)
    assert missing == 404


async def test_a_conversation_is_named_exported_and_deleted_by_its_id(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}) as gateway:
        run = await begun(gateway, "what is the weather?")
        await watched(gateway, run["run"])
        _, listed = await gateway.get("/v1/sessions")
        session = listed["sessions"][0]
        path = f"/v1/sessions/{session['id']}"
        assert session["title"] == "what is the weather?"
        assert await gateway.post(path, {"title": "Weather"}) == (200, {"title": "Weather"})
        _, lines = await gateway.get(f"{path}/export")
        _, page = await gateway.get(f"{path}/export?format=markdown")
        assert (await gateway.send("DELETE", path))[0] == 200
        gone = [(await gateway.send(method, path))[0] for method in ("GET", "DELETE")]

    assert [json.loads(line)["type"] for line in lines.splitlines()][:2] == ["session", "message"]
    assert page.startswith("# Weather\n")
    assert gone == [404, 404]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({}, 400, "There is nothing to say"),
        ({"message": "x", "id": "a b"}, 400, "The id of a run"),
        ({"message": "x", "agent": "nobody"}, 400, "nobody"),
        ({"message": "x", "attachments": [{"data": "%%%"}]}, 400, "file-1"),
        ({"message": "x", "color": "red"}, 400, "color"),
    ],
)
async def test_a_run_that_cannot_begin_says_why(
    tmp_path: Path, body: dict[str, Any], status: int, sentence: str
) -> None:
    async with playing(tmp_path) as gateway:
        answered, error = await gateway.post("/v1/runs", body)

    assert (answered, sentence in error["error"]["message"]) == (status, True), error


async def test_a_model_that_fails_ends_the_run_with_its_sentence(tmp_path: Path) -> None:
    async with playing(tmp_path, {"error": "The model is out."}) as gateway:
        run = await begun(gateway)
        events = await watched(gateway, run["run"])
        unknown, _ = await gateway.get("/v1/runs/nosuch/events")
        wrong, _ = await gateway.get(f"/v1/runs/{run['run']}/events?after=x")

    assert [(data["reason"], data["error"]) for kind, data in events if kind == "ended"] == [
        ("error", "The model is out.")
    ]
    assert (unknown, wrong) == (404, 400)
