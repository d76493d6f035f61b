"""Bar charts as SVG text, readable on light and dark pages. Pure: the same bars give the same bytes.

A chart brings its own background, since a page may be dark where the system is light. Bars are horizontal, in the order they are given,
and as long as their values: linear from zero. Who has no value has a row with a word instead of a bar.
"""

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
MARGIN = 18
LABEL_WIDTH = 190
# What stands behind the longest bar: so much for each character.
LETTER = 7.5
GAP = 8
ROW = 26
BAR = 16
HEAD = 66
FOOT = 16
# The shortest bar still shows.
SHORTEST = 2.0

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
    # None for who failed or was skipped.
    value: float | None
    shown: str
    kind: str = "other"


def bars(title: str, subtitle: str, rows: list[Bar]) -> str:
    """One chart. At least one of the rows must have a value, and values must be above zero."""
    longest = max(row.value for row in rows if row.value is not None)
    height = HEAD + ROW * len(rows) + FOOT
    start = MARGIN + LABEL_WIDTH
    room = WIDTH - start - MARGIN - GAP - LETTER * max(len(row.shown) for row in rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title, QUOTES)}" font-family="system-ui, sans-serif" font-size="13">',
        STYLE,
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text x="{MARGIN}" y="28" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="48" font-size="12">{escape(subtitle)}</text>',
        f'<path class="line" d="M{start}.5 {HEAD - 4} V{HEAD + ROW * len(rows) - 6}"/>',
    ]
    for number, row in enumerate(rows):
        top = HEAD + number * ROW
        middle = top + BAR - 3
        weight = ' font-weight="600"' if row.kind == "ours" else ""
        lines.append(f'<text x="{start - 10}" y="{middle}" text-anchor="end"{weight}>{escape(row.label)}</text>')
        length = 0.0
        if row.value is not None:
            length = max(SHORTEST, row.value / longest * room)
            lines.append(f'<rect class="{row.kind}" x="{start}" y="{top}" width="{length:.1f}" height="{BAR}" rx="3"/>')
        word = ' class="note"' if row.value is None else weight
        lines.append(f'<text x="{start + length + GAP:.1f}" y="{middle}"{word}>{escape(row.shown)}</text>')
    return "\n".join([*lines, "</svg>", ""])
