"""Prometheus text."""

from openclaw.gateway.meters import MAX_ROWS, Counter, Gauge, Histogram, Sample, exposition


def test_numbers_are_shown_in_prometheus_text() -> None:
    calls = Counter("calls_total", "Calls.", "tool", "outcome")
    calls.add("echo", "ok")
    calls.add("echo", "ok", by=2)
    calls.add('odd "name"\\\n', "error")
    level = Gauge("level", "Level.", (), (Sample((), 1.5),))

    assert exposition((calls,), (level,)) == (
        "# HELP calls_total Calls.\n"
        "# TYPE calls_total counter\n"
        'calls_total{tool="echo",outcome="ok"} 3\n'
        'calls_total{tool="odd \\"name\\"\\\\\\n",outcome="error"} 1\n'
        "# HELP level Level.\n"
        "# TYPE level gauge\n"
        "level 1.5\n"
    )


def test_a_histogram_counts_upwards() -> None:
    seconds = Histogram("seconds", "Time.", "kind")
    for value in (0.0005, 0.001, 0.3, 1000.0):
        seconds.observe("mcp", seconds=value)
    lines = list(seconds.lines())

    assert lines[2] == 'seconds_bucket{kind="mcp",le="0.001"} 2'
    assert 'seconds_bucket{kind="mcp",le="0.5"} 3' in lines
    assert 'seconds_bucket{kind="mcp",le="300"} 3' in lines
    assert lines[-3:] == [
        'seconds_bucket{kind="mcp",le="+Inf"} 4',
        'seconds_sum{kind="mcp"} 1000.3015',
        'seconds_count{kind="mcp"} 4',
    ]


def test_names_without_end_are_counted_together() -> None:
    calls = Counter("calls_total", "Calls.", "tool")
    for number in range(MAX_ROWS + 10):
        calls.add(str(number))

    assert list(calls.lines())[-1] == 'calls_total{tool="other"} 10'
