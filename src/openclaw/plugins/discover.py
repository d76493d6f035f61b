"""Where plugins come from: installed packages (entry points of the group `openclaw.plugins`) and `plugins.load.paths`.

Finding runs no plugin code; `Found.load` does, and blocks: loader.py calls it in a thread, for plugins that are switched on. The paths
are the operator's, from the config file; nothing is ever looked for in a workspace.
"""

import importlib.util
import stat
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from openclaw.plugins.contract import PluginFault, ToolPlugin

GROUP = "openclaw.plugins"
# What a plugin's module calls it.
NAME = "plugin"
_PACKAGE_FILE = "__init__.py"


class Found(msgspec.Struct, frozen=True):
    """A plugin that can be loaded. `where` tells a person which file or package it is."""

    id: str
    where: str
    load: Callable[[], ToolPlugin]


class Unusable(msgspec.Struct, frozen=True):
    """An entry of `plugins.load.paths` that leads to nothing."""

    where: str
    reason: str


def in_paths(paths: Sequence[Path]) -> tuple[list[Found], list[Unusable]]:
    """Each path is a Python file, a package, or a directory that holds some of either. Ids are file names with hyphens."""
    found: list[Found] = []
    unusable: list[Unusable] = []
    for path in paths:
        files = _files(path)
        if not files:
            reason = "it holds no Python file" if path.is_dir() else "there is no such Python file or directory"
            unusable.append(Unusable(str(path), reason))
        for file in files:
            place = file.parent if file.name == _PACKAGE_FILE else file
            found.append(Found(place.stem.replace("_", "-"), str(file), _file_loader(file)))
    return found, unusable


def installed() -> list[Found]:
    """Plugins of installed packages, by name. Reads package metadata, which takes a while: not for the event loop."""
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return [Found(point.name, _package(point), _entry_point_loader(point)) for point in points]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ".py" else []
    if (path / _PACKAGE_FILE).is_file():
        return [path / _PACKAGE_FILE]
    if not path.is_dir():
        return []
    modules = [file for file in path.glob("*.py") if file.is_file()]
    return sorted([*modules, *path.glob(f"*/{_PACKAGE_FILE}")])


def _file_loader(file: Path) -> Callable[[], ToolPlugin]:
    def load() -> ToolPlugin:
        refuse_writable_by_all(file)
        # Two files of one name are two modules; a name of ours never meets that of an installed package.
        name = f"openclaw_plugin_{file.parent.name if file.name == _PACKAGE_FILE else file.stem}"
        name = f"{name}_{sha256(str(file).encode()).hexdigest()[:8]}"
        inside = [str(file.parent)] if file.name == _PACKAGE_FILE else None
        spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
        if spec is None or spec.loader is None:
            raise PluginFault("it is not a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return _checked(getattr(module, NAME, None), f"{file.name} has no `{NAME}`")

    return load


def _entry_point_loader(point: Any) -> Callable[[], ToolPlugin]:
    return lambda: _checked(point.load(), f"the entry point {point.value} is not one")


def _package(point: Any) -> str:
    package = f"package {point.dist.name} {point.dist.version}" if point.dist is not None else "an installed package"
    return f"{package} ({point.value})"


def _checked(value: Any, missing: str) -> ToolPlugin:
    if not isinstance(value, ToolPlugin):
        raise PluginFault(f"{missing} that is a ToolPlugin" if value is None else "its `plugin` is not a ToolPlugin")
    return value


def refuse_writable_by_all(file: Path, *, modes_tell: bool = sys.platform != "win32") -> None:
    """Code that anybody on this machine may change is code that anybody may run as us. On Windows modes do not tell that."""
    if not modes_tell:
        return
    for path in (file, file.parent):
        mode = path.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise PluginFault(f"every user of this machine may change {path}; take that right away (chmod o-w)")
