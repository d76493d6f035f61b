"""How our own costs grow: with 1, 10 and 100 servers, and with 100 to 100,000 tools."""

from bench.drivers import DriverError
from bench.results import Figure, Unit
from bench.run import Run, report_of

# servers, tools of each
SERVERS = ((1, 10), (10, 10), (100, 10))
TOOLS = ((10, 10), (10, 100), (10, 1_000), (10, 10_000))
FIELDS: dict[str, Unit] = {"known": "seconds", "listed": "seconds", "call": "seconds", "rss": "bytes"}


def measure(run: Run) -> None:
    cases = [(f"{servers:,} servers", servers, tools) for servers, tools in SERVERS]
    cases += [(f"{servers * tools:,} tools", servers, tools) for servers, tools in TOOLS]
    for case, servers, tools in cases:
        if run.quick and servers * tools > 10_000:
            continue
        run.say(f"growth: {case}")
        try:
            found = report_of("bench.ours.growth", str(servers), str(tools), patience=120)
        except DriverError as error:
            run.failed("growth", case, error)
            continue
        for field, unit in FIELDS.items():
            run.results.add(Figure("growth", f"{case} {field}", "ours", found[field], unit))
