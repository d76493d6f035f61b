"""Each surface can be taken out: everything else still imports, and the program has the commands that are left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.program import ROOT

SOURCE = Path(__file__).parent.parent / "src" / "openclaw"
HANG_GUARD = 60.0

# The commands that go with each surface.
SURFACES = {
    "acp": {"acp"},
    "cli": {"chat", "keys", "line", "setup"},
    "demo": {"demo"},
    "gateway": {"gateway", "ui"},
    "mcp_server": {"mcp-server", "order"},
}

# Imports every module there is, as a program would that never heard of the missing one; then prints the commands, without other words for
# them.
IMPORT_ALL = """
import importlib, os, pathlib, sys
root = pathlib.Path(sys.argv[1])
folders = os.walk(root / "openclaw", followlinks=True)
for path in sorted(pathlib.Path(folder, name) for folder, _, names in folders for name in names if name.endswith(".py")):
    parts = path.relative_to(root).with_suffix("").parts
    importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
module = sys.modules["openclaw"].__file__
assert module and module.startswith(str(root)), module
print(*(command.name for command in sys.modules["openclaw.program"].ROOT.children if not command.means))
"""


def package_without(folder: Path, *surfaces: str) -> Path:
    """A package that lacks these surfaces, and of which all else leads to ours, its bytecode too."""
    (folder / "openclaw").mkdir()
    for part in SOURCE.iterdir():
        if part.name not in surfaces:
            (folder / "openclaw" / part.name).symlink_to(part)
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The interpreter with these arguments and the package in this folder."""
    return subprocess.run(
        [sys.executable, *words],
        env={
            "PYTHONPATH": str(folder),
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENCLAW_HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_GUARD,
        check=False,
    )


def commands_without(folder: Path, *surfaces: str) -> set[str]:
    done = run(package_without(folder, *surfaces), "-c", IMPORT_ALL, str(folder))
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("surface", sorted(SURFACES))
def test_without_one_surface_everything_else_imports(tmp_path: Path, surface: str) -> None:
    known = {command.name for command in ROOT.children if not command.means}
    assert commands_without(tmp_path, surface) == known - SURFACES[surface]


def test_without_any_surface_the_commands_that_belong_to_none_are_left(tmp_path: Path) -> None:
    left = commands_without(tmp_path, *SURFACES)
    assert left == {
        "agent",
        "approvals",
        "audit",
        "complete",
        "completion",
        "config",
        "doctor",
        "fleet",
        "mcp",
        "models",
        "secrets",
        "sessions",
        "skills",
        "status",
        "store",
        "tools",
    }


@pytest.mark.parametrize("surface", sorted(SURFACES.keys() - {"cli"}))
def test_without_one_surface_the_program_still_runs(tmp_path: Path, surface: str) -> None:
    package = package_without(tmp_path, surface)
    helped = run(package, "-m", "openclaw", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "Usage: openclaw" in helped.stdout
    for command in SURFACES[surface]:
        gone = run(package, "-m", "openclaw", command)
        assert (gone.returncode, gone.stdout) == (2, "")
        assert gone.stderr.startswith(f"error: openclaw: there is no command '{command}'.")


def test_without_the_command_line_the_program_says_so_and_still_serves_orders(tmp_path: Path) -> None:
    package = package_without(tmp_path, "cli")
    helped = run(package, "-m", "openclaw", "--help")
    said = "error: This installation has no command line: the package openclaw.cli is missing.\n"
    assert (helped.returncode, helped.stdout, helped.stderr) == (1, "", said)
    # Standard input is at its end, so there is nothing more to serve.
    serving = run(package, "-m", "openclaw", "mcp-server")
    assert (serving.returncode, serving.stdout) == (0, "")
