"""A file of variables (`NAME=value` on each line), as `envFile` names one. Pure."""

import re

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_COMMENT = re.compile(r"\s+#.*$")


def read_dotenv(text: str) -> tuple[dict[str, str], int]:
    """The variables, and how many lines are none."""
    found: dict[str, str] = {}
    strange = 0
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            strange += 1
            continue
        found[match["name"]] = _value(match["value"])
    return found, strange


def _value(text: str) -> str:
    quote = text[:1]
    if quote in ("'", '"') and (end := text.find(quote, 1)) > 0:
        inner = text[1:end]
        return inner.replace("\\n", "\n") if quote == '"' else inner
    return _COMMENT.sub("", text)
