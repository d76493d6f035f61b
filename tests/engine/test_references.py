"""What can be typed of servers in a chat, and how it may go on."""

import asyncio
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.app import App
from openclaw.asking.answers import Given
from openclaw.asking.open_question import QuestionChanged
from openclaw.commands.arguments import prompt_arguments
from openclaw.commands.chat import say
from openclaw.commands.chat_state import Chat
from openclaw.commands.console import Console
from openclaw.commands.references import Decide, argument_words, prompt_names, with_resources
from openclaw.content import text_of
from openclaw.errors import OpenClawError, UsageError
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import PromptArgument, PromptEntry
from openclaw.security.policy import Decision
from parts import planned_server
from parts.command_line import Home
from parts.commands_here import context_of, run_here
from parts.http_faults import hold, reset
from parts.person import Person, agrees
from parts.planned_server import MODERN
from parts.sites import Site

ALL_ALLOWED: Decide = lambda tool, agent: Decision(True, "")  # noqa: E731 - the shortest rule there is
GREET = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "tone"}]}


async def test_the_arguments_of_a_prompt_are_completed_and_their_values_by_its_server(site: Site) -> None:
    site.plan(prompts=[GREET, {"name": "plain"}, {"name": "told", "description": "Tells."}])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert await prompt_names(manager, "") == {
            "shop:greet": "who tone?",
            "shop:plain": "a prompt",
            "shop:told": "Tells.",
        }
        assert await argument_words(manager, "", "shop:greet", "") == ["who=", "tone="]
        assert await argument_words(manager, "", "shop:greet", "who=Ann t") == ["tone="]
        assert await argument_words(manager, "", "shop:greet", "who=Ann tone=w") == ["tone=wone", "tone=wtwo"]


async def test_a_server_that_does_not_name_its_prompts_keeps_nobody_elses_from_being_typed(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    one, two, three = (Site("streamable-http", folder, folder.name) for folder in folders)
    async with one, two, three:
        for site in (one, two, three):
            site.plan(prompts=[GREET])
        assert one.http
        assert two.http
        one.http.fault("prompts/list", hold())
        two.http.fault("prompts/list", reset())
        async with Manager([one.spec(), two.spec(), three.spec()]) as manager:
            assert list(await prompt_names(manager, "")) == ["three:greet"]


async def test_marks_that_end_a_sentence_are_no_part_of_a_reference_unless_they_are_listed_so(site: Site) -> None:
    site.plan(resources={"mem://a/1": "first", "mem://a/2?": "second", "mem://a/(3)": "third"})
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        message = "See @shop:mem://a/1, (@shop:mem://a/1). What is @shop:mem://a/2?? And @shop:mem://a/(3). Ask @shop:!"
        said = await with_resources(manager, ALL_ALLOWED, "", message)
        assert site.log == [f"read mem://a/{name}" for name in ("1", "1", "2?", "(3)")]
        assert said.message == message
        for held, block in zip(("first", "first", "second", "third"), said.blocks, strict=True):
            assert held in text_of((block,))


async def test_a_reference_that_cannot_be_read_is_named_with_its_server(site: Site) -> None:
    site.plan(resources={"mem://a/1": "first"})
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        with pytest.raises(OpenClawError) as caught:
            await with_resources(manager, ALL_ALLOWED, "", "See @shop:mem://b.")
        sentence = "The resource mem://b of MCP server 'shop' cannot be read: No such resource: mem://b"
        assert str(caught.value) == sentence


def test_one_word_is_the_one_argument_that_a_prompt_must_have() -> None:
    entry = PromptEntry("greet", arguments=[PromptArgument("tone"), PromptArgument("who", required=True)])
    assert prompt_arguments(entry, ["bob"]) == {"who": "bob"}
    assert prompt_arguments(entry, ["who=true", "tone=5"]) == {"who": "true", "tone": "5"}
    assert prompt_arguments(entry, ['{"who":', '"Ann"}']) == {"who": "Ann"}
    for words in (["bob", "smith"], ["bob", "tone=5"]):
        with pytest.raises(UsageError, match="'bob' is not an argument"):
            prompt_arguments(entry, words)


# A server that asks the person something before it gives what they pointed at


FORM = {"method": "elicitation/create", "params": {"message": "Whose?", "requestedSchema": {"properties": {}}}}


def asking_home(folder: Path) -> Home:
    plan = {
        "revisions": [MODERN],
        "resources": {"note://1": "words"},
        "prompts": [{"name": "greet"}],
        "asks": {"resources/read": {"k": FORM}, "prompts/get": {"k": FORM}},
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    files = [str(folder / "plan.json"), str(folder / "log")]
    entry = {"command": sys.executable, "args": ["-S", "-E", planned_server.__file__, *files]}
    return Home(folder, mcp={"servers": {"part": entry}})


def noted(home: Home) -> list[tuple[Any, ...]]:
    """The questions and answers in the audit trail that belong to no call: the model may read something too."""
    lines = [json.loads(line) for line in (home.paths.audit_dir / "calls.jsonl").read_text().splitlines()]
    names = ("event", "kind", "asker", "answer", "by")
    return [
        tuple(line.get(name) for name in names)
        for line in lines
        if line["event"] in ("question", "answer") and not line["call"]
    ]


async def test_what_a_server_asks_before_it_gives_what_was_pointed_at_is_answered_from_elsewhere(
    tmp_path: Path,
) -> None:
    home, shown = asking_home(tmp_path), list[str]()
    # Nobody is at this terminal.
    context = context_of(home, Console(out=shown.append, err=shown.append, width=80), surface="chat")
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        questions = app.engine.questions

        def told(changed: QuestionChanged) -> None:
            if changed.state == "pending":
                answering.append(asyncio.ensure_future(agree(changed.id)))

        async def agree(name: str) -> None:
            one = await questions.find(name)
            await questions.answer(one.id, one.digest, Given("accept"), by="http")

        answering: list[asyncio.Task[None]] = []

        chat = Chat(app, msgspec.structs.replace(context, open_app=lambda: nullcontext(app)), "", "main")
        with questions.watch_session(["form"], chat.session, told):
            await say(chat, "/part:greet")
            await say(chat, "look at @part:note://1")
    assert "  greet {}\n" in "".join(shown)
    one = [("question", "form", "part", None, None), ("answer", "form", "part", "accepted", "http")]
    assert noted(home) == [*one, *one]


@pytest.mark.parametrize("words", [("read", "part", "note://1"), ("prompt", "part:greet")])
async def test_the_same_by_a_command_is_in_the_audit_trail(tmp_path: Path, words: tuple[str, ...]) -> None:
    home, person = asking_home(tmp_path), Person(agrees)
    done = await run_here(home, "mcp", *words, asker=person)
    assert (done.code, done.err) == (0, "")
    assert noted(home) == [
        ("question", "form", "part", None, None),
        ("answer", "form", "part", "accepted", "terminal"),
    ]
    assert [question.asker for question in person.asked] == ["part"]
