"""`openclaw skills`, and skills of servers by name in a conversation."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openclaw.acp.slash import SlashCommands
from openclaw.app import App
from openclaw.commands.chat import say
from openclaw.commands.chat_state import Chat
from openclaw.commands.chat_words import completions
from openclaw.commands.console import Console
from openclaw.conversation import Answer, Conversation
from parts.command_line import Home, local_model
from parts.commands_here import context_of, run_here
from parts.person import Person
from parts.talking_model import TalkingModel

SCRIPT = Path(__file__).parent.parent / "parts" / "skills_server.py"
TEXT = "---\nname: refunds\ndescription: Process refunds\n---\n\nAsk for the receipt.\x1b[2J\n"


def home_of(folder: Path, **config: object) -> Home:
    skills, log = folder / "served", folder / "asked.log"
    for name, text in (("refunds", TEXT), ("broken", TEXT)):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(text)
    server = {"command": sys.executable, "args": ["-I", "-S", str(SCRIPT), str(skills), str(log)]}
    return Home(folder, mcp={"servers": {"acme": server}}, **config)


def reads(folder: Path) -> int:
    return (folder / "asked.log").read_text().count("resources/read")


async def test_the_list_says_where_each_skill_comes_from_and_whether_it_was_allowed(tmp_path: Path) -> None:
    home = home_of(tmp_path)

    async def listed() -> dict[str, tuple[str, str]]:
        rows = json.loads((await run_here(home, "skills", "--json")).out)
        return {row["name"]: (row["origin"], row["state"]) for row in rows}

    first = await listed()
    assert first["mcp"] == ("bundled", "ready")
    assert first["acme:refunds"] == ("mcp acme", "asks first")
    assert first["acme:acme/broken"] == ("mcp acme", "not used: its name is another one than that of its folder")
    assert reads(tmp_path) == 0

    person = Person(lambda question: Answer("accept", {"option": "always"}))
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        await app.settled()
        await app.call("skill_read", {"skill": "acme:refunds"}, Conversation(asker=person))
    assert (await listed())["acme:refunds"] == ("mcp acme", "allowed")
    assert [one["ended"] for one in json.loads((await run_here(home, "approvals", "grants", "--json")).out)] == [None]
    (tmp_path / "served" / "refunds" / "more.md").write_text("More.")
    assert (await listed())["acme:refunds"] == ("mcp acme", "asks first: changed since you allowed it")
    (ended,) = [one["ended"] for one in json.loads((await run_here(home, "approvals", "grants", "--json")).out)]
    assert ended == "its server changed the tool"


async def test_a_person_reads_a_skill_of_a_server_before_they_allow_it(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    done = await run_here(home, "skills", "show", "acme:refunds")
    assert (done.code, done.out) == (0, "Ask for the receipt.\n")
    assert "server: acme" in done.err
    assert "SKILL.md (" in done.err
    wrong = await run_here(home, "skills", "show", "acme:refund")
    assert (wrong.code, "acme:refunds" in wrong.err) == (2, True)
    broken = await run_here(home, "skills", "show", "acme:acme/broken")
    assert "cannot be used: its name is another one than that of its folder." in broken.err


@asynccontextmanager
async def chat(folder: Path, model: TalkingModel, printed: list[str]) -> AsyncIterator[Chat]:
    home = home_of(folder, **local_model(model.url, model.key))
    console = Console(out=printed.append, err=printed.append, width=0)
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=folder) as app:
        await app.settled()
        yield Chat(app, context_of(home, console, surface="chat"), "", "main")


async def test_a_skill_of_a_server_is_used_by_its_name_in_a_conversation(tmp_path: Path) -> None:
    printed: list[str] = []
    async with TalkingModel() as model, chat(tmp_path, model, printed) as one:
        offered = [word.text for word in await completions(one, "/acme:")]
        named = [word.text for word in await completions(one, "/skill acme")]
        await say(one, "/help")
        await say(one, "/acme:refunds order 7")
        said = json.dumps(model.requests[-1]["messages"][-1])
        editor = SlashCommands(one.app, "main", "main", (tmp_path,), lambda: False)
        in_editor = [command.name for command in await editor.available()]
        found = await editor.find("/acme:refunds order 8")
    assert (offered, named) == (["/acme:refunds"], ["acme:refunds"])
    assert "/acme:refunds" in "".join(printed)
    assert "[MCP server: acme] Process refunds" in "".join(printed)
    assert "Follow the skill 'acme:refunds' of the MCP server 'acme'. Request: order 7" in said
    assert said.index("EXTERNAL_UNTRUSTED_CONTENT") < said.index("Ask for the receipt.")
    assert "acme:refunds" in in_editor
    assert found is not None


async def test_a_skill_of_this_machine_goes_before_one_of_a_server_whatever_they_are_called(tmp_path: Path) -> None:
    async with TalkingModel() as model, chat(tmp_path, model, []) as one:
        own = one.app.paths.state_dir / "skills" / "own"
        own.mkdir(parents=True)
        (own / "SKILL.md").write_text("---\nname: acme:refunds\ndescription: Mine\n---\nMy own words.")
        await say(one, "/skill acme:refunds order 7")
    assert "My own words." in json.dumps(model.requests[-1]["messages"][-1])
    assert reads(tmp_path) == 0
