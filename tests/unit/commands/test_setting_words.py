"""Which settings can be typed behind `openclaw config`, and what one may be."""

from pathlib import Path

from openclaw.commands.setting_words import setting_words
from openclaw.config.load import load_config
from openclaw.config.paths import Paths

CONFIG = "{mcp: {servers: {files: {command: 'x'}, 'a.b': {command: 'x'}}}, agents: {list: [{id: 'main'}]}}"


def test_every_setting_is_there_with_the_keys_that_the_config_has(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text(CONFIG)
    env = {"HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(file)}
    found = setting_words(load_config(Paths.from_env(env), env))
    settings, values = found["setting"], found["value"]
    assert {"mcp.servers.files.command", "agents.list.0.model.primary", "tools.approval.mode"} <= settings.keys()
    assert [path for path in settings if "<" in path or "[" in path or "a.b" in path] == []
    # A secret is one text.
    assert [path for path in settings if path.endswith("apiKey.source")] == []
    assert [word for word in values if word.startswith("tools.approval.mode ")] == [
        f"tools.approval.mode {word}" for word in ("always", "deny", "off", "writes")
    ]
