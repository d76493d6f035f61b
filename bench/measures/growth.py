"""How our own costs grow: with 1, 10 and 100 servers, and with 100 to 100,000 tools. In rounds, so that cases compare with each other."""

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
    "100,000 tools": (10, 10_000),
}
# The most tools that a quick run has time for.
QUICK_TOOLS = 10_000
FIELDS: dict[str, Unit] = {"known": "seconds", "listed": "seconds", "call": "seconds", "rss": "bytes"}
# A hundred thousand tools are known within a minute on a slow machine.
PATIENCE = 120.0


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
            values = [turn[field] for turn in given]
            run.results.add(
                Figure("growth", f"{case} {field}", "ours", middle(values), unit, None, min(values), max(values))
            )
