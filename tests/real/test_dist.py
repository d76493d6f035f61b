"""The wheel, built and installed as strangers do: with pip, pipx and uv, away from the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
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
