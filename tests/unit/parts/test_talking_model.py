"""The model that behaves as real ones do: what is asked for by its first word comes over the vendor's own client."""

from typing import Any

import openai
import pytest

from parts.model_servers import KEY, MODEL
from parts.talking_model import MARKDOWN, THOUGHTS, TalkingModel, words_of


def client(model: TalkingModel) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=model.url, api_key=KEY, max_retries=0)


async def streamed(model: TalkingModel, *messages: Any) -> list[Any]:
    async with client(model) as vendor:
        stream = await vendor.chat.completions.create(model=MODEL, messages=list(messages), stream=True)
        return [chunk.choices[0].delta async for chunk in stream if chunk.choices]


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def test_markdown_comes_word_by_word() -> None:
    async with TalkingModel() as model:
        deltas = await streamed(model, said("markdown"))
    pieces = [delta.content for delta in deltas if delta.content]
    assert "".join(pieces) == MARKDOWN
    assert pieces == words_of(MARKDOWN)


async def test_it_thinks_before_it_answers() -> None:
    async with TalkingModel() as model:
        deltas = await streamed(model, said("think"))
    thoughts = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert (thoughts, "".join(delta.content or "" for delta in deltas)) == (THOUGHTS, "At **noon**.")


async def test_it_calls_the_tool_and_repeats_what_came_of_it() -> None:
    asked = said('call clock {"zone": "UTC"}')
    async with TalkingModel() as model:
        deltas = await streamed(model, asked)
        called = [one.function for delta in deltas for one in delta.tool_calls or ()]
        assert "".join(one.name or "" for one in called) == "clock"
        assert "".join(one.arguments or "" for one in called) == '{"zone": "UTC"}'
        function = {"name": "clock", "arguments": "{}"}
        call = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        }
        result = {"role": "tool", "tool_call_id": "call_1", "content": "noon"}
        answer = await streamed(model, asked, call, result)
    assert "".join(delta.content or "" for delta in answer) == "It gave: noon"


async def test_it_fails_as_the_vendor_does() -> None:
    async with TalkingModel() as model:
        with pytest.raises(openai.RateLimitError, match="overheated"):
            await streamed(model, said("fail 429"))
