"""Which of the tools that plugins offer are taken: one pure decision, with a reason for each that is not.

Our own tools keep their names, and so do the servers in the config, whatever they list at the moment: one name is one tool wherever it is
called, also where no plugin is loaded. Then come plugins in the order of their ids. Kind and origin are ours to say, because policy goes
by them; built-in plugins are part of the product and say it themselves.
"""

import re
from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec.structs import replace

from openclaw.log import one_line
from openclaw.tool import Absence, Tool

# What every model vendor accepts as the name of a tool.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Enough of a wrong name to recognise it.
_SHOWN_NAME = 64


class Offer(msgspec.Struct, frozen=True):
    """The tools of one plugin, as it gave them: anything may be in there."""

    plugin: str
    tools: Sequence[object]
    built_in: bool = False


def admit(
    offers: Sequence[Offer], reserved: Collection[str], reserved_for: Callable[[str], str] = lambda name: ""
) -> tuple[list[Tool], list[Absence]]:
    """The tools that are taken, stamped, and the others with their reasons.

    `reserved` are names of our own tools; `reserved_for` gives the MCP server that a name is reserved for, empty when there is none.
    """
    owners = {name.casefold(): "OpenClaw itself" for name in reserved}
    tools: list[Tool] = []
    absences: list[Absence] = []
    for offer in offers:
        for tool in offer.tools:
            fault = None if offer.built_in else _fault(tool, owners, reserved_for)
            if fault is not None:
                name = one_line(str(getattr(tool, "name", offer.plugin)), _SHOWN_NAME)
                absences.append(Absence(name, f"{fault} (plugin {offer.plugin})", f"plugins.entries.{offer.plugin}"))
            elif isinstance(tool, Tool):
                owners[tool.name.casefold()] = f"the plugin {offer.plugin}"
                tools.append(tool if offer.built_in else replace(tool, kind="plugin", origin=offer.plugin))
    return tools, absences


def _fault(tool: object, owners: dict[str, str], reserved_for: Callable[[str], str]) -> str | None:
    if not isinstance(tool, Tool):
        return f"a {type(tool).__name__} is not a Tool"
    name: object = tool.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "its name is not 1 to 64 letters, digits, hyphens and underscores"
    schema: object = tool.parameters
    if not isinstance(schema, msgspec.Raw):
        return "its parameters are not what openclaw.tool.parameters() makes of a JSON Schema"
    if server := reserved_for(name):
        return f"the name belongs to the MCP server {server}"
    owner = owners.get(name.casefold())
    return f"the name belongs to {owner}" if owner else None
