"""Numbers as people read them. Pure."""

from bench.results import Unit

_MB = 1024 * 1024


def quantity(value: float, unit: Unit) -> str:
    match unit:
        case "seconds":
            return duration(value)
        case "bytes":
            # A slope of some kilobytes is not nothing.
            if 0 < abs(value) < _MB / 2:
                return f"{value / 1024:,.1f} KB"
            return f"{value / _MB:,.0f} MB"
        case "calls/s":
            return f"{value:,.0f}/s"
        case "yes":
            return "yes" if value else "no"
        case "factor":
            return factor(value)
        case "count":
            return f"{value:,.0f}"


def duration(seconds: float) -> str:
    """Three figures of it at most, in the unit that suits it."""
    if 0 < abs(seconds) < 1e-5:
        return f"{seconds * 1e6:.1f} µs"
    if abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if abs(seconds) < 1:
        milliseconds = seconds * 1e3
        return f"{milliseconds:.2f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s"


def factor(value: float) -> str:
    """A ratio: two digits where they mean something."""
    if value < 0.995:
        return f"{value:.2f}x"
    return f"{value:.1f}x" if value < 9.95 else f"{value:,.0f}x"
