"""What a plugin is: a module with a `plugin = ToolPlugin(…)`, whose `initialize` gives tools and hooks.

A plugin runs inside our process with all our rights: isolation means that its faults stay its own, not that it cannot do harm.
All of its code runs in one event loop, which lives as long as the plugin, in a thread of its own: one that blocks holds up itself alone.
loader.py keeps these promises to it: `initialize` is called once per load, hooks are awaited one at a time, and everything has a
deadline.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from openclaw.tool import PromptText, Tool, ToolSource

# The only thing a plugin can add today.
TOOL_SLOT = "tool"


class PluginContext(msgspec.Struct, frozen=True):
    """What a plugin gets to know. `config`, `env` and `api_key` are those of `plugins.entries.<id>`, secrets resolved.

    `data_dir` is a directory of its own; it does not exist until the plugin makes it.
    """

    id: str
    config: Mapping[str, Any]
    data_dir: Path
    host_version: str
    log: logging.Logger
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    api_key: str = ""

    def __repr__(self) -> str:
        # Never the secrets: authors log what they are given.
        return f"PluginContext({self.id!r})"


class PluginHandle(msgspec.Struct, frozen=True):
    """What a plugin gives back.

    `tools` are fixed for the life of the plugin; a `source` may change them and tell agents apart. Kind and origin of every tool
    are set by the host. Without `on_config_change` a plugin is shut down and initialised again when its config changes.
    """

    tools: Sequence[Tool] = ()
    source: ToolSource | None = None
    contexts: Sequence[PromptText] = ()
    on_shutdown: Callable[[], Awaitable[None]] | None = None
    on_config_change: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None


class ToolPlugin(msgspec.Struct, frozen=True):
    """`config_schema` is JSON Schema: config that does not fit it never reaches `initialize`, which may raise anything."""

    label: str
    description: str
    initialize: Callable[[PluginContext], Awaitable[PluginHandle]]
    slots: Sequence[str] = (TOOL_SLOT,)
    minimum_host_version: str = ""
    config_schema: Mapping[str, Any] | None = None


class PluginFault(Exception):
    """Why a plugin is not there, in words that fit after its name."""


class PluginHung(PluginFault):
    """It did not finish in its time: nobody waits for it again."""
