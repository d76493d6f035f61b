"""Paths into a config: `agents.entries["a.b"].model.fallbacks.0` as a tuple of keys, and back.

A number is a key like any other; in a list it is an index. Both directions agree: `parse_path(format_path(p)) == p`.
"""

import json
import re

from openclaw.errors import UsageError
from openclaw.late_pattern import late_pattern

Path = tuple[str, ...]

_PLAIN = re.compile(r"[^.\[\]\"'\s]+")
_STEP = late_pattern(r"""\.?([^.\[\]"'\s]+)|\.?\[\s*(\d+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]""")


def parse_path(text: str) -> Path:
    """The keys of a dotted path. A key with dots, brackets, quotes or spaces stands as `["…"]`."""
    keys: list[str] = []
    offset = 0
    while offset < len(text):
        match = _STEP.match(text, offset)
        if match is None or (match[0].startswith(".") and offset == 0) or (match[1] and offset and match[0][0] != "."):
            raise UsageError(
                f"{text!r} is not a path into the config (character {offset + 1}).",
                hint='Write a.b.0 or, for a key with dots, a["x.y"].',
            )
        keys.append(match[1] if match[1] is not None else _unquoted(match[2]))
        offset = match.end()
    return tuple(keys)


def format_path(path: Path) -> str:
    text = ""
    for key in path:
        if _PLAIN.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f"[{json.dumps(key, ensure_ascii=False)}]"
    return text


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    if text[0] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            raise UsageError(f"{text} is not a quoted key.", hint="Quote keys as JSON does.") from None
    return text
