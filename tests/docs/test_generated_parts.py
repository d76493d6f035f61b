"""What is generated from the code is what the code says today."""

import subprocess
import sys

import pytest

from parts.pages import ROOT


@pytest.mark.requirement("001-9-docs")
def test_generated_parts_and_pictures_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "-B", ROOT / "scripts" / "docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
