"""A program that uses an App wrongly is told so in a sentence, and nothing is started that nobody would end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openclaw import App, Conversation, Paths, parse_config
from openclaw.errors import UsageError

CONFIG = parse_config('{agents: {defaults: {model: {primary: "builtin/offline"}}}}')
HELLO = "Write app.reply('hello', Conversation(session='mine'))."


def made(folder: Path) -> App:
    return App(CONFIG, paths=Paths.from_env({"HOME": str(folder)}), workspace=str(folder))


async def opened(folder: Path, act: Callable[[App], Awaitable[object]]) -> object:
    async with made(folder) as app:
        return await act(app)


async def closed(folder: Path, act: Callable[[App], Awaitable[object]]) -> object:
    app = made(folder)
    async with app:
        pass
    return await act(app)


async def heard(event: object) -> None:
    raise AssertionError(event)


# Much here is what a program without types may do.
MISUSE: list[tuple[str, Callable[[Path], Awaitable[object]], str]] = [
    (
        "a message before it is open",
        lambda folder: made(folder).reply("hello"),
        "The App is not open yet. Use it inside its block: async with App(config, paths=…) as app.",
    ),
    (
        "a call before it is open",
        lambda folder: made(folder).call("read", {}, Conversation()),
        "The App is not open yet. Use it inside its block: async with App(config, paths=…) as app.",
    ),
    (
        "a message after it was closed",
        lambda folder: closed(folder, lambda app: app.reply("hello")),
        "The App is closed. Use it inside its block: async with App(config, paths=…) as app.",
    ),
    (
        "opened twice",
        lambda folder: opened(folder, lambda app: app.__aenter__()),
        "This App is open already. Make another one: async with App(config, paths=…) as app.",
    ),
    (
        "opened again",
        lambda folder: closed(folder, lambda app: app.__aenter__()),
        "This App was closed. Make another one: async with App(config, paths=…) as app.",
    ),
    (
        "a text for a config",
        lambda folder: asyncio.sleep(0, App("{}", paths=Paths.from_env({}))),  # type: ignore[arg-type]
        "config must be of type Config, not str. Write App(parse_config(text), paths=…).",
    ),
    (
        "a mapping to parse",
        lambda folder: asyncio.sleep(0, parse_config({})),  # type: ignore[arg-type]
        "A config is parsed from a text, not from a dict. Write parse_config('{…}'), or parse_config(path.read_text()).",
    ),
    (
        "a folder for paths",
        lambda folder: asyncio.sleep(0, App(CONFIG, paths=folder)),  # type: ignore[arg-type]
        f"paths must be of type Paths, not {type(Path()).__name__}. Write paths=Paths.from_env(os.environ).",
    ),
    (
        "no message",
        lambda folder: opened(folder, lambda app: app.reply(None)),  # type: ignore[arg-type]
        "message must be of type str, not NoneType. Write app.reply('hello').",
    ),
    (
        "the name of a session for a conversation",
        lambda folder: opened(folder, lambda app: app.reply("hello", "mine")),  # type: ignore[arg-type]
        f"conversation must be of type Conversation, not str. {HELLO}",
    ),
    (
        "one pattern where there are to be several",
        lambda folder: opened(folder, lambda app: app.reply("hello", Conversation(allow="read"))),  # type: ignore[arg-type]
        "allow must be of type tuple, not str. Write Conversation(allow=('files__read_*',)).",
    ),
    (
        "an async function for what happens",
        lambda folder: opened(folder, lambda app: app.reply("hello", Conversation(sink=heard))),  # type: ignore[arg-type]
        "sink must be a plain function, not an async one. Write Conversation(sink=print).",
    ),
]


@pytest.mark.parametrize(("act", "sentence"), [case[1:] for case in MISUSE], ids=[case[0] for case in MISUSE])
async def test_misuse_of_an_app_is_told_in_a_sentence_and_leaves_nothing_behind(
    tmp_path: Path, act: Callable[[Path], Awaitable[object]], sentence: str
) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(UsageError) as caught:
        await act(tmp_path)
    assert str(caught.value) == sentence
    assert asyncio.all_tasks() - before == set()
