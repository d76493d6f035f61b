"""What telemetry adds to a bridged call that nobody traces, as processor time, with the error of the difference (`approvals.py` says how);
and what a call costs that is traced."""

from bench.measures.approvals import interval
from bench.ours.telemetry import OFF, ON, WITHOUT
from bench.processes import Failed
from bench.results import Figure, middle
from bench.run import Run, report_of

ROUNDS, QUICK_ROUNDS = 100, 10
# Three ways, half a second in all of each round.
PATIENCE = 600.0


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    run.say("telemetry: ours")
    try:
        taken = report_of("bench.ours.telemetry", str(run.rounds(ROUNDS, QUICK_ROUNDS)), patience=PATIENCE)
    except Failed as error:
        run.failed("telemetry", "ours", error)
        return
    added = [more - less for less, more in zip(taken[WITHOUT], taken[OFF], strict=True)]
    least, most = interval(added)
    figures = {
        "call": middle(taken[WITHOUT]),
        "added": middle(added),
        "least": least,
        "most": most,
        "traced": middle(taken[ON]) - middle(taken[OFF]),
    }
    for name, value in figures.items():
        run.results.add(Figure("telemetry", name, "ours", value, "seconds"))
