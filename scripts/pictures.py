"""Pictures of the documentation, drawn as SVG: the life of a server from the table in the code, and the life of a tool call.

Pure: data in, text out. scripts/docs.py writes the files.
"""

from collections.abc import Sequence
from html import escape

from openclaw.protocol.lifecycle import TABLE, Row

_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} 0 {width} {height}" width="{width}" height="{height}" '
    'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13" role="img" aria-label="{label}">\n'
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#334"/></marker></defs>\n'
    '<rect x="{left}" width="{width}" height="{height}" fill="#fff"/>\n'
)

# Where each state stands: the middle of its box. `starting` is a wide bar that all ways back lead to.
_ROW = 330
_PLACES = {
    "ready": (396, 60),
    "starting": (396, 150),
    "stopped": (100, _ROW),
    "restarting": (248, _ROW),
    "unreachable": (396, _ROW),
    "needs-auth": (544, _ROW),
    "failed": (692, _ROW),
}
_UP = frozenset({"starting", "ready"})
_EVERYWHERE = frozenset(_PLACES)
_WIDE = 672
_BOX = (112, 36)
# The frame around what is up, and the gap between an arrow down and the arrow back.
_FRAME = (40, 24, 712, 168)
_APART = 22
# Where the picture begins: the way in from the left needs room for its label.
_MARGIN = -70


def server_states() -> str:
    """Every arrow of the table. Arrows that start nearly everywhere are drawn once, at the state they lead to."""
    parts = [_HEAD.format(left=_MARGIN, width=812 - _MARGIN, height=440, label="The states of a server")]
    left, top, width, height = _FRAME
    parts.append(
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="12" fill="#eef3fb" stroke="#b8c6e0"/>'
    )
    for name, (x, y) in _PLACES.items():
        wide = _WIDE if name == "starting" else _BOX[0]
        parts.append(_box(x, y, wide, name))
    for (sources, target), labels in _arrows().items():
        parts.append(_arrow_between(sources, target, ", ".join(labels)))
    parts.append(_text(left + width - 12, top + 20, "up", "end", "#667"))
    return "\n".join([*parts, "</svg>\n"])


def _arrows() -> dict[tuple[frozenset[str], str], list[str]]:
    """Events with their guard, by where they start and where they lead. Rows for one event and one target are one arrow."""
    joined: dict[tuple[str, str, str], frozenset[str]] = {}
    for row in TABLE:
        key = (row.event, row.target, row.label)
        joined[key] = joined.get(key, frozenset()) | frozenset(row.states)
    found: dict[tuple[frozenset[str], str], list[str]] = {}
    for (event, target, label), states in joined.items():
        text = f"{event} ({label})" if label else event
        groups = [states] if states >= _EVERYWHERE or states == _UP else [frozenset({state}) for state in states]
        for group in groups:
            found.setdefault((group, target), []).append(text)
    return dict(sorted(found.items(), key=lambda item: (sorted(item[0][0]), item[0][1])))


def _arrow_between(sources: frozenset[str], target: str, label: str) -> str:
    x, y = _PLACES[target]
    bottom = _FRAME[1] + _FRAME[3]
    half = _BOX[1] // 2
    if sources >= _EVERYWHERE:
        lines = f"{label}, from anywhere"
        if target == "starting":
            return _line(_MARGIN + 10, y, x - _WIDE // 2, y) + _label(_MARGIN + 10, y - 26, lines, "start")
        return _line(x, y + 64, x, y + half) + _label(x, y + 80, lines, "middle")
    if sources == _UP:
        return _line(x - _APART, bottom, x - _APART, y - half) + _label(x - _APART - 5, bottom + 40, label, "end")
    (source,) = sources
    if source == target:
        right = x + _BOX[0] // 2
        path = f'<path d="M{right} {y - 9} h34 v18 h-34" fill="none" stroke="#334" marker-end="url(#tip)"/>'
        return path + _text(right + 42, y + 4, label, "start")
    if (source, target) == ("starting", "ready"):
        return _line(x, _PLACES[source][1] - half, x, y + half) + _text(
            x + 8, (y + _PLACES[source][1]) // 2 + 4, label, "start"
        )
    from_x, from_y = _PLACES[source]
    return _line(from_x + _APART, from_y - half, from_x + _APART, y + half) + _label(
        from_x + _APART + 5, bottom + 76, label, "start"
    )


def _label(x: int, y: int, label: str, anchor: str) -> str:
    """A label beside an upright arrow: what stands in brackets goes on a line of its own."""
    head, bracket, rest = label.partition(" (")
    lines = [head, f"({rest}"] if bracket else label.replace(", ", ",\n").split("\n")
    return "".join(_text(x, y + 15 * number, line, anchor) for number, line in enumerate(lines))


def transitions() -> list[tuple[Row, str]]:
    """The rows of the table, each with its states in words."""
    return [(row, "any" if frozenset(row.states) >= _EVERYWHERE else ", ".join(row.states)) for row in TABLE]


def sequence(title: str, actors: Sequence[str], steps: Sequence[tuple[int, int, str]]) -> str:
    """A sequence picture: each step goes from one actor to another, or stays (a note), in order from the top."""
    gap, first, row = 140, 90, 40
    width = first * 2 + gap * (len(actors) - 1)
    height = 90 + row * len(steps)
    parts = [_HEAD.format(left=0, width=width, height=height, label=escape(title, quote=True))]
    for number, actor in enumerate(actors):
        x = first + gap * number
        parts.append(f'<path d="M{x} 46 V{height - 14}" stroke="#b8c6e0" stroke-dasharray="4 4"/>')
        parts.append(_box(x, 28, 124, actor))
    for number, (start, end, text) in enumerate(steps):
        y = 92 + row * number
        from_x, to_x = first + gap * start, first + gap * end
        if start == end:
            parts.append(
                f'<circle cx="{from_x}" cy="{y}" r="4" fill="#334"/>' + _text(from_x + 10, y + 4, text, "start")
            )
        else:
            parts.append(_line(from_x, y, to_x, y) + _text((from_x + to_x) // 2, y - 7, text, "middle"))
    return "\n".join([*parts, "</svg>\n"])


def _box(x: int, y: int, width: int, text: str) -> str:
    left, top = x - width // 2, y - _BOX[1] // 2
    box = f'<rect x="{left}" y="{top}" width="{width}" height="{_BOX[1]}" rx="8" fill="#fff" stroke="#334"/>'
    return box + _text(x, y + 5, text, "middle", "#000")


def _line(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<path d="M{x1} {y1} L{x2} {y2}" fill="none" stroke="#334" marker-end="url(#tip)"/>'


def _text(x: int, y: int, text: str, anchor: str, colour: str = "#223") -> str:
    # A white edge keeps words readable where a line passes behind them.
    edge = 'stroke="#fff" stroke-width="3" paint-order="stroke"'
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" {edge}>{escape(text)}</text>'
