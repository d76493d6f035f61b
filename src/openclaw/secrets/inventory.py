"""Which references a config holds, and where each is used. Pure: nothing is resolved."""

from collections.abc import Iterator
from typing import Any

import msgspec

from openclaw.config.dotted import Path
from openclaw.config.entry import SecretRef
from openclaw.config.loaded import Config
from openclaw.config.servers import secret_text
from openclaw.config.typed import typed
from openclaw.secrets.reference import references_in

_OBJECT = frozenset({"source", "provider", "id"})


def references(config: Config) -> dict[str, tuple[str, ...]]:
    """Every reference of the config, variables put in, with the places that use it (`openclaw.json:12 mcp.servers.a.env.KEY`)."""
    found: dict[str, list[str]] = {}
    for text, path in _walk(msgspec.to_builtins(config.root), ()):
        for reference in references_in(text):
            found.setdefault(reference, []).append(config.where(path))
    return {reference: tuple(dict.fromkeys(places)) for reference, places in found.items()}


def _walk(value: Any, path: Path) -> Iterator[tuple[str, Path]]:
    if isinstance(value, str):
        yield value, path
    elif isinstance(value, dict):
        if {"source", "id"} <= value.keys() <= _OBJECT:
            yield secret_text(typed(value, SecretRef)), path
            return
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, str(index)))
