"""Bar charts as SVG text, readable on light and dark pages. Pure: the same bars give the same bytes.

Bars are horizontal and sorted by whoever calls; with a spread of more than tenfold the scale is logarithmic and the chart says so.
"""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
LABEL_WIDTH = 230
VALUE_WIDTH = 110
ROW = 26
BAR = 16
HEAD = 46
FOOT = 14
# Past this factor between the longest and the shortest, short bars would be invisible on a linear scale.
LOGARITHMIC_FROM = 10.0
# The shortest bar of a logarithmic chart still shows.
SHORTEST = 0.04

OURS = "#0a7d5a"
OTHER = "#7b8794"
BASE = "#b7791f"


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    shown: str
    kind: str = "other"


def bars(title: str, subtitle: str, rows: list[Bar]) -> str:
    """One chart. `rows` must not be empty and their values must be above zero."""
    longest, shortest = max(row.value for row in rows), min(row.value for row in rows)
    logarithmic = longest / shortest > LOGARITHMIC_FROM
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    height = HEAD + ROW * len(rows) + FOOT
    note = f"{subtitle} (logarithmic scale)" if logarithmic else subtitle
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title, QUOTES)}" font-family="system-ui, sans-serif" font-size="13">',
        "<style>text{fill:#1f2933}.note{fill:#52606d}@media(prefers-color-scheme:dark)"
        "{text{fill:#e4e7eb}.note{fill:#9aa5b1}}</style>",
        f'<text x="0" y="16" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text class="note" x="0" y="34" font-size="12">{escape(note)}</text>',
    ]
    for number, row in enumerate(rows):
        share = _share(row.value, shortest, longest, logarithmic=logarithmic)
        top = HEAD + number * ROW
        middle = top + BAR - 3
        length = max(2.0, share * room)
        weight = ' font-weight="600"' if row.kind == "ours" else ""
        lines += [
            f'<text x="{LABEL_WIDTH - 8}" y="{middle}" text-anchor="end"{weight}>{escape(row.label)}</text>',
            f'<rect x="{LABEL_WIDTH}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2" fill="{COLOURS[row.kind]}"/>',
            f'<text x="{LABEL_WIDTH + length + 6:.1f}" y="{middle}"{weight}>{escape(row.shown)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


COLOURS = {"ours": OURS, "other": OTHER, "floor": BASE}
QUOTES = {'"': "&quot;"}


def _share(value: float, shortest: float, longest: float, *, logarithmic: bool) -> float:
    if not logarithmic:
        return value / longest
    return SHORTEST + (1 - SHORTEST) * math.log(value / shortest) / math.log(longest / shortest)
