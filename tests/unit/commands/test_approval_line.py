"""What the rules say of a tool before it is called."""

from typing import Any

import pytest

from openclaw.commands.approval_line import approval_line, idle_allowances, idle_patterns
from openclaw.config.agents import ApprovalLayer
from openclaw.grant import Grant
from openclaw.security.approval_rules import rules_of
from openclaw.security.patterns import parse
from openclaw.security.policy import Policy, PolicyLayer
from openclaw.tool import Tool, ToolFacts, ToolResult, parameters


async def _run(arguments: dict[str, Any], invocation: object) -> ToolResult:
    raise AssertionError("nothing is called here")


SCHEMA = parameters({"type": "object", "properties": {"path": {"type": "string"}}})
SAVE = Tool(
    "files__save", "", SCHEMA, _run, kind="mcp", origin="files", facts=lambda: ToolFacts("server-1", "save", "digest-1")
)
READ = Tool("read", "", SCHEMA, _run, read_only=True)
OPEN = Tool("open", "", parameters({"type": "object"}), _run)


def layer(**fields: Any) -> ApprovalLayer:
    return ApprovalLayer(
        "tools.approval", places={key: f"openclaw.json:3 tools.approval.{key}" for key in fields}, **fields
    )


@pytest.mark.parametrize(
    ("tool", "said", "grants", "line"),
    [
        (READ, {}, [], 'runs without a question: it only reads (tools.approval.mode "writes")'),
        (SAVE, {}, [], 'is asked about: it changes things and no rule allows it (tools.approval.mode "writes")'),
        (SAVE, {"deny": ("files__*",)}, [], 'is refused: deny "files__*" names it (openclaw.json:3 tools.approval.deny)'),
        (
            SAVE,
            {"mode": "off"},
            [],
            'runs without a question: nothing asks (openclaw.json:3 tools.approval.mode "off")',
        ),
        (
            SAVE,
            {"allow": ("files__save(path=/a/**)",)},
            [],
            'is asked about: it changes things and no rule allows it (tools.approval.mode "writes"); its arguments decide: '
            'allow "files__save(path=/a/**)" (openclaw.json:3 tools.approval.allow)',
        ),
        (
            SAVE,
            {},
            [Grant("g_1", "save", "server-1", "digest-1")],
            "runs without a question: grant g_1 allows it",
        ),
        (
            SAVE,
            {},
            [Grant("g_1", "save", "server-1", "digest-1", arguments={"path": "/a/**"})],
            'is asked about: it changes things and no rule allows it (tools.approval.mode "writes"); its arguments decide: '
            "grant g_1 (path=/a/**)",
        ),
        (
            SAVE,
            {},
            [Grant("g_1", "save", "server-1", "digest-1", as_read=True)],
            'runs without a question: it only reads (tools.approval.mode "writes")',
        ),
    ],
)  # fmt: skip
def test_a_line_says_what_becomes_of_a_call_and_why(
    tool: Tool, said: dict[str, Any], grants: list[Grant], line: str
) -> None:
    assert approval_line(tool, "main", rules_of([layer(**said)]), grants) == line


@pytest.mark.parametrize(
    ("pattern", "idle"),
    [
        ("read(path=x)", None),
        ("read(file=x)", "file"),
        ("*(path=x)", None),
        ("open(anything=x)", None),
        ("gone(path=x)", ""),
        ("gone", None),
    ],
)
def test_a_pattern_that_can_match_nothing_is_found(pattern: str, idle: str | None) -> None:
    found = idle_patterns(rules_of([layer(deny=(pattern,))]), [READ, SAVE, OPEN])
    assert [argument for _, argument in found] == ([] if idle is None else [idle])


@pytest.mark.parametrize(
    ("pattern", "policy", "denied", "why"),
    [
        ("exec", {}, (), 'exec is off until tools.allow names it or the profile is "coding"'),
        ("bash", {}, (), 'exec is off until tools.allow names it or the profile is "coding"'),
        ('exec(command=["ls"])', {}, (), 'exec is off until tools.allow names it or the profile is "coding"'),
        ("exec", {"also_allow": ("exec",)}, (), None),
        ("write", {"deny": ("group:fs",)}, (), 'deny "group:fs" (tools.deny)'),
        # One of the group may be used.
        ("group:fs", {"deny": ("write",)}, (), None),
        ("group:fs", {"deny": ("group:fs",)}, (), 'deny "group:fs" (tools.deny)'),
        ("files__save", {"deny": ("files__*",)}, (), 'deny "files__*" (tools.deny)'),
        ("files__save", {"allow": ("read",)}, (), "allow names other tools only (tools.allow)"),
        ("files__save", {}, ("files__*",), 'deny "files__*" names it (openclaw.json:3 tools.approval.deny)'),
        ("files__save", {}, ("files__save(path=/etc/**)",), None),
        ("files__save", {}, (), None),
        # Nobody knows what these name.
        ("files__*", {"deny": ("files__*",)}, (), None),
        ("group:mcp", {"deny": ("group:mcp",)}, (), None),
    ],
)
def test_what_is_allowed_for_a_run_and_refused_by_another_rule_is_found(
    pattern: str, policy: dict[str, Any], denied: tuple[str, ...], why: str | None
) -> None:
    rules = rules_of([layer(deny=denied)])
    decide = Policy([PolicyLayer("tools", **policy)]).decide
    found = idle_allowances([parse(pattern)], decide, rules, native=["write", "read", "exec"], has_plugins=False)
    assert [said for _, said in found] == ([] if why is None else [why])


def test_of_tools_that_a_plugin_may_have_nothing_is_said() -> None:
    decide = Policy([PolicyLayer("tools", allow=("my-plugin",))]).decide
    assert idle_allowances([parse("stamp")], decide, rules_of([layer()]), native=["exec"], has_plugins=True) == []
