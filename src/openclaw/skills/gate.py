"""Whether a skill is offered on this machine, under this config, to this agent: one pure decision.

`gather` looks at the machine (programs on PATH, names in the environment), `gate` decides. The cases, in order: the agent's list,
`skills.entries`, `skills.allowBundled`, the operating system, then what the skill requires unless it says `always`.
"""

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from openclaw.skills.skill import Skill

# Config paths whose value is not what the file says but what holds when it says nothing: the MCP client is on unless turned off.
EFFECTIVE_DEFAULTS: Mapping[str, Any] = {"plugins.entries.mcp-client.enabled": True}


class Facts(msgspec.Struct, frozen=True):
    """What `gate` may know. `allowed` and `allow_bundled` are None when there is no such list; an empty list allows none."""

    platform: str
    programs: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()
    config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    # The names of the variables that a skill is given, by its key.
    given: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    allow_bundled: frozenset[str] | None = None
    allowed: frozenset[str] | None = None


def gate(skill: Skill, facts: Facts) -> str | None:
    """Why the skill is kept back, or None when it is offered."""
    if facts.allowed is not None and skill.name not in facts.allowed:
        return "the agent's `skills` list does not name it"
    if facts.disabled & {skill.key, skill.name}:
        return f"skills.entries.{skill.key}.enabled is false"
    if skill.source == "bundled" and facts.allow_bundled is not None and skill.name not in facts.allow_bundled:
        return "skills.allowBundled does not name it"
    if skill.os and facts.platform not in skill.os:
        return f"it is for {', '.join(skill.os)} only"
    return None if skill.always else _unmet(skill, facts)


def _unmet(skill: Skill, facts: Facts) -> str | None:
    needs = skill.requires
    if missing := [name for name in needs.bins if name not in facts.programs]:
        return f"it needs the program {missing[0]}, which is not on PATH"
    if needs.any_bins and facts.programs.isdisjoint(needs.any_bins):
        return f"it needs one of the programs {', '.join(needs.any_bins)}"
    if missing := [name for name in needs.env if name not in facts.env | _given(skill, facts)]:
        return f"it needs the environment variable {missing[0]}"
    if missing := [path for path in needs.config if not config_value(facts.config, path)]:
        return f"it needs {missing[0]} in the config"
    return None


def _given(skill: Skill, facts: Facts) -> frozenset[str]:
    """What `skills.entries` gives its programs. A skill of the workspace is given nothing: it came with a project."""
    return facts.given.get(skill.key, frozenset()) if skill.source != "workspace" else frozenset()


def config_value(config: Mapping[str, Any], path: str) -> Any:
    """The value that holds at a dotted path: the file's, else the default known to us, else None."""
    value: Any = config
    for word in path.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return EFFECTIVE_DEFAULTS.get(path) if value is None else value


def gather_programs(skills: Iterable[Skill], env: Mapping[str, str]) -> frozenset[str]:
    """Of the programs these skills ask for, those on PATH. A name with a path in it is not looked for."""
    asked = {name for skill in skills for name in (*skill.requires.bins, *skill.requires.any_bins)}
    return frozenset(
        name
        for name in asked
        if name and not set(name) & set("/\\\0") and shutil.which(name, path=env.get("PATH", "")) is not None
    )
