"""What tells the config of one gateway from another's."""

import json
from pathlib import Path
from typing import Any

from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.fleet.configured import config_digest


def digest_of(folder: Path, config: dict[str, Any], **env: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "openclaw.json").write_text(json.dumps(config))
    given = {"OPENCLAW_HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(folder / "openclaw.json"), **env}
    return config_digest(load_config(Paths.from_env(given), given))


def test_configs_differ_by_what_gateways_share_and_not_by_their_ports_or_the_order_of_keys(tmp_path: Path) -> None:
    servers: dict[str, dict[str, Any]] = {
        "a": {"command": "x", "args": ["1", "2"]},
        "b": {"command": "y", "env": {"TOKEN": "${TOKEN}"}},
    }
    one = digest_of(tmp_path / "one", {"mcp": {"servers": servers}, "gateway": {"port": 1}}, TOKEN="first")
    turned = {name: dict(reversed(servers[name].items())) for name in reversed(servers)}
    same = digest_of(tmp_path / "two", {"gateway": {"port": 2}, "mcp": {"servers": turned}}, TOKEN="second")
    other = digest_of(tmp_path / "three", {"mcp": {"servers": {**servers, "a": {"command": "x", "args": ["2", "1"]}}}})
    assert one == same
    assert one != other
    assert len(one) == 12
