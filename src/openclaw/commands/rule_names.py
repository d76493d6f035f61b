"""Names in rules about tools that no tool has: most are misspelt, and a rule that names nothing does nothing, or hides everything.

Pure, and asks no server: of a server's tools it knows how their names begin. Where plugins are configured, which may call their tools
anything, it says nothing.
"""

from collections.abc import Iterator

from openclaw.config.agents import agent_ids
from openclaw.config.dotted import Path, format_path
from openclaw.config.load import Config
from openclaw.config.rules import agent_settings
from openclaw.config.sections import ToolRules
from openclaw.config.servers import server_specs, servers_options
from openclaw.config.wording import nearest
from openclaw.engine import NATIVE_NAMES
from openclaw.errors import Problem
from openclaw.log import one_line
from openclaw.mcp.tools.names import base_name, form_for
from openclaw.plugins.mcp_client import MCP_CLIENT
from openclaw.security.policy import OTHER_NAMES


def names_of_nothing(config: Config) -> list[Problem]:
    if {*config.root.plugins.entries} - {MCP_CLIENT}:
        return []
    options = servers_options(config)
    specs = [spec for agent in agent_ids(config) for spec in server_specs(config, agent)]
    # As they begin when their own names are left out.
    beginnings = {base_name(form_for(spec, options), spec.tool_prefix or spec.name, "").casefold() for spec in specs}
    problems = []
    for path, name in _written(config):
        folded = name.strip().casefold()
        is_known = folded in NATIVE_NAMES or folded in OTHER_NAMES or folded.startswith(tuple(beginnings))
        if is_known or not folded or "*" in folded:
            continue
        near = nearest(name, NATIVE_NAMES) or "openclaw tools list shows what there is."
        problems.append(
            Problem(
                f'"{one_line(name, 80)}" is the name of no tool and of no group.',
                *config.locate(path),
                format_path(path),
                near,
            )
        )
    return problems


def _written(config: Config) -> Iterator[tuple[Path, str]]:
    """Every name in a rule, with its place."""
    layers: list[tuple[Path, ToolRules | None]] = [
        (("tools",), config.root.tools),
        (("gateway", "tools"), config.root.gateway.tools),
    ]
    for path, settings in agent_settings(config):
        layers += [((*path, "tools"), settings.tools), ((*path, "toolPolicy"), settings.tool_policy)]
    for path, rules in layers:
        if rules is None:
            continue
        for key, names in (("allow", rules.allow), ("alsoAllow", rules.also_allow), ("deny", rules.deny)):
            for index, name in enumerate(names or ()):
                yield (*path, key, str(index)), name
