"""The config file's text for somebody who edits it over HTTP: without its credentials, and without what only a terminal may change. Pure.

In the place of each credential stands a mask; what is saved with the mask in the same place keeps the credential. What starts a program,
and who may use the gateway, is changed at a terminal: nobody gets hold of this machine by way of the port.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from openclaw.config import json5
from openclaw.config.dotted import Path, format_path
from openclaw.errors import UsageError
from openclaw.redact import redact
from openclaw.secrets.plaintext import credential_paths

# No credential is this text.
MASK = "••••••"
_MASKED = re.compile(rf"""(?:[\w$"'-]+\s*:\s*)?"{MASK}\"""")
# What of a server decides which program runs, and as whom.
_OF_PROGRAMS = frozenset(
    {"command", "args", "env", "environment", "envFile", "passEnv", "allowEnv", "cwd", "workingDirectory", "sandbox"}
)
# Whose change gives programs or rights to whoever makes it.
_WITHHELD: tuple[Path, ...] = (("gateway",), ("secrets",), ("plugins", "load"), ("env",), ("tokenStore",))


def masked(text: str) -> str:
    """The text with a mask for each credential. Raises ConfigError for text that is no JSON5, UsageError for what cannot be shown."""
    if not text.strip():
        return text
    secret = frozenset(_secret_paths(text))
    shown = text
    for path, node in reversed([*_scalars(json5.parse(text))]):
        if path in secret:
            shown = f'{shown[: node.start]}"{MASK}"{shown[node.end :]}'
    # A name with a mask behind it looks like a credential by itself.
    rest = _MASKED.sub("", shown)
    if redact(rest) != rest:
        raise UsageError(
            "The config has a credential where it cannot be masked, such as a comment.", hint="Edit the file."
        )
    return shown


def unmasked(text: str, before: str) -> str:
    """What was edited, with the credentials of the text before in the places of their masks. Raises ConfigError or UsageError."""
    literals = (
        {path: before[node.start : node.end] for path, node in _scalars(json5.parse(before))} if before.strip() else {}
    )
    whole = text
    for path, node in reversed([*_scalars(json5.parse(text))]):
        if isinstance(node.value, str) and MASK in node.value:
            if path not in literals or node.value != MASK:
                raise UsageError(f"{format_path(path)} has a mask and no credential behind it: write the value.")
            whole = whole[: node.start] + literals[path] + whole[node.end :]
    return whole


def withheld(text: str, before: str) -> list[str]:
    """The places of a change that only a terminal may make. Both are JSON5; raises ConfigError."""
    old = dict(_leaves(json5.loads(before))) if before.strip() else {}
    new = dict(_leaves(json5.loads(text))) if text.strip() else {}
    changed = {path for path in old.keys() | new.keys() if old.get(path, ...) != new.get(path, ...)}
    return sorted(format_path(path) for path in changed if _is_withheld(path))


def _is_withheld(path: Path) -> bool:
    if "$include" in path or any(path[: len(start)] == start for start in _WITHHELD):
        return True
    # A server's own settings stand two below `servers`, or `mcpServers`.
    return any(
        word in ("servers", "mcpServers") and len(path) > place + 2 and path[place + 2] in _OF_PROGRAMS
        for place, word in enumerate(path)
    )


def _secret_paths(text: str) -> Iterator[Path]:
    root = json5.loads(text)
    if isinstance(root, Mapping):
        for name, value in root.items():
            yield from credential_paths(value, (name,))


def _scalars(node: json5.Node, path: Path = ()) -> Iterator[tuple[Path, json5.Scalar]]:
    """Every value that is no container, in the order of the text."""
    match node:
        case json5.Object(members=members):
            for name, member in members.items():
                yield from _scalars(member.value, (*path, name))
        case json5.Array(items=items):
            for index, item in enumerate(items):
                yield from _scalars(item, (*path, str(index)))
        case json5.Scalar():
            yield path, node


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is no container, and every container that is empty."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        inner = [*value.items()]
    elif isinstance(value, list):
        inner = [(str(index), item) for index, item in enumerate(value)]
    if not inner:
        yield path, value
    for name, item in inner:
        yield from _leaves(item, (*path, name))
