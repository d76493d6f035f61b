"""Settings as they are typed behind `openclaw config`: their paths, and the words that one of them may be. Pure.

Every setting that the schema knows is there; where people choose keys (`<name>`, list items), those of the present config.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from openclaw.config.loaded import Config
from openclaw.config.schema import fields

# What a path takes without quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_WORD = re.compile(r'"([^"]+)"')
_SWITCH = "true or false"
# Written as one text; its parts are nothing that anybody types.
_REFERENCE = "a text or a secret reference"
_SAID = 60


def setting_words(config: Config) -> dict[str, dict[str, str]]:
    """`setting`: paths, each with what is said of it. `value`: a path and, behind a blank, a word that it may be."""
    found = list(fields())
    whole = {field.path for field in found if field.kind == _REFERENCE}
    paths: dict[str, str] = {}
    values: dict[str, str] = {}
    for field in found:
        if field.path.rpartition(".")[0] in whole:
            continue
        words = ["true", "false"] if field.kind == _SWITCH else _WORD.findall(field.kind)
        for path in _there(field.path.split("."), config.raw):
            paths[path] = field.description[:_SAID]
            values |= dict.fromkeys((f"{path} {word}" for word in words), "")
    return {"setting": paths, "value": values}


def _there(parts: list[str], value: Any, before: str = "") -> Iterator[str]:
    """The path as it can be typed in this config: once for each key that stands in it where people choose the keys."""
    if not parts:
        yield before
        return
    part, rest = parts[0], parts[1:]
    name = part.removesuffix("[]")
    keys = [key for key in value if _PLAIN.fullmatch(key)] if name == "<name>" and isinstance(value, Mapping) else []
    for key in keys if name == "<name>" else [name]:
        inner = value.get(key) if isinstance(value, Mapping) else None
        path = f"{before}.{key}" if before else key
        if not part.endswith("[]"):
            yield from _there(rest, inner, path)
        elif isinstance(inner, list):
            for index, item in enumerate(inner):
                yield from _there(rest, item, f"{path}.{index}")
