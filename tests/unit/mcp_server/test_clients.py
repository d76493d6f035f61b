"""What `--print-config` prints."""

import json
import tomllib

import pytest
import yaml

from openclaw.errors import UsageError
from openclaw.mcp_server.clients import CLIENTS, config_text, place_text
from openclaw.program import ROOT
from openclaw.typed_words import quote_word

COMMAND, ARGUMENTS = '/opt/my "tools"/openclaw', ["mcp-server", "--agent", "wörk"]
ENTRY = {"command": COMMAND, "args": ARGUMENTS}


@pytest.mark.requirement("003-client-config")
@pytest.mark.requirement("004-config-clients")
@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "windsurf"])
def test_most_clients_read_the_same_shape(client: str) -> None:
    assert json.loads(config_text(client, COMMAND, ARGUMENTS, {})) == {"mcpServers": {"openclaw": ENTRY}}


def test_vs_code_names_the_transport() -> None:
    assert json.loads(config_text("vscode", COMMAND, ARGUMENTS, {})) == {
        "servers": {"openclaw": {"type": "stdio", **ENTRY}}
    }


def test_codex_reads_toml_and_is_given_time() -> None:
    expected = {"mcp_servers": {"openclaw": {**ENTRY, "tool_timeout_sec": 600}}}
    assert tomllib.loads(config_text("codex", COMMAND, ARGUMENTS, {})) == expected


@pytest.mark.parametrize(("client", "timeout"), [("gemini-cli", 600_000), ("cline", 600)])
def test_gemini_cli_and_cline_are_given_time_each_in_its_unit(client: str, timeout: int) -> None:
    expected = {"mcpServers": {"openclaw": {**ENTRY, "timeout": timeout}}}
    assert json.loads(config_text(client, COMMAND, ARGUMENTS, {})) == expected


def test_zed_calls_them_context_servers_and_waits_seconds() -> None:
    expected = {"context_servers": {"openclaw": {**ENTRY, "timeout": 600}}}
    assert json.loads(config_text("zed", COMMAND, ARGUMENTS, {})) == expected


def test_opencode_reads_one_list_of_words() -> None:
    entry = {"type": "local", "command": [COMMAND, *ARGUMENTS], "enabled": True, "timeout": 600_000}
    assert json.loads(config_text("opencode", COMMAND, ARGUMENTS, {})) == {"mcp": {"openclaw": entry}}


def test_continue_reads_a_block_of_yaml() -> None:
    server = {"name": "openclaw", **ENTRY, "connectionTimeout": 600_000}
    expected = {"name": "openclaw", "version": "0.0.1", "schema": "v1", "mcpServers": [server]}
    assert yaml.safe_load(config_text("continue", COMMAND, ARGUMENTS, {})) == expected


ENV = {"OPENCLAW_STATE_DIR": "/my state"}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_client_cannot_know_goes_into_its_environment(client: str) -> None:
    text = config_text(client, COMMAND, ARGUMENTS, ENV)
    if client == "codex":
        entry = tomllib.loads(text)["mcp_servers"]["openclaw"]
    elif client == "continue":
        (entry,) = yaml.safe_load(text)["mcpServers"]
    else:
        (servers,) = json.loads(text).values()
        entry = servers["openclaw"]
    assert entry["environment" if client == "opencode" else "env"] == ENV


def test_the_command_line_offers_every_client() -> None:
    (command,) = [one for one in ROOT.children if one.name == "mcp-server"]
    (option,) = [one for one in command.options if one.name == "print-config"]
    assert option.choices == tuple(CLIENTS)


def test_the_command_for_claude_code_can_be_pasted() -> None:
    plain = place_text("claude-code", "/opt/x", ["mcp-server"], {})
    assert plain.endswith("or run: claude mcp add openclaw -- /opt/x mcp-server")
    with_place = place_text("claude-code", "/opt/x", ["mcp-server"], ENV)
    assert with_place.endswith(
        f"or run: claude mcp add --env {quote_word('OPENCLAW_STATE_DIR=/my state')} --transport stdio openclaw -- /opt/x mcp-server"
    )


def test_an_unknown_client_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refused:
        config_text("emacs", COMMAND, ARGUMENTS, {})
    assert str(refused.value) == (
        "--print-config: there is no client 'emacs'. Known: claude-code, claude-desktop, cursor, vscode, codex, "
        "gemini-cli, opencode, cline, continue, windsurf, zed."
    )


def test_every_client_has_a_place_for_it() -> None:
    assert all(place_text(client, COMMAND, ARGUMENTS, {}) for client in CLIENTS)
