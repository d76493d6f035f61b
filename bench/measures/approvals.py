"""What approvals add to a call that needs no question, as processor time: with and without them in turns, and the error of the difference.

The difference is the median of those between two turns that follow each other. Its error is the interval that holds the true median in 95
of 100 such runs, whatever the noise looks like: so many of the sorted differences are left out at each end as a fair coin would leave out.
"""

import math

from bench.ours.approvals import TOOLS, WITH, WITHOUT
from bench.processes import Failed
from bench.results import Figure, middle
from bench.run import Run, report_of

# An interval of 95 in 100 needs six; a hundred make it narrow.
ROUNDS, QUICK_ROUNDS = 100, 10
# 95 in 100 of a normal distribution lie within so many deviations.
DEVIATIONS = 1.96
# Four cases, two ways, a second and a half in all of each round.
PATIENCE = 900.0


def interval(differences: list[float]) -> tuple[float, float]:
    """Where the true median of these is, in 95 of 100 runs."""
    count = len(differences)
    left_out = max(0, math.floor((count - DEVIATIONS * math.sqrt(count)) / 2))
    ordered = sorted(differences)
    return ordered[left_out], ordered[count - 1 - left_out]


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    run.say("approvals: ours")
    try:
        taken = report_of("bench.ours.approvals", str(run.rounds(ROUNDS, QUICK_ROUNDS)), patience=PATIENCE)
    except Failed as error:
        run.failed("approvals", "ours", error)
        return
    for case in TOOLS:
        without = taken[case][WITHOUT]
        added = [more - less for less, more in zip(without, taken[case][WITH], strict=True)]
        least, most = interval(added)
        for name, value in (("call", middle(without)), ("added", middle(added)), ("least", least), ("most", most)):
            run.results.add(Figure("approvals", f"{case} {name}", "ours", value, "seconds"))
