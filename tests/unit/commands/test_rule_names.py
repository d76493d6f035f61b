"""Rules that name no tool."""

import pytest

from openclaw.commands.rule_names import names_of_nothing
from openclaw.config.load import parse_config

SERVERS = "mcp: {servers: {files: {command: 'x'}, 'my shop': {command: 'x', toolPrefix: 'shop'}}}"


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("tools: {allow: ['raed', 'read', 'GREP', 'group:fs', 'bash', 'web_search']}", ["tools.allow.0"]),
        ("tools: {deny: ['files__write', 'shop__buy', 'my-shop__buy']}", ["tools.deny.2"]),
        ("tools: {alsoAllow: ['fil*', 'bundle-mcp']}", []),
        ("agents: {list: [{id: 'a', tools: {allow: ['nothing']}}]}", ["agents.list.0.tools.allow.0"]),
        ("tools: {allow: ['anything']}, plugins: {entries: {mine: {}}}", []),
    ],
)
def test_a_name_that_no_tool_can_have_is_told_with_its_place(rules: str, told: list[str]) -> None:
    assert [one.path for one in names_of_nothing(parse_config(f"{{{rules}, {SERVERS}}}"))] == told


def test_the_nearest_tool_is_named() -> None:
    (problem,) = names_of_nothing(parse_config("{tools: {allow: ['raed']}}"))
    assert (problem.line, problem.hint) == (1, 'Did you mean "read"?')
