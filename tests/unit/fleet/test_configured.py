"""What tells the config of one gateway from another's."""

import json
from pathlib import Path
from typing import Any

from openclaw.config.load import Config, load_config
from openclaw.config.paths import Paths
from openclaw.fleet.configured import config_digest


def config_in(folder: Path, config: dict[str, Any], env: dict[str, str]) -> Config:
    folder.mkdir(exist_ok=True)
    (folder / "openclaw.json").write_text(json.dumps(config))
    given = {"OPENCLAW_HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(folder / "openclaw.json"), **env}
    return load_config(Paths.from_env(given), given)


async def digest_of(folder: Path, config: dict[str, Any], *, key: str = "of all", **env: str) -> str:
    async def resolve(text: str) -> str:
        return key

    return await config_digest(config_in(folder, config, env), resolve)


async def test_configs_differ_by_what_gateways_share_and_not_by_their_ports_or_the_order_of_keys(
    tmp_path: Path,
) -> None:
    servers: dict[str, dict[str, Any]] = {
        "a": {"command": "x", "args": ["1", "2"]},
        "b": {"command": "y", "env": {"TOKEN": "${TOKEN}"}},
    }
    one = await digest_of(tmp_path / "one", {"mcp": {"servers": servers}, "gateway": {"port": 1}}, TOKEN="first")
    turned = {name: dict(reversed(servers[name].items())) for name in reversed(servers)}
    same = await digest_of(tmp_path / "two", {"gateway": {"port": 2}, "mcp": {"servers": turned}}, TOKEN="second")
    other = await digest_of(
        tmp_path / "three", {"mcp": {"servers": {**servers, "a": {"command": "x", "args": ["2", "1"]}}}}
    )
    assert one == same
    assert one != other
    # Nobody makes it who has not the key of the fleet.
    assert one != await digest_of(tmp_path / "one", {"mcp": {"servers": servers}}, key="of nobody", TOKEN="first")
    assert len(one) == 12
