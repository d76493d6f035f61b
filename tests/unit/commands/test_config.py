"""`openclaw config set`: what is written, and what is not."""

from pathlib import Path

from parts.command_line import Home
from parts.commands_here import run_here


async def test_a_model_that_nobody_has_is_not_written_unless_that_is_wanted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    words = ("config", "set", "agents.defaults.model.primary", "nosuch/model")
    before = (home.state / "openclaw.json").read_text()
    refused = await run_here(home, *words)
    after = (home.state / "openclaw.json").read_text()
    forced = await run_here(home, *words, "--force")
    assert (refused.code, refused.out, after) == (2, "", before)
    assert refused.err.endswith("--force writes it all the same.\n")
    assert "Nothing was changed." in refused.err
    assert (forced.code, "nosuch/model" in (home.state / "openclaw.json").read_text()) == (0, True)
