"""ARCHITECTURE.md, docstrings and comments name files that are there."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_MODULE = re.compile(r"(?<![\w/.<*{-])((?:[a-z_0-9]+/)*[a-z_][a-z_0-9]*\.py)\b")
_FOLDERS = ("src", "tests", "bench", "scripts", "examples")


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield token.start[0], token.string


def test_every_module_that_is_named_is_there() -> None:
    there = {f"/{path.relative_to(ROOT).as_posix()}" for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py")}
    # By how much of its path it is named with: `invoke.py`, `tools/invoke.py`.
    known = {path[cut + 1 :] for path in there for cut, letter in enumerate(path) if letter == "/"}
    pages = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "src").rglob("*.py"))]
    wrong = [
        f"{page.relative_to(ROOT)}:{line} names {name}"
        for page in pages
        for line, text in _texts(page)
        for name in _MODULE.findall(text)
        if name not in known
    ]
    assert not wrong
