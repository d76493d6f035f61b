"""Paths into a config, written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.config.dotted import format_path, parse_path
from openclaw.errors import UsageError


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a.b.0", ("a", "b", "0")),
        ('a.b["x.y"].0', ("a", "b", "x.y", "0")),
        ("a['it is'][2].c", ("a", "it is", "2", "c")),
        ('["$include"]', ("$include",)),
        ("mcp.servers.my-server_1.url", ("mcp", "servers", "my-server_1", "url")),
        ('a["say \\"hi\\""]', ("a", 'say "hi"')),
    ],
)
def test_a_dotted_path_names_its_keys(text: str, path: tuple[str, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize("text", [".a", "a..b", "a.", "a[b]", "a[", 'a["x]', "a b", "a]", '["x"]y', "a['\\"])
def test_what_is_not_a_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a path|not a quoted key"):
        parse_path(text)


@given(st.lists(st.text(), max_size=5))
def test_a_written_path_reads_back(keys: list[str]) -> None:
    assert parse_path(format_path(tuple(keys))) == tuple(keys)
