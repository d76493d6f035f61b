"""Files as strangers leave them: with comments, broken, huge, deep."""

from collections.abc import Callable

import pytest

from openclaw.errors import ConfigError
from openclaw.importers.document import read_json, read_json5, read_toml


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '\ufeff{"a": 1}', '// first\n{"a": 1, /* and */ }', "{a: 0x1}", '{"a": 1,\n}'],
)
def test_json_may_have_comments_and_trailing_commas(text: str) -> None:
    assert read_json(text, "f") == {"a": 1}


@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
def test_an_empty_file_has_nothing_in_it(text: str) -> None:
    assert read_json(text, "f") == {}


@pytest.mark.parametrize(
    ("text", "line", "column"), [('{"a": 1,\n "b" 2}', 2, 6), ("[]", 1, 1), ('{"a": "never ends}', 1, 7)]
)
def test_a_broken_file_is_an_error_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(ConfigError) as error:
        read_json(text, "f")
    assert [(one.line, one.column) for one in error.value.problems] == [(line, column)]


@pytest.mark.parametrize("read", [read_json, read_json5])
def test_a_deep_file_is_an_error_and_no_crash(read: Callable[[str, str], object]) -> None:
    with pytest.raises(ConfigError):
        read('{"a":' * 100_000, "f")


def test_a_large_file_that_is_broken_is_refused_without_looking_for_the_place() -> None:
    with pytest.raises(ConfigError, match="too large for a file with comments"):
        read_json('{"a": "' + "x" * 3_000_000 + '", }', "f")


def test_a_broken_toml_has_its_place_too() -> None:
    assert read_toml('[mcp_servers.a]\ncommand = "x"', "f") == {"mcp_servers": {"a": {"command": "x"}}}
    with pytest.raises(ConfigError) as error:
        read_toml("[a]\nb = =\nc = 1", "f")
    assert [(one.message, one.line) for one in error.value.problems] == [("this is not TOML.", 2)]


def test_a_deep_toml_is_an_error_and_no_crash() -> None:
    with pytest.raises(ConfigError):
        read_toml("a = " + "[" * 100_000, "f")
