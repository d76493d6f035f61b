"""How each program writes "the value is elsewhere" in a text, and how we do.

Owns the syntaxes. What is a reference there becomes one here and is never resolved; what is plain text there is escaped where it would be a
reference here. `secret://` is ours alone: another program's file may not reach into this machine's secret stores with it.
"""

import os
import re
from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath
from typing import Final

from openclaw.config.variables import NAME, escape
from openclaw.importers.reading import Origin, Unusable
from openclaw.log import one_line
from openclaw.redact import SECRET_SCHEME

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_EDITOR = (
    rf"env:(?P<env>{_VARIABLE})|(?P<home>userHome)|(?P<name>workspaceFolderBasename)"
    r"|(?P<folder>workspaceFolder)|(?P<separator>pathSeparator|/)"
)
# A program without references: nothing matches.
NONE: Final = re.compile(r"(?!)")
BRACES: Final = re.compile(rf"\$\{{(?P<env>{_VARIABLE})(?P<colon>:-(?P<default>[^}}]*))?\}}")
CURSOR: Final = re.compile(rf"\$\{{(?:{_EDITOR})\}}")
VSCODE: Final = re.compile(rf"\$\{{(?:{_EDITOR}|input:(?P<input>[^}}]+)|(?P<other>[a-zA-Z]\w*(?::[^}}]*)?))\}}")
WINDSURF: Final = re.compile(rf"\$\{{(?:env:(?P<env>{_VARIABLE})|file:(?P<file>[^}}]+))\}}")
GEMINI: Final = re.compile(rf"\$\{{(?P<env>{_VARIABLE})\}}|\$(?P<bare>{_VARIABLE})|%(?P<percent>{_VARIABLE})%")
OPENCODE: Final = re.compile(rf"\{{env:(?P<env>{_VARIABLE})\}}|\{{file:(?P<file>[^}}]+)\}}")
MCPORTER: Final = re.compile(
    rf"\$\{{(?P<env>{_VARIABLE})(?P<colon>:-(?P<default>[^}}]*))?\}}|\$env:(?P<bare>{_VARIABLE})"
)
# Our own file: it is written as we write.
OURS: Final = None

Syntax = re.Pattern[str] | None


def variable(name: str) -> str:
    """A reference to a variable as we write it."""
    return f"${{{name}}}" if NAME.fullmatch(name) else f"${{env:{name}}}"


def variable_of_word(word: str) -> str:
    """The same for a word of a file. Raises Unusable when it is no name: in braces of ours it could be anything."""
    if re.fullmatch(_VARIABLE, word) is None:
        raise Unusable(f"{one_line(word, 60)} is no name of a variable")
    return variable(word)


class Translator:
    """Texts of one entry into ours. `defaults` and `notes` are filled while it works."""

    def __init__(self, syntax: Syntax, origin: Origin) -> None:
        self._syntax = syntax
        self._origin = origin
        self.defaults: dict[str, str] = {}
        self.notes: list[str] = []

    def text(self, text: str) -> str:
        """The text as we write it. Raises Unusable when a reference has no counterpart here."""
        if self._syntax is OURS:
            return text
        if SECRET_SCHEME in text:
            raise Unusable("it names a secret:// reference, which no other program's file may use")
        pieces: list[str] = []
        end = 0
        for match in self._syntax.finditer(text):
            before = text[end : match.start()]
            if before.endswith("$"):
                raise Unusable(f"$ stands directly before {match[0]}, which cannot be written here")
            pieces += [escape(before), self._reference(match, text)]
            end = match.end()
        return "".join([*pieces, escape(text[end:])])

    def _reference(self, match: re.Match[str], text: str) -> str:
        found: Mapping[str, str | None] = match.groupdict()
        origin = self._origin
        if name := found.get("env") or found.get("bare") or found.get("percent"):
            if found.get("percent") and not origin.windows:
                return escape(match[0])
            if found.get("colon"):
                self._default(name, found.get("default") or "")
            return variable(name)
        if found.get("home"):
            return "${HOME}" if not origin.windows else escape(origin.home)
        if found.get("folder") or found.get("name"):
            if not origin.project:
                raise Unusable(f"{match[0]} means a project, and this file belongs to none")
            return escape(PurePath(origin.project).name if found.get("name") else origin.project)
        if found.get("separator"):
            return "\\" if origin.windows else os.sep
        if file := found.get("file"):
            return self._file(file.strip(), match.end() == len(text))
        if found.get("input"):
            # Whoever plans the import asks for it.
            return match[0]
        raise Unusable(f"{match[0]} means nothing outside of that program")

    def _default(self, name: str, value: str) -> None:
        if not value:
            self.notes.append(
                f"{variable(name)} may be unset there and then is empty; here the server needs it to be set"
            )
        elif self.defaults.setdefault(name, value) != value:
            self.notes.append(f"{name} has two defaults; the first is kept")

    def _file(self, file: str, is_last: bool) -> str:
        if not is_last or " " in file:
            raise Unusable(f"a file ({file}) stands in the middle of a value, which cannot be written here")
        path = file if file.startswith(("~", "/")) else str(PurePosixPath(self._origin.folder) / file)
        self.notes.append(f"the file {file} must be readable by you alone (chmod 600)")
        return f"{SECRET_SCHEME}file/{path}"
