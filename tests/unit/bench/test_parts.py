"""Parts are looked at one by one: who is missing is named with the reason, and keeps no other from being used."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOOK = """
from bench.parts import Unavailable, node, npm_program, python_of_parts
for find in (node, lambda: npm_program("mcporter"), lambda: python_of_parts("fastmcp")):
    try:
        print(find())
    except Unavailable as error:
        print(error)
"""


def test_a_part_that_fails_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    """A cache in which one program and all environments are there, and no npm."""
    env = os.environ | {"OPENCLAW_PARTS": str(tmp_path / "parts"), "PATH": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "scripts/real_parts.py", "--path"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(told.stdout.strip())
    program = folder / "npm" / "node_modules" / ".bin" / "node"
    python = folder.with_name(f"{folder.name}-python")
    for path in (program, *(python / lock.stem / "complete" for lock in ROOT.glob("requirements/real/*.lock"))):
        path.parent.mkdir(parents=True)
        path.touch()
    looked = subprocess.run(
        [sys.executable, "-c", LOOK], env=env, cwd=ROOT, capture_output=True, text=True, check=True, timeout=110
    )
    found, missing, interpreter = looked.stdout.splitlines()
    assert (found, interpreter) == (str(program), str(python / "fastmcp" / "bin" / "python"))
    assert missing.startswith("mcporter could not be installed: exit code 1: parts: npm was not found.")
    assert looked.stderr.count("bench: installing what make test-real uses") == 1
