"""Which tools may be used, and the rule that says so."""

import fnmatch
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.config.agents import Rule, ToolLayer
from openclaw.errors import Problem
from openclaw.security.policy import Decision, Policy, PolicyLayer, ToolRef, layer_of, problems
from openclaw.tool import Absence, Invocation, Kind, Tool, ToolResult, parameters

READ = ToolRef("read")
EXEC = ToolRef("exec")
FETCH = ToolRef("web_fetch")
ISSUE = ToolRef("mcp_github_create_issue", "mcp", "github")
WEATHER = ToolRef("forecast", "plugin", "weather")
EVERYTHING = [READ, EXEC, FETCH, ISSUE, WEATHER]


def allowed(*layers: PolicyLayer) -> list[str]:
    policy = Policy(layers)
    return [tool.name for tool in EVERYTHING if policy.decide(tool).allowed]


def layer(where: str = "tools", **rules: Any) -> PolicyLayer:
    return PolicyLayer(where, **rules)


def test_without_rules_everything_but_exec_is_allowed() -> None:
    assert allowed() == ["read", "web_fetch", "mcp_github_create_issue", "forecast"]
    assert allowed(layer()) == allowed()
    assert Policy().decide(READ) == Decision(True, "no rule restricts it")


@pytest.mark.requirement("001-8-policy")
@pytest.mark.requirement("001-US-5-policy")
@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ({"allow": ("read",)}, ["read"]),
        ({"allow": (" READ ", "Web_Fetch")}, ["read", "web_fetch"]),
        ({"allow": ("*",)}, ["read", "web_fetch", "mcp_github_create_issue", "forecast"]),
        ({"allow": ("mcp_*",)}, ["mcp_github_create_issue"]),
        ({"allow": ("*_issue",)}, ["mcp_github_create_issue"]),
        ({"allow": ("mcp_*_create_*",)}, ["mcp_github_create_issue"]),
        ({"allow": ("r?ad", "[r]ead", "rea", "ead", ".*")}, []),
        ({"allow": ("group:fs",)}, ["read"]),
        ({"allow": ("group:web",)}, ["web_fetch"]),
        ({"allow": ("group:mcp",)}, ["mcp_github_create_issue"]),
        ({"allow": ("bundle-mcp",)}, ["mcp_github_create_issue"]),
        ({"allow": ("group:plugins",)}, ["mcp_github_create_issue", "forecast"]),
        ({"allow": ("weather",)}, ["forecast"]),
        ({"allow": ("github",)}, []),
        ({"allow": ()}, ["read", "web_fetch", "mcp_github_create_issue", "forecast"]),
        ({"deny": ("read",)}, ["web_fetch", "mcp_github_create_issue", "forecast"]),
        ({"deny": ("group:mcp", "weather")}, ["read", "web_fetch"]),
        ({"deny": ("*",)}, []),
        ({"allow": ("read", "web_fetch"), "deny": ("READ",)}, ["web_fetch"]),
        ({"profile": "minimal"}, []),
        ({"profile": "minimal", "also_allow": ("read",)}, ["read"]),
        ({"profile": "messaging"}, ["mcp_github_create_issue"]),
        ({"profile": "coding"}, ["read", "exec", "web_fetch", "mcp_github_create_issue"]),
        ({"profile": "full"}, ["read", "web_fetch", "mcp_github_create_issue", "forecast"]),
        ({"profile": "coding", "allow": ("read", "forecast")}, ["read"]),
        ({"profile": "coding", "deny": ("group:runtime",)}, ["read", "web_fetch", "mcp_github_create_issue"]),
    ],
)
def test_one_layer_decides(rules: dict[str, Any], names: list[str]) -> None:
    assert allowed(layer(**rules)) == names


@pytest.mark.parametrize(
    ("rules", "on"),
    [
        ({"allow": ("exec",)}, True),
        ({"allow": ("Bash",)}, True),
        ({"allow": ("group:runtime",)}, True),
        ({"also_allow": ("exec",)}, True),
        ({"profile": "coding"}, True),
        ({"profile": "minimal", "also_allow": ("exec",)}, True),
        ({"allow": ("*",)}, False),
        ({"allow": ("exe*",)}, False),
        ({"profile": "full"}, False),
        ({"profile": "minimal", "allow": ("exec",)}, False),
        ({"allow": ("exec",), "deny": ("bash",)}, False),
        ({"allow": ("exec",), "grants": False}, False),
    ],
)
def test_exec_is_off_until_it_is_named(rules: dict[str, Any], on: bool) -> None:
    assert Policy([layer(**rules)]).decide(EXEC).allowed is on


def test_naming_exec_beside_everything_restricts_nothing_else() -> None:
    assert allowed(layer(also_allow=("exec",))) == [tool.name for tool in EVERYTHING]


def test_a_later_layer_may_switch_exec_on_only_if_the_earlier_ones_let_it() -> None:
    assert Policy([layer(), layer("agent", also_allow=("exec",))]).decide(EXEC).allowed
    assert not Policy([layer(allow=("read",)), layer("agent", allow=("exec",))]).decide(EXEC).allowed


def test_a_tool_of_a_server_is_in_no_native_group() -> None:
    impostor = ToolRef("read", "mcp", "evil")
    assert not Policy([layer(allow=("group:fs",))]).decide(impostor).allowed


@pytest.mark.parametrize(
    ("tool", "layers", "decision"),
    [
        (READ, [layer(allow=("r*",))], Decision(True, 'allow "r*"', "tools.allow")),
        (READ, [layer(allow=("ls",))], Decision(False, "allow names other tools only", "tools.allow")),
        (READ, [layer(deny=("Group:FS",))], Decision(False, 'deny "Group:FS"', "tools.deny")),
        (READ, [layer(profile="coding")], Decision(True, 'profile "coding"', "tools.profile")),
        (READ, [layer(profile="minimal")], Decision(False, 'profile "minimal" does not include it', "tools.profile")),
        (
            READ,
            [layer(profile="minimal", also_allow=("read",))],
            Decision(True, 'alsoAllow "read"', "tools.alsoAllow"),
        ),
        (EXEC, [layer()], Decision(False, 'exec is off until tools.allow names it or the profile is "coding"')),
        (EXEC, [layer(also_allow=("bash",))], Decision(True, 'alsoAllow "bash"', "tools.alsoAllow")),
        (
            READ,
            [layer(allow=("ls",)), layer("agents.entries.a.tools", deny=("read",))],
            Decision(False, 'deny "read"', "agents.entries.a.tools.deny"),
        ),
        (
            READ,
            [layer(allow=("read",)), layer("agents.entries.a.tools", allow=("group:fs",))],
            Decision(True, 'allow "group:fs"', "agents.entries.a.tools.allow"),
        ),
        (
            READ,
            [layer(deny=("read",), places={"deny": "openclaw.json:12 tools.deny"})],
            Decision(False, 'deny "read"', "openclaw.json:12 tools.deny"),
        ),
    ],
)
def test_a_decision_names_its_rule_and_where_it_is_written(
    tool: ToolRef, layers: list[PolicyLayer], decision: Decision
) -> None:
    assert Policy(layers).decide(tool) == decision


def test_a_decision_reads_as_one_phrase() -> None:
    assert str(Decision(False, 'deny "x"', "openclaw.json:3 tools.deny")) == 'deny "x" (openclaw.json:3 tools.deny)'
    assert str(Decision(True, "no rule restricts it")) == "no rule restricts it"


async def nothing(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return ToolResult(())


def test_tools_are_split_into_those_that_may_be_used_and_why_the_others_may_not() -> None:
    read, write = (Tool(name, "", parameters({}), nothing) for name in ("read", "write"))
    assert Policy([layer(deny=("write",))]).split([read, write]) == (
        [read],
        [Absence("write", 'deny "write"', "tools.deny")],
    )


def test_a_layer_is_taken_over_from_the_config_with_its_places() -> None:
    written = ToolLayer(
        "tools",
        profile=Rule(("coding",), "openclaw.json:2 tools.profile"),
        also_allow=Rule(("forecast",), "openclaw.json:3 tools.alsoAllow"),
        deny=Rule(("write",), "openclaw.json:4 tools.deny"),
    )
    taken = layer_of(written)
    assert taken == PolicyLayer("tools", profile="coding", also_allow=("forecast",), deny=("write",))
    assert Policy([taken]).decide(ToolRef("write")).where == "openclaw.json:4 tools.deny"
    assert Policy([taken]).decide(WEATHER).where == "openclaw.json:3 tools.alsoAllow"
    assert layer_of(ToolLayer("gateway.tools"), grants=False) == PolicyLayer("gateway.tools", grants=False)


def test_wrong_rules_are_reported_all_at_once() -> None:
    found = problems(
        [
            layer(allow=("read",), also_allow=("write",)),
            layer("agent", profile="codign", deny=("group:sf", " ", "group:wholly-unknown")),
            layer("fine", profile="full", allow=("group:fs", "bundle-mcp")),
        ]
    )
    assert found == [
        Problem("allow and alsoAllow exclude each other.", path="tools", hint="Put all names into one of them."),
        Problem('There is no profile "codign".', path="agent.profile", hint='Did you mean "coding"?'),
        Problem('There is no group "group:sf".', path="agent.deny", hint='Did you mean "group:fs"?'),
        Problem("An empty name matches no tool.", path="agent.deny", hint="Remove it."),
        Problem(
            'There is no group "group:wholly-unknown".',
            path="agent.deny",
            hint="Use one of bundle-mcp, group:code, group:fs, group:mcp, group:plugins, group:runtime, group:web.",
        ),
    ]


def test_an_unknown_profile_admits_nothing() -> None:
    assert allowed(layer(profile="codign")) == []


names = st.text("abAB_-.", min_size=1, max_size=6)
patterns = st.text("abAB_*.", max_size=5)
kinds: st.SearchStrategy[Kind] = st.sampled_from(["native", "plugin", "mcp"])
layers = st.builds(
    PolicyLayer,
    st.just("tools"),
    st.sampled_from([None, "minimal", "coding", "messaging", "full"]),
    st.lists(patterns, max_size=3).map(tuple),
    st.lists(patterns, max_size=3).map(tuple),
    st.lists(patterns, max_size=3).map(tuple),
)
refs = st.builds(ToolRef, names | st.sampled_from(["read", "exec"]), kinds, names)


@given(names, patterns)
@settings(max_examples=200, deadline=None)
def test_wildcards_match_as_the_standard_library_says(name: str, pattern: str) -> None:
    """Our patterns hold no `?` and no `[`, so that fnmatch is an independent judge of `*`."""
    expected = bool(pattern) and fnmatch.fnmatchcase(name.casefold(), pattern.casefold())
    assert (not Policy([layer(deny=(pattern,))]).decide(ToolRef(name, "mcp")).allowed) is expected


@given(st.lists(layers, max_size=3), layers, refs)
@settings(max_examples=200, deadline=None)
def test_another_layer_only_narrows(before: list[PolicyLayer], extra: PolicyLayer, tool: ToolRef) -> None:
    if tool.name != "exec" and Policy([*before, extra]).decide(tool).allowed:
        assert Policy(before).decide(tool).allowed


@given(st.lists(layers, max_size=3), refs)
@settings(max_examples=100, deadline=None)
def test_deny_wins_wherever_it_stands(given_layers: list[PolicyLayer], tool: ToolRef) -> None:
    deny = layer(deny=(tool.name,))
    assert not Policy([*given_layers, deny]).decide(tool).allowed
    assert not Policy([deny, *given_layers]).decide(tool).allowed


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_very_many_tools_and_a_hostile_pattern_are_decided(count: int) -> None:
    policy = Policy([layer(allow=("*a*a*a*a*a*a*a*a*b", "mcp_s1_*"), deny=tuple(f"mcp_s{n}_x*" for n in range(100)))])
    tools = [ToolRef(f"mcp_s{number % 10}_{'a' * 40}{number}", "mcp", "s") for number in range(count)]
    assert sum(policy.decide(tool).allowed for tool in tools) == count // 10
