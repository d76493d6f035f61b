"""Servers that ask a person something while they work, through the engine as a config makes it: both ways of asking, and nobody there."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.conversation import Answer, Asker, Conversation, Nobody, Question
from openclaw.engine import Engine
from openclaw.mcp import rounds
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from openclaw.tool import Invocation
from parts import planned_server
from parts.command_line import Home, parts_server
from parts.person import Person, agrees, declines
from parts.planned_server import MODERN, tool

SCHEMA = {"type": "object", "properties": {"people": {"type": "integer", "default": 2}}}
FORM = {"method": "elicitation/create", "params": {"message": "How many?", "requestedSchema": SCHEMA}}
PAGE = {"mode": "url", "message": "Sign here.", "url": "https://sign.example.org/a", "elicitationId": "p1"}
VISIT = {"method": "elicitation/create", "params": PAGE}
NOBODY = "part asked a question nobody was there to answer."


@asynccontextmanager
async def engine_with(folder: Path, *, planned: dict[str, Any] | None = None, **config: Any) -> AsyncIterator[Manager]:
    """The servers of a config: `part`, an old one, or one with a plan."""
    entry = parts_server()
    if planned is not None:
        plan, log = folder / "plan.json", folder / "log"
        plan.write_text(json.dumps(planned))
        entry = {"command": sys.executable, "args": ["-S", "-E", planned_server.__file__, str(plan), str(log)]}
    home = Home(folder, mcp={"servers": {"part": {**entry, **config.pop("entry", {})}}, **config})
    async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
        yield await engine.manager()


def call(asker: Asker, number: str = "c", session: str = "s") -> Invocation:
    return Invocation(Conversation("main", session, asker=asker), number)


def said(result: Result) -> Any:
    assert not result.fault, result.fault
    return json.loads(result.content[0].text or "")


MODERN_PLAN: dict[str, Any] = {
    "tools": [tool("ask"), tool("declared")],
    "revisions": [MODERN],
    "resources": {"note://1": "words"},
    "prompts": [{"name": "greet"}],
}


# As requests of the server, up to 2025-11-25


async def test_an_old_server_asks_the_person_of_its_call(tmp_path: Path) -> None:
    person = Person(agrees)
    async with engine_with(tmp_path) as manager:
        result = await manager.call("part__ask", FORM, agent="main", invocation=call(person))
    assert said(result) == {"result": {"action": "accept", "content": {"people": 2}}}
    assert [(one.kind, one.text, one.asker, one.call) for one in person.asked] == [("form", "How many?", "part", "c")]
    assert result.note == "The person answered a question of part."


async def test_where_nobody_can_be_asked_an_old_server_hears_cancel_and_the_model_why(tmp_path: Path) -> None:
    async with engine_with(tmp_path) as manager:
        for invocation in (call(Nobody()), call(Person(agrees, kinds=["url"]))):
            result = await manager.call("part__ask", FORM, agent="main", invocation=invocation)
            assert (said(result), result.note) == ({"result": {"action": "cancel"}}, NOBODY)
        result = await manager.call("part__ask", FORM, agent="main")
        assert said(result) == {"result": {"action": "cancel"}}


async def test_with_calls_of_several_conversations_under_way_nobody_is_asked_and_isolation_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = Person(agrees), Person(agrees)
    async with engine_with(tmp_path) as manager:
        await manager.call("part__echo", {"text": "up"}, agent="main")
        waiting = call(other, "d", "t")
        slow = asyncio.create_task(manager.call("part__slow", {"seconds": 60}, agent="main", invocation=waiting))
        async with asyncio.timeout(60):
            for _ in range(2):
                # Sent after it, on the same stream: the server has both before it asks.
                result = await manager.call("part__ask", FORM, agent="main", invocation=call(one))
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
    sentence = (
        "part asked a question while calls of several conversations were under way, so nobody was asked. "
        'With `isolation: "session"` each conversation has a connection of its own.'
    )
    assert (said(result), result.note) == ({"result": {"action": "cancel"}}, sentence)
    assert (one.asked, other.asked) == ([], [])
    # However often it asks.
    assert waiting.notes == [sentence]
    assert sentence in caplog.text


async def test_with_a_connection_for_each_conversation_each_is_asked_its_own(tmp_path: Path) -> None:
    people = [Person(agrees), Person(declines)]
    async with engine_with(tmp_path, entry={"isolation": "session"}) as manager:
        results = await asyncio.gather(
            *(
                manager.call(
                    "part__ask", FORM, agent="main", session=f"s{n}", invocation=call(person, f"c{n}", f"s{n}")
                )
                for n, person in enumerate(people)
            )
        )
    assert [said(result)["result"]["action"] for result in results] == ["accept", "decline"]
    assert [[one.call for one in person.asked] for person in people] == [["c0"], ["c1"]]


async def test_the_time_of_a_call_stands_still_while_its_person_is_asked(tmp_path: Path) -> None:
    """The call may take half a second, and so may all of it; the person takes longer than that."""
    person = Person()
    async with engine_with(tmp_path, entry={"requestTimeoutMs": 500, "maxTotalTimeoutMs": 500}) as manager:
        await manager.call("part__echo", {"text": "up"}, agent="main")
        asked = asyncio.create_task(manager.call("part__ask", FORM, agent="main", invocation=call(person)))
        await person.question()
        # Another call, which begins later, is late before the person answers.
        late = await manager.call("part__slow", {"seconds": 60}, agent="main")
        assert late.timed_out
        person.answers.put_nowait(Answer("decline"))
        assert said(await asked) == {"result": {"action": "decline"}}


async def test_a_cancelled_call_takes_its_question_back(tmp_path: Path) -> None:
    person = Person()
    async with engine_with(tmp_path) as manager:
        asked = asyncio.create_task(manager.call("part__ask", FORM, agent="main", invocation=call(person)))
        await person.question()
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await person.taken_back()
        assert (await manager.call("part__echo", {"text": "on"}, agent="main")).content[0].text == "on"


async def test_a_person_who_never_answers_is_waited_for_as_long_as_the_config_says(tmp_path: Path) -> None:
    person = Person()
    home = Home(tmp_path, mcp={"servers": {"part": parts_server()}, "elicitation": {"timeoutMs": 50}})
    async with Engine(home.config(), paths=home.paths, env=home.environ) as engine:
        conversation = engine.asking(Conversation("main", "s", asker=person))
        invocation = Invocation(conversation, "c")
        result = await (await engine.manager()).call("part__ask", FORM, agent="main", invocation=invocation)
    assert (said(result), result.note) == (
        {"result": {"action": "cancel"}},
        "A question of part was not answered in time.",
    )
    assert len(person.withdrawn) == 1


async def test_a_question_that_is_none_is_refused_with_its_field(tmp_path: Path) -> None:
    odd = {"message": "m", "requestedSchema": {"properties": {"where": {"type": "object"}}}}
    async with engine_with(tmp_path) as manager:
        arguments = {"method": "elicitation/create", "params": odd}
        result = await manager.call("part__ask", arguments, agent="main", invocation=call(Person(agrees)))
    assert said(result)["error"] == {
        "code": -32602,
        "message": "The field 'where' is neither text, number, yes or no, nor a choice.",
        "data": None,
    }


async def test_ten_questions_at_once_are_all_answered_and_the_eleventh_is_not_asked(tmp_path: Path) -> None:
    person = Person(agrees)
    async with engine_with(tmp_path) as manager:
        results = await asyncio.gather(
            *(manager.call("part__ask", FORM, agent="main", invocation=call(person, f"c{n}")) for n in range(11))
        )
    actions = [said(result)["result"]["action"] for result in results]
    assert (sorted(actions), len(person.asked)) == (["accept"] * 10 + ["cancel"], 10)


# Pages that have to be visited first (-32042, 2025-11-25)


PAGES_PLAN: dict[str, Any] = {"tools": [tool("pages"), tool("announce")], "revisions": ["2025-11-25"]}


async def test_a_call_that_wants_a_page_visited_first_is_made_again_when_the_person_has(tmp_path: Path) -> None:
    person = Person(agrees)
    async with engine_with(tmp_path, planned=PAGES_PLAN) as manager:
        result = await manager.call("part__pages", {"pages": [PAGE]}, agent="main", invocation=call(person))
    assert (result.content[0].text, result.note) == ("visited", "The person answered a question of part.")
    assert person.asked == [
        Question("url", "Sign here.", "part", "c", url="https://sign.example.org/a", seconds=300.0),
        Question("url", asker="part", call="c", seconds=300.0),
    ]


async def test_or_when_the_server_says_that_they_have_and_of_other_pages_it_counts_for_nothing(tmp_path: Path) -> None:
    person = Person()
    async with engine_with(tmp_path, planned=PAGES_PLAN) as manager:
        visiting = asyncio.create_task(
            manager.call("part__pages", {"pages": [PAGE]}, agent="main", invocation=call(person))
        )
        await person.question(0)
        person.answers.put_nowait(Answer("accept"))
        await person.question(1)
        for page in ("another", "p1"):
            assert not visiting.done()
            told = {"method": "notifications/elicitation/complete", "params": {"elicitationId": page}}
            await manager.call("part__announce", told, agent="main")
        assert (await visiting).content[0].text == "visited"
        await person.taken_back()


@pytest.mark.parametrize("answers", [[Answer("decline")], [Answer("accept"), Answer("cancel")]])
async def test_who_does_not_visit_the_page_ends_the_call_with_the_servers_words(
    tmp_path: Path, answers: list[Answer]
) -> None:
    said_in_turn = iter(answers)
    async with engine_with(tmp_path, planned=PAGES_PLAN) as manager:
        invocation = call(Person(lambda _: next(said_in_turn)))
        result = await manager.call("part__pages", {"pages": [PAGE]}, agent="main", invocation=invocation)
    assert (result.is_error, result.content[0].text) == (True, "Visit these pages.")


async def test_a_server_that_wants_the_page_visited_again_is_not_asked_a_third_time(tmp_path: Path) -> None:
    person = Person(agrees)
    async with engine_with(tmp_path, planned=PAGES_PLAN) as manager:
        arguments = {"pages": [PAGE], "times": 5}
        result = await manager.call("part__pages", arguments, agent="main", invocation=call(person))
    assert (result.is_error, result.content[0].text, len(person.asked)) == (True, "Visit these pages.", 2)


# In results, 2026-07-28


async def test_each_call_declares_what_its_own_surface_can_show(tmp_path: Path) -> None:
    declared = []
    async with engine_with(tmp_path, planned=MODERN_PLAN) as manager:
        for asker in (Person(), Person(kinds=["form"]), Person(kinds=["url"]), Nobody()):
            result = await manager.call("part__declared", {}, agent="main", invocation=call(asker))
            declared.append(said(result))
        declared.append(said(await manager.call("part__declared", {}, agent="main")))
    assert declared == [
        {"elicitation": {"form": {}, "url": {}}},
        {"elicitation": {"form": {}}},
        {"elicitation": {"url": {}}},
        {},
        {},
    ]


async def test_a_question_in_a_result_is_answered_with_the_defaults_and_the_state_as_it_came(tmp_path: Path) -> None:
    person, state = Person(agrees), 'opaque "\\ ü'
    async with engine_with(tmp_path, planned=MODERN_PLAN) as manager:
        arguments = {"requests": {"k": FORM, "l": FORM}, "state": state}
        result = await manager.call("part__ask", arguments, agent="main", invocation=call(person))
    answer = {"action": "accept", "content": {"people": 2}}
    assert said(result) == {"inputResponses": {"k": answer, "l": answer}, "requestState": state}
    assert result.note == "The person answered a question of part."


async def test_the_same_question_three_times_in_a_row_ends_the_call(tmp_path: Path) -> None:
    person = Person(agrees)
    async with engine_with(tmp_path, planned=MODERN_PLAN) as manager:
        arguments = {"requests": {"k": FORM}, "times": 20}
        result = await manager.call("part__ask", arguments, agent="main", invocation=call(person))
    assert result.is_error
    assert result.content[0].text == "The server asked the same question 3 times in a row."
    assert len(person.asked) == 2


async def test_after_a_page_the_retry_tells_and_the_person_is_asked_once_to_open_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "VISIT_SECONDS", (0.01,))
    person = Person()
    async with engine_with(tmp_path, planned=MODERN_PLAN) as manager:
        arguments = {"requests": {"k": VISIT}, "times": 3}
        asked = asyncio.create_task(manager.call("part__ask", arguments, agent="main", invocation=call(person)))
        await person.question()
        person.answers.put_nowait(Answer("accept"))
        answer = said(await asked)
    assert answer == {"inputResponses": {"k": {"action": "accept"}}, "requestState": "s"}
    # Whether they have finished was asked once, and taken back when the retry told.
    assert [one.url for one in person.asked] == ["https://sign.example.org/a", ""]
    assert [one.url for one in person.withdrawn] == [""]


async def test_who_says_that_they_have_finished_does_not_wait_and_who_waits_no_longer_has_cancelled(
    tmp_path: Path,
) -> None:
    for last, action in ((Answer("accept"), "accept"), (Answer("cancel"), "cancel")):
        in_turn = iter([Answer("accept"), last])
        folder = tmp_path / action
        folder.mkdir()
        async with engine_with(folder, planned=MODERN_PLAN) as manager:
            invocation = call(Person(lambda _, turn=in_turn: next(turn)))  # type: ignore[misc]  # bound now
            result = await manager.call("part__ask", {"requests": {"k": VISIT}}, agent="main", invocation=invocation)
            assert said(result)["inputResponses"] == {"k": {"action": action}}


async def test_a_resource_and_a_prompt_may_ask_the_person_too(tmp_path: Path) -> None:
    person = Person(declines)
    plan = {**MODERN_PLAN, "asks": {"resources/read": {"k": FORM}, "prompts/get": {"k": FORM}}}
    async with engine_with(tmp_path, planned=plan) as manager:
        server = manager.server("part", "main")
        invocation = call(person)
        contents = await server.use(lambda client: client.read_resource("note://1", invocation=invocation))
        filled = await server.use(lambda client: client.get_prompt("greet", {}, invocation=invocation))
        read = await manager.call("part__resources_read", {"uri": "note://1"}, agent="main", invocation=invocation)
    assert [content.text for content in contents] == ["words"]
    assert [message.content.text for message in filled.messages] == ["greet {}"]
    assert read.note == "The person declined a question of part."
    assert len(person.asked) == 3
