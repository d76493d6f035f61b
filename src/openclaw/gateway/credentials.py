"""The token of the HTTP port: from the config, from the environment, or made at the first start and kept in a file of ours alone."""

import logging
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from openclaw.config.load import Config
from openclaw.config.servers import secret_text
from openclaw.errors import ConfigError, Problem, StoreError, UsageError
from openclaw.files import replace
from openclaw.gateway.guard import GuardRules, host_name
from openclaw.redact import SECRET_SCHEME, remember

_log = logging.getLogger(__name__)

VARIABLE = "OPENCLAW_GATEWAY_TOKEN"
_TOKEN_BYTES = 32
# A token anybody could guess is none.
SHORTEST_TOKEN = 8
_NO_PASSWORD = "The mode is password, and gateway.auth.password says none."
_UNUSABLE = f"A token needs {SHORTEST_TOKEN} characters or more, and no spaces."


async def rules_of(config: Config, env: Mapping[str, str], token_file: Path) -> GuardRules:
    """The tokens, hosts and origins that are allowed. There is always a token. Raises ConfigError, SecretError or StoreError."""
    section = config.root.gateway
    tokens: list[str] = []
    mode = section.auth.mode
    for key, value in (("token", section.auth.token), ("password", section.auth.password)):
        if mode not in (None, key):
            continue
        path = f"gateway.auth.{key}"
        if fault := config.fault(path):
            raise ConfigError([_problem(config, path, fault)])
        if value is None:
            continue
        text = secret_text(value)
        token = (await _resolved(config, env, text)).strip()
        if not _is_usable(token):
            raise ConfigError([_problem(config, path, _UNUSABLE)])
        tokens.append(token)
    if not tokens and mode == "password":
        raise ConfigError([_problem(config, "gateway.auth.mode", _NO_PASSWORD)])
    if not tokens:
        given = env.get(VARIABLE, "").strip()
        if given and not _is_usable(given):
            raise UsageError(f"{VARIABLE} cannot be used. {_UNUSABLE}")
        tokens.append(given or kept_token(token_file))
    for token in tokens:
        remember(token)
    return GuardRules(
        tokens=tuple(tokens),
        hosts=frozenset(filter(None, map(host_name, (*section.allowed_hosts, urlsplit(section.fleet_url).netloc)))),
        origins=frozenset(origin for origin in section.allowed_origins if origin != "null"),
    )


async def _resolved(config: Config, env: Mapping[str, str], text: str) -> str:
    if SECRET_SCHEME not in text:
        return text
    from openclaw.secrets.resolve import Resolver

    return await Resolver.of(config, env).resolve(text)


def _is_usable(token: str) -> bool:
    return len(token) >= SHORTEST_TOKEN and token.isprintable() and " " not in token


def _problem(config: Config, path: str, message: str) -> Problem:
    file, line, column = config.locate(path)
    return Problem(message, file, line, column, path)


def kept_token(file: Path) -> str:
    """The token of the file; a new one, written there, when there is none yet. Raises StoreError."""
    try:
        token = _read(file)
        if token:
            return token
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        replace(file, f"{token}\n".encode())
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not text"
        raise StoreError(f"The gateway's token file {file} cannot be used: {reason}.", hint="Remove it.") from error
    return token


def _read(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
        mode = file.stat().st_mode
    except FileNotFoundError:
        return ""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        _log.warning("Others could read %s; it is private now. Remove it to get a new token.", file)
        file.chmod(0o600)
    return token if _is_usable(token) else ""
