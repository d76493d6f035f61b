"""What stands around this program: the port it would listen on, and other programs of its name."""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path

from openclaw.commands.check import Check
from openclaw.config.load import Config
from openclaw.control.port import PortTakenError, listen
from openclaw.errors import OpenClawError
from openclaw.log import one_line
from openclaw.typed_words import quote_word

_NAME = "openclaw"
# What the script of an installation of ours begins with: an interpreter and a few lines. More is not read.
_SCRIPT_BYTES = 4096
_OUR_MARK = b"openclaw.__main__"


def port_check(config: Config) -> Check | None:
    """Whether a gateway could listen where the config says; None when it may choose. Nothing may listen there yet but by somebody else."""
    section = config.root.gateway
    if not section.port:
        return None
    try:
        for listener in listen(section.bind, section.port):
            listener.close()
    except PortTakenError as error:
        return Check("Gateway", "warning", f"none could start: {error.message}", f"{error.hint}, or end that program.")
    except OpenClawError as error:
        return Check("Gateway", "warning", f"none could start: {error.message}", error.hint)
    return None


def path_check(env: Mapping[str, str]) -> Check | None:
    """The program that a shell starts for our name, when that is not this installation; None when it is, or when there is none."""
    first = next(_programs(env.get("PATH", "")), None)
    if first is None or _is_this(first):
        return None
    shown = one_line(str(first), 200)
    if _is_ours(first):
        sentence = f"`{_NAME}` in your shell is another installation, {shown}; this one is in {sys.prefix}"
    else:
        sentence = f"`{_NAME}` in your shell is another program, {shown}; this one is in {sys.prefix}"
    here = Path(sys.executable).parent
    return Check("PATH", "warning", sentence, f"Put {here} first in PATH, or type {here / _NAME}")


def distribution_check(places: list[str]) -> Check | None:
    """Somebody else's package that brings a module and a program of our name, beside us: whichever was installed last is run."""
    if all((found.name or "").lower() != _NAME for found in distributions(path=places)):
        return None
    sentence = f"the distribution `{_NAME}` is installed in {sys.prefix} too; it is not ours, and overwrites our files"
    return Check(
        "Program",
        "warning",
        sentence,
        f"Run: {quote_word(sys.executable)} -m pip uninstall {_NAME}, then install OpenClaw again.",
    )


def _programs(path: str) -> Iterator[Path]:
    for directory in path.split(os.pathsep):
        file = Path(directory or ".") / _NAME
        if file.is_file() and os.access(file, os.X_OK):
            yield file


def _is_this(program: Path) -> bool:
    own = Path(sys.executable).parent / _NAME
    return _same(program, own) or _same(program, Path(sys.argv[0]))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_ours(program: Path) -> bool:
    try:
        with program.open("rb") as file:
            return _OUR_MARK in file.read(_SCRIPT_BYTES)
    except OSError:
        return False
