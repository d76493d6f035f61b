"""The words of a line after `/mcp`."""

from pathlib import Path

import pytest

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.plugin_mcp import mcp_manage, words_of
from openclaw.conversation import Conversation
from openclaw.program import ROOT
from openclaw.tool import Invocation
from parts.command_line import Home


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("servers", ["servers"]),
        ("prompt shop greet who='Ann Lee'", ["prompt", "shop", "greet", "who=Ann Lee"]),
        ("""call add {"a": 1, "b": {"c": "it's"}}""", ["call", "add", """{"a": 1, "b": {"c": "it's"}}"""]),
        ("""call add {"a": 1} --json""", ["call", "add", '{"a": 1}', "--json"]),
        ("""call add '{"a": 1}'""", ["call", "add", '{"a": 1}']),
        ("""call say text="a {b} c" """, ["call", "say", "text=a {b} c"]),
        ("""call add {"a": """, ["call", "add", '{"a": ']),
    ],
)
def test_json_needs_no_quotes_in_a_chat(line: str, words: list[str]) -> None:
    assert words_of(line) == words


def test_a_quote_that_is_not_closed_is_an_error() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        words_of("call say text='a")


async def test_an_error_is_folded_to_the_screen_of_the_chat(tmp_path: Path) -> None:
    home = Home(tmp_path)
    told: list[str] = []
    console = Console(out=told.append, err=told.append, width=40, screen=True, interactive=True)
    context = Context(
        console=console,
        paths=home.paths,
        env=home.environ,
        cwd=tmp_path,
        open_app=None,  # type: ignore[arg-type]  # a word that is no command opens nothing
        open_engine=None,  # type: ignore[arg-type]
        root=ROOT,
        surface="chat",
    )
    result = await mcp_manage(context).run({"command": "frobnicate"}, Invocation(Conversation()))
    assert result.is_error
    assert "".join(told) == "error: /mcp: there is no command\n'frobnicate'. Try: /mcp --help\n"
