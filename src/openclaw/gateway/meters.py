"""Numbers about the gateway, and their Prometheus text. Knows nothing of what it counts.

Counters and histograms live here for as long as the process does; gauges are read when somebody asks. docs/reference/metrics.md lists them.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

# Upper bounds in seconds: from a warm local call to a tool that takes minutes.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Label values are names that servers and callers choose: past this many rows of one metric the rest are counted together.
MAX_ROWS = 5_000
_OTHER = "other"

Labels = tuple[str, ...]


class Sample(msgspec.Struct, frozen=True):
    """One line of a gauge: its label values and its value."""

    labels: Labels
    value: float


class Gauge(msgspec.Struct, frozen=True):
    name: str
    help: str
    labels: Labels
    samples: Sequence[Sample]
    kind: str = "gauge"


class Counter:
    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._rows: dict[Labels, float] = {}

    def add(self, *values: str, by: float = 1.0) -> None:
        values = _bounded(values, self._rows)
        self._rows[values] = self._rows.get(values, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help, "counter")
        for values, total in self._rows.items():
            yield f"{self.name}{_labels(self.labels, values)} {_number(total)}"


class _Row(msgspec.Struct):
    counts: list[int]
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.total += seconds
        self.counts[bisect_left(BUCKETS, seconds)] += 1


class Histogram:
    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._rows: dict[Labels, _Row] = {}

    def observe(self, *values: str, seconds: float) -> None:
        values = _bounded(values, self._rows)
        row = self._rows.get(values)
        if row is None:
            row = self._rows[values] = _Row([0] * (len(BUCKETS) + 1))
        row.add(seconds)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help, "histogram")
        for values, row in self._rows.items():
            sum_so_far = 0
            for bound, count in zip((*BUCKETS, math.inf), row.counts, strict=True):
                sum_so_far += count
                shown = "+Inf" if bound == math.inf else _number(bound)
                yield f"{self.name}_bucket{_labels((*self.labels, 'le'), (*values, shown))} {sum_so_far}"
            yield f"{self.name}_sum{_labels(self.labels, values)} {_number(row.total)}"
            yield f"{self.name}_count{_labels(self.labels, values)} {sum_so_far}"


def gauge_lines(gauge: Gauge) -> Iterator[str]:
    yield from _head(gauge.name, gauge.help, gauge.kind)
    for sample in gauge.samples:
        yield f"{gauge.name}{_labels(gauge.labels, sample.labels)} {_number(sample.value)}"


def exposition(meters: Iterable[Counter | Histogram], gauges: Iterable[Gauge]) -> str:
    lines = [line for meter in meters for line in meter.lines()]
    lines += [line for gauge in gauges for line in gauge_lines(gauge)]
    return "\n".join(lines) + "\n"


def _bounded(values: Labels, rows: Mapping[Labels, object]) -> Labels:
    return values if values in rows or len(rows) < MAX_ROWS else tuple(_OTHER for _ in values)


def _head(name: str, help: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"


def _labels(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
