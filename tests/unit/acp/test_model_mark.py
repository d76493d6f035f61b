"""What is remembered of whether a model is there."""

import os
from pathlib import Path

from openclaw.acp.model_mark import is_known, note


def test_a_model_is_known_to_be_there_until_the_config_or_a_key_changes(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENAI_API_KEY": "x"}
    config = tmp_path / ".openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text("{}")
    here = ("", "", "")
    assert not is_known(env, *here)
    note(env, *here, is_there=True)
    assert is_known(env, *here)
    assert is_known(env, str(config), "", "")
    assert not is_known(env, "", "work", "")
    assert not is_known({"HOME": str(tmp_path)}, *here)
    os.utime(config, (1, 1))
    assert not is_known(env, *here)
    note(env, *here, is_there=True)
    assert is_known(env, *here)
    note(env, *here, is_there=False)
    assert not is_known(env, *here)
    config.unlink()
    assert not is_known(env, *here)
