"""What can be typed of servers in a chat, and how it may go on."""

from pathlib import Path

from openclaw.commands.references import argument_words, prompt_names
from openclaw.mcp.manager import Manager
from parts.http_faults import hold, reset
from parts.sites import Site

GREET = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "tone"}]}


async def test_the_arguments_of_a_prompt_are_completed_and_their_values_by_its_server(site: Site) -> None:
    site.plan(prompts=[GREET])
    async with Manager([site.spec()], services=site.services) as manager:
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
