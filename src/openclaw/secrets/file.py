"""`secret://file/PATH[#JSON_POINTER]`: a file that only we can read.

Owns what a file must be: regular, ours, mode 0600 or less, with one name, and where it says it is: a link may lead to a name in or below
the same directory (as mounted secrets do) and nowhere else. What was checked is what is read: the checks are on the open file.
`secret://file/run/x` and `secret://file//run/x` mean /run/x; `~/x` is in the home directory, `./x` beside the config file; on Windows
`secret://file/C:/keys/x` is C:/keys/x.
"""

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError
from openclaw.log import one_line
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import scalar, split_fragment

# Certificates and service accounts are a few KiB; past this it is not a secret but a mistake.
MAX_BYTES = 1024 * 1024
# Any permission of the group or of others.
_NOT_OURS_ALONE = 0o077
_DRIVE = re.compile(r"/*[A-Za-z]:/")


class FileSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._place = dependencies.place

    async def fetch(self, rest: str) -> str:
        name, pointer = split_fragment(rest)
        path = self._place(written(name))
        text = await read_private(path)
        return find(text, pointer) if "#" in rest else text


def written(name: str, *, windows: bool = sys.platform == "win32") -> str:
    """The path that the name in a reference means."""
    if windows and _DRIVE.match(name):
        return name.lstrip("/")
    return name if name.startswith(("~/", "./", "../", "/")) else "/" + name


async def read_private(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a file that is ours alone. Raises SecretError."""
    return await in_daemon_thread(lambda: _read(path, limit))


def find(text: str, pointer: str) -> str:
    """The text at a JSON pointer (RFC 6901) of a JSON document. Raises SecretError."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise SecretError("the file is not JSON", hint="Leave out the # to take the whole file.") from None
    if pointer and not pointer.startswith("/"):
        raise SecretError(
            "this is not a JSON pointer", hint="A pointer starts with a slash, as in #/database/password."
        )
    for escaped in pointer.split("/")[1:]:
        key = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif (
            isinstance(value, list)
            and key.isascii()
            and key.isdigit()
            and key == str(int(key))
            and int(key) < len(value)
        ):
            value = value[int(key)]
        else:
            raise SecretError(f"the file has nothing at {one_line(pointer, 120)}")
    return scalar(value, f"what stands at {one_line(pointer, 120) or 'the top'}")


def _read(path: Path, limit: int) -> str:
    shown = one_line(str(path), 200)
    try:
        real = os.path.realpath(path)
        if not _below(real, os.path.realpath(path.parent)):
            raise SecretError(f"{shown} is a link to another directory", hint="Name the file itself.")
        # Without waiting: a named pipe would keep us until somebody writes.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(real, flags)
    except OSError as error:
        raise SecretError(f"{shown} cannot be read: {(error.strerror or 'unknown error').lower()}") from None
    try:
        _check(os.fstat(descriptor), shown, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise SecretError(f"{shown} is larger than {limit} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SecretError(f"{shown} is not text (UTF-8)") from None


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _check(status: os.stat_result, shown: str, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SecretError(f"{shown} is not a regular file")
    if hasattr(os, "geteuid"):
        if status.st_uid != os.geteuid():
            raise SecretError(
                f"{shown} belongs to another user", hint="It has to be owned by the user OpenClaw runs as."
            )
        if status.st_mode & _NOT_OURS_ALONE:
            raise SecretError(
                f"{shown} can be used by others (mode {stat.S_IMODE(status.st_mode):04o})",
                hint=f"Run: chmod 600 {shown}",
            )
    if status.st_nlink > 1:
        raise SecretError(f"{shown} has another name elsewhere (a hard link)", hint="Make a copy and name that.")
    if status.st_size > limit:
        raise SecretError(f"{shown} is larger than {limit} bytes")
