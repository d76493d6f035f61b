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
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "bench" / "contenders" / "environments"
# Written last: an environment without it was left half made.
COMPLETE = "complete"
# The slowest of them takes a minute; a registry that never answers must not hold up the run.
INSTALL_SECONDS = 600


class Unavailable(Exception):
    """A part that is not there; its text says why."""


@cache
def real_parts() -> Path:
    """The folder of scripts/real_parts.py, made by it if need be."""
    script = [sys.executable, str(ROOT / "scripts" / "real_parts.py")]
    folder = Path(subprocess.run([*script, "--path"], capture_output=True, text=True, check=True).stdout.strip())
    if not folder.is_dir():
        made = subprocess.run(script, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode != 0:
            raise Unavailable((made.stderr.strip().splitlines() or ["it could not be installed"])[-1])
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
    lock = LOCKS / f"{name}.lock"
    digest = hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()[:16]
    folder = cache_root() / "bench" / f"{name}-{digest}"
    python = folder / "bin" / "python"
    if not (folder / COMPLETE).exists():
        print(f"bench: installing {name}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            venv.create(folder, with_pip=True)
            _pip(python, "-r", str(lock))
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unavailable(f"it could not be installed: {_reason(error)}") from None
        (folder / COMPLETE).touch()
    return str(python)


def _pip(python: Path, *what: str) -> None:
    quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--require-hashes")
    subprocess.run(
        [str(python), *quiet, *what],
        check=True,
        timeout=INSTALL_SECONDS,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR")]
        return lines[-1] if lines else f"pip ended with {error.returncode}"
    return "it took too long" if isinstance(error, subprocess.TimeoutExpired) else str(error)


def cache_root() -> Path:
    """The same place as scripts/real_parts.py uses."""
    given = os.environ.get("OPENCLAW_PARTS")
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openclaw-py")
