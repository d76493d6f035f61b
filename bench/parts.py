"""Where the other programs are: npm packages and one Python environment for each contender, installed on demand outside the checkout.

Owns the environments of `contenders/environments`; the npm packages and FastMCP's environment are those of scripts/real_parts.py.
A part that cannot be installed is a note in the report, never an error.
"""

import hashlib
import json
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
_SCRIPT = [sys.executable, str(ROOT / "scripts" / "real_parts.py")]
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


def node() -> str:
    return npm_program("node")


def npm_program(name: str) -> str:
    return _part(lambda folder: folder / "npm" / "node_modules" / ".bin" / name)


def npm_modules() -> str:
    return _part(lambda folder: folder / "npm" / "node_modules")


def python_of_parts(environment: str) -> str:
    """The interpreter of an environment of scripts/real_parts.py."""
    done = _part(lambda folder: folder.with_name(f"{folder.name}-python") / environment / COMPLETE)
    return str(Path(done).parent / "bin" / "python")


def python_of_full(environment: str) -> str:
    """The interpreter of an environment that scripts/real_parts.py has for `make test-full`, made when it is first asked for."""
    try:
        path = finished([*_SCRIPT, "--path", environment], dict(os.environ), cwd=ROOT, patience=PATH_SECONDS).strip()
        if not (Path(path) / COMPLETE).exists():
            _install(environment, [*_SCRIPT, "--only", environment])
    except Failed as error:
        raise Unavailable(f"{environment} could not be installed: {error}") from None
    return str(Path(path) / "bin" / "python")


def _part(find: Callable[[Path], Path]) -> str:
    """A part of scripts/real_parts.py, which is asked once for whatever is missing. One that fails keeps no other from being used."""
    path = find(_folder())
    if not path.exists() and (why := _install_parts()) and not path.exists():
        name = path.parent.name if path.name == COMPLETE else path.name
        raise Unavailable(f"{name} could not be installed: {why}")
    return str(path)


@cache
def _folder() -> Path:
    try:
        return Path(finished([*_SCRIPT, "--path"], dict(os.environ), cwd=ROOT, patience=PATH_SECONDS).strip())
    except Failed as error:
        raise Unavailable(f"its folder could not be told: {error}") from None


@cache
def _install_parts() -> str:
    """Try once, as an installation in vain may take long. What the last of it had to say."""
    try:
        _install("what make test-real uses", _SCRIPT, PARTS_SECONDS)
    except Failed as error:
        return str(error)
    return "it is not among what make test-real uses"


@cache
def python_of(name: str) -> str:
    """The interpreter of a contender's own environment, made when it is first asked for."""

    def make(folder: Path) -> None:
        venv.create(folder, with_pip=True)
        quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--require-hashes")
        _install(name, [str(folder / "bin" / "python"), *quiet, "-r", str(LOCKS / f"{name}.lock")])

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
        _install(name, [npm, "--prefix", str(folder), "install", "--no-audit", "--no-fund", "--loglevel=error"])

    return str(_made(name, LOCKS / f"{name}.json", make) / "node_modules" / ".bin" / name)


def _made(name: str, manifest: Path, make: Callable[[Path], None]) -> Path:
    """The folder of what a manifest names, made if need be. Raises Unavailable."""
    digest = hashlib.sha256(sys.version.encode() + manifest.read_bytes()).hexdigest()[:16]
    folder = cache_root() / "bench" / f"{name}-{digest}"
    if not (folder / COMPLETE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            make(folder)
        except (OSError, subprocess.SubprocessError, Failed) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unavailable(f"it could not be installed: {error}") from None
        (folder / COMPLETE).touch()
    return folder


def _install(what: str, command: list[str], patience: float = INSTALL_SECONDS) -> None:
    """Says that it begins, and that it still works."""
    print(f"bench: installing {what}", file=sys.stderr, flush=True)

    def still(passed: float) -> None:
        print(f"bench: still installing {what} after {passed:.0f} s", file=sys.stderr, flush=True)

    finished(command, dict(os.environ), cwd=ROOT, patience=patience, still=still)


def python_version(python: str, package: str) -> str:
    """Of a package in an interpreter's environment. Raises Failed."""
    ask = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    return finished([python, "-c", ask, package], dict(os.environ), cwd=ROOT, patience=PATH_SECONDS).strip()


def npm_version(package: str) -> str:
    """Of a package among the parts of scripts/real_parts.py."""
    return _version_in(Path(npm_modules()) / package)


def npm_version_of(name: str) -> str:
    """Of a package that only benchmarks use."""
    return _version_in(Path(npm_program_of(name)).parent.parent / name)


def _version_in(folder: Path) -> str:
    return str(json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])


def cache_root() -> Path:
    """The same place as scripts/real_parts.py uses."""
    given = os.environ.get("OPENCLAW_PARTS")
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openclaw-py")
