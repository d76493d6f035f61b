"""What a skill is: a SKILL.md file's front matter as one frozen value, or the reason why it is not one.

`read_skill` turns front matter into a Skill and refuses what is malformed; frontmatter.py reads the text, discover.py finds the
files, gate.py decides whether a skill is offered here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from openclaw.config import json5
from openclaw.errors import ConfigError
from openclaw.log import one_line

Source = Literal["personal", "managed", "workshop", "bundled", "extra", "workspace"]

# The bounds of the published skill format; a name is typed, a description is read by a model at every turn.
MAX_NAME = 64
MAX_DESCRIPTION = 1_024

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
# Older files use the second name.
_METADATA_KEYS = ("openclaw", "clawdbot")


_IN_WORKSPACE = "command-dispatch is ignored in a workspace; install the skill to use it (<state>/skills)"


class SkillFault(Exception):
    """Why a file is no skill, in words that fit after its path."""


class Requires(msgspec.Struct, frozen=True):
    """What a skill needs: all of `bins`, one of `any_bins`, all of `env`, and config paths that are truthy."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()


class Skill(msgspec.Struct, frozen=True):
    """One skill. `path` is its SKILL.md, below `root`, the directory it was found in; `key` is its name under `skills.entries`.

    `command_tool` names the tool that `/name` calls without the model. It is always empty for a skill of the workspace: a file
    that came with a project must not decide what a command runs.
    """

    name: str
    description: str
    path: Path
    source: Source
    root: Path
    key: str = ""
    user_invocable: bool = True
    model_invocable: bool = True
    command_tool: str = ""
    always: bool = False
    os: tuple[str, ...] = ()
    requires: Requires = Requires()
    # The variable that `skills.entries.<key>.apiKey` is the value of.
    primary_env: str = ""
    # Something its author should know, for `openclaw doctor`.
    note: str = ""

    @property
    def directory(self) -> Path:
        return self.path.parent


class Skipped(msgspec.Struct, frozen=True):
    """A skill that is not offered, for `openclaw doctor`. `malformed` tells a broken file from one that is kept back."""

    name: str
    path: Path
    reason: str
    malformed: bool = False


def read_skill(front: Mapping[str, Any], path: Path, source: Source, root: Path) -> Skill:
    """Raises SkillFault for front matter that is malformed."""
    metadata = _metadata(front.get("metadata"))
    requires = metadata.get("requires")
    if requires is not None and not isinstance(requires, Mapping):
        raise SkillFault("metadata.openclaw.requires is not a map")
    requires = requires or {}
    name = _text(front, "name") or one_line(path.parent.name)
    description = _text(front, "description")
    if not description:
        raise SkillFault("it has no description")
    if len(name) > MAX_NAME:
        raise SkillFault(f"its name is longer than {MAX_NAME} characters")
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 1] + "…"
    tool = _command_tool(front)
    return Skill(
        name=name,
        description=description,
        path=path,
        source=source,
        root=root,
        key=_text(metadata, "skillKey") or name,
        user_invocable=_flag(front, "user-invocable", default=True),
        model_invocable=not _flag(front, "disable-model-invocation", default=False),
        command_tool=tool if source != "workspace" else "",
        always=_flag(metadata, "always", default=False),
        os=_names(metadata, "os"),
        requires=Requires(
            bins=_names(requires, "bins"),
            any_bins=_names(requires, "anyBins"),
            env=_names(requires, "env"),
            config=_names(requires, "config"),
        ),
        primary_env=_text(metadata, "primaryEnv"),
        note=_IN_WORKSPACE if tool and source == "workspace" else "",
    )


def _command_tool(front: Mapping[str, Any]) -> str:
    dispatch = _text(front, "command-dispatch")
    if not dispatch:
        return ""
    if dispatch != "tool":
        raise SkillFault(f"command-dispatch is {dispatch!r}; only 'tool' is known")
    tool = _text(front, "command-tool")
    if not tool:
        raise SkillFault("command-dispatch is 'tool' and command-tool is missing")
    mode = _text(front, "command-arg-mode") or "raw"
    if mode != "raw":
        raise SkillFault(f"command-arg-mode is {mode!r}; only 'raw' is known")
    return tool


def _metadata(value: Any) -> Mapping[str, Any]:
    """Our part of `metadata`, which is a map or the text of one in JSON5."""
    if isinstance(value, str) and value.strip():
        try:
            value = json5.loads(value)
        except ConfigError:
            raise SkillFault("metadata is neither a map nor JSON5") from None
    if not value:
        return {}
    if not isinstance(value, Mapping):
        raise SkillFault("metadata is neither a map nor JSON5")
    ours = next((value[key] for key in _METADATA_KEYS if key in value), None) or {}
    if not isinstance(ours, Mapping):
        raise SkillFault("metadata.openclaw is not a map")
    return ours


def _text(values: Mapping[str, Any], key: str) -> str:
    """One line of visible characters: it stands in a prompt and on a terminal."""
    value = values.get(key)
    if value is None:
        return ""
    if isinstance(value, Mapping | list):
        raise SkillFault(f"{key} is not text")
    return one_line(" ".join(str(value).split()))


def _flag(values: Mapping[str, Any], key: str, *, default: bool) -> bool:
    word = _text(values, key).lower()
    if not word:
        return default
    if word not in _YES | _NO:
        raise SkillFault(f"{key} is neither true nor false")
    return word in _YES


def _names(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = values.get(key)
    if value is None or value == "":
        return ()
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        raise SkillFault(f"{key} is not a list of names")
    return tuple(one_line(name.strip()) for name in names)
