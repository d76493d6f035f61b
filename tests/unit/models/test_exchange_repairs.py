"""A conversation never dies of its own history: what a vendor would refuse is repaired on its way out, and what it refuses all the same
goes out in words. The other side holds the vendors' rules."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from openclaw.content import AssistantMessage, Block, Image, Message, Text, ToolCall, ToolMessage, UserMessage
from openclaw.models import anthropic_messages, openai_chat, openai_responses
from openclaw.models.exchange import HttpProvider, Pace
from openclaw.models.pictures import picture_size
from openclaw.models.provider import Done, ModelEvent, ModelRequest, Notice, TextDelta
from openclaw.models.spec import ModelEndpoint
from openclaw.tool import Tool, parameters
from parts.media_server import png
from parts.model_requests import READ, USER
from parts.model_servers import KEY, MODEL, Answer, ChatServer, Failure, MessagesServer, ModelServer
from parts.responses_server import ResponsesServer

Connect = Callable[[ModelEndpoint, Pace], HttpProvider]
WIRES: dict[str, tuple[type[ModelServer], Connect]] = {
    "chat": (ChatServer, openai_chat.connect),
    "responses": (ResponsesServer, openai_responses.connect),
    "messages": (MessagesServer, anthropic_messages.connect),
}
every_wire = pytest.mark.parametrize("wire", WIRES)


async def asked(provider: HttpProvider, messages: list[Message], **request: Any) -> list[ModelEvent]:
    tools = request.pop("tools", [READ])
    return [event async for event in provider.stream(ModelRequest(MODEL, "", messages, tools=tools))]


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta)) + "".join(
        event.error for event in events if isinstance(event, Done)
    )


def after(*content: Block, is_error: bool = False, **call: Any) -> list[Message]:
    """A conversation in which a call was answered with `content`."""
    one = ToolCall(**{"id": "c1", "name": "read", "arguments": {}, **call})
    result = ToolMessage(one.id, one.name, content, is_error)
    return [*USER, AssistantMessage((one,)), result, UserMessage((Text("and?"),))]


def sized(width: int, height: int = 1) -> bytes:
    picture = bytearray(png())
    picture[16:24] = width.to_bytes(4) + height.to_bytes(4)
    return bytes(picture)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


PICTURE = Image(png(), "image/png")
HISTORIES: dict[str, list[Message]] = {
    "a name that no tool may have": after(Text("x"), name="mcp.shop/buy now!"),
    "a name that is too long": after(Text("x"), name="n" * 200),
    "no name": after(Text("x"), name=""),
    "arguments that nest deeply": after(Text("x"), arguments=deep(300)),
    "an id that no vendor takes": after(Text("x"), id="a b" * 40),
    "a result of nothing": after(),
    "a result of blanks": after(Text(" \n")),
    "an error with a picture": after(Text("It broke."), PICTURE, is_error=True),
    "an error that is a picture": after(PICTURE, is_error=True),
    "a picture of nothing": after(Image(b"", "image/png")),
    "a picture that is none": after(Image(b"hello", "image/png")),
    "half a head of a picture": after(Image(png()[:10], "image/png")),
    "an unknown kind of picture": after(Image(b"BM" + bytes(60), "image/bmp")),
    "a picture of another kind": after(Image(png(), "image/jpeg")),
    "a picture that is too large": after(Image(png(25_000_000), "image/png")),
    "a picture that is too wide": after(Image(sized(70_000), "image/png")),
    "many pictures, one of them wide": after(*[PICTURE] * 20, Image(sized(2_001), "image/png")),
    "too many pictures": after(*[PICTURE] * 501),
    "pictures that are too much together": [UserMessage((Image(png(3_500_000), "image/png"),) * 12)],
    "a call without a result": [*USER, AssistantMessage((ToolCall("c1", "read", {}),)), *USER],
    "a result without a call": [*USER, ToolMessage("c9", "read", (Text("x"), PICTURE)), *USER],
    "two results of a call": [*after(Text("x"))[:-1], ToolMessage("c1", "read", (Text("y"),)), *USER],
    "one id in two messages": [*after(Text("x")), *after(Text("y"))],
    "one id twice in a message": [
        *USER,
        AssistantMessage((ToolCall("c1", "read", {}), ToolCall("c1", "read", {}))),
        ToolMessage("c1", "read", (Text("x"),)),
        ToolMessage("c1", "read", (Text("y"),)),
    ],
    "a failed picture among parallel results": [
        *USER,
        AssistantMessage((ToolCall("c1", "read", {}), ToolCall("c2", "read", {}))),
        ToolMessage("c1", "read", (PICTURE,), is_error=True),
        ToolMessage("c2", "read", (Text("y"),)),
        *USER,
    ],
    "messages of nothing": [
        UserMessage(()),
        AssistantMessage(()),
        UserMessage((Text(" "),)),
        AssistantMessage((Text(""),)),
    ],
    "an answer at the end": [*USER, AssistantMessage((Text("so far "),))],
    "an answer at the beginning": [AssistantMessage((Text("hello"),)), *USER],
}


@every_wire
@pytest.mark.parametrize("history", HISTORIES)
async def test_a_conversation_is_taken_whatever_its_history_holds(wire: str, history: str) -> None:
    make, connect = WIRES[wire]
    async with make([Answer("ok")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, HISTORIES[history])
        await provider.close()
    assert (text_in(events), server.refused) == ("ok", [])


@every_wire
async def test_calls_go_out_in_words_when_no_tools_are_offered(wire: str) -> None:
    make, connect = WIRES[wire]
    async with make([Answer("ok")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, after(Text("the page")), tools=[])
        await provider.close()
    assert (text_in(events), server.refused) == ("ok", [])
    assert "the page" in str(server.requests[0])


def schema(**properties: Any) -> Tool:
    return Tool(
        "search", "", parameters({"type": "object", "properties": properties, "required": [*properties]}), READ.run
    )


@every_wire
@pytest.mark.parametrize(
    "properties", [{"a b": {"type": "string"}}, {"list": {"type": "array"}}], ids=["name", "array"]
)
async def test_a_tool_is_offered_whatever_its_schema_holds(wire: str, properties: dict[str, Any]) -> None:
    make, connect = WIRES[wire]
    async with make([Answer("ok")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, USER, tools=[schema(**properties)])
        await provider.close()
    assert (text_in(events), server.refused) == ("ok", [])
    assert next(iter(properties)) in str(server.requests[0]["tools"])


async def test_of_more_tools_than_a_model_takes_the_first_are_offered_and_the_person_is_told() -> None:
    tools = [Tool(f"t{number}", "", READ.parameters, READ.run) for number in range(150)]
    async with ChatServer([Answer("ok"), Answer("again")]) as server:
        provider = openai_chat.connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, USER, tools=tools)
        again = await asked(provider, USER, tools=tools)
        await provider.close()
    notice = "This model takes 128 tools: the others are left out. Choose with tools.allow or tools.deny."
    assert [event for event in events if isinstance(event, Notice)] == [Notice(notice)]
    assert (text_in(events), text_in(again), len(server.refused)) == ("ok", "again", 1)


BROKEN = Image(png()[:-20] + bytes(20), "image/png")


@every_wire
async def test_a_message_that_is_refused_all_the_same_is_sent_again_in_words_and_the_person_is_told(wire: str) -> None:
    make, connect = WIRES[wire]
    async with make([Answer("ok"), Answer("again")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, after(Text("shot"), BROKEN))
        again = await asked(provider, [*after(Text("shot"), BROKEN), AssistantMessage((Text("ok"),)), *USER])
        await provider.close()
    told = [event.text for event in events if isinstance(event, Notice)]
    assert [("refused message" in text, "Could not process image" in text) for text in told] == [(True, True)]
    # It is remembered: the next turn asks once.
    assert (text_in(events), text_in(again), len(server.refused), len(server.requests)) == ("ok", "again", 1, 3)


@every_wire
async def test_a_second_refusal_sends_the_whole_conversation_in_words_and_a_third_ends_the_turn_in_a_sentence(
    wire: str,
) -> None:
    make, connect = WIRES[wire]
    no = [Failure(400, "invalid_request_error", f"messages.{number}: not this one") for number in (0, 2, 1)]
    async with make(no) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, after(Text("x"), PICTURE))
        await provider.close()
    assert "local refused the request (400): messages.1: not this one" in text_in(events)
    assert base64.b64encode(png()).decode() in str(server.requests[0])
    assert base64.b64encode(png()).decode() not in str(server.requests[2])


@every_wire
async def test_a_refusal_that_names_no_message_is_not_repeated(wire: str) -> None:
    make, connect = WIRES[wire]
    async with make([Failure(400, "invalid_request_error", "no")]) as server:
        provider = connect(ModelEndpoint("local", server.url, KEY), Pace(attempts=1))
        events = await asked(provider, USER)
        await provider.close()
    assert ("local refused the request" in text_in(events), len(server.requests)) == (True, 1)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(), (1, 1)),
        (sized(300, 200), (300, 200)),
        (b"GIF89a" + (7).to_bytes(2, "little") + (9).to_bytes(2, "little"), (7, 9)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x05\x00\x06" + bytes(9), (6, 5)),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x03\0\0\x04\0\0", (4, 5)),
        (b"\xff\xd8\xff", None),
        (b"", None),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_head(data: bytes, size: tuple[int, int] | None) -> None:
    assert picture_size(data) == size
