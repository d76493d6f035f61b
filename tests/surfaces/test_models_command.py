"""`openclaw models`: vendors asked for real, in both wires."""

import json
from pathlib import Path

import pytest

from parts.command_line import Home, local_model
from parts.model_servers import Answer, ChatServer, Failure, MessagesServer

WIRES = [(ChatServer, "openai-completions"), (MessagesServer, "anthropic-messages")]
both_wires = pytest.mark.parametrize(("kind", "api"), WIRES)


@both_wires
async def test_the_models_that_a_vendor_has_are_listed_and_the_one_in_use_is_marked(
    tmp_path: Path, kind: type[ChatServer | MessagesServer], api: str
) -> None:
    async with kind(models=("local-model", "other-model")) as server:
        home = Home(tmp_path, **local_model(server.url, server.key, api))
        shown, data = await home.openclaw("models"), await home.openclaw("models", "list", "local", "--json")
    assert shown.out.splitlines() == [
        "In use",
        "  local/local-model  (agent main)",
        "",
        "local  key: the config at models.providers.local.apiKey",
        "* local/local-model",
        "  local/other-model",
    ]
    assert json.loads(data.out) == {
        "inUse": [{"model": "local/local-model", "agents": ["main"]}],
        "providers": [
            {
                "id": "local",
                "key": "the config at models.providers.local.apiKey",
                "models": ["local-model", "other-model"],
                "error": "",
            }
        ],
    }


@both_wires
async def test_a_model_is_asked_for_a_word_once_and_what_the_vendor_says_is_one_sentence(
    tmp_path: Path, kind: type[ChatServer | MessagesServer], api: str
) -> None:
    busy = Failure(503, "overloaded_error", "Come back later.")
    async with kind([Answer("ok"), busy]) as server:
        home = Home(tmp_path, **local_model(server.url, server.key, api))
        well, ill = await home.openclaw("models", "test", "--json"), await home.openclaw("models", "test")
        asked = len(server.requests)
        home.write(**local_model(server.url, "sk-wrong-0123456789", api))
        refused = await home.openclaw("models", "test")
        unlisted = await home.openclaw("models", "list", "local")

    (answered,) = json.loads(well.out)
    assert (well.code, answered["model"], answered["ok"], answered["tokens"]) == (0, "local/local-model", True, 18)
    assert answered["firstWordSeconds"] <= answered["seconds"]
    assert (ill.code, asked) == (1, 2)
    assert ill.out.startswith("failed  local/local-model: local failed (503): Come back later.")
    said = "local refused the API key (401). Check models.providers.local.apiKey."
    assert (refused.code, refused.out) == (1, f"failed  local/local-model: {said}\n")
    assert (unlisted.code, unlisted.out.splitlines()[-1]) == (1, f"  no answer: {said}")
    assert "sk-" not in refused.out + refused.err + unlisted.out + unlisted.err


async def test_a_model_that_its_vendor_has_not_is_not_written_before_somebody_says_so(tmp_path: Path) -> None:
    async with ChatServer(models=("local-model", "local-mini")) as server:
        home = Home(tmp_path, **local_model(server.url, server.key))
        before = (home.state / "openclaw.json").read_text()
        doubted = await home.openclaw("models", "set", "local/local-mni")
        unchanged = (home.state / "openclaw.json").read_text()
        insisted = await home.openclaw("models", "set", "local/local-mni", "--yes")
        chosen = await home.openclaw("models", "set", "local/local-mini")
        used = await home.openclaw("config", "get", "agents.defaults.model")
    assert (doubted.code, unchanged == before) == (2, True)
    assert doubted.err.splitlines()[-1] == (
        'error: local has no model named local-mni. Did you mean "local-mini"? Nothing was changed. '
        "To use it all the same: --yes"
    )
    assert (insisted.code, chosen.code, used.out) == (0, 0, "local/local-mini\n")


async def test_a_provider_that_nobody_knows_is_answered_with_the_nearest(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ran = await home.openclaw("models", "set", "opnai/gpt-5.6-terra")
    assert (ran.code, ran.err) == (
        1,
        "error: There is no model provider named 'opnai'. Did you mean \"openai\"? "
        "Another one needs models.providers.opnai.baseUrl.\n",
    )


async def test_a_misspelt_command_or_a_model_without_its_provider_is_answered_with_what_is_here(tmp_path: Path) -> None:
    home = Home(tmp_path, **local_model("http://127.0.0.1:9/v1", "sk-local-0123456789abcdef"))
    misspelt = await home.openclaw("models", "tets")
    bare = await home.openclaw("models", "set", "no-such-model")
    assert (misspelt.code, misspelt.err) == (
        2,
        "error: openclaw models: there is no command 'tets', and no vendor. Did you mean \"test\"?\n",
    )
    assert (bare.code, bare.err) == (
        1,
        "error: 'no-such-model' does not say which provider serves it. "
        "Write it as provider/model, such as local/no-such-model.\n",
    )


async def test_one_message_is_answered_by_the_model_that_it_names(tmp_path: Path) -> None:
    async with ChatServer(models=("local-model", "other-model")) as server:
        home = Home(tmp_path, **local_model(server.url, server.key))
        named = await home.openclaw("agent", "--json", "--model", "local/other-model", "hello")
        usual = await home.openclaw("agent", "--json", "hello")
        part = await home.openclaw("agent", "--json", "--model", "local-m", "hello")
        asked = [request["model"] for request in server.requests]
        unknown = await home.openclaw("agent", "--json", "--model", "loacl/other-model", "hello")
    assert (json.loads(named.out)["model"], json.loads(usual.out)["model"]) == (
        "local/other-model",
        "local/local-model",
    )
    # A part of a name is enough where it fits one.
    assert json.loads(part.out)["model"] == "local/local-model"
    assert asked == ["other-model", "local-model", "local-model"]
    assert (unknown.code, json.loads(unknown.out)["error"]["code"]) == (1, "model")
