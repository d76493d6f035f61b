"""The token store's key in a real Secret Service: gnome-keyring on a bus of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

USER = Path(__file__).parent.parent / "parts" / "auth_keychain_user.py"


def on_a_bus(home: Path, *commands: str) -> list[str]:
    """Run shell lines beside an unlocked keyring that lives in `home`; what our program printed, line by line."""
    for program in ("dbus-run-session", "gnome-keyring-daemon"):
        assert shutil.which(program), f"{program} is missing: install dbus and gnome-keyring"
    home.mkdir(exist_ok=True)
    unlock = "printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", "\n".join((unlock, *commands))],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_key_survives_in_the_keychain_and_nowhere_else(tmp_path: Path) -> None:
    tokens, home = tmp_path / "tokens", tmp_path / "home"
    run = f"{sys.executable} {USER} {tokens}"
    assert on_a_bus(home, f"{run} write", f"{run} read") == ["keychain: kept in the keychain"] * 2
    assert not (tokens / "key").exists()
    # Another session of the same person: the keyring is on the disk, locked by the password.
    assert on_a_bus(home, f"{run} read") == ["keychain: kept in the keychain"]


def test_another_persons_keychain_opens_nothing(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    run = f"{sys.executable} {USER} {tokens}"
    on_a_bus(tmp_path / "home", f"{run} write")
    (said,) = on_a_bus(tmp_path / "other", f"{run} read")
    assert "which cannot be used: it is not there any more" in said
