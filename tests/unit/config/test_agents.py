"""Which agents there are, and what each is made of."""

import pytest

from openclaw.config.agents import AgentSpec, ApprovalLayer, Rule, ToolLayer, agent, agent_ids, default_agent
from openclaw.config.entry import AgentMcp, ServerEntry
from openclaw.config.load import parse_config
from openclaw.errors import ConfigError, UsageError


@pytest.mark.requirement("002-9-additive")
def test_without_any_config_there_is_one_agent_with_all_defaults() -> None:
    config = parse_config("{}")
    assert agent_ids(config) == ("main",)
    assert agent(config) == AgentSpec(
        "main",
        tools=(ToolLayer("tools"), ToolLayer("agents.entries.main.tools")),
        gateway_tools=ToolLayer("gateway.tools"),
    )


@pytest.mark.parametrize(
    ("agents", "ids"),
    [
        ("{list: [{id: 'b'}, {id: 'a'}]}", ("b", "a")),
        ("{list: [{id: 'b'}, {id: 'a', default: true}]}", ("a", "b")),
        ("{list: [{id: 'b'}], entries: {a: {}}}", ("b", "a")),
        ("{list: [{id: 'b'}], entries: {main: {}}}", ("main", "b")),
        ("{entries: {a: {}, b: {}}, default: 'b'}", ("b", "a")),
        ("{entries: {a: {}}, default: 'main'}", ("main", "a")),
        ("{defaults: {model: 'x/y'}}", ("main",)),
    ],
)
def test_the_default_agent_comes_first(agents: str, ids: tuple[str, ...]) -> None:
    config = parse_config(f"{{agents: {agents}}}")
    assert (agent_ids(config), default_agent(config), agent(config).id) == (ids, ids[0], ids[0])


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize("own", ["list: [{id: 'x', %s}]", "entries: {x: {%s}}"])
def test_an_agents_own_settings_go_before_the_defaults(own: str) -> None:
    settings = """name: 'X', model: 'own/model', skills: [], workspace: '/own', prompt: 'own', verbose: false, maxTurns: 2,
      timeoutSeconds: 3, contextTokens: 4, maxConcurrent: 5, mcp: {servers: {s: {command: 'c'}}}"""
    config = parse_config(
        """{agents: {defaults: {model: {primary: 'a/b', fallbacks: ['c/d']}, skills: ['s'], workspace: '/w', prompt: 'p', verbose: true,
        maxTurns: 7, timeoutSeconds: 8, contextTokens: 9, maxConcurrent: 10}, OWN}}""".replace("OWN", own % settings)
    )
    spec = agent(config, "x")
    assert spec == AgentSpec(
        "x",
        name="X",
        model="own/model",
        tools=spec.tools,
        skills=(),
        workspace="/own",
        prompt="own",
        verbose=False,
        max_turns=2,
        timeout=3,
        context_tokens=4,
        max_concurrent=5,
        mcp=AgentMcp({"s": ServerEntry(command="c")}),
    )


@pytest.mark.posix_only("paths as POSIX writes them")
def test_an_agent_that_says_nothing_has_the_defaults() -> None:
    config = parse_config(
        """{agents: {defaults: {model: {primary: 'a/b', fallbacks: ['c/d']}, skills: ['s'], workspace: '/w', verbose: true, maxTurns: 7},
        entries: {x: {}}}}"""
    )
    spec = agent(config, "x")
    assert (spec.model, spec.fallbacks, spec.skills, spec.workspace) == ("a/b", ("c/d",), ("s",), "/w")
    assert (spec.verbose, spec.max_turns) == (True, 7)


@pytest.mark.parametrize(
    ("defaults", "own", "chosen"),
    [
        ("'a/b'", "null", ("a/b", ())),
        ("{primary: 'a/b', fallbacks: ['c/d']}", "'e/f'", ("e/f", ())),
        ("{primary: 'a/b', fallbacks: ['c/d']}", "{primary: 'e/f', fallbacks: ['g/h']}", ("e/f", ("g/h",))),
        ("{primary: 'a/b', fallbacks: ['c/d']}", "{fallbacks: []}", ("a/b", ())),
        ("{fallbacks: ['c/d']}", "null", ("", ("c/d",))),
        ("null", "null", ("", ())),
    ],
)
def test_the_model_and_its_fallbacks_are_chosen_together(
    defaults: str, own: str, chosen: tuple[str, tuple[str, ...]]
) -> None:
    spec = agent(
        parse_config(f"{{agents: {{defaults: {{model: {defaults}}}, entries: {{x: {{model: {own}}}}}}}}}"), "x"
    )
    assert (spec.model, spec.fallbacks) == chosen


@pytest.mark.requirement("001-US-4-policy")
def test_tool_rules_come_as_layers_with_their_places() -> None:
    config = parse_config(
        """{
  tools: { profile: "coding", deny: ["exec"] },
  gateway: { tools: { deny: ["write"] } },
  agents: {
    defaults: { tools: { deny: ["web_fetch"], alsoAllow: ["x"] } },
    list: [{ id: "research", toolPolicy: { allow: ["read"] } }],
  },
}"""
    )
    spec = agent(config, "research")
    assert spec.tools == (
        ToolLayer("tools", profile=Rule(("coding",)), deny=Rule(("exec",))),
        ToolLayer("agents.list.0.tools", allow=Rule(("read",)), deny=Rule(("web_fetch",))),
    )
    assert spec.gateway_tools == ToolLayer("gateway.tools", deny=Rule(("write",)))
    layer = spec.tools[1]
    assert [rule.where for rule in (layer.allow, layer.deny) if rule] == [
        "openclaw.json:6 agents.list.0.toolPolicy.allow",
        "openclaw.json:5 agents.defaults.tools.deny",
    ]


def test_an_unknown_agent_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        agent(parse_config("{agents: {list: [{id: 'b'}, {id: 'a'}]}}"), "c")
    assert (caught.value.message, caught.value.hint) == ('There is no agent "c".', "Known agents: b, a.")


@pytest.mark.parametrize("name", ["a", "0", "a-b_c", "x" * 64])
def test_ids_of_the_pattern_are_taken(name: str) -> None:
    assert agent(parse_config(f"{{agents: {{entries: {{'{name}': {{}}}}}}}}"), name).id == name


def test_what_is_said_about_approvals_comes_layer_by_layer_with_its_place() -> None:
    config = parse_config(
        """{
        tools: {approval: {mode: 'always', allow: ['read'], ask: ['write'], deny: ['exec'], taint: 'deny',
          timeoutMs: 5000, pendingMs: 9000, fallback: 'deny'}},
        agents: {defaults: {tools: {approval: {mode: 'off', deny: ['a']}}},
          entries: {x: {tools: {approval: {deny: ['b'], fallback: {order: 'allow'}}}}}},
        gateway: {tools: {approval: {ask: ['*']}}},
        }"""
    )
    spec = agent(config, "x")
    assert [layer.approval for layer in (*spec.tools, spec.gateway_tools)] == [
        ApprovalLayer(
            "tools.approval",
            "always",
            ("read",),
            ("write",),
            ("exec",),
            "deny",
            timeout=5.0,
            pending=9.0,
            fallback={"default": "deny"},
        ),
        ApprovalLayer(
            "agents.entries.x.tools.approval",
            "off",
            deny=("b",),
            fallback={"order": "allow"},
        ),
        ApprovalLayer("gateway.tools.approval", ask=("*",)),
    ]
    own = spec.tools[1].approval
    assert own is not None
    assert (own.place("mode"), own.place("deny"), own.place("ask")) == (
        "openclaw.json:4 agents.defaults.tools.approval.mode",
        "openclaw.json:5 agents.entries.x.tools.approval.deny",
        "agents.entries.x.tools.approval.ask",
    )


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("allow: ['exec']", 'allow.0: "exec" without a command would allow every program.'),
        ("allow: ['read', 'Bash']", 'allow.1: "Bash" without a command would allow every program.'),
        ("allow: ['group:runtime']", 'allow.0: "group:runtime" without a command would allow every program.'),
        ("allow: ['write(path=/a/**)'], deny: ['write(path=/a/**)']", "is allowed and denied."),
        ("ask: ['write(path']", 'ask.0: "write(path" has no closing bracket.'),
        ("deny: ['fetch(url=https://*.example.org/)']", "is no address with a whole host."),
        ("mode: 'never'", "mode: expected"),
        ("fallback: {page: 'deny'}", "fallback.page: unknown key"),
    ],
)
@pytest.mark.parametrize("at", ["tools: {approval: {%s}}", "agents: {entries: {x: {tools: {approval: {%s}}}}}"])
def test_rules_about_approvals_that_cannot_be_meant_are_refused(at: str, written: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config(f"{{{at % written}}}")
    assert problem in str(refused.value)


def test_exec_may_be_asked_about_and_denied_without_a_command() -> None:
    parse_config("{tools: {approval: {ask: ['exec'], deny: ['bash'], allow: ['exec(command=[\"ls\"])']}}}")
