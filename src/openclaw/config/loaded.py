"""A config as everybody else sees it: one frozen value, and where each of its settings was written.

Made by `load.py`. What an agent gets is worked out from it by `agents.py` and `servers.py`.
"""

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import msgspec
from msgspec import structs

from openclaw.config.dotted import Path, format_path, parse_path
from openclaw.config.entry import PluginConfig
from openclaw.config.json5 import Array, Member, Node, Object
from openclaw.config.sections import Root
from openclaw.config.variables import say_unset
from openclaw.errors import Problem


class Config(msgspec.Struct, frozen=True, eq=False):
    """`root` is typed and has its variables put in; `raw` is the merged file as written, so that showing it shows no variable's value."""

    root: Root
    # `plugins.entries.mcp-client.config`.
    plugin: PluginConfig
    raw: Mapping[str, Any]
    file: FilePath
    # Every file that was read, the config file first even when it is missing: what to watch for changes.
    files: tuple[FilePath, ...] = ()
    # What `~` means in it.
    home: FilePath | None = None
    # There is no config file; everything is at its default.
    missing: bool = False
    warnings: tuple[Problem, ...] = ()
    # Keys and sections that belong to another program, or to none.
    ignored: tuple[str, ...] = ()
    # Settings whose variables are not set, and the names of those variables.
    unset: Mapping[Path, tuple[str, ...]] = msgspec.field(default_factory=dict)
    # The same for everything above them: what cannot be used as a whole.
    faults: Mapping[Path, tuple[str, ...]] = msgspec.field(default_factory=dict)
    # Servers that are refused, and what is wrong with each.
    refused: Mapping[Path, tuple[Problem, ...]] = msgspec.field(default_factory=dict)
    # Where everything was written; the same settings at other places are the same config.
    tree: Node | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Config):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__ if name != "tree")

    def __repr__(self) -> str:
        return f"Config({str(self.file)!r})"

    def fault(self, path: str | Path) -> str:
        """Why what is configured at `path` cannot be used: a variable below it is not set, or a server's entry is wrong. Empty when nothing
        is wrong."""
        if refused := self.refused.get(_keys(path)):
            return "; ".join(str(structs.replace(one, file=os.path.basename(one.file))).rstrip(".") for one in refused)
        names = self.faults.get(_keys(path), ())
        return say_unset(names) if names else ""

    def is_refused(self, path: str | Path) -> bool:
        """Whether a server's entry is wrong: then its fault names the very line."""
        return _keys(path) in self.refused

    @property
    def refusals(self) -> tuple[Problem, ...]:
        """What is wrong with the servers that are refused, each with its place."""
        return tuple(problem for problems in self.refused.values() for problem in problems)

    def locate(self, path: str | Path) -> tuple[str, int, int]:
        """File, line and column of a setting, or of the nearest thing above it that was written. Line 0: nothing was."""
        keys = _keys(path)
        found: Member | Node | None = None
        node = self.tree
        for key in keys:
            step = _step(node, key)
            if step is None:
                break
            found = step
            node = step.value if isinstance(step, Member) else step
        if found is None:
            return str(self.file), 0, 0
        return (found.source.file, *found.source.place(found.start))

    def where(self, path: str | Path) -> str:
        """`openclaw.json:12 mcp.servers.github`, for messages."""
        file, line, _ = self.locate(path)
        place = f"{os.path.basename(file)}:{line}" if line else os.path.basename(file)
        return f"{place} {format_path(_keys(path))}"

    def resolve(self, name: str) -> FilePath:
        """A file or directory that the config names: `~` is the home directory, relative names start beside the config file."""
        if self.home and (name == "~" or name.startswith("~/")):
            return self.home / name[2:]
        return FilePath(os.path.normpath(self.file.parent / name))

    def get(self, path: str | Path) -> Any:
        """What was written at `path`, includes in place and variables not. Raises KeyError when nothing was."""
        value: Any = self.raw
        for key in _keys(path):
            if isinstance(value, list):
                value = value[int(key)] if key.isdigit() and int(key) < len(value) else _absent(path)
            else:
                value = value[key] if isinstance(value, Mapping) and key in value else _absent(path)
        return value


def _absent(path: str | Path) -> Any:
    raise KeyError(format_path(_keys(path)))


def _keys(path: str | Path) -> Path:
    return parse_path(path) if isinstance(path, str) else path


def _step(node: Node | None, key: str) -> Member | Node | None:
    if isinstance(node, Object):
        return node.members.get(key)
    if isinstance(node, Array) and key.isdigit() and int(key) < len(node.items):
        return node.items[int(key)]
    return None
