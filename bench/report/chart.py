"""Bar charts as SVG text, readable on light and dark pages. Pure: the same bars give the same bytes.

A chart brings its own background, since a page may be dark where the system is light. Bars are horizontal and in the order they are
given; with a spread of more than tenfold the scale is logarithmic, the chart says so, and thin lines mark the powers of ten.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
MARGIN = 18
LABEL_WIDTH = 190
VALUE_WIDTH = 84
ROW = 26
BAR = 16
HEAD = 66
FOOT = 16
# What the names of the lines need below the bars.
LINE_NAMES = 16
# Past this factor between the longest and the shortest, short bars would be invisible on a linear scale.
LOGARITHMIC_FROM = 10.0
# The shortest bar of a logarithmic chart still shows.
SHORTEST = 0.04

QUOTES = {'"': "&quot;"}
STYLE = (
    # Words have an edge in the background's colour, where a line passes behind them.
    "<style>text{stroke-width:3px;paint-order:stroke}"
    ".card{fill:#ffffff;stroke:#d8dee4}text{fill:#1f2328;stroke:#ffffff}.note{fill:#59636e}.line{stroke:#d8dee4}"
    ".ours{fill:#0a7d5a}.floor{fill:#c98a1b}.other{fill:#8c96a3}"
    "@media(prefers-color-scheme:dark){"
    ".card{fill:#151b23;stroke:#3d444d}text{fill:#f0f6fc;stroke:#151b23}.note{fill:#9198a1}.line{stroke:#3d444d}"
    ".ours{fill:#2fb98a}.floor{fill:#d9a441}.other{fill:#6e7885}}"
    "</style>"
)


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    shown: str
    kind: str = "other"


def bars(title: str, subtitle: str, rows: list[Bar], shown: Callable[[float], str] = str) -> str:
    """One chart. `rows` must not be empty and their values must be above zero; `shown` writes a power of ten."""
    longest, shortest = max(row.value for row in rows), min(row.value for row in rows)
    logarithmic = longest / shortest > LOGARITHMIC_FROM
    bottom = HEAD + ROW * len(rows)
    height = bottom + FOOT + (LINE_NAMES if logarithmic else 0)
    note = f"{subtitle} (logarithmic scale)" if logarithmic else subtitle
    start = MARGIN + LABEL_WIDTH
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title, QUOTES)}" font-family="system-ui, sans-serif" font-size="13">',
        STYLE,
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text x="{MARGIN}" y="28" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="48" font-size="12">{escape(note)}</text>',
    ]
    if logarithmic:
        for power in _powers_of_ten(shortest, longest):
            x = start + _length(power, shortest, longest, logarithmic=True)
            lines += [
                f'<path class="line" d="M{x:.1f} {HEAD - 4} V{bottom}"/>',
                f'<text class="note" x="{x:.1f}" y="{bottom + 14}" font-size="11" text-anchor="middle">'
                f"{escape(shown(power))}</text>",
            ]
    for number, row in enumerate(rows):
        length = _length(row.value, shortest, longest, logarithmic=logarithmic)
        top = HEAD + number * ROW
        middle = top + BAR - 3
        weight = ' font-weight="600"' if row.kind == "ours" else ""
        lines += [
            f'<text x="{start - 10}" y="{middle}" text-anchor="end"{weight}>{escape(row.label)}</text>',
            f'<rect class="{row.kind}" x="{start}" y="{top}" width="{length:.1f}" height="{BAR}" rx="3"/>',
            f'<text x="{start + length + 8:.1f}" y="{middle}"{weight}>{escape(row.shown)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def _length(value: float, shortest: float, longest: float, *, logarithmic: bool) -> float:
    room = WIDTH - 2 * MARGIN - LABEL_WIDTH - VALUE_WIDTH
    share = value / longest
    if logarithmic:
        share = SHORTEST + (1 - SHORTEST) * math.log(value / shortest) / math.log(longest / shortest)
    return max(2.0, share * room)


def _powers_of_ten(shortest: float, longest: float) -> list[float]:
    """Those from the shortest to the longest."""
    first, last = math.ceil(math.log10(shortest) - 1e-9), math.floor(math.log10(longest) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]
