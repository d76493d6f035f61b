"""What `--print-config` prints."""

import json
import tomllib

import pytest

from openclaw.errors import UsageError
from openclaw.mcp_server.clients import CLIENTS, config_text, place_text

COMMAND, ARGUMENTS = '/opt/my "tools"/openclaw', ["mcp-server", "--agent", "wörk"]
ENTRY = {"command": COMMAND, "args": ARGUMENTS}


@pytest.mark.requirement("003-client-config")
@pytest.mark.requirement("004-config-clients")
@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor"])
def test_most_clients_read_the_same_shape(client: str) -> None:
    assert json.loads(config_text(client, COMMAND, ARGUMENTS, {})) == {"mcpServers": {"openclaw": ENTRY}}


def test_vs_code_names_the_transport() -> None:
    assert json.loads(config_text("vscode", COMMAND, ARGUMENTS, {})) == {
        "servers": {"openclaw": {"type": "stdio", **ENTRY}}
    }


def test_codex_reads_toml_and_is_given_time() -> None:
    expected = {"mcp_servers": {"openclaw": {**ENTRY, "tool_timeout_sec": 600}}}
    assert tomllib.loads(config_text("codex", COMMAND, ARGUMENTS, {})) == expected


ENV = {"OPENCLAW_STATE_DIR": "/my state"}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_client_cannot_know_goes_into_its_environment(client: str) -> None:
    text = config_text(client, COMMAND, ARGUMENTS, ENV)
    config = tomllib.loads(text) if client == "codex" else json.loads(text)
    (servers,) = config.values()
    assert servers["openclaw"]["env"] == ENV


def test_the_command_for_claude_code_can_be_pasted() -> None:
    plain = place_text("claude-code", "/opt/x", ["mcp-server"], {})
    assert plain.endswith("or run: claude mcp add openclaw -- /opt/x mcp-server")
    with_place = place_text("claude-code", "/opt/x", ["mcp-server"], ENV)
    assert with_place.endswith(
        "or run: claude mcp add --env 'OPENCLAW_STATE_DIR=/my state' --transport stdio openclaw -- /opt/x mcp-server"
    )


def test_an_unknown_client_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refused:
        config_text("emacs", COMMAND, ARGUMENTS, {})
    assert str(refused.value) == (
        "--print-config: there is no client 'emacs'. Known: claude-code, claude-desktop, cursor, vscode, codex."
    )


def test_every_client_has_a_place_for_it() -> None:
    assert all(place_text(client, COMMAND, ARGUMENTS, {}) for client in CLIENTS)
