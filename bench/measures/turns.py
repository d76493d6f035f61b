"""What a turn costs as its session grows from 10 to 100,000 messages, without the model; sizes in turns, so that they compare."""

from bench.contenders.entrants import OURS
from bench.ours.turns import SMALLEST
from bench.processes import Failed
from bench.results import Figure, middle
from bench.rounds import add_against
from bench.run import Run, report_of

SIZES, QUICK_SIZES = (SMALLEST, 100, 1_000, 10_000, 100_000), (SMALLEST, 1_000, 100_000)
ROUNDS, QUICK_ROUNDS = 60, 20
# A session of 100,000 messages is made within a minute.
PATIENCE = 400.0


def named(size: int) -> str:
    return f"{size:,} messages"


def measure(run: Run) -> None:
    if not run.wants(OURS.key):
        return
    run.say("turns: ours")
    sizes = QUICK_SIZES if run.quick else SIZES
    rounds = str(run.rounds(ROUNDS, QUICK_ROUNDS))
    try:
        found = report_of("bench.ours.turns", rounds, ",".join(map(str, sizes)), patience=PATIENCE)
    except Failed as error:
        run.failed("turns", OURS.key, error)
        return
    for size in sizes:
        given = found[str(size)]
        for field in ("wall", "cpu"):
            low, high = min(given[field]), max(given[field])
            figure = Figure(
                "turns", f"{named(size)} {field}", OURS.key, middle(given[field]), "seconds", None, low, high
            )
            run.results.add(figure)
        run.results.add(Figure("turns", f"{named(size)} seen", OURS.key, given["seen"], "count"))
        taken = {OURS.key: given["wall"], "smallest": found[str(SMALLEST)]["wall"]}
        add_against(run.results, "turns", named(size), "seconds", taken, {"smallest": named(SMALLEST)})
