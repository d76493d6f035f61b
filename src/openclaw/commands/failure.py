"""What went wrong, as it is told: one sentence for a person, one object for a program that asked for JSON. Pure.

An error may repeat words of a server, which are cleaned here, and must not repeat a secret, which is masked here.
"""

import re
from collections.abc import Sequence
from typing import Any

from openclaw.commands.parse import Command, Option, parse
from openclaw.errors import ConfigError, OpenClawError, UsageError
from openclaw.redact import redact
from openclaw.security.external import clean_terminal

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
# The error that says no more than that something failed.
_ANY = "failed"


def sentence(error: object) -> str:
    """What went wrong, for a terminal."""
    return clean_terminal(redact(str(error)))


def error_code(error: OpenClawError) -> str:
    """The kind of an error in small letters: `usage`, `config`, `sign-in-needed`."""
    kind = type(error)
    return _ANY if kind is OpenClawError else _WORD_START.sub("-", kind.__name__.removesuffix("Error")).lower()


def error_json(error: OpenClawError) -> dict[str, Any]:
    """The object that `--json` prints in place of a result. `problems` are all that a config file has."""
    told: dict[str, Any] = {
        "code": error_code(error),
        "message": sentence(error.message),
        "hint": sentence(error.hint),
        "exitCode": error.exit_code,
    }
    if isinstance(error, ConfigError):
        told["problems"] = [
            {
                "message": sentence(problem.message),
                "file": problem.file,
                "line": problem.line,
                "column": problem.column,
                "path": problem.path,
                "hint": sentence(problem.hint),
            }
            for problem in error.problems
        ]
    return {"error": told}


def wants_json(words: Sequence[str], root: Command, shared: Sequence[Option]) -> bool:
    """Whether a command line asks for JSON, also one that cannot be read."""
    try:
        return parse(root, words, shared).flag("json")
    except UsageError:
        return "--json" in words[: words.index("--") if "--" in words else None]
