"""Where the other programs are: npm packages and one Python environment for each contender, installed on demand outside the checkout.

Owns the environments of `contenders/environments`; the npm packages and FastMCP's environment are those of scripts/real_parts.py.
A part that cannot be installed is a note in the report, never an error.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bench.processes import Failed, finished

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "bench" / "contenders" / "environments"
# Written last: an environment without it was left half made.
COMPLETE = "complete"
# The slowest of them takes a minute; a registry that never answers must not hold up the run.
INSTALL_SECONDS = 600
PATH_SECONDS = 30
# All npm packages and four environments.
PARTS_SECONDS = 1_800


class Unavailable(Exception):
    """A part that is not there; its text says why."""


def real_parts() -> Path:
    """The folder of scripts/real_parts.py, made by it if need be."""
    found = _real_parts()
    if isinstance(found, str):
        raise Unavailable(found)
    return found


@cache
def _real_parts() -> Path | str:
    """The folder, or why there is none: asked once, as an installation in vain may take long."""
    script = [sys.executable, str(ROOT / "scripts" / "real_parts.py")]
    try:
        folder = Path(finished([*script, "--path"], dict(os.environ), cwd=ROOT, patience=PATH_SECONDS).strip())
        if not folder.is_dir():
            print("bench: installing what make test-real uses", file=sys.stderr)
            finished(script, dict(os.environ), cwd=ROOT, patience=PARTS_SECONDS)
    except Failed as error:
        return f"it could not be installed: {error}"
    return folder


def node() -> str:
    return _existing(real_parts() / "npm" / "node_modules" / ".bin" / "node")


def npm_program(name: str) -> str:
    return _existing(real_parts() / "npm" / "node_modules" / ".bin" / name)


def npm_modules() -> str:
    return _existing(real_parts() / "npm" / "node_modules")


def python_of_parts(environment: str) -> str:
    """The interpreter of an environment of scripts/real_parts.py."""
    folder = real_parts()
    return _existing(folder.with_name(f"{folder.name}-python") / environment / "bin" / "python")


def _existing(path: Path) -> str:
    if not path.exists():
        raise Unavailable(f"{path.name} is not among the installed parts")
    return str(path)


@cache
def python_of(name: str) -> str:
    """The interpreter of a contender's own environment, made when it is first asked for."""

    def make(folder: Path) -> None:
        venv.create(folder, with_pip=True)
        quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--require-hashes")
        _install([str(folder / "bin" / "python"), *quiet, "-r", str(LOCKS / f"{name}.lock")])

    return str(_made(name, LOCKS / f"{name}.lock", make) / "bin" / "python")


@cache
def npm_program_of(name: str) -> str:
    """A program of an npm package that only benchmarks use; its package.json names the version."""

    def make(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise Failed("npm was not found")
        folder.mkdir(parents=True)
        shutil.copy(LOCKS / f"{name}.json", folder / "package.json")
        _install([npm, "--prefix", str(folder), "install", "--no-audit", "--no-fund", "--loglevel=error"])

    return _existing(_made(name, LOCKS / f"{name}.json", make) / "node_modules" / ".bin" / name)


def _made(name: str, manifest: Path, make: Callable[[Path], None]) -> Path:
    """The folder of what a manifest names, made if need be. Raises Unavailable."""
    digest = hashlib.sha256(sys.version.encode() + manifest.read_bytes()).hexdigest()[:16]
    folder = cache_root() / "bench" / f"{name}-{digest}"
    if not (folder / COMPLETE).exists():
        print(f"bench: installing {name}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            make(folder)
        except (OSError, subprocess.SubprocessError, Failed) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unavailable(f"it could not be installed: {error}") from None
        (folder / COMPLETE).touch()
    return folder


def _install(command: list[str]) -> None:
    finished(command, dict(os.environ), cwd=ROOT, patience=INSTALL_SECONDS)


def cache_root() -> Path:
    """The same place as scripts/real_parts.py uses."""
    given = os.environ.get("OPENCLAW_PARTS")
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openclaw-py")
