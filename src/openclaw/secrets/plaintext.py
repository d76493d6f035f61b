"""Credentials that stand in a config in plain sight: by the name of their key, by their shape, in arguments and in addresses.

Pure. Looks at the file as written, so that a variable's value is not taken for the file's, and at the sections we own: what another
program reads in the same file could not be a reference. `redact.py` knows the names and the shapes; this module knows where to look.
Nothing found here is ever shown: a finding is a place.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from openclaw.config.check import server_of
from openclaw.config.dotted import Path, format_path
from openclaw.config.entry import SecretRef, argv_of, is_on
from openclaw.config.loaded import Config
from openclaw.config.rules import servers
from openclaw.config.sections import Root
from openclaw.config.server_credentials import in_address, named_arguments
from openclaw.redact import SECRET_SCHEME, looks_secret, tells_secret

# What an MCP server, a model provider, or anything else of the config has in plain sight.
Kind = Literal["server", "provider", "setting"]

# A reference or a variable: the value is elsewhere.
_ELSEWHERE = re.compile(r"secret://|\$\{[^}]*\}|^\$[A-Za-z_][A-Za-z0-9_]*$")
# Fields of ours that hold a credential and nothing else, however it looks.
_CREDENTIALS = frozenset({"apiKey", "token", "password", "clientSecret", "privateKey", "secretId", "idpIdToken"})
# The same, where the name alone does not say so.
_PLACES: Final = frozenset({("tokenStore", "key")})
# Ways to sign in, which stand under names such as `auth`.
_WAYS = frozenset({"oauth", "oauth2", "basic", "bearer", "digest", "token", "apikey", "api-key", "password"})
# Settings that hold variables or headers.
_TELLING = frozenset({"env", "environment", "headers"})
_SECTIONS = tuple(field for field in Root.__struct_encode_fields__ if field != "$schema")


class Finding(msgspec.Struct, frozen=True):
    """A credential in plain sight: whose it is, and where it stands. `line` starts at 1."""

    kind: Kind
    # The server's or provider's name; empty for other settings.
    name: str
    path: str
    file: str
    line: int


def plaintext_findings(config: Config) -> list[Finding]:
    """Every credential written out in the config, in the order of the file."""
    found = []
    for section in _SECTIONS:
        if section in config.raw:
            for path in credential_paths(config.raw[section], (section,)):
                kind, name = _owner(path)
                file, line, _ = config.locate(path)
                found.append(Finding(kind, name, format_path(path), file, line))
    return found


def server_warnings(config: Config) -> dict[str, tuple[str, ...]]:
    """What is to be logged, once, about each enabled server whose entry handles credentials carelessly."""
    enabled = [(path[-1], entry) for path, entry in servers(config) if is_on(entry)]
    plain = {finding.name for finding in plaintext_findings(config) if finding.kind == "server"}
    listed = {
        name
        for name, entry in enabled
        if any(isinstance(arg, SecretRef) or SECRET_SCHEME in str(arg) for arg in argv_of(entry))
    }
    said = (
        (plain, "MCP server '{}' has plaintext credentials in config — consider using secret:// references"),
        (listed, "MCP server '{}' has a secret in its args — process listings show it; env does not"),
    )
    return {
        name: tuple(words.format(name) for names, words in said if name in names)
        for name, _ in enabled
        if name in plain | listed
    }


def _owner(path: Path) -> tuple[Kind, str]:
    server = server_of(path)
    if server is not None:
        return "server", server[-1]
    return ("provider", path[2]) if path[:2] == ("models", "providers") else ("setting", "")


def credential_paths(value: Any, path: Path) -> Iterator[Path]:
    """Where credentials stand in what is written at `path`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from credential_paths(item, (*path, key))
    elif isinstance(value, list):
        marked = _arguments(value) if path[-1] == "args" else [_is_credential("", item) for item in value]
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from credential_paths(item, (*path, str(index)))
            elif marked[index]:
                yield (*path, str(index))
    elif _is_credential("apiKey" if path in _PLACES or _is_told(path, value) else path[-1], value):
        yield path


def _is_told(path: Path, value: Any) -> bool:
    """Whether the name of a variable or header says that it holds a credential."""
    named = len(path) > 1 and path[-2] in _TELLING
    return named and isinstance(value, str) and tells_secret(path[-1], value)


def _is_credential(key: str, value: Any) -> bool:
    if not isinstance(value, str) or not value.strip() or _ELSEWHERE.search(value):
        return False
    if key in _CREDENTIALS:
        return True
    return value.lower() not in _WAYS and (looks_secret(key, value) or any(in_address(value)))


def _arguments(args: Sequence[Any]) -> list[bool]:
    """For each argument of a program whether it is a credential: alone, as `--name=value`, or behind `--name`."""
    texts = [arg if isinstance(arg, str) else "" for arg in args]
    return [any(_is_credential(name, value) for name, value in readings) for readings in named_arguments(texts)]
