"""`skills.entries`: what a skill's programs get, and that nobody else does."""

import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from openclaw.content import Text
from openclaw.conversation import Conversation
from openclaw.tool import ToolResult
from parts.command_line import Home

SKILL = "---\nname: {name}\ndescription: Does it.\nmetadata: {{openclaw: {metadata}}}\n---\nRun it.\n"
SHOWN = ("SHOP_KEY", "REGION", "OPENCLAW_SKILL_CONFIG", "LD_PRELOAD", "NEWS_KEY")
# Prints which of the variables it has, and what is in them backwards: what is masked is masked as it is.
PROGRAM = f"import os; print([(name, os.environ[name][::-1]) for name in {SHOWN!r} if name in os.environ])"


def house(folder: Path, **entries: Any) -> Home:
    place = Home(folder, skills={"entries": entries}, tools={"allow": ["exec"]})
    for name, metadata in (("shop", "{primaryEnv: SHOP_KEY, requires: {env: [SHOP_KEY]}}"), ("news", "{}")):
        file = place.state / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(SKILL.format(name=name, metadata=metadata))
    file = folder / "work" / "skills" / "brought" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL.format(name="brought", metadata="{skillKey: shop, primaryEnv: SHOP_KEY}"))
    return place


async def run(place: Home, program: str = PROGRAM, **arguments: Any) -> ToolResult:
    async with App(place.config(), paths=place.paths, env=place.environ, workspace=place.folder / "work") as app:
        return await app.call(
            "exec", {"command": [sys.executable, "-c", program], **arguments}, Conversation(session="key")
        )


def said(result: ToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, Text)
    return block.text


@pytest.fixture
def place(tmp_path: Path) -> Home:
    made = house(
        tmp_path,
        shop={"apiKey": "secret://env/KEPT", "env": {"REGION": "eu", "LD_PRELOAD": "x"}, "config": {"size": 5}},
        news={"env": {"NEWS_KEY": "news-4711-key"}},
    )
    made.environ["KEPT"] = "shop-4711-key"
    return made


async def test_a_program_of_a_skill_gets_the_variables_of_that_skill_and_no_others(place: Home) -> None:
    shop, news = await run(place, skill="shop"), await run(place, skill="News")
    own = [("SHOP_KEY", "shop-4711-key"), ("REGION", "eu"), ("OPENCLAW_SKILL_CONFIG", '{"size":5}')]
    told = str([(name, value[::-1]) for name, value in own])
    assert said(shop) == f"{told}\n[Not given, as they change which code runs: LD_PRELOAD.]"
    assert said(news) == str([("NEWS_KEY", "news-4711-key"[::-1])])


async def test_a_program_of_no_skill_gets_none_of_them(place: Home) -> None:
    assert said(await run(place)) == "[]"


async def test_what_a_program_prints_of_its_key_is_masked(place: Home) -> None:
    result = await run(place, "import os; print(os.environ['SHOP_KEY'])", skill="shop")
    assert said(result).splitlines()[0] == "[REDACTED]"


@pytest.mark.parametrize(
    ("skill", "sentence"),
    [
        ("brought", "skills.entries.shop is not for a skill of the workspace."),
        ("shopp", "There is no skill named 'shopp'."),
        ("news", "skills.entries.news.apiKey is for no variable: the skill names no primaryEnv."),
        ("shop", "${NOT_SET_ANYWHERE}"),
    ],
)
async def test_who_cannot_have_them_is_told_why(tmp_path: Path, skill: str, sentence: str) -> None:
    place = house(tmp_path, shop={"apiKey": "secret://env/NOT_SET_ANYWHERE"}, news={"apiKey": "k-4711-k"})
    result = await run(place, skill=skill)
    assert (result.is_error, sentence.strip("${}") in said(result)) == (True, True)


async def test_a_skill_whose_variable_is_set_up_for_it_is_offered(place: Home) -> None:
    async with App(place.config(), paths=place.paths, env=place.environ, workspace=place.folder / "work") as app:
        skills = app.workplace(app.engine.agent()).skills()
    assert "SHOP_KEY" not in place.environ
    assert [skill.name for skill in skills.skills if skill.source != "bundled"] == ["news", "shop", "brought"]
