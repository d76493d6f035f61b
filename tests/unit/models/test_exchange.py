"""What every wire promises, against servers that the vendors' own clients accept: streaming, calls, images, retries, cancel, deadline."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from openclaw.content import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from openclaw.models import anthropic_messages, openai_chat, openai_responses
from openclaw.models.exchange import HttpProvider, Pace
from openclaw.models.provider import (
    Done,
    ModelEvent,
    ModelRequest,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from openclaw.models.spec import ModelEndpoint, ModelSpec
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from parts.media_server import png
from parts.model_servers import (
    KEY,
    MODEL,
    Answer,
    Call,
    ChatServer,
    Cut,
    Failure,
    Hold,
    MessagesServer,
    ModelServer,
    Page,
    Raw,
    Reply,
)
from parts.responses_server import ResponsesServer

PIXEL = Image(png(), "image/png")
NAME = f"local/{MODEL}"
DONE = Done("end", Usage(11, 7, 3), model=NAME)
USER = [UserMessage((Text("hi"),))]


async def never(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    raise AssertionError("a provider never runs a tool itself")


READ = Tool("read", "Read a file.", parameters({"type": "object", "properties": {"path": {"type": "string"}}}), never)


@dataclass(frozen=True)
class Wire:
    """One wire: the server that imitates it, the module that speaks it, and what the vendor calls things."""

    name: str
    server: type[ModelServer]
    module: ModuleType
    messages: str
    path: str
    limit: str
    at_limit: str
    refusal: str


CHAT = Wire(
    "chat-completions",
    ChatServer,
    openai_chat,
    "messages",
    "chat/completions",
    "max_tokens",
    "length",
    "content_filter",
)
RESPONSES = Wire(
    "responses",
    ResponsesServer,
    openai_responses,
    "input",
    "responses",
    "max_output_tokens",
    "max_output_tokens",
    "refusal",
)
MESSAGES = Wire(
    "messages", MessagesServer, anthropic_messages, "messages", "messages", "max_tokens", "max_tokens", "refusal"
)
every_wire = pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES], ids=lambda wire: wire.name)


@dataclass
class Clock:
    """Sleeps that take no time and are remembered."""

    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@asynccontextmanager
async def talking(
    wire: Wire, *replies: Reply, clock: Clock | None = None, **endpoint: Any
) -> AsyncIterator[tuple[HttpProvider, ModelServer]]:
    split = endpoint.pop("split", "events")
    reasons = endpoint.pop("reasons", False)
    patience = endpoint.pop("patience", 5.0)
    clock = clock or Clock()
    async with wire.server(replies, split=split, reasons=reasons) as server:
        settings = {"base_url": server.url, "api_key": KEY, "key_place": "models.providers.local.apiKey", **endpoint}
        pace = Pace(sleep=clock.sleep, chance=lambda: 0.0, after_outcome=patience)
        provider: HttpProvider = wire.module.connect(ModelEndpoint("local", **settings), pace)
        try:
            yield provider, server
        finally:
            await provider.close()


async def answer(provider: HttpProvider, messages: list[Message] | None = None, **request: Any) -> list[ModelEvent]:
    asked = ModelRequest(request.pop("model", MODEL), "Be brief.", messages or USER, **request)
    return [event async for event in provider.stream(asked)]


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def last(events: list[ModelEvent]) -> Done:
    assert isinstance(events[-1], Done)
    assert sum(isinstance(event, Done) for event in events) == 1
    return events[-1]


@every_wire
async def test_text_streams_piece_by_piece(wire: Wire) -> None:
    async with talking(wire, Answer(["Hel", "lo ", "☃"])) as (provider, _):
        assert await answer(provider) == [TextDelta("Hel"), TextDelta("lo "), TextDelta("☃"), DONE]


@every_wire
async def test_a_stream_that_comes_byte_by_byte_gives_the_same_events(wire: Wire) -> None:
    calls = (Call("call_1", "read", {"path": "ä.txt"}), Call("call_2", "read", {"path": "b"}))
    reply = Answer("Grüße", reasoning="nachdenken", calls=calls)
    async with talking(wire, reply, split="bytes") as (provider, _):
        slow = await answer(provider)
    async with talking(wire, reply) as (provider, _):
        assert await answer(provider) == slow
    assert text_in(slow) == "Grüße"


@every_wire
async def test_the_first_words_are_passed_on_while_the_rest_is_still_to_come(wire: Wire) -> None:
    rest = asyncio.Event()
    async with talking(wire, Answer(["first", rest, "second"])) as (provider, _):
        async with aclosing(provider.stream(ModelRequest(MODEL, "", USER))) as events:
            assert await anext(events) == TextDelta("first")
            rest.set()
            assert [event async for event in events] == [TextDelta("second"), DONE]


@every_wire
async def test_two_parallel_calls_arrive_whole(wire: Wire) -> None:
    calls = (Call("call_1", "read", {"path": "a.txt"}), Call("call_2", "read", {"path": "b.txt"}))
    async with talking(wire, Answer("Both.", calls=calls)) as (provider, _):
        events = await answer(provider, tools=[READ])
    assert [event for event in events if isinstance(event, ToolCallStart)] == [
        ToolCallStart(0, "call_1", "read"),
        ToolCallStart(1, "call_2", "read"),
    ]
    assert [event for event in events if isinstance(event, ToolCallEnd)] == [
        ToolCallEnd(0, ToolCall("call_1", "read", {"path": "a.txt"})),
        ToolCallEnd(1, ToolCall("call_2", "read", {"path": "b.txt"})),
    ]
    pieces = [event.text for event in events if isinstance(event, ToolCallDelta) and event.index == 1]
    assert "".join(pieces) == '{"path": "b.txt"}'
    assert last(events) == Done("tools", Usage(11, 7, 3), model=NAME)


@every_wire
@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ("", ToolCall("call_1", "read", {})),
        ("{", ToolCall("call_1", "read", {}, "The arguments of read are not JSON: send one JSON object.")),
        ("[1]", ToolCall("call_1", "read", {}, "The arguments of read are not a JSON object: send one JSON object.")),
    ],
)
async def test_arguments_that_are_no_object_mark_the_call_as_faulty(wire: Wire, arguments: str, call: ToolCall) -> None:
    async with talking(wire, Answer(calls=(Call("call_1", "read", arguments),))) as (provider, _):
        events = await answer(provider, tools=[READ])
    assert [event for event in events if isinstance(event, ToolCallEnd)] == [ToolCallEnd(0, call)]


@every_wire
async def test_reasoning_streams_and_goes_back_with_the_calls_it_led_to(wire: Wire) -> None:
    call = Call("call_1", "read", {"path": "a"})
    thought = Answer(reasoning="thinking", calls=(call,))
    async with talking(wire, thought, Answer("done"), reasons=True) as (provider, server):
        events = await answer(provider, tools=[READ])
        thoughts = [event for event in events if isinstance(event, ReasoningDelta)]
        signature = thoughts[-1].signature
        assert signature
        assert thoughts == [ReasoningDelta("thin"), ReasoningDelta("king"), ReasoningDelta("", signature)]
        back: list[Message] = [
            *USER,
            AssistantMessage((thinking(events), ToolCall("call_1", "read", {"path": "a"}))),
            ToolMessage("call_1", "read", (Text("content"),)),
        ]
        assert text_in(await answer(provider, back, tools=[READ])) == "done"
    sent = server.requests[1][wire.messages][2 if wire is CHAT else 1]
    if wire is CHAT:
        assert sent["reasoning_content"] == "thinking"
    elif wire is RESPONSES:
        summary = [{"type": "summary_text", "text": "thinking"}]
        assert sent == {"type": "reasoning", "id": sent["id"], "summary": summary, "encrypted_content": "c2lnbmVk"}
    else:
        assert sent["content"][0] == {"type": "thinking", "thinking": "thinking", "signature": "c2lnbmVk"}


def thinking(events: list[ModelEvent]) -> Thinking:
    thoughts = [event for event in events if isinstance(event, ReasoningDelta)]
    return Thinking("".join(thought.text for thought in thoughts), thoughts[-1].signature)


@every_wire
async def test_reasoning_of_another_vendor_is_not_sent(wire: Wire) -> None:
    foreign = Thinking("private", "elsewhere:abc")
    history: list[Message] = [
        *USER,
        AssistantMessage((foreign, ToolCall("call_1", "read", {}))),
        ToolMessage("call_1", "read", (Text("x"),)),
    ]
    async with talking(wire, Answer("ok")) as (provider, server):
        assert text_in(await answer(provider, history)) == "ok"
    assert "private" not in str(server.requests[0])


@every_wire
async def test_images_go_out_in_messages_and_in_results(wire: Wire) -> None:
    history: list[Message] = [
        UserMessage((Text("look"), PIXEL)),
        AssistantMessage((ToolCall("call_1", "read", {}), ToolCall("call_2", "read", {}))),
        ToolMessage("call_1", "read", (Text("first"), PIXEL)),
        ToolMessage("call_2", "read", (Text("second"),)),
    ]
    async with talking(wire, Answer("A pixel.")) as (provider, server):
        assert text_in(await answer(provider, history, tools=[READ])) == "A pixel."
    assert str(server.requests[0]).count(base64.b64encode(png()).decode()) == 2


@every_wire
async def test_what_a_wire_cannot_carry_is_described(wire: Wire) -> None:
    blocks = (
        Audio(b"12", "audio/wav"),
        File("/media/a.pdf", "a.pdf", "application/pdf", 1234),
        Image(b"x", "image/tiff"),
    )
    async with talking(wire, Answer("ok")) as (provider, server):
        await answer(provider, [UserMessage(blocks)])
    said = str(server.requests[0][wire.messages][-1])
    assert "A recording (audio/wav, 2 bytes)" in said
    assert 'The file "a.pdf" (application/pdf, 1,234 bytes) at "/media/a.pdf"' in said
    assert "An image (image/tiff, 1 bytes)" in said


@every_wire
async def test_a_model_without_eyes_gets_a_description(wire: Wire) -> None:
    blind = ModelSpec(MODEL, input=("text",))
    async with talking(wire, Answer("ok"), models=(blind,)) as (provider, server):
        await answer(provider, [UserMessage((PIXEL,))])
    assert f"An image (image/png, {len(png())} bytes) that this model cannot look at." in str(server.requests[0])


@every_wire
async def test_a_conversation_that_a_crash_cut_short_is_still_accepted(wire: Wire) -> None:
    history: list[Message] = [
        AssistantMessage((Text("earlier"),)),
        UserMessage((Text("go"),)),
        AssistantMessage(()),
        AssistantMessage((ToolCall("same id!", "read", {}), ToolCall("same id!" * 9, "read", {}))),
        ToolMessage("same id!", "read", ()),
        UserMessage((Text(""),)),
        ToolMessage("lost", "read", (Text("a result without its call"),)),
        AssistantMessage((Text(" "), ToolCall("same id!", "read", {"a": "\ud800"}))),
    ]
    async with talking(wire, Answer("ok")) as (provider, _):
        assert text_in(await answer(provider, history)) == "ok"


@every_wire
async def test_schemas_that_vendors_refuse_at_the_top_are_adapted_and_others_pass_untouched(wire: Wire) -> None:
    schemas: list[Any] = [
        {"type": "object"},
        {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]},
        {"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"c": {}}, "required": ["c"]}}},
        {"type": "string"},
    ]
    tools = [Tool(f"t{number}", "", parameters(schema), never) for number, schema in enumerate(schemas)]
    raw = b'{ "type" : "object", "properties": {"n": {"minimum": 1.0e0}}, "x-odd": [] }'
    odd = Tool("odd", "", type(tools[0].parameters)(raw), never)
    async with talking(wire, Answer("ok")) as (provider, server):
        assert text_in(await answer(provider, tools=[*tools, odd])) == "ok"
    key = "input_schema" if wire is MESSAGES else "parameters"
    sent = [(tool["function"] if wire is CHAT else tool)[key] for tool in server.requests[0]["tools"]]
    assert sent == [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"b": {}, "a": {"type": "string"}}},
        {
            "$defs": {"x": {"type": "object", "properties": {"c": {}}, "required": ["c"]}},
            "type": "object",
            "properties": {"c": {}},
            "required": ["c"],
        },
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"n": {"minimum": 1.0}}, "x-odd": []},
    ]


@every_wire
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_busy_endpoint_is_asked_again_with_growing_pauses(wire: Wire, status: int) -> None:
    clock = Clock()
    busy = Failure(status, "overloaded_error", "Overloaded")
    async with talking(wire, busy, busy, Answer("at last"), clock=clock) as (provider, server):
        events = await answer(provider)
    doing = f"local {'is busy' if status == 429 else 'failed'} ({status}): trying again"
    assert events == [
        Notice(f"{doing} in 0.5 s.", "retry", doing),
        Notice(f"{doing} in 1.0 s.", "retry", doing),
        TextDelta("at last"),
        DONE,
    ]
    assert clock.slept == [0.5, 1.0]
    assert len(server.requests) == 3


@every_wire
@pytest.mark.parametrize(("header", "value", "seconds"), [("Retry-After", "3", 3.0), ("retry-after-ms", "250", 0.25)])
async def test_the_vendor_says_how_long_to_wait(wire: Wire, header: str, value: str, seconds: float) -> None:
    clock = Clock()
    busy = Failure(429, "rate_limit_error", "slow down", {header: value})
    async with talking(wire, busy, Answer("ok"), clock=clock) as (provider, _):
        await answer(provider)
    assert clock.slept == [seconds]


@every_wire
async def test_a_vendor_that_asks_for_an_hour_is_not_waited_for(wire: Wire) -> None:
    clock = Clock()
    busy = Failure(429, "rate_limit_error", "slow down", {"Retry-After": "3600"})
    async with talking(wire, busy, clock=clock) as (provider, _):
        events = await answer(provider)
    assert events == [
        Done(
            "error",
            error="local limits how often it answers (429), and asks to wait 3600 s. "
            "Wait, or name other models in agents.defaults.model.fallbacks.",
            retryable=True,
            model=NAME,
        )
    ]
    assert clock.slept == []


@every_wire
async def test_a_wait_that_does_not_fit_the_deadline_is_not_begun(wire: Wire) -> None:
    clock = Clock()
    busy = Failure(503, "api_error", "down", {"Retry-After": "30"})
    async with talking(wire, busy, clock=clock) as (provider, _):
        events = await answer(provider, timeout=20.0)
    assert last(events).retryable
    assert clock.slept == []


@every_wire
async def test_four_failures_are_enough(wire: Wire) -> None:
    clock = Clock()
    async with talking(wire, *[Failure(500, "api_error", "boom")] * 5, clock=clock) as (provider, server):
        events = await answer(provider)
    assert last(events) == Done(
        "error",
        error="local failed (500): boom. Try again later, or name other models in agents.defaults.model.fallbacks.",
        retryable=True,
        model=NAME,
    )
    assert clock.slept == [0.5, 1.0, 2.0]
    assert len(server.requests) == 4


@every_wire
async def test_a_vendor_that_forbids_another_attempt_is_obeyed(wire: Wire) -> None:
    final = Failure(500, "api_error", "boom", {"x-should-retry": "false"})
    async with talking(wire, final) as (provider, server):
        assert last(await answer(provider)).stop_reason == "error"
    assert len(server.requests) == 1


@every_wire
async def test_a_stream_that_breaks_before_its_first_word_is_asked_for_again(wire: Wire) -> None:
    async with talking(wire, Raw([b": hello\n\n", Cut()]), Raw([]), Answer("again")) as (provider, _):
        events = await answer(provider)
    doing = "local broke off its answer: trying again"
    assert events == [
        Notice(f"{doing} in 0.5 s.", "retry", doing),
        Notice(f"{doing} in 1.0 s.", "retry", doing),
        TextDelta("again"),
        DONE,
    ]


@pytest.mark.posix_only("what was received before a connection was reset")
@every_wire
async def test_an_answer_that_breaks_off_is_never_begun_anew(wire: Wire) -> None:
    async with talking(wire, Answer(["half", Cut()])) as (provider, server):
        events = await answer(provider)
    done = last(events)
    assert events[:-1] == [TextDelta("half")]
    assert (done.stop_reason, done.error, done.retryable) == (
        "error",
        f"The answer of {NAME} broke off. Ask again.",
        False,
    )
    assert len(server.requests) == 1


@pytest.mark.posix_only("what was received before a connection was reset")
@every_wire
async def test_calls_of_an_answer_that_breaks_off_are_not_made(wire: Wire) -> None:
    async with talking(wire, Answer(["x"], calls=(Call("call_1", "read", {"path": "a"}),)), split="events") as (
        provider,
        server,
    ):
        (reply,) = server.replies
        assert isinstance(reply, Answer)
        whole = server.events(reply, {"model": MODEL, "stream_options": {}})
        server.replies[:] = [Raw([*whole[:-4], Cut()])]
        events = await answer(provider, tools=[READ])
    assert not any(isinstance(event, ToolCallEnd) for event in events)
    assert last(events).stop_reason == "error"


@every_wire
async def test_nobody_there_is_one_sentence_after_four_attempts(wire: Wire) -> None:
    clock = Clock()
    async with talking(wire, clock=clock) as (_, server):
        url = server.url
    provider = wire.module.connect(ModelEndpoint("local", url, KEY), Pace(sleep=clock.sleep, chance=lambda: 0.0))
    done = last(await answer(provider))
    await provider.close()
    assert done.error.startswith("local cannot be reached: ")
    assert done.error.endswith("Check the network and models.providers.local.baseUrl.")
    assert done.retryable
    assert len(clock.slept) == 3


@every_wire
async def test_closing_the_stream_ends_the_exchange(wire: Wire) -> None:
    async with talking(wire, Answer(["first", Hold()])) as (provider, server):
        async with aclosing(provider.stream(ModelRequest(MODEL, "", USER))) as events:
            assert await anext(events) == TextDelta("first")
        await server.gone.wait()


@every_wire
async def test_cancelling_the_reader_ends_the_exchange(wire: Wire) -> None:
    async with talking(wire, Answer(["first", Hold()])) as (provider, server):
        reading = asyncio.create_task(answer(provider))
        await server.waiting.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await server.gone.wait()


@every_wire
async def test_an_answer_that_takes_too_long_ends_at_the_deadline(wire: Wire) -> None:
    async with talking(wire, Answer(["first", Hold()])) as (provider, server):
        events = await answer(provider, timeout=2.0)
        await server.gone.wait()
    assert last(events).error == (
        f"{NAME} did not finish its answer in time. Ask for less, or raise models.providers.local.timeoutSeconds."
    )


@every_wire
async def test_a_wrong_key_is_named_by_its_place_and_never_shown(wire: Wire) -> None:
    async with talking(wire, api_key="sk-wrong-0123456789") as (provider, _):
        events = await answer(provider)
    assert events == [
        Done(
            "error",
            error="local refused the API key (401). Check models.providers.local.apiKey.",
            retryable=True,
            model=NAME,
            key_refused=True,
        )
    ]


@every_wire
async def test_a_missing_key_is_asked_for(wire: Wire) -> None:
    async with talking(wire, api_key="") as (provider, server):
        done = last(await answer(provider))
    assert (
        done.error
        == "local asks for an API key (401). Run `openclaw keys set local`, or set models.providers.local.apiKey."
    )
    assert not {"authorization", "x-api-key"} & server.headers[0].keys()


@every_wire
async def test_an_unknown_model_is_named(wire: Wire) -> None:
    async with talking(wire) as (provider, _):
        done = last(await answer(provider, model="nonesuch"))
    assert done.error == ("local has no model named nonesuch (404). Choose one of `openclaw models list local`.")
    assert done.retryable


@every_wire
@pytest.mark.parametrize(
    ("page", "what"),
    [
        (Page(b"<!doctype html><title>Hi</title>"), ": a web page"),
        (Page(b"<html>no</html>", 404), " (404): a web page"),
        (Page(b'{"detail":"Not Found"}', 404, "application/json"), " (404): Not Found"),
        (Page(b"404 page not found", 404, "text/plain"), " (404): no error we know"),
        (Page(b'{"hello":"world"}', 200, "application/json"), None),
        (Page(b"[1,2]", 200, "application/json"), None),
        (Page(b"nonsense", 200, "application/json"), None),
        (Page(b"data: {nonsense\n\n", 200, "text/event-stream"), None),
        (Page(b'data: {"hello": 1}\n\n', 200, "text/event-stream"), None),
        (Page(b"", 204, "text/plain"), None),
    ],
)
async def test_an_address_that_is_no_model_endpoint_is_said_to_be_none(
    wire: Wire, page: Page, what: str | None
) -> None:
    async with talking(wire, page) as (provider, server):
        done = last(await answer(provider))
        url = f"{server.origin}/v1/{wire.path}"
    code = "(200)" if page.status == 200 else f"({page.status})"
    assert done.error.startswith(f"{url} is not a chat endpoint that speaks {wire.name} {code}: ")
    told = " Check models.providers.local.baseUrl (it usually ends in /v1) and models.providers.local.api."
    assert done.error.endswith(told)
    if what is not None:
        assert f"{what.removeprefix(f' ({page.status})')}." in done.error
    assert done.retryable


@every_wire
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (413, "Request too large"),
    ],
)
async def test_a_conversation_that_does_not_fit_is_marked_so(wire: Wire, status: int, message: str) -> None:
    async with talking(wire, Failure(status, "invalid_request_error", message)) as (provider, _):
        done = last(await answer(provider))
    assert (done.too_long, done.retryable) == (True, False)
    assert done.error.startswith(f"The conversation is longer than {NAME} takes ({status}).")


@every_wire
async def test_an_empty_purse_is_not_asked_twice(wire: Wire) -> None:
    async with talking(wire, Failure(429, "insufficient_quota", "You exceeded your quota.")) as (provider, server):
        done = last(await answer(provider))
    assert done.error.startswith("local has no credit left for this key (429).")
    assert len(server.requests) == 1


@every_wire
async def test_a_refused_request_quotes_the_vendor_cleaned_and_masked(wire: Wire) -> None:
    message = f"bad \x1b[31mthing\x1b[0m\nfor key {KEY} " + "x" * 1000
    async with talking(wire, Failure(400, "invalid_request_error", message)) as (provider, _):
        done = last(await answer(provider))
    assert done.error.startswith("local refused the request (400): bad thing for key [REDACTED] xxx")
    assert KEY not in done.error
    assert "\x1b" not in done.error
    assert len(done.error) < 500
    assert not done.retryable


@every_wire
async def test_configured_headers_replace_ours_in_any_spelling(wire: Wire) -> None:
    headers = (("AUTHORIZATION", f"Bearer {KEY}"), ("X-API-KEY", KEY), ("X-Team", "blue"))
    async with talking(wire, Answer("ok"), api_key="sk-unused-000000", headers=headers) as (provider, server):
        assert text_in(await answer(provider)) == "ok"
    assert server.headers[0]["x-team"] == "blue"


@every_wire
async def test_the_limit_of_the_request_goes_out(wire: Wire) -> None:
    async with talking(wire, Answer("ok")) as (provider, server):
        await answer(provider, max_tokens=99)
    assert server.requests[0][wire.limit] == 99


@every_wire
async def test_an_answer_that_hit_its_limit_says_so(wire: Wire) -> None:
    async with talking(wire, Answer("cut sho", stop=wire.at_limit)) as (provider, _):
        assert last(await answer(provider)).stop_reason == "length"


@every_wire
async def test_a_refusal_of_the_model_says_so(wire: Wire) -> None:
    async with talking(wire, Answer("I", stop=wire.refusal)) as (provider, _):
        done = last(await answer(provider))
    assert (done.stop_reason, done.error) == ("refused", "The model refused to answer. Ask in another way.")


@every_wire
async def test_an_address_that_is_no_url_is_one_sentence(wire: Wire) -> None:
    provider = wire.module.connect(ModelEndpoint("local", "not a url", KEY))
    done = last(await answer(provider))
    await provider.close()
    assert done.error.startswith("local is not reached: The URL ")


@every_wire
async def test_many_answers_over_one_provider_do_not_disturb_each_other(wire: Wire) -> None:
    async with talking(wire, *[Answer(["a", "b", "c"])] * 20) as (provider, _):
        answers = await asyncio.gather(*(answer(provider) for _ in range(20)))
    assert answers == [[TextDelta("a"), TextDelta("b"), TextDelta("c"), DONE]] * 20


async def test_a_fault_of_our_own_is_a_final_event_too(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(openai_chat.ChatWire):
        def body(self, *_: Any) -> bytes:
            raise ZeroDivisionError

    provider = HttpProvider(ModelEndpoint("local", "http://127.0.0.1:1"), Broken())
    events = await answer(provider)
    await provider.close()
    assert events == [
        Done(
            "error",
            error="Talking to local failed unexpectedly (ZeroDivisionError). The log has the details.",
            retryable=True,
            model=NAME,
        )
    ]
    assert "the exchange with local failed" in caplog.text


@every_wire
async def test_an_error_page_that_never_ends_is_read_only_so_far(wire: Wire) -> None:
    async with talking(wire, Page(b"x" * 1_000_000, 404, "text/plain")) as (provider, _):
        assert "is not a chat endpoint" in last(await answer(provider)).error


@every_wire
async def test_an_error_whose_body_never_comes_is_known_by_its_status(wire: Wire) -> None:
    unfinished = Page(b"{}", 401, "application/json", {"Content-Length": "99"})
    async with talking(wire, unfinished, patience=0.05) as (provider, _):
        assert last(await answer(provider)).error.startswith("local refused the API key (401).")


def test_pauses_grow_to_a_ceiling_and_shrink_by_chance() -> None:
    always: Callable[[], float] = lambda: 1.0  # noqa: E731
    pace = Pace(attempts=9, chance=lambda: 0.0)
    assert [pace.delay(number, None) for number in range(1, 10)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, None]
    assert Pace(chance=always).delay(1, None) == 0.375
