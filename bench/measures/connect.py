"""Twenty servers at once, nineteen good and one that hangs, is missing or gives up: until the nineteen have each answered a call.

Compared with the same nineteen alone. Everybody opens them so that nobody waits for anybody; libraries with a call of their own for a
whole list of servers are asked once more in that way, beside the hanging one.
"""

from bench.contenders.driver import Target
from bench.contenders.entrants import FLOORS, OURS, Entrant
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
# Ours is judged and takes a third of a second, so it goes on when the others, who take seconds to start, have had theirs.
ROUNDS, OTHERS_ROUNDS = 9, 3
# Who waited this long, waits for a time limit: another round would tell the same.
TOO_SLOW = 4.0
BAD: dict[str, Target] = {
    "hanging": stdio_server("--hang"),
    "missing": {"command": ["no-such-program-anywhere"]},
    "refusing": stdio_server("--exit"),
}
CASES: dict[str, Target | None] = {"alone": None, **BAD}
# Beside the hanging one, by the library's own call.
LIST = "hanging, as a list"
Reached = dict[str, float]


def servers_with(bad: Target | None) -> dict[str, Target]:
    servers = {f"s{number}": stdio_server() for number in range(GOOD)}
    if bad is None:
        return servers
    names = list(servers)
    return {name: servers.get(name, bad) for name in [*names[:BAD_AT], "bad", *names[BAD_AT:]]}


def measure(run: Run) -> None:
    """In rounds: the ratio is to the same servers without the bad one, in the same round."""
    entrants = [entrant for entrant in run.entrants("connect") if entrant not in FLOORS]
    taken: dict[str, dict[str, list[Reached]]] = {entrant.key: {case: [] for case in CASES} for entrant in entrants}
    out: set[str] = set()
    for number in range(run.rounds(ROUNDS, 3)):
        for entrant in entrants:
            if entrant.key in out or (entrant != OURS and number >= OTHERS_ROUNDS):
                continue
            found = {case: _reach(run, entrant, case, bad) for case, bad in CASES.items()}
            for case, reached in found.items():
                if reached is None:
                    out.add(entrant.key)
                else:
                    taken[entrant.key][case].append(reached)
    for who, cases in taken.items():
        alone = [turn["seconds"] for turn in cases["alone"]]
        for case, given in cases.items():
            _add(run, case, who, given, alone)
    for entrant in entrants:
        if entrant.opens_lists:
            _add(run, LIST, entrant.key, _as_list(run, entrant), [])


def _as_list(run: Run, entrant: Entrant) -> list[Reached]:
    given: list[Reached] = []
    while len(given) < run.rounds(OTHERS_ROUNDS, 1):
        reached = _reach(run, entrant, LIST, BAD["hanging"], "open_list")
        if reached is None:
            break
        given.append(reached)
        if not reached["answered"] or reached["seconds"] > TOO_SLOW:
            break
    return given


def _add(run: Run, case: str, who: str, taken: list[Reached], alone: list[float]) -> None:
    """Who answered in the worst round, and the median of the seconds; none when nobody ever answered."""
    if not taken:
        return
    usable = min(turn["answered"] for turn in taken)
    run.results.add(Figure("connect", f"{case} usable", who, usable, "count"))
    if usable:
        seconds = [turn["seconds"] for turn in taken]
        found = ratios(seconds, alone)
        ratio = middle(found) if found else None
        run.results.add(Figure("connect", case, who, middle(seconds), "seconds", ratio, min(seconds), max(seconds)))


def _reach(run: Run, entrant: Entrant, case: str, bad: Target | None, way: str = "open_many") -> Reached | None:
    run.say(f"connect: {case}: {entrant.key}")
    wanted = [f"s{number}" for number in range(GOOD)]
    how = {"servers": servers_with(bad), "wanted": wanted, "patience": PATIENCE, "way": way}
    try:
        with entrant.driver() as driver:
            return driver.ask({"do": "reach", "how": how}, PATIENCE + SPARE)
    except (Failed, OSError) as error:
        run.failed("connect", entrant.key, error, case)
        return None
