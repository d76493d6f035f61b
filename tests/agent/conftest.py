"""The stage every test of the loop plays on."""

from pathlib import Path

import pytest

from parts.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
