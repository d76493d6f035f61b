"""How our own costs grow: with 1, 10 and 100 servers; with 100 to 100,000 tools, the first request to a model among them; with what was
kept, up to a million sessions and 10 GB of audit trail; and with the servers of a config in which one changes. In rounds, so that cases
compare with each other.
"""

from bench.processes import Failed
from bench.results import Figure, Unit, middle
from bench.run import Run, report_of

# Servers, and the tools of each.
CASES = {
    "1 server": (1, 10),
    "10 servers": (10, 10),
    "100 servers": (100, 10),
    "100 tools": (10, 10),
    "1,000 tools": (10, 100),
    "10,000 tools": (10, 1_000),
    # One server may list 4 MB of them.
    "100,000 tools": (100, 1_000),
}
# The most tools that a quick run has time for.
QUICK_TOOLS = 10_000
FIELDS: dict[str, Unit] = {
    "known": "seconds",
    "listed": "seconds",
    "first": "seconds",
    "next": "seconds",
    "call": "seconds",
    "rss": "bytes",
}
# A hundred thousand tools are known within a minute on a slow machine.
PATIENCE = 180.0
# What bench/ours/stores.py is asked for, by the name of the measure: words of its case, and how many.
KEPT = {
    "sessions": {"1,000 sessions": 1_000, "100,000 sessions": 100_000, "1,000,000 sessions": 1_000_000},
    "audit": {"10 MB": 10_000_000, "1 GB": 1_000_000_000, "10 GB": 10_000_000_000},
    "reconcile": {"10 servers": 10, "100 servers": 100, "1,000 servers": 1_000},
}


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    cases = {case: size for case, size in CASES.items() if not run.quick or size[0] * size[1] <= QUICK_TOOLS}
    taken: dict[str, list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(run.rounds(3, 1)):
        for case, (servers, tools) in cases.items():
            if case not in taken:
                continue
            run.say(f"growth: {case}: ours")
            try:
                taken[case].append(report_of("bench.ours.growth", str(servers), str(tools), patience=PATIENCE))
            except Failed as error:
                run.failed("growth", "ours", error, case)
                del taken[case]
    for case, given in taken.items():
        for field, unit in FIELDS.items():
            _add(run, "growth", f"{case} {field}", [turn[field] for turn in given], unit)
    for what, sizes in KEPT.items():
        _kept(run, what, sizes)


def _kept(run: Run, what: str, sizes: dict[str, int]) -> None:
    found: dict[str, list[float]] = {}
    for _ in range(run.rounds(3, 1)):
        for case, size in sizes.items():
            run.say(f"growth: {what}: {case}: ours")
            try:
                given = report_of("bench.ours.stores", what, str(size), patience=PATIENCE)
            except Failed as error:
                run.failed(what, "ours", error, case)
                continue
            for field, seconds in given.items():
                found.setdefault(f"{case} {field}", []).append(seconds)
    for case, values in found.items():
        _add(run, what, case, values, "seconds")


def _add(run: Run, measure: str, case: str, values: list[float], unit: Unit) -> None:
    run.results.add(Figure(measure, case, "ours", middle(values), unit, None, min(values), max(values)))
