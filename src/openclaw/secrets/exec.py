"""`secret://exec/ALIAS/ID`: a program of yours, such as `op`, `bw` or `pass`, that `secrets.providers.ALIAS` describes.

Owns what such a program must be (an absolute path, owned by us or by root, writable by nobody else), what it is told and how its answer
is read: with `jsonOnly` (the default) the JSON protocol of OpenClaw, version 1, on its input and output; otherwise what it prints is
the secret. Never a shell. What it writes to standard error is not shown: it could be the secret.
"""

import json
import math
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from openclaw.config.sections import SecretProviderEntry
from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError
from openclaw.log import one_line
from openclaw.process.environment import child_environment
from openclaw.secrets.configured import require
from openclaw.secrets.helper_program import ask, text_of
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import split_first

PROTOCOL = 1
# Never starts like an option, and holds nothing that a program could take for one.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/#@+=, -]{0,255}")
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
# Said by the program on our behalf, in words of ours.
_CODES = {
    "NOT_FOUND": "the program knows no such secret",
    "AMBIGUOUS_DUPLICATE_KEY": "the program knows more than one secret of that name",
}
_OTHERS_MAY_WRITE = 0o022


class ExecSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._dependencies = dependencies

    async def fetch(self, rest: str) -> str:
        alias, following = split_first(rest, "secret://exec/ALIAS/ID")
        provider = require(self._dependencies.settings, alias, "exec")
        return await run_helper(self._dependencies, alias, provider, unquote(following))


async def run_helper(dependencies: ProviderDependencies, alias: str, provider: SecretProviderEntry, id: str) -> str:
    """The secret `id` of a configured program. Raises SecretError."""
    if not _ID.fullmatch(id) or any(part in (".", "..") for part in id.split("/")):
        raise SecretError("this is not a name that is handed to a program", hint="It starts with a letter or digit.")
    if not provider.command:
        raise SecretError(f"secrets.providers.{alias} names no command", hint="Add the absolute path of a program.")
    command = await in_daemon_thread(lambda: trusted_program(provider.command or "", provider.trusted_dirs))
    child = child_environment(provider.env, pass_env=provider.pass_env, parent=dependencies.env)
    if child.refused:
        raise SecretError(
            f"secrets.providers.{alias} sets {', '.join(child.refused)}",
            hint="These change which code runs: remove them.",
        )
    question = {"protocolVersion": PROTOCOL, "provider": alias, "ids": [id]}
    finished = await ask(
        [command, *(arg.replace("{id}", id) for arg in provider.args)],
        env=child.variables,
        timeout=provider.timeout_ms / 1000,
        silence=math.inf if provider.no_output_timeout_ms is None else provider.no_output_timeout_ms / 1000,
        input=json.dumps(question).encode() if provider.json_only else b"",
        limit=provider.max_output_bytes,
    )
    if finished.returncode:
        raise SecretError(
            f"{command} failed (exit code {finished.returncode})", hint="Run it by hand to see what it says."
        )
    text = text_of(finished.stdout)
    return _answer(text, id) if provider.json_only else text


def _answer(text: str, id: str) -> str:
    try:
        answer: Any = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or answer.get("protocolVersion") != PROTOCOL:
        raise SecretError(
            f"the program did not answer in the JSON protocol, version {PROTOCOL}",
            hint="Set jsonOnly: false if it prints the secret and nothing else.",
        )
    values, errors = answer.get("values"), answer.get("errors")
    if isinstance(errors, dict) and id in errors:
        code = errors[id].get("code") if isinstance(errors[id], dict) else None
        known = code if isinstance(code, str) and _CODE.fullmatch(code) else "no code"
        raise SecretError(_CODES.get(known, f"the program reports an error ({known})"))
    value = values.get(id) if isinstance(values, dict) else None
    if not isinstance(value, str):
        raise SecretError("the program's answer does not have this secret as a text")
    return value


def trusted_program(
    command: str, trusted_dirs: tuple[str, ...] | None, *, modes_tell: bool = sys.platform != "win32"
) -> str:
    """The real path of a helper that nobody else can have changed. Blocking. Raises SecretError.

    On Windows modes do not tell who may change a file: there the directories of `trustedDirs` are what counts.
    """
    shown = one_line(command, 200)
    if not os.path.isabs(command):
        raise SecretError(f"{shown} is not an absolute path", hint="Write where the program is, from / on.")
    real = os.path.realpath(command)
    try:
        file, folder = os.stat(real), os.stat(os.path.dirname(real))
    except OSError as error:
        raise SecretError(f"{shown} cannot be used: {(error.strerror or 'unknown error').lower()}") from None
    if not stat.S_ISREG(file.st_mode) or not os.access(real, os.X_OK):
        raise SecretError(f"{shown} is not an executable file")
    if hasattr(os, "geteuid") and file.st_uid not in (0, os.geteuid()):
        raise SecretError(f"{shown} belongs to another user", hint="It has to be owned by you or by root.")
    if modes_tell and file.st_mode & _OTHERS_MAY_WRITE:
        raise SecretError(f"{shown} can be changed by others", hint=f"Run: chmod go-w {shown}")
    if modes_tell and folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        raise SecretError(f"{shown} is in a directory that anybody can write to", hint="Move it.")
    if trusted_dirs is not None and not any(_inside(real, trusted) for trusted in trusted_dirs):
        raise SecretError(f"{shown} is in none of trustedDirs", hint="Move it, or add its directory.")
    return real


def _inside(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(os.path.realpath(os.path.expanduser(folder)))
