"""A fleet as the config says it: the address with its secrets, and what this process is called there."""

import hashlib
import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.servers import secret_text
from openclaw.content import to_json
from openclaw.errors import OpenClawError, StoreError
from openclaw.files import replace
from openclaw.fleet.database import Address
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.presence import Who
from openclaw.fleet.tokens import check_shared_key
from openclaw.redact import remember_guess
from openclaw.version import __version__

# What tells this gateway from those that share its host name. It stays with the state directory.
_NAME_FILE = "gateway-id"
_NAME_BYTES = 8
# Enough to tell configs from each other.
_DIGEST_DIGITS = 12
# What each gateway may have for itself: its own port, log and telemetry.
_OWN_SECTIONS = frozenset({"gateway", "logging", "telemetry"})


def fleet_of(
    config: Config, resolve: Callable[[str], Awaitable[str]], paths: Paths, *, is_gateway: bool = False
) -> Fleet:
    """`is_gateway`: this is the one gateway of its state directory, so that one of the same name is surely dead. Raises StoreError when its
    tokens would be encrypted with a key that no other gateway has."""
    section = config.root.session.postgres
    if is_gateway:
        check_shared_key(secret_text(config.root.token_store.key))

    async def address() -> Address:
        if unset := config.fault(("session", "postgres")):
            raise StoreError(f"The address of the database is not known: {unset}.", hint="Set it, and start again.")
        url = await resolve(secret_text(section.url))
        listen_url = await resolve(secret_text(section.listen_url))
        for one in (url, listen_url):
            _remember(one)
        return Address(url, listen_url, section.pool_size, section.statement_cache)

    name = gateway_name(paths.data_dir) if is_gateway else f"{socket.gethostname()}:{os.getpid()}"
    return Fleet(address, Who(name, __version__, replaces=is_gateway))


async def config_digest(config: Config, resolve: Callable[[str], Awaitable[str]]) -> str:
    """What tells the config of one gateway from another's, as it is written: whatever the values of its variables, and the order of its
    keys. Made with the key of the tokens: it stands in the database, and a secret that is written out in a config is not guessed by it.
    Empty when that key cannot be had."""
    try:
        key = await resolve(secret_text(config.root.token_store.key))
    except OpenClawError:
        return ""
    shared = {name: section for name, section in config.raw.items() if name not in _OWN_SECTIONS}
    return hmac.new(key.encode(), to_json(_ordered(shared)), hashlib.sha256).hexdigest()[:_DIGEST_DIGITS]


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return [_ordered(one) for one in value] if isinstance(value, list | tuple) else value


def gateway_name(folder: Path) -> str:
    """What the gateway of a state directory is called, over its restarts."""
    file = folder / _NAME_FILE
    with suppress(OSError, UnicodeDecodeError):
        if known := file.read_text("ascii").strip():
            return f"{socket.gethostname()}:{known}"
    new = secrets.token_hex(_NAME_BYTES)
    replace(file, new.encode())
    return f"{socket.gethostname()}:{new}"


def _remember(url: str) -> None:
    """The password in an address is masked wherever it would be shown."""
    with suppress(ValueError):
        if password := urlsplit(url).password:
            remember_guess(password)
            remember_guess(unquote(password))
