"""From `provider/model` to a provider: names, keys, what is found when nothing is configured, fallbacks, lazy loading."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from openclaw.content import Text, UserMessage
from openclaw.errors import ModelError, SecretError
from openclaw.models.catalog import OFFLINE, Candidate, Chain, Models, ModelSpec, ProviderSpec, Selection
from openclaw.models.offline import Offline
from openclaw.models.provider import Done, ModelEvent, ModelRequest, Notice, TextDelta
from openclaw.models.scripted import Scripted, ScriptedTurn
from openclaw.models.spec import ModelEndpoint
from openclaw.models.vendors import MESSAGES, VENDORS, located
from parts.model_servers import KEY, MODEL, Answer, ChatServer, Failure, MessagesServer
from parts.responses_server import ResponsesServer
from parts.served import served

# Nothing listens on port 1: an Ollama of the machine the tests run on is not found.
NOWHERE = {"OLLAMA_HOST": "127.0.0.1:1"}
USER = [UserMessage((Text("hi"),))]


async def said(selection: Selection) -> list[ModelEvent]:
    return [event async for event in selection.provider.stream(ModelRequest("", "", USER))]


@asynccontextmanager
async def ollama(*models: dict[str, Any] | str) -> AsyncIterator[str]:
    """A server that lists models as Ollama does; its `host:port`."""
    app = web.Application()
    listed = [model if isinstance(model, dict) else {"name": model, "details": {"family": "llama"}} for model in models]

    async def tags(_: web.Request) -> web.Response:
        return web.json_response({"models": listed})

    app.router.add_get("/api/tags", tags)
    async with served(app) as origin:
        yield origin.removeprefix("http://")


async def test_a_configured_provider_is_asked_over_its_wire() -> None:
    async with ChatServer([Answer("chat")]) as chat, MessagesServer([Answer("messages")]) as messages:
        catalog = Models(
            [
                ProviderSpec("one", chat.url, KEY),
                ProviderSpec(
                    "two", messages.url, KEY, MESSAGES, models=(ModelSpec(MODEL, context_window=9, max_tokens=5),)
                ),
            ],
            environ={},
        )
        one, two = await catalog.select(f"one/{MODEL}"), await catalog.select(f"two/{MODEL}")
        assert (await said(one))[0] == TextDelta("chat")
        assert (await said(two))[0] == TextDelta("messages")
        await catalog.close()
    assert (one.name, one.context_window, one.max_tokens, one.found, one.problem) == (
        f"one/{MODEL}",
        128_000,
        None,
        "",
        "",
    )
    assert (two.context_window, two.max_tokens) == (9, 5)
    assert messages.requests[0]["max_tokens"] == 5


async def test_a_well_known_provider_may_be_moved_elsewhere() -> None:
    async with MessagesServer([Answer("here")]) as server:
        catalog = Models(environ={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url})
        selection = await catalog.select(f"anthropic/{MODEL}")
        assert (await said(selection))[0] == TextDelta("here")
        await catalog.close()
    assert selection.context_window == 200_000


async def test_a_model_name_may_contain_slashes() -> None:
    async with ChatServer([Answer("ok")], models=("vendor/model:free",)) as server:
        catalog = Models([ProviderSpec("router", server.url, KEY)], environ={})
        assert (await said(await catalog.select("router/vendor/model:free")))[0] == TextDelta("ok")
        await catalog.close()


async def test_a_model_without_its_provider_is_the_one_that_lists_it() -> None:
    catalog = Models([ProviderSpec("one", "http://127.0.0.1:1", models=(ModelSpec("m"),))], environ={})
    assert (await catalog.select("m")).name == "one/m"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonesuch/m", "There is no model provider named 'nonesuch'."),
        ("m", "'m' does not say which provider serves it."),
        ("openai/", "'openai/' does not say which provider serves it."),
        ("odd/m", "models.providers.odd speaks google-vertex, which is not spoken here."),
        ("scripted/none.json", "The script none.json cannot be read: No such file or directory."),
    ],
)
async def test_a_name_that_means_nothing_is_refused_in_one_sentence(name: str, message: str) -> None:
    catalog = Models([ProviderSpec("odd", "https://x", api="google-vertex")], environ={})
    with pytest.raises(ModelError) as caught:
        await catalog.select(name)
    assert caught.value.message == message
    assert caught.value.hint


async def test_the_nearest_provider_is_named_for_one_that_does_not_exist() -> None:
    with pytest.raises(ModelError) as caught:
        await Models(environ={}).select("opnai/gpt-5")
    assert caught.value.hint == 'Did you mean "openai"? Another one needs models.providers.opnai.baseUrl.'


@pytest.mark.parametrize(
    ("spec", "environ", "key"),
    [
        (ProviderSpec("openai", api_key="sk-1"), {}, "the config at models.providers.openai.apiKey"),
        (ProviderSpec("openai", api_key="secret://env/K"), {}, "the secret at models.providers.openai.apiKey"),
        (ProviderSpec("openai"), {"OPENAI_API_KEY": "sk-1"}, "the environment variable OPENAI_API_KEY"),
        (
            ProviderSpec("openai", headers=(("Authorization", "Bearer x"),)),
            {},
            "the header Authorization in models.providers.openai.headers",
        ),
        (ProviderSpec("openai"), {}, ""),
    ],
)
async def test_a_selection_says_where_its_key_comes_from(spec: ProviderSpec, environ: dict[str, str], key: str) -> None:
    selection = await Models([spec], environ=environ).select("openai/gpt-5")
    assert selection.key == key


async def test_a_vendor_without_a_key_says_so_without_being_asked() -> None:
    selection = await Models(environ={}).select("openai/gpt-x")
    problem = "openai has no API key. Run `openclaw keys set openai`, or set OPENAI_API_KEY or models.providers.openai.apiKey."
    assert selection.problem == problem
    assert await said(selection) == [Done("error", error=problem, retryable=True, model="openai/gpt-x")]


@pytest.mark.parametrize(
    ("provider", "base_url", "api"),
    [
        ("openai", "https://api.openai.com/v1", "openai-responses"),
        ("openai", "https://eu.api.openai.com/v1/", "openai-responses"),
        ("openai", "http://127.0.0.1:4000/v1", "openai-completions"),
        ("openai", "https://api.openai.com.example.org/v1", "openai-completions"),
        ("anthropic", "http://127.0.0.1:4000", "anthropic-messages"),
        ("xai", "https://api.x.ai/v1", "openai-completions"),
    ],
)
def test_what_a_vendor_speaks_at_its_own_address_and_at_another(provider: str, base_url: str, api: str) -> None:
    assert VENDORS[provider].api_at(base_url) == api


async def test_each_address_of_a_provider_is_asked_over_the_wire_that_it_speaks() -> None:
    """A moved vendor speaks chat completions, unless the config says what else."""
    async with ChatServer() as chat, ResponsesServer() as responses:
        specs = [
            ProviderSpec("openai", chat.url, KEY),
            ProviderSpec("own", responses.url, KEY, api="openai-responses"),
        ]
        catalog = Models(specs, environ={})
        for name in ("openai", "own"):
            assert (await said(await catalog.select(f"{name}/{MODEL}")))[0] == TextDelta("ok")
            assert await catalog.offered(name) == (MODEL,)
        await catalog.close()


async def test_a_local_server_needs_no_key() -> None:
    assert (await Models(environ={}).select("lmstudio/x")).problem == ""
    moved = Models([ProviderSpec("openai", "http://127.0.0.1:1/v1")], environ={})
    assert (await moved.select("openai/x")).problem == ""


@pytest.mark.parametrize("provider", [name for name, vendor in VENDORS.items() if vendor.model])
async def test_a_key_in_the_environment_is_found_and_named(provider: str) -> None:
    variable = VENDORS[provider].variables[0]
    selection = await Models(environ={variable: "sk-0123456789abcdef", **NOWHERE}).select()
    assert (selection.name, selection.found, selection.problem) == (
        f"{provider}/{VENDORS[provider].model}",
        f"{variable} is set",
        "",
    )


async def test_a_configured_model_goes_before_a_key_in_the_environment() -> None:
    catalog = Models(
        [ProviderSpec("own", "http://127.0.0.1:1", models=(ModelSpec("m"),))], environ={"OPENAI_API_KEY": KEY}
    )
    selection = await catalog.select()
    assert (selection.name, selection.found) == ("own/m", "the first model of models.providers.own")


async def test_models_are_reached_by_the_proxy_of_the_environment_they_were_given() -> None:
    async with ChatServer([Answer("ok")]) as proxy, ollama("qwen3:8b") as host:
        catalog = Models([ProviderSpec("far", "http://models.example/v1", KEY)], environ={"http_proxy": proxy.origin})
        events = await said(await catalog.select(f"far/{MODEL}"))
        await catalog.close()
        found = await Models(environ={"OLLAMA_HOST": "ollama.example", "http_proxy": f"http://{host}"}).select()

    assert (events[0], proxy.headers[0]["host"]) == (TextDelta("ok"), "models.example")
    assert found.name == "ollama/qwen3:8b"


async def test_an_ollama_is_found_and_named() -> None:
    async with ollama("nomic-embed-text:latest", {"name": "x", "details": {"family": "bert"}}, "qwen3:8b") as host:
        selection = await Models(environ={"OLLAMA_HOST": host}).select()
    assert (selection.name, selection.found) == ("ollama/qwen3:8b", f"Ollama runs at http://{host}/v1")
    assert selection.context_window == 32_768


@pytest.mark.parametrize("models", [(), ("nomic-embed-text",), ({"no": "name"},)])
async def test_an_ollama_that_has_nobody_to_talk_to_is_not_used(models: tuple[Any, ...]) -> None:
    async with ollama(*models) as host:
        assert (await Models(environ={"OLLAMA_HOST": host}).select()).name == OFFLINE


async def test_with_nothing_at_all_the_offline_model_answers() -> None:
    selection = await Models(environ=NOWHERE).select()
    assert (selection.name, selection.found, selection.problem) == (
        "builtin/offline",
        "no model is configured, no key is set, and no Ollama runs here",
        "",
    )
    assert isinstance((await said(selection))[0], TextDelta)


async def test_nothing_is_looked_for_when_that_is_forbidden() -> None:
    selection = await Models(environ={"OPENAI_API_KEY": KEY}, look_around=False).select()
    assert (selection.name, selection.found) == (OFFLINE, "no model is configured")


async def test_secrets_are_resolved_at_the_first_request_and_headers_too() -> None:
    asked: list[object] = []

    async def resolve(reference: object) -> str:
        asked.append(reference)
        return {"ref:key": KEY, "ref:team": "blue"}[str(reference)]

    async with ChatServer([Answer("ok"), Answer("ok")]) as server:
        spec = ProviderSpec("own", server.url, "ref:key", headers=(("X-Team", "ref:team"),))
        catalog = Models([spec], environ={}, resolve=resolve)
        selection = await catalog.select(f"own/{MODEL}")
        assert asked == []
        await asyncio.gather(said(selection), said(selection))
        await catalog.close()
    assert {header["x-team"] for header in server.headers} == {"blue"}


async def test_a_secret_that_cannot_be_resolved_leads_to_the_next_model() -> None:
    async def resolve(reference: object) -> str:
        raise SecretError("The secret is not there.", hint="Store it.")

    catalog = Models([ProviderSpec("own", "http://127.0.0.1:1", "ref")], environ={}, resolve=resolve)
    events = await said(await catalog.select("own/m", [OFFLINE]))
    assert events[0] == Notice("The secret is not there. Store it. Trying builtin/offline.")
    assert isinstance(events[-1], Done)
    assert events[-1].model == OFFLINE


async def test_the_next_model_is_tried_when_one_fails_before_its_first_word() -> None:
    async with ChatServer([Answer("second")]) as server:
        specs = [ProviderSpec("first", server.url, "sk-wrong-000000000"), ProviderSpec("second", server.url, KEY)]
        catalog = Models(specs, environ={})
        selection = await catalog.select(f"first/{MODEL}", [f"second/{MODEL}", f"first/{MODEL}"])
        events = await said(selection)
        await catalog.close()
    assert events[:2] == [
        Notice(f"first refused the API key (401). Check models.providers.first.apiKey. Trying second/{MODEL}."),
        TextDelta("second"),
    ]
    assert isinstance(events[-1], Done)
    assert events[-1].model == f"second/{MODEL}"


def chain(*turns: ScriptedTurn) -> Chain:
    return Chain(
        [Candidate(f"s{number}/m", Scripted([turn], name=f"s{number}"), "m") for number, turn in enumerate(turns)]
    )


async def test_a_chain_that_fails_to_its_end_says_the_last_reason() -> None:
    events = [
        e
        async for e in chain(ScriptedTurn(error="A.", retryable=True), ScriptedTurn(error="B.", retryable=True)).stream(
            ModelRequest("", "", USER)
        )
    ]
    assert events == [Notice("A. Trying s1/m."), Done("error", error="B.", retryable=True, model="s1/m")]


@pytest.mark.parametrize(
    "turn", [ScriptedTurn(error="No."), ScriptedTurn("half", error="Broken.", retryable=True), ScriptedTurn("fine")]
)
async def test_nobody_else_is_asked_after_the_first_word_or_a_failure_that_stays(turn: ScriptedTurn) -> None:
    *_, done = [event async for event in chain(turn, ScriptedTurn("other")).stream(ModelRequest("", "", USER))]
    assert isinstance(done, Done)
    assert (done.error, done.model) == (turn.error, "s0/m")


async def test_providers_are_shared_between_selections() -> None:
    async with ChatServer([Failure(400, "x", "stream_options"), Answer("a"), Answer("b")]) as server:
        catalog = Models([ProviderSpec("own", server.url, KEY)], environ={})
        for _ in range(2):
            await said(await catalog.select(f"own/{MODEL}"))
        await catalog.close()
    # What was learned about the endpoint the first time is known the second time.
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


async def test_a_script_is_played_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "turns.json").write_text(json.dumps([{"text": "one"}, {"text": "two"}]))
    catalog = Models([ProviderSpec("demo", api="scripted", script="turns.json")], environ={}, base=tmp_path)
    relative = await catalog.select("scripted/turns.json")
    assert [(await said(relative))[0], (await said(relative))[0]] == [TextDelta("one"), TextDelta("two")]
    absolute = await catalog.select(f"scripted/{tmp_path}/turns.json")
    assert (await said(absolute))[0] == TextDelta("one")
    assert (await said(await catalog.select("demo/anything")))[0] == TextDelta("one")


async def test_the_number_of_attempts_is_configured() -> None:
    busy = Failure(500, "api_error", "boom")
    async with ChatServer([busy, busy]) as server:
        catalog = Models([ProviderSpec("own", server.url, KEY, max_retries=0)], environ={})
        events = await said(await catalog.select(f"own/{MODEL}"))
        await catalog.close()
    assert len(events) == len(server.requests) == 1


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:1234", "http://box:1234/v1"),
        ("[::1]:1234", "http://[::1]:1234/v1"),
        ("https://box", "https://box"),
        (" 127.0.0.1:1 ", "http://127.0.0.1:1/v1"),
        ("", ""),
        ("not a host", ""),
    ],
)
def test_the_host_of_an_ollama_is_read_in_every_form(host: str, base: str) -> None:
    assert located(host) == base


def test_a_spec_shows_no_secret_when_it_is_printed() -> None:
    headers = (("Authorization", f"Bearer {KEY}"),)
    shown = f"{ProviderSpec('own', 'https://x', KEY, headers=headers)!r} {ModelEndpoint('own', 'https://x', KEY, headers)!r}"
    assert shown == "ProviderSpec('own') ModelEndpoint('own')"


async def test_the_names_agree_with_what_the_offline_model_calls_itself() -> None:
    *_, done = await said(await Models(environ=NOWHERE).select(OFFLINE))
    assert isinstance(done, Done)
    assert done.model == OFFLINE == f"{Offline.name}/offline"


def test_an_offline_turn_loads_no_http_client() -> None:
    program = (
        "import asyncio, sys\n"
        "from openclaw.content import Text, UserMessage\n"
        "from openclaw.models.catalog import Models\n"
        "from openclaw.models.provider import ModelRequest\n"
        "async def main():\n"
        "    selection = await Models(environ={}).select('builtin/offline')\n"
        "    return [e async for e in selection.provider.stream(ModelRequest('', '', [UserMessage((Text('hello'),))]))]\n"
        "asyncio.run(main())\n"
        "print([name for name in ('aiohttp', 'openclaw.net.client', 'openclaw.models.exchange') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_key_that_was_changed_where_it_is_kept_is_looked_up_when_the_vendor_refuses_the_old_one() -> None:
    kept = ["sk-the-old-one-0123456789"]
    asked: list[object] = []

    async def resolve(value: object) -> str:
        asked.append(value)
        return kept[-1]

    async with ChatServer([Answer("one"), Answer("two")]) as server:
        catalog = Models([ProviderSpec("house", server.url, "secret://env/KEY")], environ={}, resolve=resolve)
        selection = await catalog.select(f"house/{MODEL}")
        refused = await said(selection)
        kept.append(server.key)
        both = await asyncio.gather(said(selection), said(selection))
        await catalog.close()

    assert isinstance(refused[-1], Done)
    assert "house refused the API key (401)" in refused[-1].error
    # Neither of those who were refused hears of it.
    assert {event.text for events in both for event in events if isinstance(event, TextDelta)} == {"one", "two"}
    assert [event for events in both for event in events if isinstance(event, Done) and event.error] == []
    assert set(asked) == {"secret://env/KEY"}
