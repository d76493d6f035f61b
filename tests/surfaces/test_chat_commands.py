"""What can be typed in a chat about the conversation itself, and how its words are completed."""

import base64
import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.commands.chat import say
from openclaw.commands.chat_state import Chat
from openclaw.commands.chat_words import completions
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.errors import OpenClawError, UsageError
from openclaw.program import ROOT
from parts import planned_server
from parts.command_line import Home, local_model
from parts.talking_model import TalkingModel


class Desk:
    """A chat in this process, with a model that talks and a server that is up. `typed` gives what was printed since."""

    def __init__(self, folder: Path, model: TalkingModel, app: App, home: Home) -> None:
        self.folder = folder
        self.model = model
        self.app = app
        self.printed: list[str] = []
        console = Console(out=self.printed.append, err=self.printed.append, width=0, screen=True)
        context = Context(
            console=console,
            paths=home.paths,
            env=home.environ,
            cwd=folder,
            open_app=None,  # type: ignore[arg-type]  # `/mcp` alone opens one
            open_engine=None,  # type: ignore[arg-type]
            root=ROOT,
            surface="chat",
        )
        self.chat = Chat(app, context, "", "main")

    async def type(self, *lines: str) -> str:
        self.printed.clear()
        for line in lines:
            await say(self.chat, line)
        return "".join(self.printed)

    async def words(self, line: str) -> list[str]:
        return [word.text for word in await completions(self.chat, line)]

    def heard(self) -> list[str]:
        """What the model was last asked, from the person."""
        said = [one for one in self.model.requests[-1]["messages"] if one["role"] == "user"]
        content = said[-1]["content"]
        return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


@pytest.fixture
async def desk(tmp_path: Path) -> Any:
    plan = {"resources": {"notes://today": "buy milk", "notes://later": "sleep"}, "prompts": [{"name": "greet"}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "plain.json").write_text(json.dumps({"capabilities": {"tools": {}}, "tools": []}))
    shop = {
        "command": sys.executable,
        "args": [planned_server.__file__, str(tmp_path / "plan.json"), str(tmp_path / "log")],
    }
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "notes.md").write_text("alpha")
    (folder / "my picture.txt").write_text("beta")
    async with TalkingModel() as model:
        sections = local_model(model.url, model.key)
        local = sections["models"]["providers"]["local"]
        priced = {**local["models"][0], "cost": {"input": 1, "output": 10}}
        sections["models"]["providers"]["other"] = {**local, "models": [priced]}
        plain = {
            "command": sys.executable,
            "args": [planned_server.__file__, str(tmp_path / "plain.json"), str(tmp_path / "log")],
        }
        home = Home(tmp_path / "home", **sections, mcp={"servers": {"shop": shop, "short": plain}})
        async with App(home.config(), paths=home.paths, env=home.environ) as app:
            for name in ("shop", "short"):
                await (await app.engine.manager()).server(name, "main").refresh()
            yield Desk(folder, model, app, home)


async def test_another_model_answers_from_the_line_on_at_which_it_is_chosen(desk: Desk) -> None:
    assert "local/local-model" in await desk.type("/model")
    assert await desk.type("/model other") == "other/local-model answers from here on.\n"
    await desk.type("hello")
    assert "model other/local-model" in await desk.type("/status")
    with pytest.raises(OpenClawError, match="no model provider named 'nosuch'"):
        await desk.type("/model nosuch/x")
    with pytest.raises(UsageError) as refused:
        await desk.type("/model local/local-mdoel")
    assert (refused.value.message, refused.value.hint) == (
        'local has no model named local-mdoel. Did you mean "local-model"? other/local-model still answers.',
        "To use it all the same: openclaw chat --model local/local-mdoel",
    )
    assert await desk.type("/model default") == "local/local-model answers again.\n"
    assert desk.chat.model == ""


async def test_a_message_is_taken_back_with_its_answer(desk: Desk) -> None:
    await desk.type("one", "two")
    assert await desk.type("/undo") == "Taken back: “two” and the answer.\n"
    await desk.type("three")
    assert [one["content"] for one in desk.model.requests[-1]["messages"][1:]] == ["one", "You said: one", "three"]
    await desk.type("/undo", "/undo")
    assert await desk.type("/undo") == "There is nothing to take back.\n"


async def test_tokens_are_counted_over_the_conversation_and_against_the_context(desk: Desk) -> None:
    assert await desk.type("/usage") == "No tokens were counted in this conversation.\n"
    await desk.type("markdown", "markdown")
    shown = await desk.type("/usage")
    assert "local/local-model" in shown
    assert "2,400" in shown
    assert "The last answer took 1,440 of the 128,000 tokens of the context: 1%." in shown
    assert "What they cost is told where a model's entry has its prices: models.providers.NAME.models[].cost" in shown


async def test_usage_tells_the_cost_where_the_prices_are_known(desk: Desk) -> None:
    await desk.type("markdown", "/model other/local-model", "markdown")
    rows = [line.split() for line in (await desk.type("/usage")).splitlines()]
    assert [(row[0], row[-1]) for row in rows[:4]] == [
        ("model", "cost"),
        ("local/local-model", "known"),
        ("other/local-model", "$0.0036"),
        ("together", "known"),
    ]


async def test_the_older_part_gives_way_to_notes_when_the_person_wants_it(desk: Desk) -> None:
    assert await desk.type("/compact") == "There is nothing to shorten.\n"
    await desk.type("hello")
    # The request stays, and its answer is the newest part.
    assert await desk.type("/compact") == "There is nothing to shorten.\n"
    await desk.type(*(f"long {number}00" for number in range(1, 6)))
    assert "gave way to notes" in await desk.type("/compact")
    await desk.type("and now")
    first = desk.model.requests[-1]["messages"][1]["content"]
    assert "Notes on the earlier conversation" in str(first)


async def test_a_conversation_is_named_listed_and_gone_on_with(desk: Desk) -> None:
    with pytest.raises(UsageError, match="Nothing was said yet"):
        await desk.type("/title Trip")
    await desk.type("plan a trip", "/title Spring in Rome")
    desk.chat.key = "other"
    await desk.type("something else")
    listed = await desk.type("/sessions")
    assert [line.split()[0] for line in listed.splitlines()[1:3]] == ["→", "2"]
    assert "Spring in Rome" in listed
    assert (await desk.type("/sessions spring")).startswith("Going on with “Spring in Rome”: 2 messages, the last ")
    assert desk.chat.key == "agent:main:main"
    await desk.type("/sessions other")
    assert desk.chat.key == "agent:main:other"
    with pytest.raises(UsageError, match="No conversation has these words"):
        await desk.type("/sessions nothing like it")


async def test_a_new_conversation_leaves_the_one_before_to_go_back_to(desk: Desk) -> None:
    assert await desk.type("/new") == "A new conversation.\n"
    assert desk.chat.key == "main"
    await desk.type("plan a trip")
    assert await desk.type("/new") == "A new conversation. “plan a trip” stays: /sessions goes back to it.\n"
    first = desk.chat.key
    assert re.fullmatch(r"chat-\d{4}-\d\d-\d\d-\d{6}", first)
    await desk.type("something else", "/new")
    # Within the same second too each is one of its own.
    assert desk.chat.key not in ("main", first)
    await desk.type("and a third")
    assert [one["content"] for one in desk.model.requests[-1]["messages"][1:]] == ["and a third"]
    listed = (await desk.type("/sessions")).splitlines()[1:4]
    assert {line.split("  ")[-1].strip() for line in listed} == {"plan a trip", "something else", "and a third"}
    assert (await desk.type("/sessions main")).startswith("Going on with “plan a trip”: 2 messages")


async def test_where_lines_belong_to_one_conversation_it_begins_afresh(desk: Desk) -> None:
    desk.chat.can_switch = False
    await desk.type("plan a trip")
    assert await desk.type("/new") == "A new conversation.\n"
    assert desk.chat.key == "main"
    await desk.type("hello")
    assert [one["content"] for one in desk.model.requests[-1]["messages"][1:]] == ["hello"]


async def test_the_last_answer_is_copied_and_the_whole_conversation_written_to_a_file(desk: Desk) -> None:
    await desk.type("hello")
    copied = base64.b64encode(b"You said: hello").decode()
    assert await desk.type("/copy") == f"\x1b]52;c;{copied}\x07Copied: 15 characters of the last answer.\n"
    await desk.type("/export talk.md", "/export talk.jsonl")
    written = (desk.folder / "talk.md").read_text()
    assert written.startswith("# hello\n")
    assert "## You\n\nhello\n\n## Agent\n\nYou said: hello\n" in written
    assert json.loads((desk.folder / "talk.jsonl").read_text().splitlines()[0])["type"] == "session"
    assert stat.S_IMODE((desk.folder / "talk.md").stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="is there already"):
        await desk.type("/export talk.md")


async def test_files_go_along_that_were_attached_before_or_are_named_in_the_message(desk: Desk) -> None:
    shown = await desk.type("/attach notes.md")
    assert shown == "With your next message: notes.md (text/markdown, 5 bytes)\n"
    await desk.type('look also at @"my picture.txt"')
    heard = "\n".join(desk.heard())
    assert "alpha" in heard
    assert "beta" in heard
    await desk.type("and now")
    assert desk.heard() == ["and now"]
    with pytest.raises(UsageError, match="/attach nothing: No such file"):
        await desk.type("/attach nothing")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("/greet who=Ann", 'Did you mean "/shop:greet"?'),
        ("/shp:greet", 'Did you mean "/shop:greet"?'),
        ("/usge", 'Did you mean "/usage"?'),
        ("/frobnicate", "Type /help."),
    ],
)
async def test_a_word_that_is_no_command_is_answered_with_the_command_or_the_prompt_that_may_be_meant(
    desk: Desk, line: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await desk.type(line)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/sta", ["/status"]),
        ("/shop:", ["/shop:greet"]),
        ("/model oth", ["other/local-model"]),
        ("/mcp sta", ["status"]),
        ("/mcp status ", ["shop", "short"]),
        ("/mcp call shop__r", ["shop__resources_list", "shop__resources_read"]),
        ("/mcp call shop__resources_read ", ["uri="]),
        ("/mcp prompt sh", ["shop:greet"]),
        ("/mcp read shop notes://t", ["notes://today"]),
        ("/last ", ["thoughts"]),
        ("/attach n", ["notes.md"]),
        ("look at @n", ["@notes.md"]),
        ("look at @m", ["@my\\ picture.txt"]),
        ("look at @my\\ p", ["@my\\ picture.txt"]),
        ("look at @sh", ["@shop:"]),
        ("look at @shop:notes://t", ["@shop:notes://today"]),
        ("no slash here", []),
        ("/approve x al", ["allow-once", "allow-always"]),
    ],
)
async def test_every_word_is_completed(desk: Desk, line: str, found: list[str]) -> None:
    assert await desk.words(line) == found


async def test_conversations_are_completed_by_their_keys(desk: Desk) -> None:
    await desk.type("hello")
    assert await desk.words("/sessions ") == ["main"]
