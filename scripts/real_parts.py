"""Install the parts that `make test-real` runs against: npm packages and Python environments, once, outside the checkout.

The folder is named by a hash of the manifests, so a changed version makes a new one and an old one never lies.
`python scripts/real_parts.py --path` prints it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).parent.parent
MANIFESTS = HERE / "requirements" / "real"
# A registry that answers badly once usually answers well the next time.
TRIES = 3


def cache_folder() -> Path:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(MANIFESTS.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    root = (
        os.environ.get("OPENCLAW_PARTS")
        or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openclaw-py"
    )
    return Path(root) / digest.hexdigest()[:16]


def attempt(what: str, command: list[str], **options: object) -> None:
    for number in range(1, TRIES + 1):
        print(f"parts: installing {what}" + (f" (try {number})" if number > 1 else ""), file=sys.stderr)
        if subprocess.run(command, **options).returncode == 0:  # type: ignore[call-overload]
            return
        time.sleep(number * 2)
    sys.exit(f"parts: {what} could not be installed: {' '.join(command)}")


def install_npm(folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(MANIFESTS / "package.json", folder)
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("parts: npm was not found. Install Node.js 20 or later with npm, or run `make test` alone.")
    attempt(
        "npm packages",
        [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )


def install_python(name: str, folder: Path) -> None:
    venv.create(folder, with_pip=True)
    attempt(
        f"Python environment '{name}'",
        [
            str(folder / "bin" / "python"),
            *("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--require-hashes"),
            *("-r", str(MANIFESTS / f"{name}.lock")),
        ],
    )


def main() -> None:
    final = cache_folder()
    if "--path" in sys.argv:
        print(final)
        return
    if final.is_dir():
        return
    building = final.with_name(f"{final.name}.building-{os.getpid()}")
    building.mkdir(parents=True)
    try:
        install_npm(building / "npm")
        # Environments record their own path, so they are made where they stay and only marked complete at the end.
        for lock in sorted(MANIFESTS.glob("*.lock")):
            home = final.with_name(f"{final.name}-python") / lock.stem
            shutil.rmtree(home, ignore_errors=True)
            install_python(lock.stem, home)
        os.replace(building, final)
    finally:
        shutil.rmtree(building, ignore_errors=True)


if __name__ == "__main__":
    main()
