"""Turns over 1, 2, 4 and 8 gateways on one PostgreSQL, with the time that it takes of the database; what a turn leaves there; and what it
costs to store a message, against a bare INSERT of the same bytes."""

from typing import Any

from bench.processes import Failed
from bench.results import Figure, Unit, middle
from bench.rounds import ratios
from bench.run import Run, report_of

DRIVER = "bench.ours.fleet"
# A round of turns takes five ways three seconds each, one of appends a second.
ROUNDS, QUICK_ROUNDS = 5, 1
APPEND_ROUNDS, QUICK_APPEND_ROUNDS = 10, 2
# Nine gateways come up one after the other.
PATIENCE = 400.0
# What is kept of a round, and in what.
FIELDS: dict[str, Unit] = {
    "turns": "calls/s",
    "turn": "seconds",
    "gateways": "seconds",
    "callers": "seconds",
    "postgres": "seconds",
    "database": "seconds",
    "statements": "count",
    "wal": "count",
}
# The measures that these figures belong to.
TURNS, ROOM, APPENDS = "fleet", "fleet-room", "appends"


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    for what, of, add in (
        ("appends", run.rounds(APPEND_ROUNDS, QUICK_APPEND_ROUNDS), _add_appends),
        ("turns", run.rounds(ROUNDS, QUICK_ROUNDS), _add_turns),
    ):
        run.say(f"fleet: {what}")
        try:
            add(run, report_of(DRIVER, what, str(of), patience=PATIENCE, with_tests=True))
        except Failed as error:
            run.failed(APPENDS if what == "appends" else TURNS, "ours", error)


def _add_turns(run: Run, found: dict[str, Any]) -> None:
    for row, rounds in found["rounds"].items():
        for field, unit in FIELDS.items():
            values = [one[field] for one in rounds]
            figure = Figure(TURNS, f"{row} {field}", "ours", middle(values), unit, None, min(values), max(values))
            # What is in files asks no database.
            if figure.value:
                run.results.add(figure)
    for name, value in found["room"].items():
        run.results.add(Figure(ROOM, name, "ours", value, "count"))


def _add_appends(run: Run, found: dict[str, Any]) -> None:
    for where, messages in found.items():
        for message, taken in messages.items():
            row = f"{message}, {where}"
            ratio = ratios(taken["append"], taken["insert"])
            low, high = min(ratio), max(ratio)
            run.results.add(
                Figure(APPENDS, f"{row} append", "ours", middle(taken["append"]), "seconds", middle(ratio), low, high)
            )
            run.results.add(Figure(APPENDS, f"{row} insert", "ours", middle(taken["insert"]), "seconds"))
            for name, value in (("ratio", middle(ratio)), ("least", low), ("most", high)):
                run.results.add(Figure(APPENDS, f"{row} {name}", "ours", value, "factor"))
