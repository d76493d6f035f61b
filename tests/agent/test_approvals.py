"""Who approves and who traces the calls of an App: one stack for all ways in, and the person who ordered is the one who is asked."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.content import text_of
from openclaw.conversation import Answer, Asker, Conversation, Nobody, Question, QuestionKind
from openclaw.event_hub import Event
from openclaw.mcp.events import DefinitionsChanged
from openclaw.mcp_server.host import carry_out
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.server import OrderListener
from openclaw.security.offers import read_grant
from openclaw.tools.invoke import Call, CallEnd, Step
from parts import planned_server
from parts.command_line import Home


class Person:
    """Somebody who can be asked for approvals, and says the same to all of them."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def can(self, kind: QuestionKind) -> bool:
        return kind == "approval"

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.text)
        return self._answer


async def by_the_person(call: Call) -> str | None:
    answer = await call.invocation.conversation.asker.ask(Question("approval", f"Call {call.tool.name}?"))
    return None if answer.is_yes else "nobody said yes."


def app_of(folder: Path, **given: Any) -> App:
    (folder / "notes.txt").write_text("milk")
    home = Home(folder, agents={"defaults": {"model": "builtin/offline"}})
    return App(home.config(), paths=home.paths, env=home.environ, workspace=folder, **given)


async def test_a_call_without_a_model_is_approved_and_traced_by_whom_the_app_was_given(tmp_path: Path) -> None:
    traced: list[str] = []

    async def trace(call: Call, step: Step) -> CallEnd:
        end = await step(call)
        traced.append(f"{call.tool.name} {end.outcome}")
        return end

    yes, no = Person(Answer("accept")), Person(Answer("decline"))
    askers: tuple[Asker, ...] = (yes, no, Nobody())
    async with app_of(tmp_path, approve=by_the_person, trace=trace) as app:
        said = [
            text_of((await app.call("read", {"path": "notes.txt"}, Conversation(asker=asker))).content)
            for asker in askers
        ]
    refused = "read was not called: nobody said yes."
    assert (said[0].split()[-1], said[1:]) == ("milk", [refused, refused])
    assert (yes.asked, no.asked) == (["Call read?"], ["Call read?"])
    assert traced == ["read ok", "read refused", "read refused"]


async def test_a_call_that_needed_nothing_is_refused_once_a_changed_config_forbids_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "notes.txt").write_text("milk")
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:

        async def read() -> str:
            return text_of((await app.call("read", {"path": "notes.txt"}, Conversation())).content)

        assert ["milk" in await read() for _ in range(2)] == [True, True]
        home.write(tools={"approval": {"deny": ["read"]}})
        await app.engine.reload(home.config())
        assert 'deny "read" names it' in await read()


async def test_the_calls_of_an_order_are_approved_by_who_ordered(tmp_path: Path) -> None:
    client = Person(Answer("accept"))
    listener = OrderListener(lambda text: None, lambda session: None, client)
    async with app_of(tmp_path, approve=by_the_person) as app:
        result = await carry_out(
            app,
            Order("read notes.txt"),
            agent="",
            version="2025-11-25",
            listener=listener,
            patience=None,
            workspace=tmp_path,
        )
    assert (client.asked, result["isError"]) == (["Call read?"], False)


async def test_a_grant_ends_with_the_definition_also_for_a_tool_as_it_was_offered_before(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"

    def describe(words: str) -> None:
        tools = [planned_server.tool("echo", description=words), planned_server.tool("announce")]
        plan.write_text(json.dumps({"tools": tools}))

    describe("Say it back.")
    entry = {"command": sys.executable, "args": [planned_server.__file__, str(plan), str(tmp_path / "log")]}
    home, person = Home(tmp_path, mcp={"servers": {"shop": entry}}), Person(Answer("decline"))
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        await app.settled(tool="shop__echo")
        echo = await app.tool("shop__echo")
        assert echo is not None
        assert echo.facts is not None
        await app.engine.grants.add(read_grant(echo, echo.facts()))

        async def said() -> str:
            # The object that a turn was given, whatever its server says of it by now.
            return text_of((await app.call(echo, {"text": "milk"}, Conversation(asker=person))).content)

        assert ["milk" in await said() for _ in range(2)] == [True, True]
        manager = await app.engine.manager()
        changed: asyncio.Future[DefinitionsChanged] = asyncio.get_running_loop().create_future()

        def hear(event: Event[DefinitionsChanged]) -> None:
            changed.set_result(event.value)

        manager.events.subscribe(hear, DefinitionsChanged)
        describe("Say it back, and to others.")
        told = await manager.call("shop__announce", {"method": "notifications/tools/list_changed"}, agent="main")
        assert not told.is_error
        assert [one.tool for one in (await changed).changes] == ["echo"]
        assert await said() == "shop__echo was not called: the person declined."
    assert person.asked == ["shop wants to call echo"]
