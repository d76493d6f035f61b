"""Results of 1, 10 and 50 MB over stdio and as an event stream: seconds, and how far memory rises."""

from bench.drivers import Driver, HttpServer, forget_peak, memory, stdio_server
from bench.processes import Failed
from bench.results import Figure, middle
from bench.rounds import FLOOR, ratios
from bench.run import Run

MB = 1_000_000
SIZES = (1, 10, 50)
# Who took longer than this for 10 MB is not asked for 50: that would be minutes.
TOO_SLOW = 2.0
PATIENCE = 20.0


def measure(run: Run) -> None:
    with HttpServer(place="apart") as http:
        servers = {"stdio": stdio_server(place="apart"), "events": http.target("events/mcp")}
        with run.opened("large", servers) as drivers:
            for case in servers:
                for size in SIZES:
                    _size(run, case, size, drivers)


def _size(run: Run, case: str, size: int, drivers: dict[str, Driver]) -> None:
    seconds: dict[str, list[float]] = {}
    peaks: dict[str, list[float]] = {}
    label = f"{case} {size} MB"
    out = {who for who in drivers if not _is_worth_trying(run, case, size, who)}
    for number in range(run.rounds(5, 3)):
        for who, driver in drivers.items():
            if who in out or (number and seconds[who][0] > TOO_SLOW):
                # One round tells enough about somebody that slow.
                continue
            if not number:
                run.say(f"large: {label}: {who}")
            try:
                forget_peak(driver.pid)
                start = memory(driver.pid)
                took = driver.call(case, "big", PATIENCE, bytes=size * MB)["seconds"]
                peaks.setdefault(who, []).append(max(0, memory(driver.pid, "VmHWM") - start))
                seconds.setdefault(who, []).append(took)
            except (Failed, OSError) as error:
                out.add(who)
                seconds.pop(who, None)
                run.failed("large", who, error, label)
    floor = seconds.get(FLOOR, [])
    for who, taken in seconds.items():
        ratio = middle(ratios(taken, floor)) if floor else None
        run.results.add(Figure("large", label, who, middle(taken), "seconds", ratio, min(taken), max(taken)))
        run.results.add(Figure("large", f"{label} peak", who, middle(peaks[who]), "bytes"))


def _is_worth_trying(run: Run, case: str, size: int, who: str) -> bool:
    if size == SIZES[0]:
        return True
    smaller = SIZES[SIZES.index(size) - 1]
    before = run.results.find("large", f"{case} {smaller} MB", who)
    if before is not None and before.value <= TOO_SLOW:
        return True
    why = f"{smaller} MB failed" if before is None else f"{smaller} MB took {before.value:.1f} s"
    run.note("large", who, "skipped", why, f"{case} {size} MB")
    return False
