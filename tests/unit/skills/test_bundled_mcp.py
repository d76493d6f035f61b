"""What the bundled skill tells an agent about MCP servers."""

import re

import pytest

from openclaw.skills.discover import BUNDLED
from openclaw.skills.frontmatter import split


@pytest.fixture
def text() -> str:
    """The instructions, as one line."""
    return " ".join(split((BUNDLED / "mcp" / "SKILL.md").read_text(encoding="utf-8"))[1].split())


@pytest.mark.requirement("000-7.1-commands")
def test_every_documented_command_is_listed_with_its_arguments(text: str) -> None:
    listed = set(re.findall(r"`(/mcp [^`]+)`", text))
    assert listed >= {
        "/mcp servers",
        "/mcp tools [server]",
        "/mcp connect <url> [--name <name>]",
        "/mcp disconnect <name>",
        "/mcp auth <name>",
        "/mcp status <name>",
        "/mcp refresh [name]",
    }


@pytest.mark.requirement("000-2-skill")
@pytest.mark.requirement("000-7.1-relevant")
@pytest.mark.requirement("000-7.1-naming")
def test_the_agent_learns_how_tools_of_servers_are_named_and_used(text: str) -> None:
    assert "(`<server>__<tool>` or `mcp_<server>_<tool>`)" in text
    assert (
        "Look among them before you say that something cannot be done, and call them as you call any other tool" in text
    )


@pytest.mark.requirement("000-7.1-auth-hint")
def test_the_agent_learns_what_to_say_after_a_401_or_403(text: str) -> None:
    assert re.search(r"answers 401 or 403[^.]*: ask the user to type `/mcp auth <server>`", text)
