"""The models of an App that is given another config: which catalog counts, and when the one before is closed."""

import asyncio
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.conversation import Conversation
from openclaw.errors import ModelError
from openclaw.models.catalog import Models
from parts.command_line import Home, local_model
from parts.model_servers import Answer, Call, ChatServer
from parts.processes import HANG_GUARD

ROUNDS = 100


def config(server: ChatServer, **provider: Any) -> dict[str, Any]:
    sections = local_model(server.url, server.key)
    sections["models"]["providers"]["local"] |= provider
    return sections


def app_of(home: Home) -> App:
    return App(home.config(), paths=home.paths, env=home.environ)


def is_gone(catalog: "weakref.ref[Models]") -> bool:
    gc.collect()
    return catalog() is None


async def test_models_saved_before_a_command_changed_the_engines_config_are_not_missed(tmp_path: Path) -> None:
    async with ChatServer() as before, ChatServer([Answer("by the new one")]) as after:
        home = Home(tmp_path, **config(before))
        async with app_of(home) as app:
            first = await app.reply("hi")
            home.write(**config(after))
            # As `mcp enable` does: it reads the whole file again, and the watcher comes later.
            await app.engine.reload(home.config())
            await app.reload(home.config())
            second = await app.reply("hi")

    assert (first.text, second.text) == ("ok", "by the new one")


async def test_models_that_nobody_uses_are_left_when_others_come(tmp_path: Path) -> None:
    async with ChatServer() as server:
        home = Home(tmp_path, **config(server))
        async with app_of(home) as app:
            await app.reply("hi")
            before, connections = weakref.ref(app.models), server.connections
            home.write(**config(server, timeoutSeconds=50))
            await app.reload(home.config())
            # Closed by us at once, not by a clock later: the other end has seen it within a few rounds of the loop.
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            after = (server.connections, is_gone(before))

    assert (connections, after) == (1, (0, True))


async def test_a_turn_keeps_its_models_to_its_end_and_then_they_are_left(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    thought = Answer(["Let me see.", go_on], calls=(Call("call_1", "nothing", {}),))
    async with ChatServer([thought, Answer("done")]) as server, ChatServer() as other:
        home = Home(tmp_path, **config(server))
        async with app_of(home) as app:
            turn = asyncio.create_task(app.reply("hi"))
            await asyncio.wait_for(server.waiting.wait(), HANG_GUARD)
            before = weakref.ref(app.models)
            home.write(**config(other))
            await app.reload(home.config())
            is_kept = not is_gone(before)
            go_on.set()
            reply = await turn
            del turn
            is_left = is_gone(before)

    assert (is_kept, is_left) == (True, True)
    assert (reply.text, reply.error, len(server.requests), other.requests) == ("done", "", 2, [])


async def test_a_message_that_names_a_model_is_answered_by_it_and_the_next_by_the_agents_own(tmp_path: Path) -> None:
    async with ChatServer() as usual, ChatServer([Answer("by the other")]) as other:
        sections = config(usual)
        sections["models"]["providers"]["other"] = config(other)["models"]["providers"]["local"]
        home = Home(tmp_path, **sections)
        async with app_of(home) as app:
            named = await app.reply("hi", Conversation(model="other/local-model"))
            after = await app.reply("hi")

    assert [(one.model, one.text) for one in (named, after)] == [
        ("other/local-model", "by the other"),
        ("local/local-model", "ok"),
    ]


async def test_a_model_that_no_provider_has_is_refused_before_anything_is_said(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with app_of(home) as app:
        with pytest.raises(ModelError, match="There is no model provider named 'nosuch'"):
            await app.reply("hi", Conversation(session="x", model="nosuch/one"))
        kept = await app.store.list()
    assert kept == ()
