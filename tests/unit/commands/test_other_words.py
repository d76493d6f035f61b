"""Words from other programs, and what they come to here."""

import pytest

from openclaw.commands.options import SHARED
from openclaw.commands.parse import help_text, parse
from openclaw.errors import UsageError
from openclaw.program import ROOT


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mcp list", "mcp servers"),
        ("mcp get files --json", "mcp status files --json"),
        ("mcp login files", "mcp auth files"),
        ("mcp logout files", "mcp auth --logout files"),
        ("mcp test files", "mcp refresh files"),
        ("mcp rm files", "mcp remove files"),
        ("mcp resource shop notes://today", "mcp read shop notes://today"),
        ("import cursor --dry-run", "mcp import cursor --dry-run"),
        ("logs -f", "gateway logs -f"),
        ("ask what is new", "agent what is new"),
        ("version", "--version"),
        ("diagnose --offline", "doctor --offline"),
    ],
)
def test_a_word_from_elsewhere_means_one_of_ours(typed: str, meant: str) -> None:
    assert parse(ROOT, typed.split(), SHARED) == parse(ROOT, meant.split(), SHARED)


@pytest.mark.parametrize(
    ("line", "called", "words", "options"),
    [
        ("files npx -y server /tmp", "files", ("npx", "-y", "server", "/tmp"), {}),
        ("files -e KEY=v -- npx -y server", "files", ("npx", "-y", "server"), {"env": ("KEY=v",)}),
        ("-e KEY=v files -- npx -y server", "files", ("npx", "-y", "server"), {"env": ("KEY=v",)}),
        ("--transport http web https://x.example/mcp", "web", ("https://x.example/mcp",), {"transport": "http"}),
    ],
)
def test_add_has_the_name_first_as_other_programs_do(
    line: str, called: str, words: tuple[str, ...], options: dict[str, object]
) -> None:
    assert parse(ROOT, ["mcp", "add", *line.split()], SHARED).values == {"called": called, "words": words, **options}


def test_help_and_suggestions_have_one_name_for_one_thing() -> None:
    shown = help_text(ROOT, parse(ROOT, ["mcp", "--help"], SHARED), SHARED)
    assert "\n  servers " in shown
    assert "\n  list " not in shown
    with pytest.raises(UsageError, match='Did you mean "servers"'):
        parse(ROOT, ["mcp", "severs"], SHARED)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("logz", "gateway logs"), ("versoin", "--version"), ("mcp lst", "servers"), ("mcp lgoin x", "auth")],
)
def test_a_misspelt_word_from_elsewhere_is_answered_with_what_it_means_here(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f'Did you mean "{meant}"'):
        parse(ROOT, typed.split(), SHARED)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mcp doctor", "openclaw doctor"),
        ("mcp doctor files", "openclaw doctor"),
        ("gateway health", "openclaw doctor"),
        ("mcp diagnose", "openclaw doctor"),
        ("config audit", "openclaw audit"),
    ],
)
def test_a_word_that_stands_first_is_named_when_it_was_typed_behind_a_group(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f'Did you mean "{meant}"'):
        parse(ROOT, typed.split(), SHARED)
