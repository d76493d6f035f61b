"""Somebody who does only what README.md says, in order, ends with a real MCP server that answers in an agent's turn."""

import subprocess
from pathlib import Path

import pytest

from parts.pages import ROOT, Stage, blocks_of, downloads, path_without_this_environment

README = (ROOT / "README.md").read_text(encoding="utf-8")


def follow(stage: Stage) -> None:
    for block in blocks_of(README, "README.md"):
        stage.run(block)


def test_readme_shows_an_agent_that_uses_a_tool_of_a_server() -> None:
    shown = [block.text for block in blocks_of(README, "README.md") if block.language == "console"]
    assert any("openclaw agent" in text and "→ files__read_text_file" in text for text in shown)


def test_readme_can_be_followed_where_everything_is_installed(tmp_path: Path, stand_ins: Path) -> None:
    """The folder is a copy of the checkout with its environment, and a small server stands in for the one from npm."""
    follow(Stage(tmp_path, [stand_ins]))


# The promise itself, and not a guess about how fast machines are.
FIVE_MINUTES = 300.0


@pytest.mark.real
@pytest.mark.timeout(FIVE_MINUTES)
def test_readme_can_be_followed_from_a_fresh_clone_within_five_minutes(tmp_path: Path) -> None:
    """A real clone, an environment made from nothing, and the real server from npm, with an empty HOME."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT.as_uri(), clone], check=True)
    env = {**downloads(), "PATH": path_without_this_environment()}
    stage = Stage(tmp_path, env=env, start=clone, patience=FIVE_MINUTES)
    follow(stage)
    assert not (stage.cwd / ".venv").is_symlink()
    told = subprocess.run(["git", "-C", stage.cwd, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert told.stdout == ""
