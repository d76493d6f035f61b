"""The local model servers count as real: the vendors' own clients talk to them, and get what they get from the vendors."""

import base64
from typing import Any

import anthropic
import openai
import pytest

from parts.media_server import png
from parts.model_servers import KEY, MODEL, Answer, Call, ChatServer, Failure, MessagesServer

CALLS = (Call("call_1", "read", {"path": "a.txt"}), Call("call_2", "ls", {"path": "src"}))
PIXEL = base64.b64encode(png()).decode()
CHAT_TOOL: Any = {
    "type": "function",
    "function": {"name": "read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
}
MESSAGES_TOOL: Any = {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}


def chat(server: ChatServer, key: str = KEY) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.url, api_key=key, max_retries=0)


def messages(server: MessagesServer, key: str = KEY) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.url, api_key=key, max_retries=0)


async def test_the_openai_client_streams_text_and_usage_byte_by_byte() -> None:
    async with ChatServer([Answer(["Hel", "lo ☃"])], split="bytes") as server, chat(server) as client:
        stream = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == "Hello ☃"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 18


async def test_the_openai_client_reads_two_parallel_calls() -> None:
    async with ChatServer([Answer(calls=CALLS)]) as server, chat(server) as client:
        async with client.chat.completions.stream(
            model=MODEL, messages=[{"role": "user", "content": "hi"}], tools=[CHAT_TOOL]
        ) as stream:
            completion = await stream.get_final_completion()
    calls = completion.choices[0].message.tool_calls
    assert calls is not None
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
        ("call_1", "read", '{"path": "a.txt"}'),
        ("call_2", "ls", '{"path": "src"}'),
    ]


async def test_the_openai_client_may_ask_without_streaming_and_with_an_image() -> None:
    async with ChatServer([Answer("A pixel.")]) as server, chat(server) as client:
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}],
                }
            ],
        )
    assert completion.choices[0].message.content == "A pixel."


async def test_the_openai_client_raises_its_own_errors() -> None:
    busy = Failure(429, "rate_limit_exceeded", "slow down", {"Retry-After": "1"})
    ask: Any = {"messages": [{"role": "user", "content": "hi"}]}
    async with ChatServer([busy]) as server, chat(server) as client, chat(server, "sk-wrong") as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.chat.completions.create(model=MODEL, **ask)
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="nonesuch", **ask)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(
                model=MODEL, messages=[{"role": "tool", "tool_call_id": "x", "content": "y"}]
            )
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model=MODEL, **ask)


async def test_the_anthropic_client_streams_thinking_text_and_usage_byte_by_byte() -> None:
    reply = Answer(["Hel", "lo ☃"], reasoning="hmm")
    async with MessagesServer([reply], split="bytes") as server, messages(server) as client:
        async with client.messages.stream(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            message = await stream.get_final_message()
    assert [block.to_dict() for block in message.content] == [
        {"type": "thinking", "thinking": "hmm", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Hello ☃"},
    ]
    assert (message.usage.input_tokens, message.usage.output_tokens, message.stop_reason) == (8, 7, "end_turn")


async def test_the_anthropic_client_reads_two_parallel_calls() -> None:
    async with MessagesServer([Answer("Both.", calls=CALLS)]) as server, messages(server) as client:
        async with client.messages.stream(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "hi"}], tools=[MESSAGES_TOOL]
        ) as stream:
            message = await stream.get_final_message()
    assert [block.input for block in message.content if block.type == "tool_use"] == [
        {"path": "a.txt"},
        {"path": "src"},
    ]
    assert message.stop_reason == "tool_use"


async def test_the_anthropic_client_may_ask_without_streaming_and_with_an_image_in_a_result() -> None:
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    async with MessagesServer([Answer("A pixel.")]) as server, messages(server) as client:
        message = await client.messages.create(
            model=MODEL,
            max_tokens=100,
            tools=[MESSAGES_TOOL],
            messages=[
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}]},
            ],
        )
    assert message.content[0].to_dict() == {"type": "text", "text": "A pixel."}


async def test_the_anthropic_client_raises_its_own_errors() -> None:
    busy = Failure(529, "overloaded_error", "Overloaded")
    ask: Any = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 10}
    async with MessagesServer([busy]) as server, messages(server) as client, messages(server, "wrong") as stranger:
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.messages.create(model=MODEL, **ask)
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.create(model="nonesuch", **ask)
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.create(model=MODEL, max_tokens=10, messages=[{"role": "assistant", "content": "hi"}])
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(model=MODEL, **ask)
