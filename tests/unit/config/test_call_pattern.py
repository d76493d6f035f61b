"""How patterns of calls are written."""

import pytest

from openclaw.config.call_pattern import read_pattern, text_of
from openclaw.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("read", "read", []),
        (" files__* ", "files__*", []),
        ("write(path=/home/me/**)", "write", [("path", "/home/me/**")]),
        (
            "send( to = *@example.net , subject = Hello you )",
            "send",
            [("to", "*@example.net"), ("subject", "Hello you")],
        ),
        ('send(to="a, (b)", cc=x)', "send", [("to", "a, (b)"), ("cc", "x")]),
        (
            'exec(command=["git","status","*"], cwd=/tmp)',
            "exec",
            [("command", '["git","status","*"]'), ("cwd", "/tmp")],
        ),
        ("read()", "read", []),
        ("write(path=~/notes/**)", "write", [("path", "/home/me/notes/**")]),
    ],
)
def test_a_pattern_is_a_name_with_arguments(text: str, name: str, arguments: list[tuple[str, str]]) -> None:
    pattern = read_pattern(text, home="/home/me")
    assert (pattern.name, [(key, one.text) for key, one in pattern.arguments]) == (name, arguments)


@pytest.mark.parametrize(
    "text",
    ["", "(path=x)", "write(path=x", "write(path)", "write(=x)", "write(path=)", 'write(path="x)', "write(path=a, path=b)",
     "write(path=a,)", "exec(command=[1,2])", "exec(command=[])", "fetch(url=https://*.example.org/*)", "fetch(url=https:///x)"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_pattern(text)


@pytest.mark.parametrize(
    "arguments", [{}, {"path": "/a/**"}, {"to": "a, b", "x": ' "y" '}, {"command": '["git","(x)","*"]'}, {"a": "[odd"}]
)
def test_a_pattern_that_is_written_reads_the_same(arguments: dict[str, str]) -> None:
    pattern = read_pattern(text_of("tool", arguments))
    assert {key: one.text for key, one in pattern.arguments} == arguments
