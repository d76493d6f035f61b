"""Other programs of our name, as `openclaw doctor` finds them."""

import sys
from pathlib import Path

from openclaw.commands.check import Check
from openclaw.commands.doctor_machine import distribution_check
from openclaw.typed_words import quote_word


def installed(folder: Path, name: str) -> list[str]:
    """A place where packages are installed, with one of this name."""
    metadata = folder / f"{name.replace('-', '_')}-2.0.2.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0.2\n", encoding="utf-8")
    return [str(folder)]


def test_a_package_of_our_command_s_name_beside_us_is_named_with_what_to_do(tmp_path: Path) -> None:
    assert distribution_check(installed(tmp_path, "openclaw")) == Check(
        "Program",
        "warning",
        f"the distribution `openclaw` is installed in {sys.prefix} too; it is not ours, and overwrites our files",
        f"Run: {quote_word(sys.executable)} -m pip uninstall openclaw, then install OpenClaw again.",
    )


def test_our_own_package_is_no_stranger(tmp_path: Path) -> None:
    assert distribution_check(installed(tmp_path, "openclaw-host")) is None
