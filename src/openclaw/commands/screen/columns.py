"""Text in the columns of a terminal: how wide it is, and where it is folded. Pure; knows nothing of any command.

Styles (SGR sequences) take no room, East Asian characters take two columns, marks that join the character before them none.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import combining, east_asian_width

from openclaw.late_pattern import late_pattern

# The styles that our own output is written with.
STYLE = re.compile("\x1b\\[[0-9;]*m")
# Joiners and variation selectors.
_NO_ROOM = frozenset({0x200B, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10)})
# A label, and what is said of it two blanks or more behind it: folded lines go on below the latter.
_LABEL = late_pattern(r"\s*(?:\S+ )*?\S*\s{2,}(?=\S)")
# A command of ours behind a colon, as hints have it, up to the end of its clause.
_COMMAND = r"(?<=: )openclaw(?: \S*[^\s.,;:)](?!\S))*(?: \S+[.,;:)](?!\S))?"
# A number and its unit are one word to a reader.
_WORD = late_pattern(_COMMAND + r"|\S*`[^`]*`\S*|\(?\d[\d.,]* (?:ms|s|min|h|d|bytes|kB|MB|GB)\b\S*|\S+")
_PLAIN = late_pattern(r"\S+")
# Of the width at least so much is left for text: a deeper indentation is not kept.
_LEAST = 24

# What our own words are written with, in ASCII.
_ASCII = str.maketrans(
    {
        "…": "...",
        "→": "->",
        "←": "<-",
        "·": "-",
        "•": "*",
        "—": "-",
        "─": "-",
        "━": "-",
        "│": "|",
        "▌": "|",
        "█": "#",
        "✓": "+",
        "“": '"',
        "”": '"',
        "’": "'",
    }
)


def in_ascii(text: str) -> str:
    """Our own signs in ASCII, for a terminal that has no others; what else it cannot show its writer escapes."""
    return text if text.isascii() else text.translate(_ASCII)


def cells(text: str) -> int:
    """The columns that a line takes."""
    plain = STYLE.sub("", text) if "\x1b" in text else text
    if plain.isascii():
        return len(plain)
    return sum(map(_cell, plain))


def _cell(character: str) -> int:
    if combining(character) or ord(character) in _NO_ROOM:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, *, utf8: bool = True) -> str:
    """As much of a line without styles as fits, with a sign where something is left out; without `utf8` as it is shown in ASCII."""
    sign = "…" if utf8 else in_ascii("…")
    if cells(text) <= width:
        return text
    shown, room = "", width - len(sign)
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        shown += character
    return shown.rstrip(" …") + sign


def fold(text: str, width: int) -> str:
    """The text with every line folded at words. What follows stands below where the first line began, or below what stands behind its
    label. A word that is longer than a line is left whole: it is a path or an address, which somebody may want to copy."""
    return "\n".join(row for line in text.split("\n") for row in folded(line, width))


def folded(line: str, width: int) -> list[str]:
    if cells(line) <= width:
        return [line]
    start, indent = _hanging(line, width)
    rows: list[str] = []
    row, room, style = "", width, ""
    for blank, word in _words(line, width - min(start, indent)):
        size = cells(word)
        if row.strip() and cells(row) + len(blank) + size > room:
            # A style that goes on is begun again: what stands at the edge of a window may be read without what is above.
            rows.append(f"{row}\x1b[0m" if style else row)
            # What is too long to stand there may fit where the line began.
            row = " " * (indent if indent + size <= width else min(start, indent)) + style + word
        else:
            row += blank + word
        for found in STYLE.findall(word):
            style = "" if found == "\x1b[0m" else found
    return [*rows, row]


def _words(line: str, room: int) -> list[tuple[str, str]]:
    """Each word with the blanks before it. What stands between backticks is one, a command that is there to be copied, and so is a command
    behind a colon that fits into the room of a row, and a number with its unit."""
    places: list[tuple[int, int]] = []
    for found in _WORD.finditer(line):
        start, end = found.span()
        if found[0].startswith("openclaw ") and cells(found[0]) > room:
            places += [(start + one.start(), start + one.end()) for one in _PLAIN.finditer(found[0])]
        else:
            places.append((start, end))
    ends = [0, *(end for _, end in places)]
    return [(line[before:start], line[start:end]) for before, (start, end) in zip(ends, places, strict=False)]


def _hanging(line: str, width: int) -> tuple[int, int]:
    """Where a line begins, and where what follows of it stands."""
    plain = STYLE.sub("", line)
    start = len(plain) - len(plain.lstrip(" "))
    label = _LABEL.match(plain[start:])
    behind = start + (label.end() if label else 0)
    return start, next((place for place in (behind, start) if width - place >= _LEAST), 0)


def columns(widths: list[int], width: int, gap: int = 2, words: Sequence[int] = ()) -> list[int]:
    """What each column of a table gets of `width`: those that fit keep what they need, the rest share what is left.

    `widths` is what each would like to have, `words` how wide its longest word is: where all of them fit, none is broken, and
    otherwise none of the first column if that is narrow. None gets less than a few characters, so that a table may still be wider than a
    very narrow screen.
    """
    room = width - gap * (len(widths) - 1)
    wanted = list(widths)
    if sum(wanted) <= room:
        return wanted
    least = [0] * len(wanted)
    if sum(words) <= room:
        least[: len(words)] = words
    elif words[0] * _NAME_SHARE <= room:
        least[0] = words[0]
    room -= sum(least)
    # From the one that lacks least: each takes its need, or an equal share of what is left.
    given = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda place: wanted[place] - least[place])
    for taken, place in enumerate(order):
        share = max(room // (len(wanted) - taken), _FEW - least[place], 0)
        more = min(wanted[place] - least[place], share)
        given[place] = least[place] + more
        room -= more
    return given


# A column of fewer characters can no longer be read.
_FEW = 8
# The first column has what people copy, an id or a key: one that takes no more of the room than one part in so many is not broken.
_NAME_SHARE = 4


# Rows of one cell: a description that has more is cut.
_MOST_ROWS = 3


def table_rows(rows: Sequence[Sequence[str]], width: int, gap: int = 2) -> list[str]:
    """A table without lines: columns as wide as their widest cell, or as fits into `width`; 0 for a pipe, where nothing is folded."""
    wanted = [max(cells(row[place]) for row in rows) for place in range(len(rows[0]))]
    given = wanted
    if width:
        cut_up = ([word for row in rows for word in row[place].split()] for place in range(len(wanted)))
        given = columns(wanted, width, gap, [max(map(cells, words), default=0) for words in cut_up])
    if width and sum(given) + gap * (len(given) - 1) > width:
        return _records(rows, width, gap)
    shown: list[str] = []
    for row in rows:
        boxes = [
            boxed(cell, size) if width else [cell.replace("\n", " ")] for cell, size in zip(row, given, strict=True)
        ]
        boxes[-1] = _shortened(boxes[-1], given[-1])
        for number in range(max(map(len, boxes))):
            pieces = [box[number] if number < len(box) else "" for box in boxes]
            padded = [piece + " " * (size - cells(piece)) for piece, size in zip(pieces, given, strict=True)]
            shown.append((" " * gap).join(padded).rstrip())
    return shown


def _records(rows: Sequence[Sequence[str]], width: int, gap: int) -> list[str]:
    """What has more columns than fit beside each other: each row a block, its cells below each other behind their names."""
    names, size = rows[0], max(map(cells, rows[0]))
    shown: list[str] = []
    for row in rows[1:]:
        shown += [""] if shown else []
        for name, cell in zip(names, row, strict=True):
            if cell:
                label = name + " " * (size - cells(name) + gap)
                boxes = boxed(cell, max(width - cells(label), _FEW))
                shown += [f"{label if number == 0 else ' ' * cells(label)}{box}" for number, box in enumerate(boxes)]
    return shown


def _shortened(box: list[str], width: int) -> list[str]:
    return box if len(box) <= _MOST_ROWS else [*box[: _MOST_ROWS - 1], cut(f"{box[_MOST_ROWS - 1]} …", width)]


def boxed(cell: str, width: int) -> list[str]:
    """A cell of a table in rows of at most `width`: folded at words, and a longer word broken."""
    rows: list[str] = []
    row = ""
    for word in cell.replace("\n", " ").split(" "):
        candidate = f"{row} {word}" if row else word
        if cells(candidate) <= width:
            row = candidate
            continue
        if row:
            rows.append(row)
        pieces = list(_broken(word, width))
        rows += pieces[:-1]
        row = pieces[-1]
    return [*rows, row]


def _broken(word: str, width: int) -> list[str]:
    """A word in pieces that fit, cut behind the signs that part names and paths, if there are any."""
    if cells(word) <= width:
        return [word]
    pieces, piece = list[str](), ""
    places = [0, *(found.end() for found in re.finditer(r"[/_.:@=-]+", word)), len(word)]
    for start, end in pairwise(places):
        part = word[start:end]
        if cells(piece + part) <= width:
            piece += part
            continue
        if piece:
            pieces.append(piece)
        while cells(part) > width:
            size = width if part.isascii() else max(width // 2, 1)
            pieces.append(part[:size])
            part = part[size:]
        piece = part
    return [*pieces, piece]
