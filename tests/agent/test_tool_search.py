"""Tools that a model has to find: whole turns over every wire, through the neutral door and the vendors' own."""

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.events import Event, ToolEnd, ToolStart
from openclaw.app import App
from openclaw.config.load import load_config
from openclaw.content import AssistantMessage
from openclaw.conversation import Conversation
from parts.command_line import Home, local_model
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer, Reply
from parts.responses_server import ResponsesServer

SCRIPT = Path(__file__).parent.parent / "parts" / "many_tools.py"
SESSION = "search"

FIND = Answer(calls=(Call("c1", "tool_search", {"query": "thing number 37", "limit": 3}),))
BY_CALL = Answer(calls=(Call("c2", "tool_call", {"id": "many__tool_37", "arguments": {"path": "a"}}),))
BY_NAME = Answer(calls=(Call("c2", "many__tool_37", {"path": "a"}),))


def many(count: int = 50, *words: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", "-S", str(SCRIPT), str(count), "turning", *words]}


def home_of(folder: Path, api: str, server: ModelServer, *, own_door: bool = False, **config: Any) -> Home:
    sections = local_model(server.url, server.key, api)
    if own_door:
        sections["models"]["providers"]["local"]["models"] = [{"id": "local-model", "toolSearch": True}]
    return Home(folder, **sections, **{"mcp": {"servers": {"many": many()}}, **config})


def app_of(home: Home) -> App:
    return App(home.config(), paths=home.paths, env=home.environ)


def shown_tools(request: dict[str, Any]) -> list[str]:
    """The names of the tools that cost the model tokens from the beginning."""
    tools = [tool for tool in request["tools"] if not tool.get("defer_loading")]
    return [tool.get("function", tool).get("name") or tool["type"] for tool in tools]


def prefix(request: dict[str, Any]) -> tuple[str, list[str]]:
    """What a vendor may cache of a request: everything before the messages, and each message. Marks for the cache are no part of it."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key != "cache_control"}
        return value

    tools = [tool for tool in request["tools"] if not tool.get("defer_loading")]
    said = request["messages"] if "messages" in request else request["input"]
    head = [tools, request.get("system"), request.get("instructions")]
    return json.dumps(head), [json.dumps(plain(one)) for one in said]


def hold_their_beginnings(requests: list[dict[str, Any]]) -> None:
    for earlier, later in pairwise(requests):
        (head, said), (next_head, next_said) = prefix(earlier), prefix(later)
        assert next_head == head
        assert next_said[: len(said)] == said


DOORS = {
    "chat, neutral": ("openai-completions", ChatServer, False, BY_CALL),
    "responses, neutral": ("openai-responses", ResponsesServer, False, BY_CALL),
    "responses, their own": ("openai-responses", ResponsesServer, True, BY_NAME),
    "messages, neutral": ("anthropic-messages", MessagesServer, False, BY_CALL),
    "messages, their own": ("anthropic-messages", MessagesServer, True, BY_NAME),
}


@pytest.mark.parametrize("door", DOORS)
async def test_a_tool_is_found_and_called_again_in_the_next_turn_and_after_a_restart(tmp_path: Path, door: str) -> None:
    api, kind, own_door, calling = DOORS[door]
    again = Answer(calls=(Call("c3", calling.calls[0].name, calling.calls[0].arguments),))
    late = Answer(calls=(Call("c4", "many__tool_3", {"path": "b"}),))
    replies: list[Reply] = [FIND, calling, Answer("Done."), again, Answer("Again."), late, Answer("By its name.")]
    replies.append(Answer("Well."))
    events: list[Event] = []
    async with kind(replies) as server:
        instructed = {"servers": {"many": many(50, "instructed")}}
        unasked = {"approval": {"mode": "off", "taint": "off"}}
        home = home_of(tmp_path, api, server, own_door=own_door, mcp=instructed, tools=unasked)
        skill = home.paths.workspace_dir / "skills" / "notes" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: notes\ndescription: How notes are kept here.\n---\nBriefly.\n")
        async with app_of(home) as app:
            first = await app.reply("Do thing 37.", Conversation(session=SESSION, sink=events.append))
            second = await app.reply("And again.", Conversation(session=SESSION))
        async with app_of(home) as app:
            third = await app.reply("And thing 3.", Conversation(session=SESSION))
            # By now the server is connected again, which it was not when the turn before it began.
            await app.reply("How are you?", Conversation(session=SESSION))
            async with app.store.turn(first.session_key, "main") as turn:
                kept = [call for m in turn.history() if isinstance(m, AssistantMessage) for call in m.tool_calls]

    assert [first.text, second.text, third.text] == ["Done.", "Again.", "By its name."]
    assert server.refused == []
    # Whoever looks at calls sees the tool itself: events, the reply, the conversation on disk.
    started = [event.call.name for event in events if isinstance(event, ToolStart)]
    assert started == ["tool_search", "many__tool_37"]
    assert [event.result.is_error for event in events if isinstance(event, ToolEnd)] == [False, False]
    assert [event.label for event in events if isinstance(event, ToolStart)][1] == "MCP: many/tool_37"
    assert [call.name for call in kept] == ["tool_search", "many__tool_37", "many__tool_37", "many__tool_3"]
    assert kept[1].arguments == {"path": "a"}
    # The first request shows the native tools and those for searching, and no server's.
    assert [name for name in shown_tools(server.requests[0]) if name.startswith("many")] == []
    assert ("tool_call" in shown_tools(server.requests[0])) is not own_door
    answered = json.dumps(server.requests[1])
    assert ("tool_reference" in answered or "tool_search_output" in answered) is own_door
    said = json.dumps(server.requests[-1])
    assert ["Ask for one thing at a time." in said, "How notes are kept here." in said] == [True, True]
    # What a vendor may keep of a prompt, it keeps from turn to turn and from process to process.
    hold_their_beginnings(server.requests)


async def test_a_model_that_refuses_the_vendors_form_goes_on_through_the_neutral_door(tmp_path: Path) -> None:
    async with MessagesServer([FIND, BY_CALL, Answer("Done.")], searches=False) as server:
        async with app_of(home_of(tmp_path, "anthropic-messages", server, own_door=True)) as app:
            reply = await app.reply("Do thing 37.")

    assert (reply.text, reply.error) == ("Done.", "")
    assert len(server.refused) == 1
    assert "tool_call" in shown_tools(server.requests[-1])


async def test_prompts_keep_their_beginning_while_a_server_comes_back_and_lists_in_another_order(
    tmp_path: Path,
) -> None:
    async with ChatServer([FIND, Answer("Found."), Answer("Still there.")]) as server:
        async with app_of(home_of(tmp_path, "openai-completions", server)) as app:
            await app.reply("Find thing 37.", Conversation(session=SESSION))
            manager = await app.engine.manager()
            many_server = manager.server("many", "main")
            await many_server.restart()
            await many_server.refresh()
            await app.reply("Is it there?", Conversation(session=SESSION))

    assert len(server.requests) == 3
    hold_their_beginnings(server.requests)


@pytest.mark.parametrize("door", ["chat, neutral", "messages, their own"])
async def test_what_was_found_is_callable_and_can_be_found_again_after_notes_took_its_place(
    tmp_path: Path, door: str
) -> None:
    api, kind, own_door, calling = DOORS[door]
    again = Answer(calls=(Call("c3", "many__tool_37", {"path": "b"}), Call("c4", "tool_search", {"query": "number 3"})))
    replies: list[Reply] = [FIND, calling, Answer("Done."), Answer("Well."), Answer("Notes: thing 37 was done."), again]
    events: list[Event] = []
    async with kind([*replies, Answer("Again.")]) as server:
        async with app_of(home_of(tmp_path, api, server, own_door=own_door)) as app:
            await app.reply("Do thing 37.", Conversation(session=SESSION))
            await app.reply("How is it?", Conversation(session=SESSION))
            assert await app.compact(Conversation(session=SESSION)) is not None
            last = await app.reply("Once more.", Conversation(session=SESSION, sink=events.append, says_yes=True))

    assert (last.text, server.refused) == ("Again.", [])
    ended = {event.call.name: str(event.result.content) for event in events if isinstance(event, ToolEnd)}
    assert "done" in ended["many__tool_37"]
    assert "many__tool_3" in ended["tool_search"]
    # What it used most is shown from then on, and the notes name it; all others are still to be found.
    asked = server.requests[5]
    assert [name for name in shown_tools(asked) if name.startswith("many")] == ["many__tool_37"]
    assert "[Tools used so far: many__tool_37]" in json.dumps(asked["messages"])


async def test_what_is_denied_is_in_no_answer_and_what_is_wrong_is_told_with_the_schema(tmp_path: Path) -> None:
    replies: list[Reply] = [
        FIND,
        Answer(calls=(Call("c2", "tool_describe", {"ids": ["many__tool_37"]}),)),
        Answer(calls=(Call("c3", "tool_call", {"id": "many__tool_37", "arguments": {"path": "a"}}),)),
        Answer(calls=(Call("c4", "tool_call", {"id": "many__tool_5", "arguments": {"path": 5}}),)),
        Answer(calls=(Call("c5", "tool_call", {"id": "many__tol_12", "arguments": {}}),)),
        Answer(calls=(Call("c6", "tool_call", {"arguments": {}}),)),
        Answer("Enough."),
    ]
    events: list[Event] = []
    async with ChatServer(replies) as server:
        home = home_of(tmp_path, "openai-completions", server, tools={"deny": ["many__tool_37"]})
        async with app_of(home) as app:
            await app.reply("Do thing 37.", Conversation(sink=events.append))

    ended = [(event.call.name, str(event.result.content)) for event in events if isinstance(event, ToolEnd)]
    assert [name for name, _ in ended] == [
        *("tool_search", "tool_describe", "many__tool_37", "many__tool_5", "many__tol_12", "tool_call"),
    ]
    search, describe, denied, wrong, unknown, empty = [text for _, text in ended]
    assert "tool_37" not in search
    assert "There is no tool named many__tool_37" in describe
    assert 'deny "many__tool_37"' in denied
    assert '"required": ["path"]' in wrong
    assert "Did you mean many__tool_12" in unknown
    assert "tool_call was not called" in empty


@pytest.mark.parametrize("door", [*DOORS, "all shown"])
async def test_a_tool_for_pages_alone_is_offered_through_no_door_and_runs_through_none(
    tmp_path: Path, door: str
) -> None:
    api, kind, own_door, _ = DOORS.get(door, DOORS["chat, neutral"])
    call = {"id": "many__draw", "arguments": {"path": "a"}}
    replies: list[Reply] = [
        Answer(calls=(Call("c1", "tool_search", {"query": "draw"}), Call("c2", "many__draw", {"path": "a"}))),
        Answer(calls=(Call("c3", "tool_call", call), Call("c4", "tool_describe", {"ids": ["many__draw"]}))),
        Answer("Enough."),
    ]
    events: list[Event] = []
    server_of_pages = many(3 if door == "all shown" else 50, "pages")
    async with kind(replies) as server:
        home = home_of(tmp_path, api, server, own_door=own_door, mcp={"servers": {"many": server_of_pages}})
        async with app_of(home) as app:
            await app.reply("Draw it.", Conversation(sink=events.append))
            by_hand = await app.call("many__draw", {"path": "a"}, Conversation())
    offered = json.dumps([request["tools"] for request in server.requests])
    assert "draw" not in offered
    found = [event.result for event in events if isinstance(event, ToolEnd) and event.call.name == "tool_search"]
    assert all("many__draw" not in result.found for result in found)
    drawn = [event.result for event in events if isinstance(event, ToolEnd) and event.call.name == "many__draw"]
    assert drawn
    assert all(result.is_error for result in [*drawn, by_hand])


def carried(request: dict[str, Any]) -> int:
    """How much of a request a model reads: a vendor counts nothing of a deferred tool."""
    tools = [tool for tool in request["tools"] if not tool.get("defer_loading")]
    return len(json.dumps({**request, "tools": tools}))


@pytest.mark.parametrize("door", DOORS)
async def test_of_a_thousand_tools_the_first_request_carries_a_twentieth_and_the_right_one_is_found_and_called(
    tmp_path: Path, door: str
) -> None:
    api, kind, own_door, calling = DOORS[door]
    find = Call("c1", "tool_search", {"query": "thing number 37", "server": "server7"})
    call = {"id": "server7__tool_37", "arguments": {"path": "a"}}
    found = Call("c2", "tool_call", call) if calling is BY_CALL else Call("c2", "server7__tool_37", {"path": "a"})
    replies: list[Reply] = [Answer("All."), Answer(calls=(find,)), Answer(calls=(found,)), Answer("Done.")]
    servers = {f"server{number}": many() for number in range(20)}
    async with kind(replies) as server:
        off = {"search": {"mode": "off"}}
        home = home_of(tmp_path, api, server, own_door=own_door, mcp={"servers": servers}, tools=off)
        async with app_of(home) as app:
            await app.reply("Hello.", Conversation(patience=None))
            sections = json.loads((home.state / "openclaw.json").read_text())
            home.write(**{**sections, "tools": {}})
            await app.reload(load_config(home.paths, home.environ))
            reply = await app.reply("Do thing 37.")

    # OpenAI takes no more than 128 tools: without search a model there never hears of the others.
    refused = ["array too long" in one for one in server.refused]
    assert (reply.text, refused) == ("Done.", [] if kind is MessagesServer else [True])
    assert [(one.name, one.is_error) for one in reply.tool_calls] == [
        ("tool_search", False),
        ("server7__tool_37", False),
    ]
    first = next(request for request in server.requests if "tool_search" in shown_tools(request))
    assert len(server.requests[0]["tools"]) > 1_000
    assert carried(first) <= carried(server.requests[0]) * 0.05
