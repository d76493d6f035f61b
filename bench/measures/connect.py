"""Twenty servers at once, nineteen good and one that hangs, is missing or gives up: until the nineteen have each answered a call.

Compared with the same nineteen alone. Alternatives are asked with the hanging server only, opened as their documentation opens several.
"""

from bench.contenders.driver import Target
from bench.contenders.roster import FLOOR, OURS, Entrant
from bench.drivers import stdio_server
from bench.processes import Failed
from bench.results import Figure, middle
from bench.rounds import ratios
from bench.run import Run

GOOD = 19
# Somewhere in the middle, so that who goes one by one has some before and some after it.
BAD_AT = 10
# The longest anybody is given; most programs would have been stopped by their user long before.
PATIENCE = 12.0
# For starting the driver itself, and for cancelling what hangs.
SPARE = 10.0
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
    entrants = run.entrants("connect")
    for entrant in entrants:
        if entrant in (FLOOR, OURS):
            continue
        for case, bad in (("alone", None), ("hanging", BAD["hanging"])):
            reached = _reach(run, entrant, case, bad)
            if reached is not None:
                _add(run, case, entrant.key, [reached])
    if OURS in entrants:
        _ours(run)


def _ours(run: Run) -> None:
    """In rounds: the ratio is to the same servers without the bad one, in the same round."""
    cases: dict[str, Target | None] = {"alone": None, **BAD}
    taken: dict[str, list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(run.rounds(7, 3)):
        found = {case: _reach(run, OURS, case, bad) for case, bad in cases.items()}
        for case, reached in found.items():
            if reached is not None and found["alone"] is not None:
                taken[case].append(reached)
    for case, given in taken.items():
        if given:
            alone = [turn["seconds"] for turn in taken["alone"]]
            ratio = middle(ratios([turn["seconds"] for turn in given], alone))
            _add(run, case, OURS.key, given, ratio)


def _add(run: Run, case: str, who: str, taken: list[dict[str, float]], ratio: float | None = None) -> None:
    reached = min(turn["answered"] for turn in taken)
    run.results.add(Figure("connect", f"{case} usable", who, reached, "count"))
    if reached:
        run.results.add(Figure("connect", case, who, middle([turn["seconds"] for turn in taken]), "seconds", ratio))
    else:
        run.note("connect", who, "failed", "none of the nineteen answered", case)


def _reach(run: Run, entrant: Entrant, case: str, bad: Target | None) -> dict[str, float] | None:
    run.say(f"connect: {case}: {entrant.key}")
    wanted = [f"s{number}" for number in range(GOOD)]
    how = {"servers": servers_with(bad), "wanted": wanted, "patience": PATIENCE}
    try:
        with entrant.driver() as driver:
            return driver.ask({"do": "reach", "how": how}, PATIENCE + SPARE)
    except (Failed, OSError) as error:
        run.failed("connect", entrant.key, error, case)
        return None
