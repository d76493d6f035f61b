"""The wheel, built and installed as strangers do: with pip, pipx and uv, away from the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parts.pages import ROOT, Stage, blocks_of, downloads, path_without_this_environment

README = (ROOT / "README.md").read_text(encoding="utf-8")
# Four environments are made and filled.
MINUTES = 20


@pytest.mark.real
@pytest.mark.timeout(60 * MINUTES)
def test_the_wheel_works_wherever_it_is_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "dist.py", "--to", tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    tried = [line.partition(":")[0] for line in done.stdout.splitlines() if line.endswith("tour work")]
    assert tried == ["pip", "pipx", "uv", "uvx"]
    assert "uv: each of 11 extras is enough for what it is for" in done.stdout


# From the wheel to a real server in an agent's turn; the promise itself, and not a guess about how fast machines are.
FIVE_MINUTES = 300.0


@pytest.mark.real
@pytest.mark.timeout(FIVE_MINUTES)
def test_readme_leads_from_the_wheel_to_a_server_within_five_minutes(tmp_path: Path) -> None:
    """An empty folder, an empty HOME, no checkout: what README says of installing with pip, then its section about servers."""
    build = [sys.executable, str(ROOT / "scripts" / "dist.py"), "--build-only", "--to", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    environment, folder = tmp_path / "environment", tmp_path / "folder"
    folder.mkdir()
    pip = environment / "bin" / "pip"
    for argv in ([sys.executable, "-m", "venv", str(environment)], [str(pip), "install", str(wheel)]):
        subprocess.run(argv, check=True, capture_output=True, cwd=folder)
    path = os.pathsep.join([str(environment / "bin"), path_without_this_environment()])
    stage = Stage(tmp_path, env={**downloads(), "PATH": path}, start=folder, patience=FIVE_MINUTES)
    section = README[README.index("## Give it an MCP server") : README.index("## Use it from Claude Code")]
    blocks = list(blocks_of(section.replace(".venv/bin/openclaw", "openclaw"), "README.md"))
    for block in blocks:
        stage.run(block)
    assert any("→ files__read_text_file" in block.text for block in blocks)
    assert list(folder.iterdir()) == []
