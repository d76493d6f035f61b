"""The skills one agent has: found, told apart by name, gated, and the reasons for those it does not have.

Nothing here runs a skill. A skill of the workspace is text for the model and a command that only a person can type; it never calls a
tool by itself, and never stands in for an installed skill (see discover.py and command.py).
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from openclaw.config.sections import SkillEntry
from openclaw.skills.command import SkillCommand, assign_commands
from openclaw.skills.discover import DEFAULT_LIMITS, Limits, SkillRoot, discover
from openclaw.skills.gate import Facts, gate, gather_programs
from openclaw.skills.prompt import skills_prompt
from openclaw.skills.skill import Skill, Skipped
from openclaw.skills.variables import given_names


class Skills(msgspec.Struct, frozen=True):
    """`skills` in order of precedence; `skipped` with the reason for each; `commands` by name, without the slash."""

    skills: tuple[Skill, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    commands: Mapping[str, SkillCommand] = msgspec.field(default_factory=dict)
    prompt: str = ""

    def find(self, name: str) -> SkillCommand | None:
        """What `/NAME` and `/skill NAME` mean: a command, else a skill's own name, whatever the case. None when a person may use no such
        skill. Commands come first: no skill of a workspace is to stand before an installed one by what it calls itself."""
        by_name = (command for command in self.commands.values() if command.skill.name.casefold() == name.casefold())
        return self.commands.get(name.lower()) or next(by_name, None)

    @property
    def directories(self) -> tuple[Path, ...]:
        """What file tools must be able to read for the skills to be of use."""
        return tuple(dict.fromkeys(skill.directory for skill in self.skills))


class SkillRules(msgspec.Struct, frozen=True):
    """What config says: `skills.allowBundled`, names disabled under `skills.entries`, and the agent's own `skills` list."""

    allow_bundled: Sequence[str] | None = None
    disabled: Collection[str] = ()
    # What `skills.entries` gives to the programs of each skill, by its key.
    entries: Mapping[str, SkillEntry] = msgspec.field(default_factory=dict)
    allowed: Sequence[str] | None = None
    limits: Limits = DEFAULT_LIMITS


def load_skills(
    roots: Sequence[SkillRoot],
    rules: SkillRules,
    *,
    config: Mapping[str, Any],
    env: Mapping[str, str],
    platform: str,
    reserved: Collection[str] = (),
) -> Skills:
    """Read the disk once and decide. `config` is the whole config as plain data, for `requires.config`. Raises nothing."""
    found, skipped = _unique(roots, rules.limits)
    facts = Facts(
        platform=platform,
        programs=gather_programs(found, env),
        env=frozenset(name for name, value in env.items() if value),
        config=config,
        given={
            skill.key: given_names(skill, rules.entries[skill.key]) for skill in found if skill.key in rules.entries
        },
        disabled=frozenset(rules.disabled),
        allow_bundled=None if rules.allow_bundled is None else frozenset(rules.allow_bundled),
        allowed=None if rules.allowed is None else frozenset(rules.allowed),
    )
    skills: list[Skill] = []
    for skill in found:
        reason = gate(skill, facts)
        if reason is None:
            skills.append(skill)
        else:
            skipped.append(Skipped(skill.name, skill.path, reason))
    return Skills(tuple(skills), tuple(skipped), assign_commands(skills, reserved), skills_prompt(skills, rules.limits))


def _unique(roots: Sequence[SkillRoot], limits: Limits) -> tuple[list[Skill], list[Skipped]]:
    """The first skill of each name. Case twins are one name: a person could not tell them apart."""
    first: dict[str, Skill] = {}
    skipped: list[Skipped] = []
    for root in roots:
        skills, faults = discover(root, limits)
        skipped += faults
        for skill in skills:
            winner = first.setdefault(skill.name.casefold(), skill)
            if winner is not skill:
                skipped.append(Skipped(skill.name, skill.path, f"{winner.path} has the same name and comes first"))
    return list(first.values()), skipped
