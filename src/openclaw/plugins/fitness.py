"""Whether a plugin fits this host, and its config fits the plugin: checks on plain values, before any of its code runs."""

import re
from collections.abc import Mapping
from typing import Any

from openclaw.json_schema import Checker
from openclaw.plugins.contract import TOOL_SLOT, PluginFault, ToolPlugin
from openclaw.tool import parameters

_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[.+-]?[A-Za-z].*)?")


def check_host(plugin: ToolPlugin, host_version: str) -> None:
    """Raises PluginFault when the plugin asks for more than this host has."""
    unknown = [slot for slot in plugin.slots if slot != TOOL_SLOT]
    if unknown:
        raise PluginFault(f"it asks for the slot {unknown[0]!r}; only {TOOL_SLOT!r} is known")
    if plugin.minimum_host_version and version(host_version) < version(plugin.minimum_host_version):
        raise PluginFault(f"it needs OpenClaw {plugin.minimum_host_version} or later; this is {host_version}")


def check_config(plugin: ToolPlugin, config: Mapping[str, Any]) -> None:
    """Raises PluginFault when the config does not fit the plugin's schema, or the schema is none."""
    if plugin.config_schema is None:
        return
    try:
        schema = parameters(plugin.config_schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise PluginFault(f"its config schema is not JSON: {error}") from error
    fault = Checker(schema, what="settings").check(dict(config))
    if fault is not None:
        raise PluginFault(f"its config does not fit: {fault}")


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros and without what follows them."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise PluginFault(f"{text!r} is not a version")
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
