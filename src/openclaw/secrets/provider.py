"""What a provider is handed by the program, and the contract that providers keep.

A provider is made once for a resolver and asked for one name at a time, from many tasks at once. It raises SecretError with the cause
alone ("the variable is not set"): `resolve.py` adds which reference it was. Other errors of ours may pass through as they are. It never
puts a value into an error, and never asks another provider instead.
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import msgspec

from openclaw.config.sections import SecretsSection


def is_installed(module: str) -> bool:
    """Looks without loading any of it: that takes a noticeable while."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package it would be in is not there either.
        return False


class ProviderDependencies(msgspec.Struct, frozen=True):
    settings: SecretsSection
    env: Mapping[str, str]
    # A path that the config names: `~` and names relative to the config file.
    place: Callable[[str], Path]
    # For settings of a provider that are references themselves, such as Vault's token.
    resolve: Callable[[str], Awaitable[str]]
    # Seconds for one reference, unless its provider is configured with a time of its own.
    timeout: float
    # `tokenStore.key`, with which our own encrypted stores are opened; empty when it is not set.
    store_key: str = ""
    # Whether an optional library is there.
    installed: Callable[[str], bool] = is_installed


class SecretProvider(Protocol):
    """Made from its dependencies alone."""

    async def fetch(self, rest: str) -> str:
        """The value of the secret. `rest` is what stands behind `secret://PROVIDER/`."""
        ...
