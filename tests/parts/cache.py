"""Where the parts of `make test-real` are: npm programs and Python environments installed by scripts/real_parts.py."""

import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


@cache
def folder() -> Path:
    found = _path()
    assert found.is_dir(), "the real parts are not installed: run `make test-real`, which installs them"
    return found


def _path(*names: str) -> Path:
    command = [sys.executable, str(ROOT / "scripts" / "real_parts.py"), "--path", *names]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def npm_folder() -> Path:
    return folder() / "npm"


def npm_program(name: str) -> str:
    """The absolute path of a program that an npm package carries."""
    path = npm_folder() / "node_modules" / ".bin" / name
    assert path.exists(), f"no npm program {name}"
    return str(path)


def node() -> str:
    """Node 24, which the conformance suite needs."""
    return npm_program("node")


def python_of(environment: str) -> str:
    """The interpreter of one of the environments in requirements/real."""
    path = folder().with_name(f"{folder().name}-python") / environment / "bin" / "python"
    assert path.exists(), f"no Python environment {environment}"
    return str(path)


def python_of_full(environment: str) -> str:
    """The interpreter of one of the environments in requirements/full."""
    path = _path(environment) / "bin" / "python"
    assert path.exists(), f"no Python environment {environment}: run `make test-full`, which installs it"
    return str(path)


def full_npm_file(name: str) -> Path:
    """A file of the npm packages in requirements/full."""
    path = _path("npm") / "node_modules" / name
    assert path.exists(), f"no npm file {name}: run `make test-full`, which installs it"
    return path
