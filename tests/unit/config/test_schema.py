"""The generated schema and reference say what the checker does."""

import json
from typing import Any

import jsonschema
import jsonschema_rs
import msgspec
import pytest

from openclaw.config import json5
from openclaw.config.entry import ServerEntry
from openclaw.config.load import parse_config
from openclaw.config.schema import Field, fields, json_schema, tables
from openclaw.config.sections import Root
from openclaw.errors import ConfigError
from parts.pages import ROOT, blocks_of, name_of, pages

# The file that is in the package, read by a library that nobody here wrote.
PUBLISHED = json.loads((ROOT / "src" / "openclaw" / "config" / "openclaw.schema.json").read_text(encoding="utf-8"))
OTHER = jsonschema.Draft202012Validator(PUBLISHED)

# Every name that the documents give to a server's settings.
DOCUMENTED = [
    "enabled",
    "url",
    "transport",
    "command",
    "args",
    "env",
    "auth",
    "apiKey",
    "toolPrefix",
    "connectTimeoutMs",
    "requestTimeoutMs",
    "headers",
    "timeout",
    "restartOnCrash",
    "maxRestarts",
    "cwd",
    "toolTimeout",
    "workingDirectory",
    "connectionTimeoutMs",
    "supportsParallelToolCalls",
    "oauth",
    "sslVerify",
    "clientCert",
    "clientKey",
    "toolFilter",
    "type",
    "supports_parallel_tool_calls",
    "ssl_verify",
    "client_cert",
    "client_key",
    "resources",
    "trust",
    "isolation",
    "lazy",
    "idleTimeoutMs",
    "healthIntervalMs",
    "maxTotalTimeoutMs",
    "passEnv",
    "allowPrivate",
    "maxMessageBytes",
]


def loads(data: Any) -> bool:
    try:
        return not parse_config(json.dumps(data)).refused
    except ConfigError:
        return False


def test_every_setting_has_a_description() -> None:
    assert [field.path for field in fields() if not field.description] == []
    assert [table.places for table in tables() if not table.description] == []


def test_every_setting_at_every_place_is_listed() -> None:
    paths = [field.path for field in fields()]
    assert len(paths) == len(set(paths))
    assert {
        "agents.defaults.model.primary",
        "agents.list[].mcp.servers.<name>.toolFilter.include",
        "agents.entries.<name>.tools.deny",
        "plugins.entries.<name>.config.servers.<name>.auth.clientId",
        "mcp.servers.<name>.resources.maxBytes",
        "models.providers.<name>.models[].contextWindow",
        "media.audio.transcription.apiKey",
        "tokenStore.key",
    } <= set(paths)


def test_a_setting_says_what_it_takes_and_what_it_is_without() -> None:
    found = {field.path: field for field in fields()}
    assert found["gateway.port"] == Field("gateway.port", "a whole number from 0 to 65535", "28789", "HTTP port.")
    assert found["models.providers.<name>.apiKey"] == Field(
        "models.providers.<name>.apiKey", "a text or a secret reference", "", "Its key.", secret=True
    )
    assert found["models.providers.<name>.models[].id"].required


@pytest.mark.requirement("000-6.2-server")
@pytest.mark.requirement("002-3.1-fields")
def test_the_documented_names_of_server_settings_are_all_known() -> None:
    assert set(DOCUMENTED) <= set(ServerEntry.__struct_encode_fields__)


VALID: list[dict[str, Any]] = [
    {},
    {"$schema": "https://example.com/schema.json", "somebody": {"else": 1}, "channels": {}},
    {
        "agents": {
            "defaults": {"model": {"primary": "a/b", "fallbacks": ["c/d"]}, "heartbeat": {}},
            "list": [{"id": "x"}],
        }
    },
    {"mcp": {"servers": {"s": {"command": "x", "args": ["a", 1], "env": {"A": True}, "unknown": 1}}}},
    {
        "models": {
            "providers": {
                "p": {
                    "baseUrl": "http://127.0.0.1/v1",
                    "apiKey": {"source": "env", "id": "K"},
                    "models": ["m", {"id": "n"}],
                }
            }
        }
    },
    {"agents": {"defaults": {"mcp": {"servers": {"s": {"command": "x", "codex": {}}}}}}},
    {"plugins": {"entries": {"mcp-client": {"config": {"servers": {}}}, "mine": {"config": {"anything": [1]}}}}},
    {"env": {"vars": {"a": "b"}, "DIRECT": "x"}},
    {"tools": {"profile": "coding", "deny": ["exec"]}},
]
INVALID: list[dict[str, Any]] = [
    {"agents": {"defaults": {"modle": "a/b"}}},
    {"agents": {"defaults": {"maxTurns": 0}}},
    {"agents": []},
    {"gateway": {"port": "28789"}},
    {"gateway": {"port": 65536}},
    {"mcp": {"servers": {"s": {"command": 1}}}},
    {"mcp": {"servers": {"s": {"command": "x", "toolFilter": {"only": []}}}}},
    {"models": {"providers": {"p": {"models": [{"name": "without id"}]}}}},
    {"plugins": {"entries": {"mcp-client": {"config": {"serverz": {}}}}}},
    {"plugins": {"entries": {"mcp-client": {"config": {"servers": {"s": {"command": "x", "unknown": 1}}}}}}},
    {"agents": {"defaults": {"mcp": {"servers": {"s": {"command": "x", "unknown": 1}}}}}},
    {"tools": {"profile": "everything"}},
    {"env": {"lower": "x"}},
]


@pytest.mark.parametrize("data", VALID)
def test_what_loads_is_valid_by_the_json_schema(data: dict[str, Any]) -> None:
    assert (loads(data), jsonschema_rs.is_valid(json_schema(), data)) == (True, True)


@pytest.mark.parametrize("data", INVALID)
def test_what_does_not_load_is_not_valid_by_the_json_schema(data: dict[str, Any]) -> None:
    assert (loads(data), jsonschema_rs.is_valid(json_schema(), data)) == (False, False)


def test_the_json_schema_is_a_schema_with_descriptions() -> None:
    schema = json_schema()
    jsonschema_rs.meta.validate(schema)
    assert schema["$defs"]["ModelChoice"]["properties"]["primary"]["description"] == "The model, as `provider/model`."


def test_the_defaults_themselves_are_a_valid_config() -> None:
    data = msgspec.to_builtins(Root())
    assert loads(data)


@pytest.mark.parametrize("data", VALID)
def test_what_loads_is_valid_to_a_library_that_editors_use_the_like_of(data: dict[str, Any]) -> None:
    assert OTHER.is_valid(data)


@pytest.mark.parametrize("data", INVALID)
def test_what_does_not_load_is_not_valid_to_that_library_either(data: dict[str, Any]) -> None:
    assert not OTHER.is_valid(data)


def test_every_config_of_the_documentation_is_valid_by_the_schema_in_the_package() -> None:
    shown = [block for page in pages() for block in blocks_of(page.read_text(encoding="utf-8"), name_of(page))]
    configs = [block for block in shown if block.language == "json5" and not {"in", "refused"} & set(block.notes)]
    wrong = {block.place: [fault.message for fault in OTHER.iter_errors(json5.loads(block.text))] for block in configs}
    assert len(configs) > 10
    assert {place: faults for place, faults in wrong.items() if faults} == {}
