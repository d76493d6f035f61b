"""What a reader makes of a file: entries of ours, what could not be carried over, and why. Values alone."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Unusable(Exception):
    """An entry that cannot be carried over at all; the text is the reason, in the middle of a sentence."""


class Origin(msgspec.Struct, frozen=True):
    """Where a file stands: what relative paths in it and words such as `${workspaceFolder}` mean.

    `project` is the folder of a project's own file; empty for a person's. `windows` says whether we run there.
    """

    folder: str
    project: str = ""
    home: str = ""
    windows: bool = False

    @property
    def base(self) -> str:
        return self.project or self.folder


class Input(msgspec.Struct, frozen=True):
    """A value that the other program asks its person for. `${input:ID}` stands for it in an entry."""

    id: str
    description: str = ""
    is_secret: bool = False
    default: str = ""
    options: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """One server in our words. `defaults` are values of variables that hold where the environment has none; `env_file` is a file of
    variables that the entry names."""

    name: str
    value: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}
    env_file: str = ""

    def __repr__(self) -> str:
        # What it holds may be a credential.
        return f"Entry({self.name!r})"


class Skipped(msgspec.Struct, frozen=True):
    """An entry that was left out, and why."""

    name: str
    reason: str


class Reading(msgspec.Struct, frozen=True):
    """All of one file. `notes` are about the file as a whole."""

    entries: tuple[Entry, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = {}
