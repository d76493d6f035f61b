"""How our own costs grow: with 1, 10 and 100 servers, and with 100 to 100,000 tools."""

from bench.processes import Failed
from bench.results import Figure, Unit
from bench.run import Run, report_of

# servers, tools of each
SERVERS = ((1, 10), (10, 10), (100, 10))
TOOLS = ((10, 10), (10, 100), (10, 1_000), (10, 10_000))
FIELDS: dict[str, Unit] = {"known": "seconds", "listed": "seconds", "call": "seconds", "rss": "bytes"}
# A hundred thousand tools are known within a minute on a slow machine.
PATIENCE = 120.0


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    cases = [(f"{servers:,} servers", servers, tools) for servers, tools in SERVERS]
    cases += [(f"{servers * tools:,} tools", servers, tools) for servers, tools in TOOLS]
    for case, servers, tools in cases:
        if run.quick and servers * tools > 10_000:
            continue
        run.say(f"growth: {case}")
        try:
            found = report_of("bench.ours.growth", str(servers), str(tools), patience=PATIENCE)
        except Failed as error:
            run.failed("growth", "ours", error, case)
            continue
        for field, unit in FIELDS.items():
            run.results.add(Figure("growth", f"{case} {field}", "ours", found[field], unit))
