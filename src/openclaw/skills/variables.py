"""What `skills.entries.<key>` gives to the programs that are run for a skill, and to no others.

A call of `exec` says for which skill it is (`skill`). A skill of the workspace is given nothing: it came with a project, and the keys are
the person's. Values that are references are resolved when a program is started, and secrets among them are masked wherever we show text.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from openclaw.config.sections import SkillEntry
from openclaw.config.servers import secret_text
from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.redact import remember, remember_guess, tells_secret
from openclaw.skills.skill import Skill

# Where a program finds `skills.entries.<key>.config`, as JSON.
CONFIG = "OPENCLAW_SKILL_CONFIG"

Resolve = Callable[[str], Awaitable[str]]


def given_names(skill: Skill, entry: SkillEntry) -> frozenset[str]:
    """The names of the variables that the programs of a skill get."""
    return frozenset(entry.env) | ({skill.primary_env} if entry.api_key and skill.primary_env else frozenset())


async def skill_variables(
    name: str, skills: Sequence[Skill], entries: Mapping[str, SkillEntry], resolve: Resolve
) -> dict[str, str]:
    """The variables of the skill of that name. Raises UsageError when it can have none, SecretError when a reference leads nowhere."""
    skill = next((one for one in skills if one.name.casefold() == name.casefold()), None)
    if skill is None:
        known = ", ".join(one.name for one in skills) or "none"
        raise UsageError(f"There is no skill named {name!r}.", hint=f"There are: {known}.")
    entry = entries.get(skill.key)
    if entry is None or not (entry.api_key or entry.env or entry.config):
        return {}
    place = f"skills.entries.{skill.key}"
    if skill.source == "workspace":
        raise UsageError(
            f"{place} is not for a skill of the workspace.", hint="Install the skill, or leave out `skill`."
        )
    if entry.api_key and not skill.primary_env:
        raise UsageError(f"{place}.apiKey is for no variable: the skill names no primaryEnv.", hint=f"Use {place}.env.")
    written = {skill.primary_env: entry.api_key} if entry.api_key else {}
    variables = {key: await resolve(secret_text(value)) for key, value in {**written, **entry.env}.items()}
    for key, value in variables.items():
        if key in written:
            remember(value)
        elif tells_secret(key, value):
            remember_guess(value)
    return {**variables, CONFIG: to_json(entry.config).decode()} if entry.config else variables
