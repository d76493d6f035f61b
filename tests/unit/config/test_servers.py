"""Servers: three dialects, one spec, and which of them an agent gets."""

import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from openclaw.config.load import Config, parse_config
from openclaw.config.servers import (
    AuthSpec,
    SamplingSpec,
    ServersOptions,
    ServerSpec,
    engine_enabled,
    map_secrets,
    read_server,
    server_specs,
    servers_options,
)
from openclaw.errors import ConfigError

SECTIONS = {
    "mcp": "{mcp: {servers: {s: %s}}}",
    "plugin": "{plugins: {entries: {'mcp-client': {config: {servers: {s: %s}}}}}}",
    "agents": "{agents: {defaults: {mcp: {servers: {s: %s}}}}}",
}


def only(config: Config, agent: str = "main") -> ServerSpec:
    (spec,) = server_specs(config, agent)
    return spec


def entry(text: str, section: str = "mcp", **env: str) -> ServerSpec:
    return only(parse_config(SECTIONS[section] % text, env=env))


def faults(text: str) -> list[str]:
    return [f"{problem.path}: {problem.message} {problem.hint}" for problem in parse_config(text).refusals]


# ---- which servers


SHARED = """{
  mcp: { servers: { a: { command: "1" }, b: { command: "1" }, c: { command: "1" }, d: { command: "1" } } },
  plugins: { entries: { "mcp-client": { config: { servers: { b: { command: "2" }, c: { command: "2" }, d: { command: "2" } } } } } },
  agents: {
    defaults: { mcp: { servers: { c: { command: "3" }, d: { command: "3" } } } },
    list: [{ id: "x", mcp: { servers: { d: { command: "4" } } } }],
    entries: { y: { mcp: { servers: { e: { command: "4" } } } } },
  },
}"""


@pytest.mark.requirement("000-17-per-agent")
@pytest.mark.requirement("001-US-4-override")
@pytest.mark.requirement("001-US-4-places")
def test_the_later_section_replaces_the_earlier() -> None:
    config = parse_config(SHARED)
    got = {
        agent: {s.name: (s.command, s.section, s.owner) for s in server_specs(config, agent)} for agent in ("x", "y")
    }
    shared = {"a": ("1", "mcp", ""), "b": ("2", "plugin", ""), "c": ("3", "agents", "")}
    assert got == {
        "x": {**shared, "d": ("4", "agents", "x")},
        "y": {**shared, "d": ("3", "agents", ""), "e": ("4", "agents", "y")},
    }


def test_a_replaced_server_is_replaced_whole_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    text = """{ mcp: { servers: { s: { command: "one", env: { A: "1" }, lazy: true } } },
      agents: { defaults: { mcp: { servers: { s: { command: "two" } } } } } }"""
    with caplog.at_level(logging.INFO):
        spec = only(parse_config(text))
    assert (spec.command, spec.env, spec.lazy) == ("two", (), False)
    assert [record.getMessage() for record in caplog.records] == [
        "MCP server 's': openclaw.json:2 agents.defaults.mcp.servers.s replaces openclaw.json:1 mcp.servers.s"
    ]


def test_equal_entries_of_two_sections_are_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    text = '{ mcp: { servers: { s: { command: "one" } } }, agents: { defaults: { mcp: { servers: { s: { command: "one" } } } } } }'
    with caplog.at_level(logging.INFO):
        server_specs(parse_config(text), "main")
    assert caplog.records == []


def test_enabled_false_alone_removes_a_server_for_that_agent() -> None:
    text = """{ mcp: { servers: { s: { command: "one" } } },
      agents: { list: [{ id: "x", mcp: { servers: { s: { enabled: false } } } }, { id: "y" }] } }"""
    config = parse_config(text)
    assert [len(server_specs(config, agent)) for agent in ("x", "y")] == [0, 1]


def test_a_disabled_server_with_a_definition_is_listed_as_disabled() -> None:
    assert entry('{ command: "x", enabled: false }').enabled is False


def test_the_plugin_switch_disables_the_servers_of_every_section() -> None:
    config = parse_config(SHARED.replace('"mcp-client": {', '"mcp-client": { enabled: false,'))
    assert not engine_enabled(config)
    assert [spec.enabled for spec in server_specs(config, "x")] == [False] * 4
    assert engine_enabled(parse_config(SHARED))


def test_a_spec_says_where_it_is_written() -> None:
    assert (
        only(parse_config("{\n mcp: { servers: {\n  s: { command: 'x' } } } }")).where
        == "openclaw.json:3 mcp.servers.s"
    )


# ---- fields


FULL = """{
  enabled: true, transport: "stdio", command: "npx", args: ["-y", 5, true], env: { A: "1", N: 2, F: 1.5, W: 3.0, B: false },
  passEnv: ["DISPLAY"], allowEnv: ["NODE_OPTIONS"],
  cwd: "/srv", url: "https://example.com/mcp", headers: { "X-A": "b", "X-N": 1 }, apiKey: "k",
  auth: { grant: "client_credentials", clientId: "id", clientSecret: "s", privateKey: "pem", signingAlg: "ES256",
    tokenEndpointAuthMethod: "private_key_jwt", clientMetadataUrl: "https://m", authorizationServerUrl: "https://as", redirectUrl: "http://127.0.0.1/",
    scopes: ["a", "b"], idpIssuer: "i", idpTokenEndpoint: "t", idpClientId: "c", idpIdToken: "x" },
  sslVerify: false, caCert: "/ca.pem", clientCert: "/c.pem", clientKey: "/k.pem", allowPrivate: true,
  connectionTimeoutMs: 1000, requestTimeoutMs: 2000, maxTotalTimeoutMs: 3000, restartOnCrash: false, maxRestarts: 1, healthIntervalMs: 4000,
  toolDiscoveryInterval: 5000, idleTimeoutMs: 6000, lazy: true, isolation: "session", trust: "follow", supportsParallelToolCalls: false,
  maxInFlight: 7, maxMessageBytes: 8, allowSecretForms: true, roots: "workspace", approval: "ask", annotations: "trusted",
  sampling: { enabled: true, models: ["a/b"], maxTokens: 10, requestsPerMinute: 11, tokensPerDay: 12, approve: "never" },
  toolPrefix: "p", toolFilter: { include: ["a*"], exclude: ["b"] },
  resources: { inject: ["file://*"], maxBytes: 9 },
}"""


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.requirement("000-12.1-auth")
@pytest.mark.requirement("000-6.2-server")
@pytest.mark.requirement("001-NFR-4-unit")
@pytest.mark.requirement("002-3.1-fields")
def test_every_field_arrives_in_the_spec() -> None:
    expected = ServerSpec(
        name="s",
        command="npx",
        args=("-y", "5", "true"),
        env=(("A", "1"), ("N", "2"), ("F", "1.5"), ("W", "3"), ("B", "false")),
        pass_env=("DISPLAY",),
        allow_env=("NODE_OPTIONS",),
        cwd="/srv",
        url="https://example.com/mcp",
        headers=(("X-A", "b"), ("X-N", "1")),
        api_key="k",
        auth=AuthSpec(
            *(
                "client_credentials",
                "id",
                "s",
                "pem",
                "ES256",
                "private_key_jwt",
                "https://m",
                "https://as",
                "http://127.0.0.1/",
            ),
            scopes=("a", "b"),
            idp_issuer="i",
            idp_token_endpoint="t",
            idp_client_id="c",
            idp_id_token="x",
        ),
        ssl_verify=False,
        ca_cert="/ca.pem",
        client_cert="/c.pem",
        client_key="/k.pem",
        allow_private=True,
        connect_timeout=1,
        call_timeout=2,
        max_total_timeout=3,
        restart_on_crash=False,
        max_restarts=1,
        health_interval=4,
        discovery_interval=5,
        idle_timeout=6,
        lazy=True,
        isolation="session",
        trust="follow",
        approval="ask",
        annotations="trusted",
        parallel_calls=False,
        max_in_flight=7,
        max_message_bytes=8,
        sampling=SamplingSpec(True, ("a/b",), 10, 11, 12, "never"),
        allow_secret_forms=True,
        roots="workspace",
        tool_prefix="p",
        tool_include=("a*",),
        tool_exclude=("b",),
        inject_resources=("file://*",),
        resources_max_bytes=9,
    )
    assert entry(FULL) == expected
    untouched = {field.name for field in structs.fields(ServerSpec) if getattr(expected, field.name) == field.default}
    # With `isolation: "session"` there is no placement.
    others = {"section", "where", "owner", "enabled", "fault", "fault_has_place", "commands", "transport", "placement"}
    assert untouched == others


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.requirement("001-FR-1-timeout")
@pytest.mark.requirement("002-3.1-tool-timeout")
@pytest.mark.parametrize("section", list(SECTIONS))
@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("command: 'x', workingDirectory: '/w'", "cwd", "/w"),
        ("url: 'https://h', ssl_verify: false", "ssl_verify", False),
        ("url: 'https://h', client_cert: '/c'", "client_cert", "/c"),
        ("url: 'https://h', client_key: '/k'", "client_key", "/k"),
        ("command: 'x', supports_parallel_tool_calls: false", "parallel_calls", False),
        ("command: 'x', connectTimeoutMs: 5", "connect_timeout", 0.005),
        ("command: 'x', connectionTimeoutMs: 5", "connect_timeout", 0.005),
        ("command: 'x', timeout: 5000", "connect_timeout", 5.0),
        ("command: 'x', toolTimeout: 5000", "call_timeout", 5.0),
        ("command: 'x', requestTimeoutMs: 5", "max_total_timeout", 0.05),
        ("command: 'x', idleTimeoutMs: 0", "idle_timeout", None),
        ("command: 'x', placement: 'one'", "placement", "one"),
        ("command: 'x', healthIntervalMs: 0", "health_interval", 0),
        ("url: 'https://h', auth: 'oauth'", "auth", AuthSpec()),
        ("url: 'https://h', auth: 'none'", "auth", None),
        (
            "url: 'https://h', auth: 'oauth', oauth: {scope: 'a b', redirectUrl: 'r', clientMetadataUrl: 'm', identity: 'shared'}",
            "auth",
            AuthSpec(scopes=("a", "b"), redirect_url="r", client_metadata_url="m"),
        ),
        ("url: 'https://h', oauth: {}", "auth", AuthSpec()),
        ("url: 'https://h', auth: {scopes: []}", "auth", AuthSpec(scopes=())),
    ],
)
def test_every_alias_means_its_field_in_every_section(section: str, text: str, field: str, value: Any) -> None:
    assert getattr(entry(f"{{{text}}}", section), field) == value


@pytest.mark.requirement("000-12.1-times")
@pytest.mark.requirement("000-12.2-discovery")
@pytest.mark.requirement("001-FR-1-max-restarts")
@pytest.mark.requirement("001-FR-1-timeout")
@pytest.mark.requirement("001-FR-6-timeout")
@pytest.mark.requirement("002-3.1-tool-timeout")
@pytest.mark.parametrize(
    ("section", "times"),
    [("mcp", (30, 60, 600)), ("plugin", (30, 30, 300)), ("agents", (30, 60, 600))],
)
def test_each_dialect_keeps_its_documented_times(section: str, times: tuple[float, float, float]) -> None:
    spec = entry("{command: 'x'}", section)
    assert (spec.connect_timeout, spec.call_timeout, spec.max_total_timeout) == times
    assert (spec.health_interval, spec.discovery_interval, spec.max_restarts, spec.section) == (30, 300, 5, section)


@pytest.mark.requirement("002-7-config")
@pytest.mark.requirement("000-12.1-transport")
@pytest.mark.requirement("001-FR-1-transport")
@pytest.mark.requirement("002-3.4-transport")
@pytest.mark.parametrize(
    ("text", "transport"),
    [
        ("command: 'x'", "stdio"),
        ("url: 'https://h'", "streamable-http"),
        ("command: 'x', url: 'https://h'", "stdio"),
        ("command: 'x', url: 'https://h', transport: 'http'", "streamable-http"),
        *(
            (f"url: 'https://h', {key}: '{name}'", "streamable-http")
            for key in ("transport", "type")
            for name in ("http", "streamable-http", "streamable_http", "streamableHttp", "HTTP")
        ),
        ("url: 'https://h', transport: 'sse'", "sse"),
        ("url: 'https://h', type: 'sse'", "sse"),
        ("command: 'x', type: 'stdio'", "stdio"),
    ],
)
def test_the_transport_to_try_first(text: str, transport: str) -> None:
    assert entry(f"{{{text}}}").transport == transport


@pytest.mark.requirement("002-7-config")
@pytest.mark.requirement("000-12.1-url")
@pytest.mark.requirement("001-FR-1-command")
@pytest.mark.requirement("001-FR-1-url")
@pytest.mark.requirement("001-US-1-error")
@pytest.mark.requirement("002-3.7-needs")
@pytest.mark.requirement("002-4.1-refine")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", 'mcp.servers.s: a server needs a command to start (stdio) or a url (HTTP). Add "command".'),
        (
            "{transport: 'stdio', url: 'https://h'}",
            'mcp.servers.s: the stdio transport needs a command. Add "command".',
        ),
        ("{transport: 'http', command: 'x'}", 'mcp.servers.s: the streamable-http transport needs a url. Add "url".'),
        ("{type: 'sse'}", 'mcp.servers.s: the sse transport needs a url. Add "url".'),
        (
            "{transport: 'ws', url: 'https://h'}",
            "mcp.servers.s.transport: unknown transport. Use stdio, streamable-http (or http) or sse.",
        ),
        (
            "{type: 'ws', url: 'https://h'}",
            "mcp.servers.s.type: unknown transport. Use stdio, streamable-http (or http) or sse.",
        ),
        (
            "{url: 'h/mcp'}",
            "mcp.servers.s.url: expected an address that starts with https:// or http://. Write an address such as https://example.com/mcp.",
        ),
        (
            "{url: 'https://'}",
            "mcp.servers.s.url: expected an address that starts with https:// or http://. Write an address such as https://example.com/mcp.",
        ),
        (
            "{url: 'https://h:x/'}",
            "mcp.servers.s.url: this is not an address. Write an address such as https://example.com/mcp.",
        ),
        (
            "{url: 'https://h/a b'}",
            "mcp.servers.s.url: an address holds no spaces and no line breaks. Write an address such as https://example.com/mcp.",
        ),
        (
            "{url: 'https://h', auth: {}, oauth: {}}",
            'mcp.servers.s.oauth: "auth" and "oauth" are the same setting. Keep one of them.',
        ),
        (
            "{url: 'https://h', headers: {'A B': 'c'}}",
            "mcp.servers.s.headers: 'A B' cannot be sent as an HTTP header. Remove spaces and line breaks.",
        ),
        (
            "{url: 'https://h', headers: {A: 'b\\r\\nC: d'}}",
            "mcp.servers.s.headers: 'A' cannot be sent as an HTTP header. Remove spaces and line breaks.",
        ),
        (
            "{command: 'x', env: {'A=B': 'c'}}",
            "mcp.servers.s.env: a variable's name is empty or holds =, or a value holds a NUL. Rename it.",
        ),
        ("{command: 'x', args: ['\\0']}", "mcp.servers.s.args: an argument holds a NUL character. Remove it."),
    ],
)
def test_an_entry_that_cannot_work_is_refused_in_one_sentence(text: str, message: str) -> None:
    assert faults(SECTIONS["mcp"] % text) == [message]


@pytest.mark.parametrize("name", ["", " ", "__proto__", "a\\nb"])
def test_a_server_needs_a_name(name: str) -> None:
    assert "this is not a name for a server." in faults(f"{{mcp: {{servers: {{'{name}': {{command: 'x'}}}}}}}}")[0]


@pytest.mark.requirement("000-5.5-https")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "api.localhost", "127.0.0.1", "127.8.9.1", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_plain_http_is_taken_for_this_machine(host: str) -> None:
    assert entry(f"{{url: 'http://{host}:8000/mcp'}}").url == f"http://{host}:8000/mcp"


@pytest.mark.requirement("000-14.1-https")
@pytest.mark.requirement("000-5.5-https")
@pytest.mark.parametrize(
    "host",
    ["example.com", "10.0.0.1", "192.168.1.4", "localhost.example.com", "127.1", "0.0.0.0", "[::]", "2130706433"],
)
def test_plain_http_is_refused_for_any_other_host(host: str) -> None:
    (message,) = faults(SECTIONS["mcp"] % f"{{url: 'http://{host}/mcp'}}")
    assert "plain http:// is refused for any host but this machine; use https://." in message


@pytest.mark.posix_only("paths as POSIX writes them")
def test_files_start_at_home_or_beside_the_config() -> None:
    config = structs.replace(
        parse_config(
            SECTIONS["mcp"] % "{command: '~/bin/s', cwd: 'work', caCert: '~/ca.pem'}", file="/c/openclaw.json"
        ),
        home=Path("/h"),
    )
    spec = only(config)
    assert (spec.command, spec.cwd, spec.ca_cert) == ("/h/bin/s", "/c/work", "/h/ca.pem")


# ---- variables and secrets


def test_an_unset_variable_stops_that_server_alone() -> None:
    text = "{mcp: {servers: {a: {command: 'x', env: {T: 'Bearer ${TOKEN}'}, args: ['${OTHER}']}, b: {url: '${URL}'}, c: {command: 'y'}}}}"
    specs = {spec.name: spec for spec in server_specs(parse_config(text), "main")}
    assert {name: spec.fault for name, spec in specs.items()} == {
        "a": "${TOKEN} and ${OTHER} are not set",
        "b": "${URL} is not set",
        "c": "",
    }


def test_an_unset_variable_in_a_choice_stops_that_server_too() -> None:
    spec = entry("{command: 'x', isolation: '${HOW}', transport: '${VIA}'}")
    assert (spec.fault, spec.isolation) == ("${HOW} and ${VIA} are not set", "shared")


@pytest.mark.requirement("000-14.9-variables")
def test_set_variables_are_put_in() -> None:
    spec = entry(
        "{url: 'https://${HOST}/mcp', headers: {Authorization: 'Bearer ${TOKEN}'}, apiKey: '$TOKEN'}",
        HOST="h",
        TOKEN="t",
    )
    assert (spec.url, spec.headers, spec.api_key, spec.fault) == (
        "https://h/mcp",
        (("Authorization", "Bearer t"),),
        "t",
        "",
    )


@pytest.mark.requirement("001-US-6-spawn")
@pytest.mark.requirement("002-3.1-secret-values")
def test_secret_references_stay_references() -> None:
    spec = entry(
        """{ url: "secret://vault/kv/mcp#url", env: { A: "secret://gcp/a", B: { source: "file", provider: "box", id: "/a/b" } },
        headers: { X: { source: "exec", id: "op/x" } }, apiKey: { source: "env", id: "K" }, transport: "http" }"""
    )
    assert spec.url == "secret://vault/kv/mcp#url"
    assert spec.env == (("A", "secret://gcp/a"), ("B", "secret://ref/file/box//a/b"))
    assert (spec.headers, spec.api_key) == ((("X", "secret://ref/exec/default/op/x"),), "secret://ref/env/default/K")


def test_every_text_that_may_hold_a_secret_is_mapped() -> None:
    spec = entry(FULL)
    seen: list[str] = []

    def marked(text: str) -> str:
        seen.append(text)
        return f"<{text}>"

    mapped = map_secrets(spec, marked)
    assert mapped.env[0] == ("A", "<1>")
    assert mapped.headers[0] == ("X-A", "<b>")
    assert (mapped.args[0], mapped.url, mapped.api_key) == ("<-y>", "<https://example.com/mcp>", "<k>")
    assert spec.auth is not None
    texts = {name: f"<{value}>" for name, value in structs.asdict(spec.auth).items() if name not in ("grant", "scopes")}
    assert mapped.auth == structs.replace(
        spec.auth, scopes=tuple(f"<{scope}>" for scope in spec.auth.scopes or ()), **texts
    )
    assert map_secrets(spec, lambda text: text) == spec
    assert (
        structs.replace(
            mapped,
            args=spec.args,
            env=spec.env,
            headers=spec.headers,
            url=spec.url,
            api_key=spec.api_key,
            auth=spec.auth,
        )
        == spec
    )


# ---- options


@pytest.mark.requirement("000-12.2-limit")
def test_options_of_the_engine() -> None:
    text = """{ mcp: { toolNames: "mcp_prefix_tool", startupGraceMs: 500, maxConcurrentServers: 3, sessionIdleTtlMs: 60000, debug: true,
      healthIntervalMs: 1000, toolDiscoveryInterval: 2000, servers: { s: { command: "x" } } } }"""
    config = parse_config(text)
    assert servers_options(config) == ServersOptions("mcp_prefix_tool", 0.5, 3, 60, debug=True)
    assert (only(config).health_interval, only(config).discovery_interval) == (1, 2)
    assert servers_options(parse_config("{}")) == ServersOptions()


@pytest.mark.requirement("000-6.2-global")
def test_the_plugins_own_options_count_for_its_servers() -> None:
    text = """{ plugins: { entries: { "mcp-client": { config: { toolDiscoveryInterval: 7000, maxConcurrentServers: 4, debug: true,
      servers: { p: { command: "x" } } } } } }, mcp: { toolDiscoveryInterval: 0, servers: { m: { command: "x" } } } }"""
    config = parse_config(text)
    assert servers_options(config) == ServersOptions(max_concurrent_servers=4, debug=True)
    assert {spec.name: spec.discovery_interval for spec in server_specs(config, "main")} == {"m": 0, "p": 7}


# ---- entries without a file


def test_an_entry_handed_over_becomes_a_spec_and_its_variables_stay_text() -> None:
    assert read_server("web", {"url": "https://h/${SECRET}", "apiKey": "$KEY"}) == ServerSpec(
        "web", transport="streamable-http", url="https://h/${SECRET}", api_key="$KEY"
    )


def test_an_entry_handed_over_is_held_against_the_same_rules() -> None:
    with pytest.raises(ConfigError) as caught:
        read_server("web", {"transport": "http", "args": 5})
    assert [str(problem) for problem in caught.value.problems] == [
        "mcp.servers.web.args: expected a list, each item a text or a secret reference, found a number."
    ]
    with pytest.raises(ConfigError) as caught:
        read_server("web", {"url": "http://example.com"})
    assert "plain http:// is refused" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"url": "https://h"}, "a server with an address is reached from every gateway. Leave placement out."),
        (
            {"command": "x", "isolation": "session"},
            "a server of its own for each conversation runs where the conversation does. Leave placement or isolation out.",
        ),
    ],
)
def test_one_process_for_all_gateways_is_for_programs_that_conversations_share(
    given: dict[str, str], sentence: str
) -> None:
    assert read_server("x", {"command": "x", "placement": "one"}).placement == "one"
    with pytest.raises(ConfigError) as caught:
        read_server("x", {**given, "placement": "one"})
    assert [str(problem) for problem in caught.value.problems] == [f"mcp.servers.x.placement: {sentence}"]


def test_a_spec_shows_its_references_and_none_of_its_credentials() -> None:
    spec = ServerSpec(
        "files",
        command="serve",
        env=(("TOKEN", "hush-1"), ("KEY", "secret://env/KEY")),
        headers=(("Authorization", "Bearer hush-2"),),
        api_key="hush-3",
        auth=AuthSpec(client_id="hush-4", client_secret="hush-5", private_key="hush-6", idp_id_token="hush-7"),
    )
    shown = repr(spec)
    assert "hush" not in shown
    assert "name='files', " in shown
    assert "env=(('TOKEN', '[REDACTED]'), ('KEY', 'secret://env/KEY')), " in shown
    assert "headers=(('Authorization', '[REDACTED]'),), api_key='[REDACTED]', auth=AuthSpec(" in shown
    assert "api_key='', auth=None" in repr(ServerSpec("files"))
    assert spec == structs.replace(spec)
    assert spec != structs.replace(spec, api_key="hush-8")
