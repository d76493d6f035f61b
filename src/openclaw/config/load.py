"""From a file to a `Config`: read, includes, variables, types, rules. Every problem of all files is reported at once.

A missing file is an empty config, and says so. `parse_config` is the same without files, for embedding and for tests.
Refuses anything doubtful with a ConfigError; what can be ignored safely becomes a warning of the result. A server entry that is wrong is
refused alone: it is in the result, with what is wrong.
"""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

from msgspec import structs

from openclaw.config import variables
from openclaw.config.check import PLUGIN_CONFIG, Checked, Unset, check, server_of
from openclaw.config.dotted import Path, format_path
from openclaw.config.entry import PluginConfig
from openclaw.config.include import read_tree
from openclaw.config.json5 import Node, Object, Scalar, parse, plain
from openclaw.config.loaded import Config
from openclaw.config.paths import Paths
from openclaw.config.rules import broken_rules
from openclaw.config.sections import Root
from openclaw.config.typed import typed
from openclaw.errors import ConfigError, Problem, UsageError

__all__ = ["Config", "load_config", "parse_config"]


def load_config(paths: Paths, env: Mapping[str, str], *, text: str | None = None) -> Config:
    """The config of this installation. Raises ConfigError with every problem of every file.

    `text` stands for the content of the config file: what would be loaded, were it written there.
    """
    file = paths.config_file
    try:
        tree = read_tree(file, text)
    except FileNotFoundError:
        return Config(Root(), PluginConfig(), {}, file, (file,), paths.home, missing=True)
    return _config(tree.root, env, file, files=tuple(tree.files), home=paths.home)


def parse_config(text: str, *, env: Mapping[str, str] | None = None, file: str = "openclaw.json") -> Config:
    """A config from JSON5 text. `$include` is not followed."""
    if not isinstance(text, str):
        raise UsageError(
            f"A config is parsed from a text, not from a {type(text).__name__}.",
            hint="Write parse_config('{…}'), or parse_config(path.read_text()).",
        )
    return _config(parse(text, file), env or {}, FilePath(file), files=(), home=None)


def _config(
    tree: Node, env: Mapping[str, str], file: FilePath, *, files: tuple[FilePath, ...], home: FilePath | None
) -> Config:
    checked = check(tree, {**_file_variables(tree, env), **{name: value for name, value in env.items() if value}})
    config = Config(
        root=typed(checked.data, Root),
        plugin=_plugin(checked),
        raw=plain(tree) if isinstance(tree, Object) else {},
        file=file,
        files=files,
        home=home,
        warnings=tuple(checked.warnings),
        ignored=tuple(format_path(path) for path in checked.ignored),
        unset={unset.path: unset.names for unset in checked.unset},
        faults=_faults(checked.unset),
        tree=tree,
    )
    refused: dict[Path, list[Problem]] = {}
    problems = checked.problems
    for subject, problem in [*checked.refused, *broken_rules(config, checked.faulty)]:
        server = server_of(subject)
        (problems if server is None else refused.setdefault(server, [])).append(problem)
    if problems:
        raise ConfigError(sorted([*problems, *chain.from_iterable(refused.values())], key=_place))
    return structs.replace(
        config, refused={server: tuple(sorted(found, key=_place)) for server, found in refused.items()}
    )


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line, problem.column


def _faults(unset: list[Unset]) -> dict[Path, tuple[str, ...]]:
    names: dict[Path, dict[str, None]] = {}
    for setting in unset:
        for length in range(len(setting.path) + 1):
            names.setdefault(setting.path[:length], {}).update(dict.fromkeys(setting.names))
    return {path: tuple(found) for path, found in names.items()}


def _plugin(checked: Checked) -> PluginConfig:
    data: Any = checked.data
    for key in PLUGIN_CONFIG:
        data = data.get(key, {})
    return typed(data, PluginConfig)


def _file_variables(tree: Node, env: Mapping[str, str]) -> dict[str, str]:
    """`env.vars`, and upper-case names under `env` itself. They may use the environment, not one another."""
    section = tree.members.get("env") if isinstance(tree, Object) else None
    if section is None or not isinstance(section.value, Object):
        return {}
    members = {key: member for key, member in section.value.members.items() if variables.NAME.fullmatch(key)}
    named = section.value.members.get("vars")
    if named is not None and isinstance(named.value, Object):
        members.update(named.value.members)
    found = {}
    for key, member in members.items():
        if isinstance(member.value, Scalar) and isinstance(member.value.value, str):
            expanded = variables.expand(member.value.value, env)
            if not expanded.missing:
                found[key] = expanded.text
    return found
