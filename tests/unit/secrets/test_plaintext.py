"""Credentials that stand in a config in plain sight: found wherever they hide, told by their place, never by their value."""

from pathlib import Path

import pytest

from openclaw.config.load import load_config, parse_config
from openclaw.config.paths import Paths
from openclaw.secrets.inventory import references
from openclaw.secrets.plaintext import Finding, plaintext_findings, server_warnings

PLAIN = "MCP server '{}' has plaintext credentials in config — consider using secret:// references"
LISTED = "MCP server '{}' has a secret in its args — process listings show it; env does not"


def found(server: str) -> list[str]:
    """Paths inside the entry of one server."""
    config = parse_config("{mcp: {servers: {s: " + server + "}}}")
    assert all((finding.kind, finding.name) == ("server", "s") for finding in plaintext_findings(config))
    return [finding.path.removeprefix("mcp.servers.s.") for finding in plaintext_findings(config)]


@pytest.mark.requirement("002-3.6-looks")
@pytest.mark.parametrize(
    ("server", "paths"),
    [
        (
            '{command: "x", env: {LINKEDIN_PASSWORD: "hunter2", LINKEDIN_EMAIL: "me@example.org"}}',
            ["env.LINKEDIN_PASSWORD"],
        ),
        ('{command: "x", env: {SOMETHING: "ghp_0123456789abcdefghij"}}', ["env.SOMETHING"]),
        ('{command: "x", env: {PIN: "A9f8e7D6c5B4a3928170fedcBA987654"}}', ["env.PIN"]),
        (
            '{url: "https://a.example", headers: {Authorization: "Bearer abc", Accept: "text/plain"}}',
            ["headers.Authorization"],
        ),
        (
            '{command: "x", env: {STRIPE_KEY: "abc", PGPASSWORD: "hunter2", SORT: "key"}}',
            ["env.STRIPE_KEY", "env.PGPASSWORD"],
        ),
        ('{url: "https://a.example", headers: {"X-Shop-Key": "abc", "X-Shop": "key"}}', ["headers.X-Shop-Key"]),
        ('{url: "https://a.example", apiKey: "12345"}', ["apiKey"]),
        ('{url: "https://a.example", auth: {clientId: "public", clientSecret: "true"}}', ["auth.clientSecret"]),
        ('{command: "x", args: ["--token", "abc", "--port", "80"]}', ["args.1"]),
        ('{command: "x", args: ["--api-key=abc", "--log-level=info"]}', ["args.0"]),
        ('{command: "docker", args: ["run", "-e", "API_KEY=abc", "image"]}', ["args.2"]),
        ('{command: "x", args: ["postgresql://me:hunter2@db.example/app"]}', ["args.0"]),
        ('{command: "x", args: ["sk-0123456789abcdef0123"]}', ["args.0"]),
        ('{url: "https://a.example/mcp?key=abc"}', ["url"]),
        ('{url: "https://a.example/mcp?api_key=abc&x=1"}', ["url"]),
        ('{url: "https://a.example/s/A9f8e7D6c5B4a3928170fedcBA987654/mcp"}', ["url"]),
    ],
)
def test_a_credential_is_found_wherever_it_hides(server: str, paths: list[str]) -> None:
    assert found(server) == paths


@pytest.mark.parametrize(
    "server",
    [
        '{command: "x", env: {API_KEY: "secret://gcp/a", TOKEN: "${TOKEN}", PASSWORD: "$PASSWORD"}}',
        '{command: "x", env: {API_KEY: {source: "env", id: "API_KEY"}}}',
        '{command: "x", env: {TOKEN_FILE: "/run/token", TOKEN_URL: "https://a.example/token", MAX_TOKENS: "100"}}',
        '{command: "x", env: {TLS_KEY: "/run/tls.pem", HOT_KEY: "on", MAX_KEY: "100", KEY_URL: "https://a.example", KEYBOARD: "de"}}',
        '{command: "x", env: {SIGNING_KEY: "secret://env/K", STRIPE_KEY: "${K}", OTHER_KEY: "$K"}}',
        '{command: "npx", args: ["-y", "@scope/server-token", "--auth", "oauth", "--token-file=/run/token", "--verbose"]}',
        '{command: "x", args: ["--token", "secret://env/T"], passEnv: ["GITHUB_TOKEN"]}',
        '{url: "https://a.example/mcp?page=2", auth: "oauth", headers: {Authorization: "Bearer ${T}"}}',
        '{url: "https://a.example", auth: {clientId: "public", scopes: ["token:read"], tokenEndpointAuthMethod: "none"}}',
    ],
)
def test_references_variables_and_harmless_settings_are_not_taken_for_credentials(server: str) -> None:
    assert found(server) == []


def test_credentials_of_other_settings_are_found_too() -> None:
    config = parse_config(
        '{tokenStore: {key: "my passphrase"}, secrets: {vault: {token: "abc", roleId: "r", secretId: "s"}}}', env={}
    )
    assert [finding.path for finding in plaintext_findings(config)] == [
        "secrets.vault.token",
        "secrets.vault.secretId",
        "tokenStore.key",
    ]


def test_a_variable_is_judged_as_written_and_not_by_its_value() -> None:
    config = parse_config(
        '{mcp: {servers: {s: {command: "x", env: {A: "${A}"}}}}}', env={"A": "ghp_0123456789abcdefghij"}
    )
    assert plaintext_findings(config) == []


def test_findings_name_file_and_line_also_in_included_files(tmp_path: Path) -> None:
    (tmp_path / "openclaw.json").write_text(
        """{
  // everything at its own place
  mcp: {$include: "./servers.json5"},
  models: {providers: {local: {
    baseUrl: "http://127.0.0.1:1/v1",
    apiKey: "abc",
  }}},
  gateway: {auth: {token: "opensesame"}},
  channels: {telegram: {botToken: "123:not-ours-to-judge"}},
}"""
    )
    (tmp_path / "servers.json5").write_text('{\n  servers: {\n    s: {command: "x",\n      env: {TOKEN: "abc"}}}}')
    env = {"HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(tmp_path / "openclaw.json")}
    assert plaintext_findings(load_config(Paths.from_env(env), env)) == [
        Finding("provider", "local", "models.providers.local.apiKey", str(tmp_path / "openclaw.json"), 6),
        Finding("server", "s", "mcp.servers.s.env.TOKEN", str(tmp_path / "servers.json5"), 4),
        Finding("setting", "", "gateway.auth.token", str(tmp_path / "openclaw.json"), 8),
    ]


@pytest.mark.requirement("001-FR-5-warning")
@pytest.mark.requirement("001-US-6-plaintext")
@pytest.mark.requirement("002-3.6-plaintext")
def test_a_server_is_warned_about_once_in_the_documented_words() -> None:
    config = parse_config(
        """{
  agents: {defaults: {mcp: {servers: {
    many: {command: "x", env: {TOKEN: "abc", PASSWORD: "def"}, args: ["--key", "secret://env/K"]},
    clean: {command: "x", env: {TOKEN: "secret://env/T"}},
    off: {command: "x", enabled: false, env: {TOKEN: "abc"}},
    object: {command: "x", args: [{source: "env", id: "K"}, 7, true]},
  }}}},
  mcp: {servers: {many: {command: "x", env: {TOKEN: "abc"}}}},
}"""
    )
    assert server_warnings(config) == {
        "many": (PLAIN.format("many"), LISTED.format("many")),
        "object": (LISTED.format("object"),),
    }


def test_every_reference_of_a_config_is_listed_with_the_places_that_use_it() -> None:
    config = parse_config(
        """{
  mcp: {servers: {
    a: {command: "x", env: {K: "secret://env/${WHICH}", L: "plain"}, args: ["--key=secret://env/ONE"]},
    b: {url: "https://b.example", headers: {Authorization: "Bearer secret://env/ONE"}, apiKey: {source: "env", id: "TWO"}},
  }},
  plugins: {entries: {"mcp-client": {config: {servers: {c: {command: "x", env: {K: "secret://vault/kv/c"}}}}}}},
  secrets: {providers: {default: {source: "env"}}, vault: {token: "secret://keychain/vault/me"}},
}""",
        env={"WHICH": "ONE"},
    )
    assert references(config) == {
        "secret://env/ONE": (
            "openclaw.json:3 mcp.servers.a.args.0",
            "openclaw.json:3 mcp.servers.a.env.K",
            "openclaw.json:4 mcp.servers.b.headers.Authorization",
        ),
        "secret://ref/env/default/TWO": ("openclaw.json:4 mcp.servers.b.apiKey",),
        "secret://vault/kv/c": ("openclaw.json:6 plugins.entries.mcp-client.config.servers.c.env.K",),
        "secret://keychain/vault/me": ("openclaw.json:7 secrets.vault.token",),
    }
