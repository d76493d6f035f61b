"""Twenty servers at once, nineteen good and one that hangs, is missing or gives up: until the nineteen have each answered a call.

Compared with the same nineteen alone. Alternatives are asked with the hanging server only, opened as their documentation opens several.
"""

from contextlib import ExitStack

from bench.contenders.driver import Target
from bench.contenders.roster import FLOOR, OURS, Entrant
from bench.drivers import DriverError, stdio_server
from bench.results import Figure, middle
from bench.run import Run

GOOD = 19
# Somewhere in the middle, so that who goes one by one has some before and some after it.
BAD_AT = 10
# The longest anybody is given; most programs would have been stopped by their user long before.
PATIENCE = 12.0
BAD: dict[str, Target] = {
    "hanging": stdio_server("--hang"),
    "missing": {"command": ["no-such-program-anywhere"]},
    "refusing": stdio_server("--exit"),
}


def servers_with(bad: Target | None) -> dict[str, Target]:
    servers = {f"s{number}": stdio_server() for number in range(GOOD)}
    if bad is None:
        return servers
    names = list(servers)
    return {name: servers.get(name, bad) for name in [*names[:BAD_AT], "bad", *names[BAD_AT:]]}


def measure(run: Run) -> None:
    for entrant in run.entrants():
        if entrant in (FLOOR, OURS):
            continue
        run.say(f"connect: {entrant.key}")
        for case, bad in (("alone", None), ("hanging", BAD["hanging"])):
            reached = _reach(run, entrant, bad)
            if reached is not None:
                _add(run, case, entrant.key, [reached])
    run.say("connect: ours")
    cases: dict[str, Target | None] = {"alone": None, **BAD}
    taken: dict[str, list[dict[str, float]]] = {}
    for _ in range(run.rounds(7, 3)):
        for case, bad in cases.items():
            if (reached := _reach(run, OURS, bad)) is not None:
                taken.setdefault(case, []).append(reached)
    for case, given in taken.items():
        alone = middle([turn["seconds"] for turn in taken["alone"]])
        _add(run, case, OURS.key, given, middle([turn["seconds"] for turn in given]) / alone)


def _add(run: Run, case: str, who: str, taken: list[dict[str, float]], ratio: float | None = None) -> None:
    reached = min(turn["answered"] for turn in taken)
    run.results.add(Figure("connect", f"{case} usable", who, reached, "count"))
    if reached:
        run.results.add(Figure("connect", case, who, middle([turn["seconds"] for turn in taken]), "seconds", ratio))


def _reach(run: Run, entrant: Entrant, bad: Target | None) -> dict[str, float] | None:
    wanted = [f"s{number}" for number in range(GOOD)]
    how = {"servers": servers_with(bad), "wanted": wanted, "patience": PATIENCE}
    with ExitStack() as stack:
        driver = run.driver(entrant, stack, "connect")
        if driver is None:
            return None
        try:
            return driver.ask({"do": "reach", "how": how}, PATIENCE + 10)
        except DriverError as error:
            run.failed("connect", entrant.key, error)
            return {"answered": 0, "seconds": 0.0}
