"""What pages are run with: programs that stand in for those a test must not need."""

import shlex
import sys
from pathlib import Path

import pytest

from parts.pages import ROOT

# The packages that pages start with npx, and what stands in for each.
STAND_INS = {"@modelcontextprotocol/server-filesystem": "files_server.py"}


def npx(folder: Path, commands: dict[str, str]) -> Path:
    """A directory with a program `npx` that runs these commands for these packages, and nothing else."""
    cases = "".join(f'  {package}) shift 2; exec {command} "$@" ;;\n' for package, command in commands.items())
    program = folder / "npx"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -y ] && case "$2" in\n{cases}esac\necho "npx: $* has no stand-in" >&2\nexit 1\n'
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    parts = ROOT / "tests" / "parts"
    commands = {package: shlex.join([sys.executable, str(parts / file)]) for package, file in STAND_INS.items()}
    return npx(tmp_path / "bin", commands)
