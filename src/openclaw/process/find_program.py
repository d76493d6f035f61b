"""Which file a command means. Looked up on an absolute search path: never in the current directory, never by a shell."""

import os
from pathlib import Path

from openclaw.errors import ProcessError


def find_program(command: str, *, search_path: str, cwd: str | Path | None = None) -> str:
    """The absolute path of `command`. One with a slash in it is a path, relative to `cwd`. Raises ProcessError."""
    if not command or "\0" in command:
        raise ProcessError("The command is empty or has a null character in it.")
    if os.sep in command or (os.altsep and os.altsep in command):
        path = os.path.abspath(os.path.join(cwd or os.getcwd(), os.path.expanduser(command)))
        if not os.path.exists(path):
            raise ProcessError(f"There is no program at {path}.", hint=_split_hint(command) or "Check `command`.")
        if not _is_program(path):
            raise ProcessError(f"{path} is not an executable file.", hint="Check `command`, or make it executable.")
        return path
    for folder in search_path.split(os.pathsep):
        # An empty or relative entry would mean the current directory, which others may write to.
        if os.path.isabs(folder) and _is_program(path := os.path.join(folder, command)):
            return path
    hint = _split_hint(command) or "Install it, or give its full path as `command`."
    raise ProcessError(f"There is no program '{command}' on the search path.", hint=hint)


def _split_hint(command: str) -> str:
    """What to do when a whole command line stands where a program's name should; empty when it is one word."""
    words = command.split()
    return f"Arguments belong in `args`: `command` is {words[0]} alone." if len(words) > 1 else ""


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
