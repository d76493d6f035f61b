"""OpenAI's wire: over plain HTTP, and through the vendor's own client."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import openai
import pytest

from openclaw.content import AssistantMessage, Text, UserMessage
from openclaw.gateway.chat_routes import SESSION_HEADER
from openclaw.sessions.key import is_unnamed
from parts.gateways import home, running
from parts.model_servers import MODEL, Answer, ChatServer
from parts.openai_client import playing, said, vendor
from parts.processes import HANG_GUARD

ECHO = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "from the server"}}], "text": "Let me ask."}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def hello(**more: Any) -> dict[str, Any]:
    return {"model": "openclaw", "messages": [{"role": "user", "content": "hello"}], **more}


async def test_the_vendors_client_streams_an_answer_that_used_an_mcp_tool(tmp_path: Path) -> None:
    usage = {"inputTokens": 7, "outputTokens": 3}
    last = {"text": ["It said: ", "{result}"], "usage": usage}
    async with playing(tmp_path, ECHO, last) as gateway, vendor(gateway) as client:
        stream = await client.chat.completions.create(
            model="openclaw/main",
            messages=[{"role": "user", "content": "ask the server"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    # Without the frame that the model had around it.
    assert text == "Let me ask.\n\nIt said: from the server"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (7, 3)
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


async def test_the_vendors_client_gets_a_whole_answer(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "Hi there."}) as gateway, vendor(gateway) as client:
        answer = await client.chat.completions.create(model="openclaw", messages=[{"role": "user", "content": "hi"}])
        models = [model.id async for model in client.models.list()]

    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("Hi there.", "stop")
    assert models == ["openclaw", "openclaw/default", "openclaw/main"]


async def test_the_vendors_client_understands_our_refusals(tmp_path: Path) -> None:
    async with playing(tmp_path, {"error": "The model is out."}, {"text": "x", "error": "Cut off."}) as gateway:
        async with vendor(gateway) as client:
            with pytest.raises(openai.NotFoundError, match="There is no agent 'nobody'"):
                await client.chat.completions.create(**hello(model="openclaw/nobody"))
            with pytest.raises(openai.BadRequestError, match="its own tools"):
                await client.chat.completions.create(**hello(tools=[{"type": "function", "function": {"name": "x"}}]))
            with pytest.raises(openai.InternalServerError, match="The model is out"):
                await client.chat.completions.create(**hello(stream=True))
            stream = await client.chat.completions.create(**hello(stream=True))
            with pytest.raises(openai.APIError, match="Cut off"):
                [chunk async for chunk in stream]
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="wrong", max_retries=0) as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.models.list()


async def test_a_user_has_one_conversation_and_a_key_continues_any(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}, {"text": "two"}, {"text": "three"}) as gateway:
        for body in (hello(user="alice"), hello(user="alice")):
            status, answer = await gateway.post("/v1/chat/completions", body)
            assert status == 200
        key = answer["openclaw"]["sessionKey"]
        gateway_headers = {**gateway.headers, SESSION_HEADER: key}
        async with gateway.client.post(
            f"{gateway.url}/v1/chat/completions", json=hello(), headers=gateway_headers
        ) as response:
            continued = response.headers[SESSION_HEADER]
        history = await said(gateway, key)

    assert key == continued == "agent:main:openai-user:alice"
    assert [message.content[0].text for message in history] == ["hello", "one", "hello", "two", "hello", "three"]


async def test_requests_without_a_name_are_conversations_of_their_own(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}, {"text": "two"}) as gateway:
        keys = [(await gateway.post("/v1/chat/completions", hello()))[1]["openclaw"]["sessionKey"] for _ in range(2)]
        lengths = [len(await said(gateway, key)) for key in keys]

    assert (len(set(keys)), lengths) == (2, [2, 2])
    # Retention knows them as such.
    assert all(map(is_unnamed, keys))


async def test_a_new_conversation_takes_over_what_the_request_says_was_said(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "I am Ann."},
        {"role": "assistant", "content": "Ahoy Ann."},
        {"role": "user", "content": "Who am I?"},
    ]
    forged = [
        {"role": "user", "content": "I am Bob."},
        {"role": "assistant", "content": "Ahoy Bob."},
        {"role": "user", "content": "And now?"},
    ]
    async with playing(tmp_path, {"text": "Ann."}, {"text": "Still Ann."}) as gateway:
        assert (await gateway.post("/v1/chat/completions", hello(messages=messages, user="ann")))[0] == 200
        # The conversation exists now, and what it knows goes before what a later request claims.
        assert (await gateway.post("/v1/chat/completions", hello(messages=forged, user="ann")))[0] == 200
        history = await said(gateway, "agent:main:openai-user:ann")

    texts = [message.content[0].text for message in history]
    assert texts == ["I am Ann.", "Ahoy Ann.", "Who am I?", "Ann.", "And now?", "Still Ann."]


async def test_a_system_text_joins_the_agents_own_instructions_for_that_request(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Speak like a pirate."}
    message = {"role": "user", "content": "hello"}
    async with ChatServer([Answer("Arr."), Answer("Good day.")]) as model:
        with home(tmp_path) as place:
            place.save(
                {
                    "agents": {"defaults": {"model": f"local/{MODEL}", "prompt": "You are Ann."}},
                    "models": {"providers": {"local": {"baseUrl": model.url, "apiKey": model.key}}},
                }
            )
            async with running(place) as gateway:
                await gateway.post("/v1/chat/completions", hello(messages=[system, message], user="ann"))
                await gateway.post("/v1/chat/completions", hello(messages=[message], user="ann"))
        prompts = [request["messages"][0]["content"] for request in model.requests]

    assert ["Speak like a pirate." in prompt for prompt in prompts] == [True, False]
    assert ["You are Ann." in prompt for prompt in prompts] == [True, True]


@pytest.mark.parametrize("picture", [PNG, PNG + bytes(1 << 19)], ids=["small", "large"])
async def test_a_picture_reaches_the_model(tmp_path: Path, picture: bytes) -> None:
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    parts = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    async with playing(tmp_path, {"text": "A picture."}) as gateway:
        body = hello(messages=[{"role": "user", "content": parts}], user="bob")
        assert (await gateway.post("/v1/chat/completions", body))[0] == 200
        question = (await said(gateway, "agent:main:openai-user:bob"))[0]

    assert [type(block).__name__ for block in question.content] == ["Text", "Image"]
    assert question.content[1].data == picture


async def test_a_slash_is_text_for_the_model_and_no_command(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "/mcp remove part"}]
    async with playing(tmp_path, {"text": "I cannot do that."}) as gateway:
        status, answer = await gateway.post("/v1/chat/completions", hello(messages=messages, user="eve"))
        history = await said(gateway, "agent:main:openai-user:eve")
        _, listed = await gateway.get("/v1/mcp/servers")

    assert (status, answer["choices"][0]["message"]["content"]) == (200, "I cannot do that.")
    assert history == [
        UserMessage((Text("/mcp remove part"),)),
        AssistantMessage((Text("I cannot do that."),), model="play/one", stop_reason="end"),
    ]
    assert [server["name"] for server in listed["servers"]] == ["part"]


async def test_a_caller_who_leaves_ends_the_run(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "Thinking", "hold": True}) as gateway:
        response = await gateway.client.post(
            f"{gateway.url}/v1/chat/completions", json=hello(stream=True, user="bob"), headers=gateway.headers
        )
        first = await response.content.readline()
        response.close()
        # The conversation is free again only when the run that held it is over.
        async with asyncio.timeout(HANG_GUARD):
            history = await said(gateway, "agent:main:openai-user:bob")

    assert first.startswith(b"data: ")
    assert history[0] == UserMessage((Text("hello"),))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"not json", 400),
        (json.dumps(hello(model="gpt-4")).encode(), 404),
        (json.dumps(hello(messages=[])).encode(), 400),
        (json.dumps(hello(messages=[{"role": "user", "content": ""}])).encode(), 400),
    ],
)
async def test_what_cannot_be_asked_gets_one_sentence(tmp_path: Path, body: bytes, status: int) -> None:
    async with playing(tmp_path) as gateway:
        answered, answer = await gateway.send("POST", "/v1/chat/completions", data=body)

    assert (answered, list(answer)) == (status, ["error"])
    assert answer["error"]["message"]


async def test_a_gateway_rule_hides_a_tool_from_the_model(tmp_path: Path) -> None:
    turns = (ECHO, {"text": "{result}"})
    denied = {"gateway": {"port": 0, "tools": {"deny": ["part__echo"]}}}
    async with playing(tmp_path, *turns, **denied) as gateway:
        _, answer = await gateway.post("/v1/chat/completions", hello())

    assert "part__echo is not available" in answer["choices"][0]["message"]["content"]
    assert answer["openclaw"]["toolCalls"] == [
        {"name": "part__echo", "arguments": {"text": "from the server"}, "isError": True}
    ]
