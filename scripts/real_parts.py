"""Install the parts that `make test-real` runs against: npm packages and Python environments, once, outside the checkout.

With `--full` also what `make test-full` alone needs (requirements/full); with `--only NAME` nothing but that environment of it. Folders are
named by a hash of their manifests, so a changed version makes a new one and an old one never lies. `python scripts/real_parts.py --path`
prints where the parts are, `--path NAME` where an environment of requirements/full is. A part that cannot be installed keeps no other from
it: it is named at the end, with exit code 1, and the next run installs what is missing.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).parent.parent
MANIFESTS = HERE / "requirements" / "real"
FULL = HERE / "requirements" / "full"
# What the npm packages of requirements/full are called beside its environments.
NPM = "npm"
# A registry that answers badly once usually answers well the next time.
TRIES = 3
# Written last: an environment without it was left half made.
COMPLETE = "complete"
# Of what an installer printed: enough to see why it failed.
REASON_LINES = 6


def cache_folder() -> Path:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(MANIFESTS.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return cache_root() / digest.hexdigest()[:16]


def cache_root() -> Path:
    own = os.environ.get("OPENCLAW_PARTS")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openclaw-py"


def full_folder(lock: Path) -> Path:
    """Where an environment that `make test-full` alone needs is."""
    digest = hashlib.sha256(sys.version.encode() + lock.read_bytes())
    return cache_root() / f"{lock.stem}-{digest.hexdigest()[:16]}"


def full_npm_folder() -> Path:
    """Where the npm packages are that `make test-full` alone needs."""
    digest = hashlib.sha256((FULL / "package.json").read_bytes())
    return cache_root() / f"npm-{digest.hexdigest()[:16]}"


class FailedPart(Exception):
    """A part that could not be installed; its text names it and says why."""


def attempt(what: str, command: list[str], cwd: Path, env: dict[str, str] | None = None) -> None:
    for number in range(1, TRIES + 1):
        print(f"parts: installing {what}" + (f" (try {number})" if number > 1 else ""), file=sys.stderr)
        done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return
        if number < TRIES:
            time.sleep(number * 2)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    raise FailedPart("\n    ".join([f"{what} could not be installed:", *lines[-REASON_LINES:]]))


def install_npm(manifest: Path, folder: Path, env: dict[str, str] | None = None) -> list[FailedPart]:
    """All packages that are missing at once; where that fails, each alone. What could not be installed."""
    wanted = json.loads(manifest.read_text())["dependencies"]
    # An alias is written npm:NAME@VERSION.
    missing = [
        f"{name}@{version}" for name, version in wanted.items() if installed(folder, name) != version.rpartition("@")[2]
    ]
    if not missing:
        return []
    npm = shutil.which("npm")
    if npm is None:
        return [FailedPart("npm was not found. Install Node.js 20 or later with npm, or run `make test` alone.")]
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "package.json").exists():
        (folder / "package.json").write_text('{"private": true}\n')
    options = ("--save-exact", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
    try:
        attempt(f"from npm {', '.join(missing)}", [npm, "install", *options, *missing], folder, env)
        return []
    except FailedPart as failure:
        if len(missing) == 1:
            return [failure]
    failed = []
    for package in missing:
        try:
            attempt(f"from npm {package}", [npm, "install", *options, package], folder, env)
        except FailedPart as failure:
            failed.append(failure)
    return failed


def installed(folder: Path, name: str) -> str:
    """The version of an npm package that is there; empty when none is."""
    try:
        return str(json.loads((folder / "node_modules" / name / "package.json").read_text())["version"])
    except (OSError, ValueError, KeyError):
        return ""


def install_full_npm() -> list[FailedPart]:
    # Some of them take no older Node than the one that is among the other parts.
    programs = cache_folder() / "npm" / "node_modules" / ".bin"
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return install_npm(FULL / "package.json", full_npm_folder(), env)


def install_python(lock: Path, folder: Path) -> list[FailedPart]:
    """An environment records its own path, so it is made where it stays and marked when it is complete."""
    if (folder / COMPLETE).exists():
        return []
    shutil.rmtree(folder, ignore_errors=True)
    quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--require-hashes")
    try:
        venv.create(folder, with_pip=True)
        attempt(
            f"Python environment '{lock.stem}'",
            [str(folder / "bin" / "python"), *quiet, "-r", str(lock)],
            folder,
        )
    except FailedPart as failure:
        shutil.rmtree(folder, ignore_errors=True)
        return [failure]
    (folder / COMPLETE).touch()
    return []


def main() -> None:
    final = cache_folder()
    if "--path" in sys.argv:
        names = sys.argv[sys.argv.index("--path") + 1 :]
        print(final if not names else full_npm_folder() if names[0] == NPM else full_folder(FULL / f"{names[0]}.lock"))
        return
    if "--only" in sys.argv:
        name = sys.argv[sys.argv.index("--only") + 1]
        lock = FULL / f"{name}.lock"
        stop_at(install_full_npm() if name == NPM else install_python(lock, full_folder(lock)))
        return
    # The folder stands under its name when everything has been tried once, so that who finds it need not wait.
    folder = final if final.is_dir() else final.with_name(f"{final.name}.building")
    folder.mkdir(parents=True, exist_ok=True)
    failed = install_npm(MANIFESTS / "package.json", folder / "npm")
    for lock in sorted(MANIFESTS.glob("*.lock")):
        failed += install_python(lock, final.with_name(f"{final.name}-python") / lock.stem)
    if folder != final:
        os.replace(folder, final)
    if "--full" in sys.argv:
        failed += install_full_npm()
        for lock in sorted(FULL.glob("*.lock")):
            failed += install_python(lock, full_folder(lock))
    stop_at(failed)


def stop_at(failed: list[FailedPart]) -> None:
    if failed:
        sys.exit("\n".join(f"parts: {failure}" for failure in failed))


if __name__ == "__main__":
    main()
