"""A stdio server whose environment is kept in Vault, from the config file to the running process, with OpenBao as Vault."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.load import Config, load_config
from openclaw.config.paths import Paths
from openclaw.config.servers import server_specs
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager
from openclaw.secrets.resolve import Resolver
from parts.secret_stores import Bao, bao_server

pytestmark = pytest.mark.real

SERVER = str(Path(__file__).parent.parent / "parts" / "stdio_server.py")
PASSWORD = "kept-in-vault-4711"


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    with bao_server(tmp_path_factory.mktemp("bao")) as bao:
        yield bao


@pytest.fixture
def config(bao: Bao, tmp_path: Path) -> Config:
    """The environment block of the requirements document, with Vault in Google's place."""
    bao.call("POST", "secret/data/linkedin-email", {"data": {"value": "me@example.org"}})
    bao.call("POST", "secret/data/linkedin-password", {"data": {"value": PASSWORD}})
    linkedin = {
        "enabled": True,
        "command": sys.executable,
        "args": [SERVER],
        "env": {
            "LINKEDIN_EMAIL": "secret://vault/secret/linkedin-email",
            "LINKEDIN_PASSWORD": "secret://vault/secret/linkedin-password",
        },
        "transport": "stdio",
    }
    servers = {"linkedin": linkedin, "other": {"command": sys.executable, "args": [SERVER]}}
    written = {
        "agents": {"defaults": {"mcp": {"servers": servers}}},
        "secrets": {"vault": {"address": bao.address, "token": "secret://env/BAO_TOKEN"}},
    }
    (tmp_path / "openclaw.json").write_text(json.dumps(written))
    env = {"HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(tmp_path / "openclaw.json")}
    return load_config(Paths.from_env(env), env)


def manager(config: Config, bao: Bao) -> Manager:
    dependencies = Dependencies(resolve=Resolver.of(config, {"BAO_TOKEN": bao.token}).resolve)
    return Manager(server_specs(config, "main"), dependencies=dependencies)


async def environment(manager: Manager, tool: str) -> dict[str, Any]:
    result = await manager.call(tool, {})
    assert not result.is_error, result
    [item] = result.content
    return dict(json.loads(item.text or "")["env"])


@pytest.mark.requirement("001-US-5-managers")
@pytest.mark.requirement("001-US-5-secrets")
async def test_a_server_has_its_secrets_in_its_environment_and_no_other_server_does(config: Config, bao: Bao) -> None:
    async with manager(config, bao) as running:
        linkedin = await environment(running, "mcp_linkedin_environment")
        other = await environment(running, "mcp_other_environment")
    names = ("LINKEDIN_EMAIL", "LINKEDIN_PASSWORD", "BAO_TOKEN")
    # It repeats them, so they are there; what we are told of a known secret is masked.
    assert [linkedin.get(name) for name in names] == ["[REDACTED]", "[REDACTED]", None]
    assert [other.get(name) for name in names] == [None, None, None]


@pytest.mark.requirement("001-NFR-3-secrets")
@pytest.mark.requirement("001-US-6-fails")
@pytest.mark.requirement("002-6-secret")
async def test_a_server_whose_secret_is_gone_does_not_start_and_the_others_do(
    config: Config, bao: Bao, caplog: pytest.LogCaptureFixture
) -> None:
    bao.call("DELETE", "secret/metadata/linkedin-password")
    caplog.set_level(logging.DEBUG)
    async with manager(config, bao) as running:
        await environment(running, "mcp_other_environment")
        states = {status.name: (status.state, status.pid is not None) for status in running.status()}
        [linkedin] = [status for status in running.status() if status.name == "linkedin"]
    assert states["other"] == ("ready", True)
    assert states["linkedin"][0] != "ready"
    assert states["linkedin"][1] is False
    assert (
        "secret://vault/secret/linkedin-password cannot be resolved: Vault has no such secret (404)" in linkedin.reason
    )
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "secret://vault/secret/linkedin-password" in told
    assert PASSWORD not in told
    assert bao.token not in told
