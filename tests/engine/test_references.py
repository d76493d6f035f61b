"""What can be typed of servers in a chat, and how it may go on."""

from pathlib import Path

import pytest

from openclaw.commands.arguments import prompt_arguments
from openclaw.commands.references import Decide, argument_words, prompt_names, with_resources
from openclaw.content import text_of
from openclaw.errors import OpenClawError, UsageError
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import PromptArgument, PromptEntry
from openclaw.security.policy import Decision
from parts.http_faults import hold, reset
from parts.sites import Site

ALL_ALLOWED: Decide = lambda tool, agent: Decision(True, "")  # noqa: E731 - the shortest rule there is
GREET = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "tone"}]}


async def test_the_arguments_of_a_prompt_are_completed_and_their_values_by_its_server(site: Site) -> None:
    site.plan(prompts=[GREET])
    async with Manager([site.spec()], dependencies=site.dependencies) as manager:
        assert await prompt_names(manager, "") == ["shop:greet"]
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
            assert await prompt_names(manager, "") == ["three:greet"]


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
