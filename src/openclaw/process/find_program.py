"""Which file a command means. Looked up on an absolute search path: never in the current directory, never by a shell."""

import os
import sys
from pathlib import Path

from openclaw.errors import ProcessError

# What Windows runs, in the order it looks for them, where PATHEXT says nothing else.
_SUFFIXES = ".COM;.EXE;.BAT;.CMD"
NOT_FOUND = "Install it, or give its full path as `command`."


def find_program(
    command: str,
    *,
    search_path: str,
    cwd: str | Path | None = None,
    suffixes: str | None = None,
    not_found: str = NOT_FOUND,
) -> str:
    """The absolute path of `command`. One with a slash in it is a path, relative to `cwd`. Raises ProcessError.

    `suffixes` is the PATHEXT of Windows, by which `npx` means `npx.cmd` there. `not_found` is what to do where the search path has no
    such program.
    """
    if not command or "\0" in command:
        raise ProcessError("The command is empty or has a null character in it.")
    endings = endings_of(command, suffixes or _SUFFIXES)
    if os.sep in command or (os.altsep and os.altsep in command):
        path = os.path.abspath(os.path.join(cwd or os.getcwd(), os.path.expanduser(command)))
        found = next((path + ending for ending in endings if os.path.exists(path + ending)), None)
        if found is None:
            raise ProcessError(f"There is no program at {path}.", hint=_split_hint(command) or "Check `command`.")
        if not _is_program(found):
            raise ProcessError(f"{found} is not an executable file.", hint="Check `command`, or make it executable.")
        return found
    for folder in search_path.split(os.pathsep):
        # An empty or relative entry would mean the current directory, which others may write to.
        if os.path.isabs(folder):
            for ending in endings:
                if _is_program(path := os.path.join(folder, command + ending)):
                    return path
    raise ProcessError(f"There is no program '{command}' on the search path.", hint=_split_hint(command) or not_found)


def endings_of(command: str, suffixes: str, platform: str = sys.platform) -> list[str]:
    """What may stand behind a command in the name of its file, in this order. On Windows a file without a suffix is no program: beside
    `npx.cmd` there is a script `npx` for other systems."""
    known = [suffix for suffix in suffixes.lower().split(";") if suffix.startswith(".")]
    if platform != "win32" or command.lower().endswith(tuple(known)):
        return [""]
    return known


def _split_hint(command: str) -> str:
    """What to do when a whole command line stands where a program's name should; empty when it is one word."""
    words = command.split()
    return f"Arguments belong in `args`: `command` is {words[0]} alone." if len(words) > 1 else ""


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
