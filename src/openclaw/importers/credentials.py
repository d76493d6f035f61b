"""Credentials that stand in an imported entry in plain sight, each to be replaced by a reference. Pure.

`secrets/plaintext.py` knows where credentials stand. Owns which part of a text is the credential: `Bearer`, the name of an option or of a
header, and the address before its key stay readable.
"""

import re
from collections.abc import Mapping, Set
from typing import Any

import msgspec

from openclaw.config.dotted import Path
from openclaw.config.server_credentials import in_address, is_secret_header
from openclaw.redact import tells_secret
from openclaw.secrets.plaintext import credential_paths

# What may stand before a credential and is none: the way it is sent and, in an argument, the name of an option or of a header.
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Api-Key) +(?=\S)", re.IGNORECASE)
_OPTION = re.compile(r"-{0,2}(?P<name>[A-Za-z][\w.-]*)(?:=|: ?)(?=\S)")
_ELSEWHERE = re.compile(r"secret://|\$\{[^}]*\}|^\$[A-Za-z_]\w*$")
_REFERENCE = re.compile(r"secret://\S*")


class Credential(msgspec.Struct, frozen=True):
    """Where it stands in the entry, what stays before it, and its value, which no message shows. What was asked for stands in no file."""

    path: Path
    before: str
    value: str
    was_asked: bool = False

    def __repr__(self) -> str:
        return f"Credential({self.path!r})"

    @property
    def place(self) -> str:
        return ".".join(self.path)


def credentials_in(entry: Mapping[str, Any], known: Set[Path] = frozenset()) -> tuple[Credential, ...]:
    """Every credential of an entry, in its order. `known` are paths that hold one whatever they look like."""
    root: Path = ("mcp", "servers", "imported")
    places = {path[len(root) :] for path in credential_paths(entry, root)}
    headers = entry.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if isinstance(value, str) and not _ELSEWHERE.search(value) and is_secret_header(name, value):
            places.add(("headers", name))
    found = []
    for path, text in texts_of(entry):
        if path in places or path in known:
            before = _before(text, is_argument=path[0] == "args")
            found.append(Credential(path, before, text[len(before) :], path in known))
    return tuple(one for one in found if one.value)


def _before(text: str, *, is_argument: bool) -> str:
    if "://" not in text:
        option = _OPTION.match(text) if is_argument else None
        start = option.end() if option and tells_secret(option["name"], text[option.end() :]) else 0
        scheme = _SCHEME.match(text, start)
        return text[: scheme.end() if scheme else start]
    # A reference goes on to the end of a value, so only a key that stands last can be taken out of an address.
    keys = list(in_address(text))
    if len(keys) == 1 and text.endswith(keys[0]) and text.count(keys[0]) == 1:
        return text.removesuffix(keys[0])
    return ""


def texts_of(value: Any, path: Path = ()) -> list[tuple[Path, str]]:
    """Every text of a value, with its path."""
    if isinstance(value, str):
        return [(path, value)]
    members = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    )
    return [found for key, member in members for found in texts_of(member, (*path, str(key)))]


def replaced(value: Any, texts: Mapping[Path, str], path: Path = ()) -> Any:
    """The value with other texts at these paths."""
    if path in texts:
        return texts[path]
    if isinstance(value, Mapping):
        return {key: replaced(member, texts, (*path, str(key))) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(member, texts, (*path, str(index))) for index, member in enumerate(value)]
    return value


def without_names(value: Any) -> Any:
    """The value with every reference to a secret made the same: two imports of one entry keep it under different names."""
    if isinstance(value, str):
        return _REFERENCE.sub("secret://", value)
    if isinstance(value, Mapping):
        return {key: without_names(member) for key, member in value.items()}
    return [without_names(member) for member in value] if isinstance(value, list | tuple) else value
