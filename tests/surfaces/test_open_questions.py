"""Questions of a gateway over HTTP: who hears of them, who may answer, whose answer counts, and what becomes of those nobody answers."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from openclaw.grant import Grant
from parts.asking import FORM, MAY_IT, PAGE, asking_gateway, asking_home, done, watching
from parts.gateways import Running, running, sse_events
from parts.processes import HANG_GUARD


async def ask(gateway: Running, question: dict[str, Any], *, tool: str = "ask", **more: Any) -> dict[str, Any]:
    """What a tool that asks got to hear."""
    session = more.pop("session", "one")
    body = {"tool": tool, "arguments": {"question": question, **more}, "sessionKey": session}
    status, answer = await gateway.post("/v1/tools/invoke", body)
    assert status == 200, answer
    text = answer["content"][0]["text"]
    start = text.find("{")
    found: dict[str, Any] = json.loads(text[start : text.rindex("}") + 1]) if start >= 0 else {"said": text}
    return found


def watcher_of(gateway: Running, query: str = "?answers=approval,form,url") -> Any:
    return watching(gateway.url, gateway.home.token, query)


async def test_a_watcher_hears_of_a_question_looks_at_it_and_answers(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, MAY_IT))
        told = await watcher.next()
        _, listed = await gateway.get("/v1/approvals")
        (one,) = listed["questions"]
        status, ended = await gateway.post(
            f"/v1/approvals/{told['id']}", {"digest": one["digest"], "choice": "allow-always"}
        )
        heard = await asking
        after = await watcher.next()
        _, recent = await gateway.get("/v1/approvals?state=recent")
        _, metrics = await gateway.get("/metrics")
    assert 'openclaw_questions_total{kind="approval",state="accepted"} 1' in metrics
    about = {"kind": "approval", "tool": "files__write", "agent": "main"}
    assert told == {"id": one["id"], **about, "state": "pending", "askedAt": told["askedAt"], "time": told["time"]}
    assert (one["approval"]["arguments"], one["session"]) == ({"path": "/notes/a-private-name"}, "agent:main:one")
    assert (status, ended["state"], ended["option"], ended["by"]) == (200, "accepted", "always", "http")
    assert (after["state"], recent["questions"], "a-private-name" in str(recent)) == ("accepted", [ended], False)
    assert heard == {"action": "accept", "content": {"option": "always"}, "note": "", "by": "http", "why": ""}
    assert done(gateway.home) == [{"option": "always"}]


async def test_forms_and_addresses_are_answered_too_and_a_form_has_to_fit(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, FORM))
        path = f"/v1/questions/{(await watcher.next())['id']}"
        _, form = await gateway.get(path)
        assert (await gateway.get(path.replace("questions", "approvals")))[0] == 404
        status, refused = await gateway.post(
            path, {"digest": form["digest"], "choice": "accept", "content": {"name": 5}}
        )
        assert (status, "name" in refused["error"]["message"]) == (422, True)
        given = {"digest": form["digest"], "choice": "accept", "content": {"name": "Yü"}}
        assert (await gateway.post(path, given))[0] == 200
        heard = await asking
        await watcher.next()
        asking = asyncio.create_task(ask(gateway, PAGE))
        path = f"/v1/questions/{(await watcher.next())['id']}"
        _, page = await gateway.get(path)
        assert (await gateway.post(path, {"digest": page["digest"], "choice": "decline", "note": "No."}))[0] == 200
        declined = await asking
    assert (form["text"], form["schema"], page["url"]) == (FORM["text"], FORM["schema"], PAGE["url"])
    assert (heard["content"], declined["action"], declined["note"]) == ({"name": "Yü"}, "decline", "No.")
    trail = (gateway.home.paths.audit_dir / "calls.jsonl").read_text()
    assert ("Yü" in trail, "No." in trail, '"event":"answer"' in trail) == (False, False, True)


async def test_an_answer_that_is_none_is_refused_and_the_question_stays_open(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, MAY_IT))
        path = f"/v1/approvals/{(await watcher.next())['id']}"
        _, one = await gateway.get(path)
        digest = one["digest"]
        refused = [
            await gateway.post(path, body)
            for body in (
                {"digest": "0" * 64, "choice": "once"},
                {"choice": "once"},
                {"digest": digest, "choice": "perhaps"},
                {"digest": digest, "choice": "once", "offer": "always"},
                {"digest": digest, "choice": "once", "more": True},
            )
        ]
        async with gateway.client.post(gateway.url + path, json={"digest": digest, "choice": "once"}) as stranger:
            assert stranger.status == 401
        assert (await gateway.post("/v1/approvals/nothing", {"digest": digest, "choice": "once"}))[0] == 404
        assert (await gateway.get("/v1/approvals?state=other"))[0] == 400
        assert (await gateway.get(path))[1]["state"] == "pending"
        await gateway.post(path, {"digest": digest, "choice": "deny"})
        assert (await asking)["action"] == "decline"
    assert [status for status, _ in refused] == [412, 400, 422, 422, 400]
    assert done(gateway.home) == []


async def test_of_answers_at_the_same_time_one_counts_and_the_others_are_told(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, MAY_IT))
        path = f"/v1/approvals/{(await watcher.next())['id']}"
        digest = (await gateway.get(path))[1]["digest"]
        answers = await asyncio.gather(
            *(gateway.post(path, {"digest": digest, "choice": word}) for word in ("once", "deny", "always", "deny"))
        )
        heard = await asking
    (counted,) = [body for status, body in answers if status == 200]
    late = [body for status, body in answers if status == 409]
    assert (len(late), [body["question"] for body in late]) == (3, [counted] * 3)
    assert {"accepted": "accept", "declined": "decline"}[counted["state"]] == heard["action"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_a_caller_that_streams_may_be_asked_in_its_own_stream(tmp_path: Path, path: str) -> None:
    turns: list[dict[str, Any]] = [
        {"toolCalls": [{"name": "ask", "arguments": {"question": MAY_IT}}]},
        {"text": "It says: {result}"},
    ]
    with asking_home(tmp_path) as place:
        place.save(place.script(*turns), plugins=json.loads(place.config_file.read_text())["plugins"])
        async with running(place) as gateway:
            said = {"messages": [{"role": "user", "content": "go"}]} if "chat" in path else {"input": "go"}
            headers = {**gateway.headers, "X-OpenClaw-Answers": "approval"}
            body = {"model": "openclaw", "stream": True, **said}
            async with gateway.client.post(gateway.url + path, json=body, headers=headers) as response:
                events: list[tuple[str, Any]] = []
                async for line in response.content:
                    lines = [line, await response.content.readline()] if line.startswith(b"event: ") else [line]
                    found = sse_events([one for one in lines if b"[DONE]" not in one])
                    events += found
                    for name, told in found:
                        if (name, told.get("state")) == ("openclaw.question", "pending"):
                            _, one = await gateway.get(f"/v1/approvals/{told['id']}")
                            answer = {"digest": one["digest"], "choice": "deny"}
                            assert (await gateway.post(f"/v1/approvals/{told['id']}", answer))[0] == 200
            refused = [
                await gateway.client.post(gateway.url + path, json={**body, **change}, headers={**headers, **more})
                for change, more in (({"stream": False}, {}), ({}, {"X-OpenClaw-Answers": "sign-in"}))
            ]
    assert [told["state"] for name, told in events if name == "openclaw.question"] == ["pending", "declined"]
    assert "decline" in str(events[-1 if "chat" not in path else slice(None)])
    assert [one.status for one in refused] == [400, 400]


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_a_turn_that_three_nos_ended_says_so_in_the_shape_of_its_caller(
    tmp_path: Path, path: str, is_streamed: bool
) -> None:
    calls = [{"toolCalls": [{"name": "write", "arguments": {"path": f"{n}.md", "content": "x"}}]} for n in range(3)]
    said = {"messages": [{"role": "user", "content": "go"}]} if "chat" in path else {"input": "go"}

    async def order(gateway: Running) -> str:
        body = {"model": "openclaw", "stream": is_streamed, **said}
        async with gateway.client.post(gateway.url + path, json=body, headers=gateway.headers) as response:
            assert response.status == 200
            return await response.text()

    with asking_home(tmp_path) as place:
        place.save(place.script(*calls, {"text": "It goes on."}))
        async with running(place) as gateway, watcher_of(gateway, "?answers=approval") as watcher:
            ordered = asyncio.create_task(order(gateway))
            for _ in calls:
                asked = f"/v1/approvals/{(await watcher.next())['id']}"
                _, one = await gateway.get(asked)
                assert (await gateway.post(asked, {"digest": one["digest"], "choice": "deny"}))[0] == 200
                assert (await watcher.next())["state"] == "declined"
            answer = await ordered
    reasons = re.findall(r'"(?:finish_)?reason": ?"([a-z_]+)"', answer)
    assert ("content_filter" in reasons, "It goes on." in answer) == (True, False), answer
    assert {"stop", "length", "max_output_tokens"}.isdisjoint(reasons)


async def test_where_nobody_watches_nobody_is_asked(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway:
        async with watcher_of(gateway, "?answers=form"):
            heard = await ask(gateway, MAY_IT)
        async with watcher_of(gateway, ""):
            again = await ask(gateway, MAY_IT)
        assert (await gateway.get("/v1/events?answers=sign-in"))[0] == 400
    assert (heard["why"], again["why"], done(gateway.home)) == ("nobody", "nobody", [])


async def test_ten_questions_at_once_are_asked_one_at_a_time(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = [asyncio.create_task(ask(gateway, MAY_IT)) for _ in range(10)]
        # One is asked and eight wait: the tenth to come finds no place. Before that, nobody knows whether all have come.
        await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        most = 0
        for _ in range(9):
            told = await watcher.next()
            listed = (await gateway.get("/v1/approvals"))[1]["questions"]
            most = max(most, len(listed))
            path = f"/v1/approvals/{told['id']}"
            assert (await gateway.post(path, {"digest": listed[0]["digest"], "choice": "deny"}))[0] == 200
            assert (await watcher.next())["state"] == "declined"
        heard = await asyncio.gather(*asking)
    assert most == 1
    assert sorted(one["action"] for one in heard) == ["cancel"] + ["decline"] * 9
    assert done(gateway.home) == []


async def test_sessions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = [asyncio.create_task(ask(gateway, MAY_IT, session=name)) for name in ("one", "two")]
        ids = [(await watcher.next())["id"] for _ in asking]
        async with watcher_of(gateway) as late:
            assert [one["id"] for one in late.snapshot["questions"]] == ids
        for one in (await gateway.get("/v1/questions"))[1]["questions"]:
            await gateway.post(f"/v1/questions/{one['id']}", {"digest": one["digest"], "choice": "cancel"})
        assert [one["action"] for one in await asyncio.gather(*asking)] == ["cancel", "cancel"]


async def test_a_question_left_unanswered_expires_and_nothing_is_done(tmp_path: Path) -> None:
    tools = {"approval": {"pendingMs": 200}}
    async with asking_gateway(tmp_path, tools=tools) as gateway, watcher_of(gateway) as watcher:
        heard = await asyncio.wait_for(ask(gateway, MAY_IT), HANG_GUARD)
        told = [await watcher.next() for _ in range(2)]
        late = await gateway.post(f"/v1/approvals/{told[0]['id']}", {"digest": "", "choice": "once"})
    assert (heard["action"], heard["why"], [one["state"] for one in told]) == (
        "cancel",
        "expired",
        ["pending", "expired"],
    )
    assert (late[0], late[1]["question"]["state"], done(gateway.home)) == (409, "expired", [])


async def test_who_asks_and_leaves_takes_the_question_along(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, MAY_IT))
        path = f"/v1/approvals/{(await watcher.next())['id']}"
        digest = (await gateway.get(path))[1]["digest"]
        # The connection is closed with it.
        asking.cancel()
        assert (await watcher.next())["state"] == "withdrawn"
        status, late = await gateway.post(path, {"digest": digest, "choice": "once"})
    assert (status, late["question"]["state"], done(gateway.home)) == (409, "withdrawn", [])


@pytest.mark.parametrize("is_watched", [True, False])
async def test_a_tool_that_asks_for_ever_ends_and_nobody_else_waits_for_it(tmp_path: Path, is_watched: bool) -> None:
    async with asking_gateway(tmp_path) as gateway:
        async with watcher_of(gateway, "?answers=approval" if is_watched else "") as watcher:
            asking = asyncio.create_task(ask(gateway, MAY_IT, tool="ask_briefly", forever=True))
            while is_watched and not asking.done():
                # Every answer is a no, until it is not heard any more.
                for one in (await gateway.get("/v1/approvals"))[1]["questions"]:
                    await gateway.post(f"/v1/approvals/{one['id']}", {"digest": one["digest"], "choice": "deny"})
            assert (await gateway.get("/health"))[0] == 200
            heard = await asyncio.wait_for(asking, HANG_GUARD)
            assert watcher.snapshot
    assert ("did not finish within" in heard["said"], done(gateway.home)) == (True, [])


async def test_grants_are_listed_and_taken_back_and_none_is_given(tmp_path: Path) -> None:
    grant = Grant(
        "g_1", "write_file", "identity", "digest", "main", {"path": "/notes/**"}, created="2026-01-01T00:00:00Z"
    )
    shown = {
        "id": "g_1",
        "tool": "write_file",
        "server": "identity",
        "definition": "digest",
        "agent": "main",
        "arguments": {"path": "/notes/**"},
        "created": "2026-01-01T00:00:00Z",
        "lastUsed": None,
        "ended": "its server is gone, or configured otherwise",
    }
    async with asking_gateway(tmp_path) as gateway:
        await gateway.gateway.app.engine.grants.add(grant)
        assert await gateway.get("/v1/approvals/grants") == (200, {"grants": [shown]})
        assert await gateway.get("/v1/approvals/grants/g_1") == (200, shown)
        assert (await gateway.post("/v1/approvals/grants", shown))[0] == 400
        assert (await gateway.post("/v1/approvals/grants/g_2", shown))[0] == 405
        assert await gateway.send("DELETE", "/v1/approvals/grants/g_1") == (200, {"revoked": True})
        assert (await gateway.send("DELETE", "/v1/approvals/grants/g_1"))[0] == 404
        assert (await gateway.get("/v1/approvals/grants/g_1"))[0] == 404
        assert gateway.gateway.app.engine.grants.all() == ()


async def test_a_gateway_that_stops_answers_with_cancel(tmp_path: Path) -> None:
    async with asking_gateway(tmp_path) as gateway, watcher_of(gateway) as watcher:
        asking = asyncio.create_task(ask(gateway, MAY_IT))
        await watcher.next()
        gateway.stop.set()
        assert (await watcher.next())["state"] == "withdrawn"
        heard = await asyncio.wait_for(asking, HANG_GUARD)
    assert (heard["action"], heard["why"], done(gateway.home)) == ("cancel", "withdrawn", [])
