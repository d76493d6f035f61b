"""What OpenTelemetry is told: one trace from a caller to a server, over every way in and every model wire, and nothing that is secret."""

import asyncio
import logging
import math
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from openclaw.app import App
from openclaw.config.servers import server_specs
from openclaw.conversation import Conversation
from openclaw.telemetry.telemetry import Telemetry
from parts import traced_server
from parts.auth_server import AuthServer, Plan
from parts.collector import Collector
from parts.editor import NearEditor
from parts.gateways import Home, home, running, stdio_server
from parts.model_servers import Answer, ChatServer, MessagesServer, ModelServer
from parts.order_process import OrderProcess, local_model
from parts.responses_server import ResponsesServer

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
# Sampled.
PARENT = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
CANARY = "canary-3f9c51d2a7"
WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as made:
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as made:
        yield made


def telemetry(collector: Collector, **more: Any) -> dict[str, Any]:
    return {"otlp": {"endpoint": collector.url}, **more}


def echo(place: Home, collector: Collector, **more: Any) -> dict[str, Any]:
    """A config whose model calls `echo` of a server and then answers."""
    call = {"name": "files__echo", "arguments": {"text": CANARY}, "id": "c1"}
    return {
        **place.script({"toolCalls": [call]}, {"text": "Done.", "usage": {"inputTokens": 3, "outputTokens": 2}}),
        "mcp": {"servers": {"files": stdio_server()}},
        "tools": {"approval": {"mode": "off", "taint": "off"}},
        "telemetry": telemetry(collector, **more),
    }


async def test_one_trace_shows_caller_gateway_turn_model_tool_call_and_the_server_itself(
    place: Home, collector: Collector
) -> None:
    """The server is made with the official SDK, which traces by itself."""
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "shop"}
    shop = {"command": sys.executable, "args": [traced_server.__file__], "env": env}
    call = {"name": "shop__price", "arguments": {"article": "milk"}, "id": "c1"}
    place.save(
        {
            **place.script({"toolCalls": [call]}, {"text": "4 EUR."}),
            "mcp": {"servers": {"shop": shop}},
            "tools": {"approval": {"mode": "off", "taint": "off"}},
            "telemetry": telemetry(collector),
        }
    )
    async with running(place) as gateway:
        await gateway.ready("shop")
        body = {"model": "openclaw", "messages": [{"role": "user", "content": "milk?"}]}
        headers = {**gateway.headers, **PARENT}
        async with gateway.client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
            assert response.status == 200
    await collector.until("POST /v1/chat/completions", "tools/call price")

    ours = {span.name: span for span in collector.spans if span.trace == TRACE and span.service == "openclaw"}
    (server,) = [span for span in collector.spans if span.service == "shop" and span.trace == TRACE]
    tool = ours["tools/call price"]
    assert (ours["POST /v1/chat/completions"].parent, ours["POST /v1/chat/completions"].kind) == (CALLER, "SERVER")
    assert collector.ancestry(tool) == ["tools/call price", "invoke_agent main", "POST /v1/chat/completions"]
    assert collector.ancestry(ours["chat one"]) == ["chat one", "invoke_agent main", "POST /v1/chat/completions"]
    assert (server.kind, server.parent) == ("SERVER", tool.id)
    assert tool.kind == "CLIENT"
    assert tool.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "price",
        "gen_ai.tool.call.id": "c1",
        "openclaw.tool.kind": "mcp",
        "openclaw.server": "shop",
        "openclaw.outcome": "ok",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": tool.attributes["mcp.protocol.version"],
        "jsonrpc.request.id": tool.attributes["jsonrpc.request.id"],
        "network.transport": "pipe",
    }


@pytest.mark.requirement("000-16-telemetry")
async def test_metrics_of_turns_models_tools_servers_and_the_store_arrive(place: Home, collector: Collector) -> None:
    place.save(echo(place, collector))
    async with running(place) as gateway:
        await gateway.ready("files")
        await gateway.post(
            "/v1/chat/completions", {"model": "openclaw", "messages": [{"role": "user", "content": "hi"}]}
        )
    told = await collector.until_measured(
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.execute_tool.duration",
        "gen_ai.invocation.duration",
        "mcp.client.operation.duration",
        "http.server.request.duration",
        "db.client.operation.duration",
    )
    assert {"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo"}.items() <= next(
        point for point in told["mcp.client.operation.duration"] if point["mcp.method.name"] == "tools/call"
    ).items()
    stored = {point["db.operation.name"] for point in told["db.client.operation.duration"]}
    assert {"begin_turn", "append", "end_turn"} <= stored
    assert told["gen_ai.client.inference.usage.input_tokens"] == [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "play",
            "gen_ai.request.model": "one",
            "gen_ai.token.modality": "unknown",
        }
    ]


async def test_an_order_is_part_of_its_clients_trace_in_the_gateway(
    place: Home, collector: Collector, tmp_path: Path
) -> None:
    place.save(echo(place, collector))
    names = ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")
    async with running(place) as gateway:
        await gateway.ready("files")
        async with OrderProcess(tmp_path, env={name: place.env[name] for name in names}) as client:
            await client.initialize()
            await client.order("hello", meta={**PARENT, "tracestate": "vendor=1"})
    await collector.until("tools/call order_openclaw")

    served = collector.named("tools/call order_openclaw")
    assert (served.kind, served.trace, served.parent) == ("SERVER", TRACE, CALLER)
    assert collector.ancestry(collector.named("tools/call echo")) == [
        "tools/call echo",
        "invoke_agent main",
        "tools/call order_openclaw",
    ]


async def test_a_prompt_of_an_editor_is_part_of_the_editors_trace(place: Home, collector: Collector) -> None:
    place.save(echo(place, collector))
    async with NearEditor(place, place.state / "project") as editor:
        session = await editor.new()
        prompt = [{"type": "text", "text": "hello"}]
        await editor.request("session/prompt", sessionId=session, prompt=prompt, _meta=PARENT)
    await collector.until("session/prompt")

    served = collector.named("session/prompt")
    assert (served.trace, served.parent) == (TRACE, CALLER)
    assert collector.ancestry(collector.named("invoke_agent main")) == ["invoke_agent main", "session/prompt"]


def app_of(place: Home, **more: Any) -> App:
    from openclaw.config.load import load_config

    return App(load_config(place.paths, place.env), paths=place.paths, env=place.env, **more)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_is_told_of_in_the_same_words_over_every_wire(
    wire: str, place: Home, collector: Collector
) -> None:
    async with WIRES[wire]([Answer("Hello")]) as server:
        config = local_model(server.url, server.key)
        config["models"]["providers"]["local"]["api"] = wire
        place.save({**config, "telemetry": telemetry(collector)})
        async with app_of(place) as app:
            reply = await app.reply("hi")
            assert reply.text == "Hello", reply.error
        await collector.until("chat local-model")
        model = collector.named("chat local-model")
    assert (model.kind, model.is_error) == ("CLIENT", False)
    first = model.attributes.pop("gen_ai.response.time_to_first_chunk")
    assert first > 0
    assert model.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "local",
        "gen_ai.request.model": "local-model",
        "gen_ai.response.model": "local-model",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": model.attributes["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "server.address": "127.0.0.1",
        "server.port": model.attributes["server.port"],
    }
    assert server.key not in collector.text


async def test_no_word_of_anybody_is_told_unless_that_is_wanted(place: Home, collector: Collector) -> None:
    place.save(echo(place, collector))
    async with app_of(place) as app:
        await app.reply(f"say {CANARY}")
    await collector.until("invoke_agent main", "tools/call echo")
    assert CANARY not in collector.text


async def test_content_that_is_wanted_is_told_without_secrets(place: Home, collector: Collector) -> None:
    secret = "sk-proj-4f8a1c2b9d7e6f5a4b3c2d1e"
    call = {"name": "files__echo", "arguments": {"text": f"{CANARY} {secret}"}, "id": "c1"}
    place.save(
        {
            **echo(place, collector, content=True),
            **place.script({"toolCalls": [call]}, {"text": f"Done with {CANARY}."}),
        }
    )
    async with app_of(place) as app:
        await app.reply(f"say {CANARY}")
    await collector.until("invoke_agent main", "tools/call echo")
    tool, turn = collector.named("tools/call echo"), collector.named("invoke_agent main")
    assert CANARY in tool.attributes["gen_ai.tool.call.arguments"]
    assert CANARY in tool.attributes["gen_ai.tool.call.result"]
    assert turn.attributes["gen_ai.input.messages"] == f"say {CANARY}"
    assert turn.attributes["gen_ai.output.messages"] == f"Done with {CANARY}."
    assert secret not in collector.text


async def test_a_secret_of_the_collector_is_sent_to_it_and_nowhere_else(place: Home, collector: Collector) -> None:
    config = echo(place, collector)
    config["telemetry"]["otlp"]["headers"] = {"x-api-key": "${COLLECTOR_KEY}"}
    place.save(config)
    known = Home(place.state, {**place.env, "COLLECTOR_KEY": "collector-key-77a1"})
    async with app_of(known) as app:
        await app.reply("hi")
    await collector.until("invoke_agent main")
    assert {headers["x-api-key"] for headers in collector.headers} == {"collector-key-77a1"}
    assert "collector-key-77a1" not in collector.text


async def test_a_collector_that_is_away_is_one_line_and_no_turn_is_worse_for_it(
    place: Home, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The exporter tries again for so many seconds.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    caplog.set_level(logging.WARNING)
    async with Collector() as gone:
        config = echo(place, gone)
    place.save(config)
    async with app_of(place) as app:
        reply = await app.reply("hi")
        assert reply.text == "Done."
    lines = [record.getMessage() for record in caplog.records if record.name.startswith(("openclaw.tele", "opentele"))]
    traces = [line for line in lines if line.startswith("Traces")]
    assert traces == [
        f"Traces cannot be sent: the collector at {gone.url} does not take them. They are dropped until it does."
    ]
    assert len(lines) <= 2  # and one of the metrics


async def test_a_programs_own_tracer_is_used_when_it_has_one(
    place: Home, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    # As `trace.set_tracer_provider` does, which works once in a process.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", tracers)
    place.save(echo(place, collector))
    async with app_of(place) as app:
        with tracers.get_tracer("the program").start_as_current_span("theirs") as theirs:
            await app.reply("hi")
    by_name = {span.name: span for span in exporter.get_finished_spans()}
    turn, tool = by_name["invoke_agent main"], by_name["tools/call echo"]
    assert (turn.parent, tool.parent) == (theirs.get_span_context(), turn.get_span_context())
    assert collector.spans == []


async def test_telemetry_that_a_program_hands_in_goes_before_its_config(place: Home, collector: Collector) -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    place.save(echo(place, collector))
    async with app_of(place, telemetry=Telemetry(tracers, MeterProvider())) as app:
        await app.reply("hi", Conversation(surface="agent"))
    names = {span.name for span in exporter.get_finished_spans()}
    assert names >= {
        "invoke_agent main",
        "chat one",
        "tools/call echo",
        "start files",
        "tools/list",
        "append sessions",
        "end_turn sessions",
    }
    assert collector.spans == []


async def test_a_sign_in_its_renewal_and_its_end_are_told_without_a_secret_of_theirs(tmp_path: Path) -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    # Each token is to be renewed at once, and is good for whoever uses it all the same.
    async with AuthServer(Plan(token_life=1e-6)) as server:
        server.look_up = lambda token: replace(server.access[token], expires_at=math.inf) if token else None
        with home(tmp_path, env={"TOKEN_KEY": "correct horse battery staple"}) as place:
            place.save(
                {
                    **place.script(
                        {"toolCalls": [{"name": "shop__read", "arguments": {}, "id": "c1"}]}, {"text": "Done."}
                    ),
                    "tokenStore": {"key": "secret://env/TOKEN_KEY"},
                    "tools": {"approval": {"mode": "off", "taint": "off"}},
                    "mcp": {"servers": {"shop": {"url": server.url}}},
                }
            )
            async with app_of(place, telemetry=Telemetry(tracers, MeterProvider())) as app:
                (spec,) = server_specs(app.engine.config, "main")
                started = await app.engine.credentials.start(spec)
                await app.engine.credentials.finish(spec, await server.browse(started.authorization_url))
                await app.reply("hi", Conversation(surface="agent"))
                await app.engine.credentials.logout(spec)
    spans = exporter.get_finished_spans()
    told = {span.name: span for span in spans}
    assert (told["tools/call read"].attributes or {})["openclaw.outcome"] == "ok"
    steps = ["begin sign-in shop", "finish sign-in shop", "renew sign-in shop", "sign-out shop"]
    assert [(told[step].kind.name, dict(told[step].attributes or {})) for step in steps] == [
        ("CLIENT", {"openclaw.server": "shop"})
    ] * len(steps)
    text = "".join(span.to_json() for span in spans)
    assert [secret for secret in server.secrets if secret in text] == []


async def test_without_an_endpoint_nothing_is_traced_and_no_server_is_told_of_a_trace(place: Home) -> None:
    place.save({})
    async with app_of(place) as app:
        assert app.engine.telemetry is None
        await asyncio.sleep(0)
