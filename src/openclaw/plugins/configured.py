"""The `plugins` section of a config as the values the loader takes, secrets resolved."""

from collections.abc import Awaitable, Callable

from openclaw.config.load import Config
from openclaw.config.sections import PluginEntry
from openclaw.config.servers import secret_text
from openclaw.errors import SecretError
from openclaw.plugins.loader import PluginRules, PluginSettings
from openclaw.redact import redact

Resolve = Callable[[str], Awaitable[str]]


async def plugin_rules(config: Config, resolve: Resolve) -> PluginRules:
    """Never raises but CancelledError: an entry whose references cannot be resolved is one plugin's trouble, and no other's."""
    section = config.root.plugins

    async def settings(name: str, entry: PluginEntry) -> PluginSettings:
        if entry.enabled is False:
            return PluginSettings(enabled=False)
        try:
            env = {key: await resolve(secret_text(value)) for key, value in entry.env.items()}
            return PluginSettings(entry.enabled, entry.config, env, await resolve(secret_text(entry.api_key)))
        except SecretError as error:
            return PluginSettings(entry.enabled, fault=redact(str(error)))

    return PluginRules(
        entries={name: await settings(name, entry) for name, entry in section.entries.items()},
        paths=[config.resolve(path) for path in section.load.paths],
        enabled=section.enabled,
        allow=section.allow,
        deny=section.deny,
        start_seconds=section.load.timeout_seconds,
    )
