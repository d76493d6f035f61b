"""Results of 1, 10 and 50 MB over stdio and as an event stream: seconds, and how far memory rises.

Every case has clients that were started for it: how far memory rises is told by the first result that one ever receives, since what an
earlier one took is seldom given back. The seconds are those of the results after it.
"""

from bench.drivers import Driver, HttpServer, forget_peak, memory, stdio_server
from bench.processes import Failed
from bench.results import Figure
from bench.rounds import add_figures
from bench.run import Run

MB = 1_000_000
SIZES = (1, 10, 50)
ROUNDS = 7
# Who took longer than this has one round, and is not asked for the next size: that would be minutes.
TOO_SLOW = 4.0
# The slowest takes 17 s for 50 MB over stdio on a quiet machine.
PATIENCE = 30.0


def measure(run: Run) -> None:
    with HttpServer(place="two cores") as http:
        servers = {"stdio": stdio_server(place="two cores"), "events": http.target("events/mcp")}
        for case, target in servers.items():
            for size in SIZES:
                out = {entrant.key for entrant in run.everybody if not _is_worth_trying(run, case, size, entrant.key)}
                with run.opened("large", {case: target}, without=out) as drivers:
                    _size(run, case, size, drivers)


def _size(run: Run, case: str, size: int, drivers: dict[str, Driver]) -> None:
    label = f"{case} {size} MB"
    peaks: dict[str, float] = {}
    seconds: dict[str, list[float]] = {}
    slow: set[str] = set()
    for number in range(1 + run.rounds(ROUNDS, 3)):
        for who, driver in drivers.items():
            if who in slow or (number and who not in seconds):
                continue
            if not number:
                run.say(f"large: {label}: {who}")
            try:
                forget_peak(driver.pid)
                before = memory(driver.pid)
                took = driver.call(case, "big", PATIENCE, bytes=size * MB)["seconds"]
                peaks.setdefault(who, max(0, memory(driver.pid, "VmHWM") - before))
            except (Failed, OSError) as error:
                seconds.pop(who, None)
                run.failed("large", who, error, label)
                continue
            # The first is for warming up, but one round tells enough about somebody that slow.
            if took > TOO_SLOW:
                slow.add(who)
            seconds.setdefault(who, [])
            if number or who in slow:
                seconds[who].append(took)
    _add(run, label, seconds, peaks)


def _add(run: Run, label: str, seconds: dict[str, list[float]], peaks: dict[str, float]) -> None:
    add_figures(run.results, "large", label, "seconds", seconds)
    for who, taken in seconds.items():
        if taken:
            run.results.add(Figure("large", f"{label} peak", who, peaks[who], "bytes"))


def _is_worth_trying(run: Run, case: str, size: int, who: str) -> bool:
    if size == SIZES[0] or who in run.absent or not run.wants(who):
        return True
    smaller = SIZES[SIZES.index(size) - 1]
    before = run.results.find("large", f"{case} {smaller} MB", who)
    if before is not None and before.value <= TOO_SLOW:
        return True
    why = f"{smaller} MB failed" if before is None else f"{smaller} MB took {before.value:.1f} s"
    run.note("large", who, "skipped", why, f"{case} {size} MB")
    return False
