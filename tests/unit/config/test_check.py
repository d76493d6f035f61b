"""A file against the schema: everything that is wrong, at once, with its place and the nearest known word."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.config.load import parse_config
from openclaw.config.sections import Root
from openclaw.errors import ConfigError, Problem
from unit.config.written import Hand, values


def problems(text: str) -> list[str]:
    """What is wrong with a file, or with the servers of one that loads."""
    try:
        found = parse_config(text).refusals
    except ConfigError as error:
        found = error.problems
    assert found
    return [
        f"{problem.line}:{problem.column} {problem.path}: {problem.message} {problem.hint}".strip() for problem in found
    ]


def test_two_misspelt_keys_are_both_named_with_their_lines_and_the_nearest_known_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config('{"agents":{"defaults":{"model":{"primry":"x"},\n"toolz":1}}}', file="/c/openclaw.json")
    first, second = caught.value.problems
    assert first == Problem(
        "unknown key; expected fallbacks or primary.",
        "/c/openclaw.json",
        1,
        33,
        "agents.defaults.model.primry",
        'Did you mean "primary"?',
    )
    assert (second.line, second.column, second.path, second.hint) == (
        2,
        1,
        "agents.defaults.toolz",
        'Did you mean "tools"?',
    )


@pytest.mark.requirement("000-6.2-checked")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "1:1 : expected an object, found a list."),
        ("{agents: []}", "1:10 agents: expected an object, found a list."),
        (
            "{agents: {defaults: {model: 5}}}",
            "1:29 agents.defaults.model: expected a text or an object, found a number.",
        ),
        (
            "{session: {store: 'disk'}}",
            '1:19 session.store: expected "file", "memory" or "postgres", found "disk".',
        ),
        ("{agents: {defaults: {skills: 'x'}}}", "1:30 agents.defaults.skills: expected a list of texts, found a text."),
        ("{agents: {defaults: {skills: ['x', 1]}}}", "1:36 agents.defaults.skills.1: expected a text, found a number."),
        (
            "{agents: {defaults: {verbose: 'yes'}}}",
            "1:31 agents.defaults.verbose: expected true or false, found a text.",
        ),
        (
            "{agents: {defaults: {maxTurns: 0}}}",
            "1:32 agents.defaults.maxTurns: expected a whole number of at least 1, found 0.",
        ),
        (
            "{agents: {defaults: {maxTurns: 1.5}}}",
            "1:32 agents.defaults.maxTurns: expected a whole number of at least 1, found 1.5.",
        ),
        (
            "{agents: {defaults: {maxTurns: true}}}",
            "1:32 agents.defaults.maxTurns: expected a whole number of at least 1, found true.",
        ),
        ("{gateway: {port: 70000}}", "1:18 gateway.port: expected a whole number from 0 to 65535, found 70000."),
        ("{gateway: {port: null}}", "1:18 gateway.port: expected a whole number from 0 to 65535, found null."),
        ("{mcp: {startupGraceMs: NaN}}", "1:24 mcp.startupGraceMs: expected a number of at least 0, found nan."),
        (
            "{logging: {level: 'inof'}}",
            '1:19 logging.level: expected "debug", "error", "fatal", "info", "silent", "trace", "warn" or "warning", found "inof". '
            'Did you mean "info"?',
        ),
        (
            "{tools: {profile: 'x'}}",
            '1:19 tools.profile: expected "coding", "full", "messaging" or "minimal", found "x".',
        ),
        (
            "{models: {providers: {x: {models: [{}]}}}}",
            '1:36 models.providers.x.models.0: expected the key "id". The model\'s name on the wire.',
        ),
        (
            "{models: {providers: {x: {apiKey: 5}}}}",
            "1:35 models.providers.x.apiKey: expected a text or a secret reference, found a number.",
        ),
        (
            "{models: {providers: {x: {api_key: 'k'}}}}",
            "1:27 models.providers.x.api_key: unknown key; expected api, apiKey, baseUrl, headers, maxRetries, models, script or "
            'timeoutSeconds. Did you mean "apiKey"?',
        ),
        ("{mcp: {servers: {a: {command: [1]}}}}", "1:32 mcp.servers.a.command.0: expected a text, found a number."),
        (
            "{mcp: {servers: {a: {command: 'x', toolFilter: {includ: []}}}}}",
            '1:49 mcp.servers.a.toolFilter.includ: unknown key; expected exclude or include. Did you mean "include"?',
        ),
        (
            "{plugins: {entries: {'mcp-client': {config: {server: {}}}}}}",
            "1:46 plugins.entries.mcp-client.config.server: unknown key; expected debug, maxConcurrentServers, servers or "
            'toolDiscoveryInterval. Did you mean "servers"?',
        ),
        (
            "{tools: {allow: ['a'], alsoAllow: ['b']}}",
            '1:24 tools.alsoAllow: "allow" and "alsoAllow" exclude each other. Keep one of them.',
        ),
        (
            "{agents: {list: [{model: 'a/b'}]}}",
            '1:18 agents.list.0: expected the key "id". Every agent of agents.list has one.',
        ),
        (
            "{agents: {list: [{id: 'Big One'}]}}",
            "1:19 agents.list.0.id: this is not an agent id. Use lower-case letters, digits, _ and -, at most 64.",
        ),
        (
            "{agents: {list: [{id: 'a'}], entries: {a: {}}}}",
            '1:40 agents.entries.a: the agent "a" is configured twice. Keep one of them.',
        ),
        ("{agents: {default: 'x'}}", "1:11 agents.default: there is no such agent. Known agents: main."),
        (
            "{models: {providers: {x: {baseUrl: 'localhost:1'}}}}",
            "1:27 models.providers.x.baseUrl: expected an address that starts with https:// or http://. Write an address such as https://api.example.com/v1.",
        ),
    ],
)
def test_each_fault_says_what_was_expected(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.requirement("001-US-1-error")
@pytest.mark.requirement("001-US-1-schema")
@pytest.mark.requirement("002-4.1-types")
def test_faults_of_types_and_of_rules_are_reported_together_in_the_order_of_the_file() -> None:
    text = """{
  mcp: { servers: {
    a: { command: 5 },
    b: { transport: "carrier-pigeon", timeout: "soon" },
    c: { lazy: 1 },
  } },
  gateway: { prot: 1 },
}"""
    assert problems(text) == [
        "3:19 mcp.servers.a.command: expected a text or a list of texts, found a number.",
        "4:10 mcp.servers.b.transport: unknown transport. Use stdio, streamable-http (or http) or sse.",
        "4:48 mcp.servers.b.timeout: expected a number above 0, found a text.",
        '5:5 mcp.servers.c: a server needs a command to start (stdio) or a url (HTTP). Add "command".',
        "5:16 mcp.servers.c.lazy: expected true or false, found a number.",
        '7:14 gateway.prot: unknown key; expected allowedHosts, allowedOrigins, auth, bind, fleetUrl, port or tools. Did you mean "port"?',
    ]


def test_no_value_is_ever_shown_in_an_error() -> None:
    text = "{models: {providers: {x: {api: 'sk-live-4242', apiKey: ['sk-live-4242']}}}, gateway: {auth: {token: {a: 'sk-live-4242'}}}}"
    assert "4242" not in "".join(problems(text))


def test_an_unknown_key_of_a_server_of_mcp_servers_is_a_warning() -> None:
    config = parse_config("{mcp: {servers: {a: {command: 'x', tool_prefix: 'y', colour: 'red'}}}}", file="f")
    assert config.warnings == (
        Problem("unknown key, ignored.", "f", 1, 36, "mcp.servers.a.tool_prefix", 'Did you mean "toolPrefix"?'),
        Problem("unknown key, ignored.", "f", 1, 54, "mcp.servers.a.colour"),
    )
    assert config.ignored == ("mcp.servers.a.tool_prefix", "mcp.servers.a.colour")


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("{agents: {defaults: {mcp: {servers: {", "}}}}}", "agents.defaults.mcp.servers"),
        ("{agents: {list: [{id: 'a', mcp: {servers: {", "}}}]}}", "agents.list.0.mcp.servers"),
        ("{agents: {entries: {a: {mcp: {servers: {", "}}}}}}", "agents.entries.a.mcp.servers"),
        (
            "{plugins: {entries: {'mcp-client': {config: {servers: {",
            "}}}}}}",
            "plugins.entries.mcp-client.config.servers",
        ),
    ],
)
def test_an_unknown_key_of_a_server_in_any_other_section_refuses_that_server(
    before: str, after: str, path: str
) -> None:
    start = f"{before}s: {{command: 'x', "
    assert problems(f"{start}tool_prefix: 'y'}}{after}") == [
        f'1:{len(start) + 1} {path}.s.tool_prefix: unknown key. Did you mean "toolPrefix"?'
    ]


def test_what_belongs_to_another_openclaw_is_kept_and_listed() -> None:
    config = parse_config(
        """{ meta: {x: 1}, channels: {telegram: {botToken: "${NOT_OURS}"}}, agents: {ownership: "explicit",
        entries: {main: {sandbox: {mode: "off"}, heartbeat: {}}}}, tools: {byProvider: {}}, mcp: {inputs: [],
        servers: {a: {command: "x", codex: {agents: []}}}}, gateway: {mode: "local", remote: {}}, session: {dmScope: "main"} }"""
    )
    assert config.warnings == ()
    assert set(config.ignored) == {
        *("meta", "channels", "agents.ownership", "agents.entries.main.sandbox", "agents.entries.main.heartbeat"),
        *("tools.byProvider", "mcp.inputs", "mcp.servers.a.codex", "gateway.mode", "gateway.remote", "session.dmScope"),
    }
    assert config.raw["channels"] == {"telegram": {"botToken": "${NOT_OURS}"}}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{modles: {}}", 'Did you mean "models"?'),
        ("{toolz: {}}", 'Did you mean "tools"?'),
    ],
)
def test_a_section_that_looks_like_one_of_ours_is_a_warning(text: str, hint: str) -> None:
    (warning,) = parse_config(text).warnings
    assert (warning.message, warning.hint) == ("unknown section, ignored.", hint)


def test_null_means_the_default_where_a_setting_may_be_left_out() -> None:
    assert (
        parse_config("{agents: {defaults: {model: null}}, models: {providers: {x: {baseUrl: null}}}}").root.agents
        == Root().agents
    )


def test_the_numbers_that_a_server_may_take_as_text_are_taken() -> None:
    entry = parse_config(
        "{mcp: {servers: {a: {command: 'x', args: ['-p', 80, 1.5, true], env: {N: 1}}}}}"
    ).root.mcp.servers["a"]
    assert (entry.args, entry.env) == (("-p", 80, 1.5, True), {"N": 1})


@given(
    st.dictionaries(st.sampled_from([*Root.__struct_encode_fields__, "else"]), values, max_size=6), st.integers(0, 1000)
)
@settings(max_examples=200)
def test_any_values_in_any_section_load_or_are_reported_with_a_place(data: dict[str, Any], seed: int) -> None:
    text = Hand(random.Random(seed)).write(data)
    found: tuple[Problem, ...] = ()
    try:
        parse_config(text)
    except ConfigError as error:
        found = error.problems
    assert all(problem.line >= 1 and problem.message for problem in found)


@pytest.mark.parametrize(("value", "is_told"), [("true", True), ("'high'", True), ("false", False)])
def test_who_asks_a_model_to_reason_is_told_that_nothing_is_sent_for_it(value: str, is_told: bool) -> None:
    start = "{models: {providers: {x: {baseUrl: 'http://127.0.0.1:1/v1', models: [{id: 'm', "
    config = parse_config(f"{start}reasoning: {value}}}]}}}}}}}}")
    assert config.ignored == ("models.providers.x.models.0.reasoning",)
    assert [str(one) for one in config.warnings] == [
        f"openclaw.json:1:{len(start) + 1}: models.providers.x.models.0.reasoning: nothing is sent for this, and it is ignored: "
        "a model thinks as much as its vendor lets it by default."
    ] * is_told
