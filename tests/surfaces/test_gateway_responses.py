"""OpenAI's responses and models, through the vendor's own client."""

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import openai
import pytest

from openclaw.content import AssistantMessage, Text, UserMessage
from openclaw.gateway.chat_routes import SESSION_HEADER
from parts.documents import pdf
from parts.gateways import Running, home, running
from parts.media_server import png
from parts.model_servers import MODEL, Answer, ChatServer
from parts.openai_client import playing, said, vendor

ECHO = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "from the server"}}], "text": "Let me ask."}


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


async def texts(gateway: Running, answer: Any) -> list[str]:
    """What the session of an answer holds."""
    return [message.content[0].text for message in await said(gateway, answer.openclaw["sessionKey"])]


async def test_the_vendors_client_finds_a_model_by_its_name(tmp_path: Path) -> None:
    async with playing(tmp_path) as gateway, vendor(gateway) as client:
        found = [await client.models.retrieve(name) for name in ("openclaw", "openclaw/default", "openclaw/main")]
        for name in ("gpt-4", "openclaw/nobody", "openclaw/main/x"):
            with pytest.raises(openai.NotFoundError) as refused:
                await client.models.retrieve(name)
            assert (refused.value.code, refused.value.type) == ("model_not_found", "invalid_request_error")
        listed = [model async for model in client.models.list()]
        # A slash that nobody escaped.
        status, plain = await gateway.get("/v1/models/openclaw/main")

    assert found == listed
    assert (status, plain["id"]) == (200, "openclaw/main")


async def test_the_vendors_client_gets_a_whole_response(tmp_path: Path) -> None:
    turn = {"text": "Hi there.", "usage": {"inputTokens": 7, "outputTokens": 3, "cachedTokens": 2}}
    async with playing(tmp_path, ECHO, turn) as gateway, vendor(gateway) as client:
        answer = await client.responses.create(model="openclaw/main", input="hi", metadata={"ticket": "5"})

    assert answer.output_text == "Let me ask.\n\nHi there."
    assert (answer.status, answer.error, answer.model, answer.metadata) == (
        "completed",
        None,
        "openclaw/main",
        {"ticket": "5"},
    )
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (7, 3, 10)
    assert answer.usage.input_tokens_details.cached_tokens == 2
    assert [call["name"] for call in answer.openclaw["toolCalls"]] == ["part__echo"]  # type: ignore[attr-defined]


async def test_the_vendors_client_streams_a_response_in_the_official_order(tmp_path: Path) -> None:
    last = {"text": ["It said: ", "{result}"], "usage": {"inputTokens": 7, "outputTokens": 3}}
    async with playing(tmp_path, ECHO, last) as gateway, vendor(gateway) as client:
        async with client.responses.stream(model="openclaw", input="ask the server") as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response()

    names = [event.type for event in events]
    assert names[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert set(names[4:-4]) == {"response.output_text.delta"}
    assert names[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    pieces = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert final.output_text == pieces
    assert pieces.startswith("Let me ask.\n\nIt said: ")
    assert "from the server" in pieces
    assert final.usage is not None
    assert final.usage.total_tokens == 10


async def test_pictures_files_and_what_was_said_before_reach_the_model(tmp_path: Path) -> None:
    content: list[Any] = [
        {"type": "input_text", "text": "What are these?"},
        {"type": "input_image", "image_url": data_url("image/png", png()), "detail": "auto"},
        {"type": "input_file", "filename": "paper.pdf", "file_data": data_url("application/pdf", pdf("A paper"))},
    ]
    sent: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "I am Ann."},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ahoy Ann."}]},
        {"role": "user", "content": content},
    ]
    async with ChatServer([Answer("A picture and a paper.")]) as model:
        with home(tmp_path) as place:
            place.save(
                {
                    "agents": {"defaults": {"model": f"local/{MODEL}", "prompt": "You are a clerk."}},
                    "models": {"providers": {"local": {"baseUrl": model.url, "apiKey": model.key}}},
                }
            )
            async with running(place) as gateway, vendor(gateway) as client:
                answer = await client.responses.create(
                    model="openclaw", input=sent, instructions="Speak like a pirate."
                )
        system, *messages = model.requests[0]["messages"]

    assert answer.output_text == "A picture and a paper."
    assert [part in system["content"] for part in ("You are a clerk.", "Speak like a pirate.", "Be brief.")] == [
        True
    ] * 3
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert "Ahoy Ann." in str(messages[1])
    asked = str(messages[2]["content"])
    assert [part in asked for part in ("What are these?", data_url("image/png", png()), "A paper")] == [True] * 3


async def test_a_response_is_continued_by_its_id_also_after_a_restart(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save(place.script({"text": "one"}, {"text": "two"}))
        async with running(place) as gateway, vendor(gateway) as client:
            first = await client.responses.create(model="openclaw", input="I am Ann.")
        place.save(place.script({"text": "three"}))
        async with running(place) as gateway, vendor(gateway) as client:
            second = await client.responses.create(model="openclaw", input="Who?", previous_response_id=first.id)
            history = await texts(gateway, second)

    assert second.previous_response_id == first.id
    assert history == ["I am Ann.", "one", "Who?", "three"]
    assert first.openclaw["sessionKey"] == second.openclaw["sessionKey"]  # type: ignore[attr-defined]


async def test_an_older_response_is_continued_as_it_was_then(tmp_path: Path) -> None:
    turns = [{"text": word} for word in ("one", "two", "three")]
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        first = await client.responses.create(model="openclaw", input="a")
        second = await client.responses.create(model="openclaw", input="b", previous_response_id=first.id)
        again = await client.responses.create(model="openclaw", input="c", previous_response_id=first.id)
        histories = [await texts(gateway, answer) for answer in (second, again)]

    assert histories == [["a", "one", "b", "two"], ["a", "one", "c", "three"]]


async def test_two_that_go_on_from_one_response_at_once_do_not_hear_of_each_other(tmp_path: Path) -> None:
    turns = [{"text": word} for word in ("one", "two", "two")]
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        first = await client.responses.create(model="openclaw", input="a")

        async def go_on(word: str) -> list[str]:
            answer = await client.responses.create(model="openclaw", input=word, previous_response_id=first.id)
            return await texts(gateway, answer)

        histories = await asyncio.gather(*map(go_on, "bc"))

    assert histories == [["a", "one", word, "two"] for word in "bc"]


async def test_a_branch_knows_whose_text_was_read_before_it(tmp_path: Path) -> None:
    turns = (ECHO, {"text": "one"}, {"text": "two"}, {"text": "three"})
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        first = await client.responses.create(model="openclaw", input="a")
        second, third = [
            await client.responses.create(model="openclaw", input=word, previous_response_id=first.id) for word in "bc"
        ]
        keys: list[str] = [(answer.model_extra or {})["openclaw"]["sessionKey"] for answer in (first, second, third)]
        known: list[list[str]] = []
        for key in keys:
            async with gateway.gateway.app.store.turn(key, "main") as turn:
                known.append([*turn.foreign])

    assert (keys[0] == keys[1] != keys[2], known) == (True, [["mcp:part"]] * 3)


async def test_a_response_is_continued_without_what_failed_after_it(tmp_path: Path) -> None:
    turns = ({"text": "one"}, {"text": "x", "error": "Cut off."}, {"text": "two"})
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        first = await client.responses.create(model="openclaw", input="a")
        with pytest.raises(openai.InternalServerError, match="Cut off"):
            await client.responses.create(model="openclaw", input="b", previous_response_id=first.id)
        again = await client.responses.create(model="openclaw", input="b", previous_response_id=first.id)
        history = await texts(gateway, again)

    assert history == ["a", "one", "b", "two"]


async def test_nothing_is_kept_of_a_response_that_is_not_stored(tmp_path: Path) -> None:
    turns = [{"text": word} for word in ("one", "two")]
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        first = await client.responses.create(model="openclaw", input="a")
        second = await client.responses.create(
            model="openclaw", input="b", previous_response_id=first.id, store=False, user="ann"
        )
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model="openclaw", input="c", previous_response_id=second.id)
        kept = [info.key for info in await gateway.gateway.app.store.list()]
        history = await texts(gateway, first)

    assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")
    assert kept == [first.openclaw["sessionKey"]]  # type: ignore[attr-defined]
    assert history == ["a", "one"]


async def test_nothing_is_kept_of_one_either_whose_caller_leaves(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save(place.script({"text": "Thinking", "hold": True}))
        async with running(place) as gateway:
            body = {"model": "openclaw", "input": "hi", "stream": True, "store": False}
            response = await gateway.client.post(f"{gateway.url}/v1/responses", json=body, headers=gateway.headers)
            first = await response.content.readline()
            response.close()
        # It stops when the requests it had are over.
        async with running(place) as gateway:
            kept = await gateway.gateway.app.store.list()

    assert (first, kept) == (b"event: response.created\n", ())


async def test_a_session_key_and_a_user_name_the_conversation_as_on_the_other_wire(tmp_path: Path) -> None:
    turns = [{"text": word} for word in ("one", "two", "three")]
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        await client.responses.create(model="openclaw", input="a", user="ann")
        await client.chat.completions.create(model="openclaw", messages=[{"role": "user", "content": "b"}], user="ann")
        key = "agent:main:openai-user:ann"
        answer = await client.responses.create(model="openclaw", input="c", extra_headers={SESSION_HEADER: key})
        history = await texts(gateway, answer)

    assert history == ["a", "one", "b", "two", "c", "three"]


async def test_a_slash_is_text_for_the_model_on_this_wire_too(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "I cannot do that."}) as gateway, vendor(gateway) as client:
        answer = await client.responses.create(model="openclaw", input="/mcp remove part", user="eve")
        history = await said(gateway, "agent:main:openai-user:eve")
        _, listed = await gateway.get("/v1/mcp/servers")

    assert answer.output_text == "I cannot do that."
    assert history == [
        UserMessage((Text("/mcp remove part"),)),
        AssistantMessage((Text("I cannot do that."),), model="play/one", stop_reason="end"),
    ]
    assert [server["name"] for server in listed["servers"]] == ["part"]


async def test_the_vendors_client_understands_refusals_and_failures_of_responses(tmp_path: Path) -> None:
    turns = ({"error": "The model is out."}, {"error": "The model is out."}, {"text": "x", "error": "Cut off."})
    async with playing(tmp_path, *turns) as gateway, vendor(gateway) as client:
        with pytest.raises(openai.NotFoundError, match="There is no agent 'nobody'"):
            await client.responses.create(model="openclaw/nobody", input="hi")
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError, match="The model is out"):
                await client.responses.create(model="openclaw", input="hi", stream=stream)
        events = [event async for event in await client.responses.create(model="openclaw", input="hi", stream=True)]
        failed = events[-1]
        assert failed.type == "response.failed"
        with pytest.raises(openai.BadRequestError, match="not found"):
            await client.responses.create(model="openclaw", input="go on", previous_response_id=failed.response.id)
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="wrong", max_retries=0) as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.responses.create(model="openclaw", input="hi")

    assert failed.response.error is not None
    assert (failed.response.status, failed.response.error.code) == ("failed", "server_error")
    assert "Cut off." in failed.response.error.message


async def test_a_response_that_was_cut_short_says_so(tmp_path: Path) -> None:
    agents = {"agents": {"defaults": {"model": "play/one", "maxTurns": 1}}}
    async with playing(tmp_path, ECHO, **agents) as gateway, vendor(gateway) as client:
        answer = await client.responses.create(model="openclaw", input="ask the server")

    assert (answer.status, answer.output_text) == ("incomplete", "Let me ask.")
    assert answer.incomplete_details is not None
    assert answer.openclaw["stopped"] == "turn-limit"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"previous_response_id": "☃"}, "previous_response_id"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "video"}]}]}, "input[0].content[0]"),
        ({"input": ""}, None),
        ({"input": []}, None),
        ({"input": 5}, None),
    ],
)
async def test_what_is_not_supported_is_refused_by_name(
    tmp_path: Path, body: dict[str, Any], parameter: str | None
) -> None:
    async with playing(tmp_path) as gateway:
        status, answer = await gateway.post("/v1/responses", {"model": "openclaw", "input": "hi", **body})

    assert (status, list(answer), answer["error"]["param"]) == (400, ["error"], parameter)
    assert answer["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tools/invoke", {"tool": "part__echo"}),
        ("/v1/chat/completions", {"model": "openclaw", "messages": [{"role": "user", "content": "hi"}]}),
        ("/v1/responses", {"model": "openclaw", "input": "hi"}),
    ],
)
async def test_a_body_of_very_many_keys_is_refused_however_they_are_written(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    many = b",".join(b'"%d"\n\t :1' % number for number in range(100_001))
    sent = json.dumps(body).encode()[:-1] + b',"more":{' + many + b"}}"
    async with playing(tmp_path, {"text": "one"}) as gateway:
        status, answer = await gateway.send("POST", path, data=io.BytesIO(sent))

    assert (status, answer["error"]["message"]) == (400, "The body has more than 100,000 keys or 1,000,000 values.")


async def test_text_with_very_many_colons_is_no_body_of_many_keys(tmp_path: Path) -> None:
    async with playing(tmp_path, {"text": "one"}) as gateway:
        status, _ = await gateway.post("/v1/responses", {"model": "openclaw", "input": "12:30: hello " * 60_000})

    assert status == 200


@pytest.mark.parametrize("more", [{"store": False}, {"previous_response_id": "resp_1"}])
async def test_a_session_that_the_header_names_goes_with_no_other_wish(tmp_path: Path, more: dict[str, Any]) -> None:
    async with playing(tmp_path) as gateway:
        body = {"model": "openclaw", "input": "hi", **more}
        headers = {**gateway.headers, SESSION_HEADER: "k"}
        async with gateway.client.post(f"{gateway.url}/v1/responses", json=body, headers=headers) as response:
            answer = await response.json()

    assert (response.status, answer["error"]["param"]) == (400, next(iter(more)))
