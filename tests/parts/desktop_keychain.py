"""The system's keychain for real: gnome-keyring, a Secret Service, on a bus of its own."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

UNLOCK = "printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1"
# Started, but nobody types the password.
START = "gnome-keyring-daemon --start --components=secrets >/dev/null 2>&1"


def on_a_bus(home: Path, *commands: str, begin: str = UNLOCK, env: Mapping[str, str] | None = None) -> list[str]:
    """Run shell lines beside a keyring that lives in `home`; what was printed, line by line."""
    for program in ("dbus-run-session", "gnome-keyring-daemon"):
        assert shutil.which(program), f"{program} is missing: scripts/full_parts installs it"
    home.mkdir(exist_ok=True)
    whole = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""), **(env or {})}
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", "\n".join((begin, *commands))],
        env={**whole, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.splitlines()
