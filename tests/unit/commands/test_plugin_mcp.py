"""The words of a line after `/mcp`."""

import pytest

from openclaw.commands.plugin_mcp import words_of


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
