"""The block between two `---` lines at the top of a SKILL.md, as plain data.

YAML first; when it is not YAML (an unquoted colon in a description is enough), one `key: value` a line. Every scalar stays the
text it is (`yes`, `1.10` and dates are words here), so nothing a file says can surprise the reader; skill.py gives words
their meaning. The pure-Python reader is used on purpose: the C one overflows the stack on deep nesting.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from openclaw.skills.skill import SkillFault

# Real front matter is under 2,000 characters. Reading YAML costs about a millisecond for each of them.
MAX_FRONT_MATTER = 16_384
# Skills are read for every turn and hardly ever change: that many are made sense of once.
_REMEMBERED = 512

_BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(?:[ \t]+(.*))?")
_QUOTES = ("'", '"')
# As YAML has had them, in its older version and its newer one.
_YES = frozenset({"true", "yes", "on", "y"})
_NO = frozenset({"false", "no", "off", "n"})


def split(text: str) -> tuple[str, str]:
    """Front matter and body. Raises SkillFault when there is no front matter, or too much."""
    found = _BLOCK.match(text)
    if found is None:
        raise SkillFault("it does not begin with front matter between two --- lines")
    if len(found[1]) > MAX_FRONT_MATTER:
        raise SkillFault(f"its front matter is longer than {MAX_FRONT_MATTER:,} characters")
    return found[1], text[found.end() :]


@lru_cache(maxsize=_REMEMBERED)
def parse(front: str) -> Mapping[str, Any]:
    """Raises SkillFault when nothing can be made of it."""
    # Loaded here: a machine without skills never pays for it.
    import yaml

    try:
        value = yaml.load(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return _pairs(front, error)
    if not isinstance(value, dict):
        raise SkillFault("its front matter is not a map")
    return value


def is_same(front: Mapping[str, Any], listed: Mapping[str, Any]) -> bool:
    """Whether front matter says, field by field, what somebody else read of it and wrote as JSON: numbers and yes and no as such."""
    try:
        return _same(front, listed)
    except RecursionError:
        return False


def _same(written: Any, listed: Any) -> bool:
    match listed:
        case dict():
            return (
                isinstance(written, Mapping)
                and written.keys() == listed.keys()
                and all(_same(written[key], value) for key, value in listed.items())
            )
        case list():
            return isinstance(written, list) and len(written) == len(listed) and all(map(_same, written, listed))
        case _ if not isinstance(written, str):
            return False
        case str():
            return written == listed
        case bool():
            return written.lower() in (_YES if listed else _NO)
        case None:
            return written.lower() in ("", "~", "null")
    try:
        return bool(float(written.replace("_", "")) == listed)
    except ValueError:
        return False


def _pairs(front: str, error: Exception) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for line in front.splitlines():
        if (found := _PAIR.fullmatch(line.rstrip())) is not None:
            value = (found[2] or "").strip()
            if len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]:
                value = value[1:-1]
            pairs[found[1]] = value
    if not pairs:
        raise SkillFault(f"its front matter is not YAML ({_where(error)})")
    return pairs


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "nested too deep"
    return f"{problem}, line {mark.line + 2}" if mark is not None else str(problem)
