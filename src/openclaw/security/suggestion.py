"""The narrowest pattern that a person is likely to mean by "always" for a call. Pure.

Owns what is suggested: below the folder of a path, or below the path where a name says that it is a folder itself, on the host of an
address, the beginning of a command line, else nothing. A pattern is only suggested when it matches the call itself and says no more than
its words do: a value with a wildcard in it has none.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.config.call_pattern import glob
from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.late_pattern import late_pattern
from openclaw.security.patterns import Paths, covers, has_inline_code
from openclaw.tool import Tool

# Arguments (or the last word of one) that hold a path.
_PATHS = late_pattern(
    r"(?:^|[_.-])(?:path|file|filename|filepath|dir|directory|folder)$|(?:Path|File|Dir|Directory|Folder)$",
    re.IGNORECASE,
)
# Arguments that hold a folder, and tools whose path is one: that folder is meant, and not the one around it. Where that is wrong, and it is
# a file, the pattern is narrower than it need be.
_FOLDERS = late_pattern(
    r"(?:^|[_.-])(?:dir|directory|folder|(?:repo|repository|project|workspace|root)[_.-]?path)$|(?:Dir|Directory|Folder)$"
    r"|^(?:repo|repository|project|workspace|root)Path$",
    re.IGNORECASE,
)
_OF_FOLDERS = late_pattern(r"(?:^|[_.-])(?:dir|directory|directories|folder|tree)(?:$|[_.-])", re.IGNORECASE)
# Programs whose next word says what they do; of any other program only the whole command line is suggested.
_WITH_VERBS = frozenset(
    {
        "apt",
        "brew",
        "bundle",
        "cargo",
        "composer",
        "docker",
        "dotnet",
        "gem",
        "gh",
        "git",
        "go",
        "gradle",
        "helm",
        "just",
    }
    | {
        "kubectl",
        "make",
        "mvn",
        "npm",
        "nx",
        "pip",
        "pnpm",
        "podman",
        "poetry",
        "rake",
        "systemctl",
        "task",
        "terraform",
    }
    | {"uv", "yarn"}
)
_VERB = late_pattern(r"[a-z][a-z0-9:-]*")
# A folder with fewer names above it (`/`, `/home`) is too much to mean by accident.
_LEAST_DEPTH = 2
_MOST_SHOWN = 60


class Suggestion(msgspec.Struct, frozen=True):
    """`arguments` as a Grant has them, and what they mean in words that follow "always"."""

    arguments: Mapping[str, str]
    text: str


def suggest(tool: Tool, arguments: Mapping[str, Any], paths: Paths) -> Suggestion | None:
    if tool.kind == "native" and tool.name == "exec":
        return _of_command(arguments)
    for name, value in arguments.items():
        if isinstance(value, str) and value:
            found = _of_address(name, value) or _of_path(tool, name, value, paths)
            if found is not None and covers(glob(found.arguments[name]), value, real=paths.get(name, ())):
                return found
    return None


def exact(arguments: Mapping[str, Any]) -> Suggestion | None:
    """These arguments as they are; None when one of them cannot be written as a pattern that means just that."""
    values = {name: value if isinstance(value, str) else to_json(value).decode() for name, value in arguments.items()}
    if not values or not all(
        _is_plain(text) and not isinstance(arguments[name], list | dict) for name, text in values.items()
    ):
        return None
    told = " and ".join(f"with {name} {_shortened(text)}" for name, text in values.items())
    return Suggestion(values, told)


def _of_command(arguments: Mapping[str, Any]) -> Suggestion | None:
    command = arguments.get("command")
    if arguments.get("shell") or not isinstance(command, list | tuple) or not command or has_inline_code(command):
        return None
    words = [str(word) for word in command]
    if any("*" in word for word in words):
        return None
    if len(words) > 1 and words[0] in _WITH_VERBS and _VERB.fullmatch(words[1]):
        pattern, told = [*words[:2], "*"], f"{words[0]} {words[1]} with any further words"
    else:
        pattern, told = words, f"exactly {_shortened(' '.join(words))}"
    found = {"command": to_json(pattern).decode()}
    cwd = arguments.get("cwd")
    if isinstance(cwd, str) and cwd:
        if not _is_plain(cwd):
            return None
        found["cwd"], told = cwd, f"{told} in {_shortened(cwd)}"
    return Suggestion(found, told)


def _of_address(name: str, value: str) -> Suggestion | None:
    if not value.casefold().startswith(("http://", "https://")):
        return None
    try:
        address = glob(value).address
    except UsageError:
        return None
    if address is None or "*" in address[1]:
        return None
    scheme, host, port, _ = address
    shown = f"[{host}]" if ":" in host else host
    port_shown = "" if port == {"http": 80, "https": 443}[scheme] else f":{port}"
    return Suggestion({name: f"{scheme}://{shown}{port_shown}/*"}, f"at {shown}{port_shown}")


def _of_path(tool: Tool, name: str, value: str, paths: Paths) -> Suggestion | None:
    if not _PATHS.search(name):
        return None
    forms = paths.get(name) or (value,)
    path = next((form for form in forms if form.startswith("/")), forms[0])
    if not _is_plain(path) or "://" in path:
        return None
    bare = path.rstrip("/")
    is_folder = bare != path or _FOLDERS.search(name) or _OF_FOLDERS.search(tool.name.removeprefix(tool.origin))
    folder = bare if is_folder else bare.rpartition("/")[0]
    if len([part for part in folder.split("/") if part]) < (_LEAST_DEPTH if path.startswith("/") else 1):
        return None
    return Suggestion({name: f"{folder}/**"}, f"below {folder}")


def _is_plain(text: str) -> bool:
    """Whether a text as a pattern means itself and nothing else."""
    if not text or "*" in text or text.startswith(("[", "~")):
        return False
    try:
        return glob(text).text == text
    except UsageError:
        return False


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
