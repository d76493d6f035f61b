"""Servers that ask in the middle of a turn: from a config, over both vendors' wires, to the person of the conversation and back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.conversation import Answer, Asker, Conversation, Nobody
from parts.command_line import Home, local_model, parts_server
from parts.model_servers import KEY, Call, ChatServer, MessagesServer
from parts.model_servers import Answer as Said
from parts.person import Person, agrees

CANARY = "canary-4711"
# The server keeps the answer to itself: one that repeats it to the model does so on its own account.
FORM = {
    "keep": True,
    "method": "elicitation/create",
    "params": {"message": "Which dish?", "requestedSchema": {"properties": {"dish": {"type": "string"}}}},
}
SAMPLE = {
    "keep": True,
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Which dish?"}}], "maxTokens": 9},
}
WIRES = pytest.mark.parametrize(
    ("wire", "api"), [(ChatServer, "openai-completions"), (MessagesServer, "anthropic-messages")]
)
Wire = type[ChatServer] | type[MessagesServer]


@asynccontextmanager
async def talking(folder: Path, wire: Wire, api: str, replies: list[Any], **mcp: Any) -> AsyncIterator[tuple[App, Any]]:
    async with wire(replies) as model:
        config = local_model(model.url, KEY, api)
        tools = {**config.pop("tools", {}), "approval": {"mode": "off"}}
        home = Home(folder, mcp={"servers": {"part": parts_server()}, **mcp}, tools=tools, **config)
        async with App(home.config(), paths=home.paths, env=home.environ, workspace=folder) as app:
            yield app, model


def talk(asker: Asker) -> Conversation:
    return Conversation(session="talk", asker=asker)


async def reset(app: App) -> None:
    async with app.store.turn("agent:main:talk", "main") as turn:
        turn.reset()


@WIRES
async def test_a_person_answers_in_two_turns_and_the_model_reads_only_that_they_did(
    wire: Wire, api: str, tmp_path: Path
) -> None:
    person = Person(lambda _: Answer("accept", {"dish": CANARY}))
    replies = [
        Said(calls=[Call("1", "part__ask", FORM)]),
        Said("Done."),
        Said(calls=[Call("2", "part__ask", FORM)]),
        Said("Again."),
    ]
    async with talking(tmp_path, wire, api, replies) as (app, model):
        texts = [(await app.reply("Order.", talk(person))).text for _ in range(2)]
    assert texts == ["Done.", "Again."]
    assert [(one.kind, one.text, one.asker) for one in person.asked] == [("form", "Which dish?", "part")] * 2
    sent = json.dumps(model.requests)
    assert ("The person answered a question of part." in sent, CANARY in sent) == (True, False)


@WIRES
async def test_with_nobody_there_the_model_reads_why(wire: Wire, api: str, tmp_path: Path) -> None:
    replies = [Said(calls=[Call("1", "part__ask", FORM)]), Said("Nobody.")]
    async with talking(tmp_path, wire, api, replies) as (app, model):
        reply = await app.reply("Order.", talk(Nobody()))
    assert reply.text == "Nobody."
    assert "part asked a question nobody was there to answer." in json.dumps(model.requests)


async def test_a_server_that_does_not_wait_for_its_answer_leaves_no_question_behind(tmp_path: Path) -> None:
    person, form = Person(), {"requestedSchema": {"properties": {"dish": {"type": "string"}}}}
    ask: dict[str, Any] = {"method": "elicitation/create", "params": {"message": "Which dish?", **form}}
    again = {**ask, "params": {"message": "Which wine?", **form}}
    replies = [
        Said(calls=[Call("1", "part__ask", {**ask, "hurry": True})]),
        Said("One."),
        Said(calls=[Call("2", "part__ask", again)]),
        Said("Two."),
    ]
    async with talking(tmp_path, ChatServer, "openai-completions", replies) as (app, _):
        assert (await app.reply("Order.", talk(person))).text == "One."
        turn = asyncio.create_task(app.reply("Order.", talk(person)))
        before = 0
        while (await person.question(before)).text != "Which wine?":
            before += 1
        person.answers.put_nowait(Answer("accept", {"dish": "soup"}))
        assert (await turn).text == "Two."
    assert [question.text for question in person.withdrawn] == ["Which dish?"] * before


async def test_a_person_who_never_answers_holds_up_neither_the_turn_nor_the_next(tmp_path: Path) -> None:
    person = Person()
    replies = [Said(calls=[Call("1", "part__ask", FORM)]), Said("One."), Said("Two.")]
    async with talking(tmp_path, ChatServer, "openai-completions", replies, elicitation={"timeoutMs": 100}) as (
        app,
        model,
    ):
        texts = [(await app.reply("Order.", talk(person))).text for _ in range(2)]
    assert (texts, len(person.asked)) == (["One.", "Two."], 1)
    assert "A question of part was not answered in time." in json.dumps(model.requests)


async def test_a_question_left_unanswered_counts_for_nothing_after_a_reset(tmp_path: Path) -> None:
    """Also where the model numbers its calls anew."""
    says = [Answer("cancel", why="expired"), Answer("accept", {"dish": CANARY})]
    person = Person(lambda _: says.pop(0))
    replies = [Said(calls=[Call("1", "part__ask", FORM)]), Said("Done.")] * 2
    async with talking(tmp_path, ChatServer, "openai-completions", replies) as (app, model):
        await app.reply("Order.", talk(person))
        await reset(app)
        await app.reply("Order.", talk(person))
    assert len(person.asked) == 2
    assert "The person answered a question of part." in json.dumps(model.requests[-1])


async def test_who_agreed_that_a_server_asks_a_model_did_so_until_a_reset_and_not_until_a_restart(
    tmp_path: Path,
) -> None:
    person = Person(agrees)
    replies = [Said(calls=[Call("1", "part__ask", SAMPLE)]), Said("Soup."), Said("Done.")] * 4
    entry = parts_server(sampling={"enabled": True, "approve": "first"})
    async with talking(tmp_path, ChatServer, "openai-completions", replies, servers={"part": entry}) as (app, model):
        for _ in range(2):
            assert (await app.reply("Order.", talk(person))).text == "Done."
        assert len(person.asked) == 2  # the prompt and the answer
        async with App(app.config, paths=app.paths, env=app.engine.env, workspace=tmp_path) as after:
            assert (await after.reply("Order.", talk(person))).text == "Done."
            assert len(person.asked) == 2
            await reset(after)
            assert (await after.reply("Order.", talk(person))).text == "Done."
        assert (len(person.asked), len(model.requests)) == (4, 12)
