"""The local Responses server counts as real: the vendor's own client talks to it, and its events are the SDK's to the last field."""

import json
from typing import Any

import openai
import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from parts.model_servers import KEY, MODEL, Answer, Call, Failure
from parts.responses_server import ResponsesServer

CALLS = (Call("call_1", "read", {"path": "a.txt"}), Call("call_2", "ls", {"path": "src"}))
TOOL: Any = {
    "type": "function",
    "name": "read",
    "strict": False,
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
SEARCH: Any = {
    "type": "tool_search",
    "execution": "client",
    "description": "Find tools.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def client_of(server: ResponsesServer, key: str = KEY) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.url, api_key=key, max_retries=0)


async def test_the_openai_client_streams_reasoning_text_calls_and_usage_byte_by_byte() -> None:
    reply = Answer(["Hel", "lo ☃"], reasoning="hmm", calls=CALLS)
    async with ResponsesServer([reply], split="bytes", phases=True) as server, client_of(server) as client:
        async with client.responses.stream(
            model=MODEL, input="hi", tools=[TOOL], include=["reasoning.encrypted_content"]
        ) as stream:
            response = await stream.get_final_response()
    thought, message, *calls = response.output
    assert (thought.type, message.type, response.output_text) == ("reasoning", "message", "Hello ☃")
    assert [(call.call_id, call.name, call.arguments) for call in calls if call.type == "function_call"] == [
        ("call_1", "read", '{"path": "a.txt"}'),
        ("call_2", "ls", '{"path": "src"}'),
    ]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (11, 7, 18)


async def test_the_openai_client_goes_on_from_what_it_was_given() -> None:
    """Items of an answer go back as the client has them, with results: none is refused."""
    replies = [Answer("Let me look.", reasoning="hm", calls=CALLS[:1]), Answer("Done.")]
    async with ResponsesServer(replies, phases=True) as server, client_of(server) as client:
        said: list[Any] = [{"role": "user", "content": "hi"}]
        ask: Any = {"model": MODEL, "tools": [TOOL], "store": False, "include": ["reasoning.encrypted_content"]}
        first = await client.responses.create(input=said, **ask)
        said += [item.to_dict(exclude_none=True) for item in first.output]
        said.append({"type": "function_call_output", "call_id": "call_1", "output": "the file"})
        second = await client.responses.create(input=said, **ask)
    assert (second.output_text, server.refused) == ("Done.", [])


async def test_the_openai_client_reads_a_search_for_tools_and_answers_it() -> None:
    replies = [
        Answer(calls=(Call("search_1", "tool_search", {"query": "read"}),)),
        Answer(calls=(Call("call_1", "read", {"path": "a"}),)),
    ]
    async with ResponsesServer(replies) as server, client_of(server) as client:
        said: list[Any] = [{"role": "user", "content": "hi"}]
        first = await client.responses.create(model=MODEL, input=said, tools=[SEARCH])
        search = first.output[0]
        assert search.type == "tool_search_call"
        found = {"type": "tool_search_output", "call_id": search.call_id, "execution": "client", "status": "completed"}
        said += [search.to_dict(exclude_none=True), {**found, "tools": [{**TOOL, "defer_loading": True}]}]
        second = await client.responses.create(model=MODEL, input=said, tools=[SEARCH])
    assert (search.arguments, second.output[0].type, server.refused) == ({"query": "read"}, "function_call", [])


async def test_the_openai_client_raises_its_own_errors() -> None:
    busy = Failure(429, "rate_limit_exceeded", "slow down", {"Retry-After": "1"})
    async with ResponsesServer([busy]) as server, client_of(server) as client, client_of(server, "sk-no") as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.responses.create(model=MODEL, input="hi")
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(model="nonesuch", input="hi")
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(
                model=MODEL, input=[{"type": "function_call_output", "call_id": "x", "output": "y"}]
            )
        with pytest.raises(openai.RateLimitError):
            await client.responses.create(model=MODEL, input="hi")


@pytest.mark.parametrize("stop", [None, "refusal", "max_output_tokens"])
def test_every_event_is_of_the_sdks_types(stop: str | None) -> None:
    search = Call("search_1", "tool_search", {"query": "x"})
    answer = Answer(["a", "b"], reasoning="hm", calls=(*CALLS, search), stop=stop)
    server = ResponsesServer(phases=True)
    events: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
    for piece in server.events(answer, {"model": MODEL, "tools": [SEARCH], "include": ["reasoning.encrypted_content"]}):
        assert isinstance(piece, bytes)
        value = json.loads(piece.partition(b"data: ")[2])
        event = events.validate_python(value)
        assert {**event.to_dict(mode="json"), "sequence_number": value["sequence_number"]} == value
