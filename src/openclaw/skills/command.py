"""The slash commands that skills declare: which name each gets, and what typing it does.

Names are given in the order of precedence, so a skill of the workspace never takes the name of an installed one. A command of a skill
with `command-dispatch: tool` calls that tool without the model; any other puts the skill's instructions before the model. A skill of
the workspace is always of the second kind, and only when a person types its name (see `Skill.command_tool`).
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from openclaw.skills.discover import DEFAULT_LIMITS, Limits, read_file
from openclaw.skills.frontmatter import split
from openclaw.skills.skill import Skill

# What every chat surface can type and complete.
MAX_COMMAND = 32
_OUTSIDE = re.compile(r"[^a-z0-9_]+")


class SkillCommand(msgspec.Struct, frozen=True):
    """`/name`. `tool` is empty when the model is to follow the skill."""

    name: str
    skill: Skill
    tool: str = ""

    def arguments(self, typed: str) -> dict[str, Any]:
        """What the tool is called with: the words as they were typed, unparsed."""
        return {"command": typed, "commandName": self.name, "skillName": self.skill.name}

    def message(self, typed: str) -> str:
        """What the model is asked instead, the skill's instructions included. Raises SkillFault when the file has gone bad."""
        skill = self.skill
        task = f"Request: {typed}" if typed.strip() else "No further words were given."
        return f"Follow the skill {skill.name!r} ({skill.path}). {task}\n\n{instructions(skill)}"


def assign_commands(skills: Iterable[Skill], reserved: Collection[str]) -> dict[str, SkillCommand]:
    """A name for every skill a user may invoke. `reserved` are the built-in commands, which no skill can take."""
    commands: dict[str, SkillCommand] = {}
    for skill in skills:
        if skill.user_invocable:
            name = _free(command_name(skill.name), {*reserved, *commands})
            commands[name] = SkillCommand(name, skill, skill.command_tool)
    return commands


def command_name(name: str) -> str:
    """`name` in small letters, digits and underscores."""
    return _OUTSIDE.sub("_", name.lower()).strip("_")[:MAX_COMMAND].rstrip("_") or "skill"


def instructions(skill: Skill, limits: Limits = DEFAULT_LIMITS) -> str:
    """The text below the front matter, with `{baseDir}` replaced by the skill's directory. Raises SkillFault."""
    _, body = split(read_file(skill.path, skill.root, limits.file_bytes))
    return body.strip().replace("{baseDir}", str(skill.directory))


def _free(name: str, taken: Collection[str]) -> str:
    number = 2
    candidate = name
    while candidate in taken:
        suffix = f"_{number}"
        candidate = name[: MAX_COMMAND - len(suffix)] + suffix
        number += 1
    return candidate
