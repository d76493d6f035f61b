"""A run goes on whatever its contenders do: who cannot be installed, fails or hangs is a note."""

import sys

import pytest
from bench.contenders.entrants import FLOOR, Entrant
from bench.drivers import stdio_server
from bench.parts import Unavailable
from bench.results import Note, Results
from bench.run import Run


def nowhere() -> list[str]:
    raise Unavailable("it could not be installed: no network")


ABSENT = Entrant("absent", "absent", nowhere)
BROKEN = Entrant("broken", "broken", lambda: [sys.executable, "-c", "exit('no such module')"])
HANGING = Entrant("hanging", "hanging", lambda: [sys.executable, "-c", "import time; time.sleep(600)"], patience=0.5)


def test_who_is_absent_broken_or_hanging_is_a_note_and_the_others_are_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = Run(Results({}), everybody=(ABSENT, BROKEN, HANGING, FLOOR))
    run.prepare()
    with run.opened("calls", {"stdio": stdio_server(place="one core")}) as drivers:
        made = {who: driver.calls("stdio", count=3, seconds=60.0)["calls"] for who, driver in drivers.items()}
    assert made == {"floor": 3}
    assert run.results.notes == [
        Note("calls", "absent", "skipped", "it could not be installed: no network"),
        Note("calls", "broken", "failed", "no such module"),
        Note("calls", "hanging", "failed", "no answer within 0.5 s"),
    ]
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "absent skipped: it could not be installed: no network",
        "calls: connecting broken",
        "calls: broken failed: no such module",
        "calls: connecting hanging",
        "calls: hanging failed: no answer within 0.5 s",
        "calls: connecting floor",
    ]


@pytest.mark.parametrize(
    ("run", "is_whole", "keys"),
    [
        (Run(Results({})), True, {"floor", "ours", "ts-sdk", "python-sdk", "mcp-use"}),
        (Run(Results({}), quick=True), False, {"floor", "ours", "ts-sdk"}),
        (Run(Results({}), fixed_rounds=1), False, {"floor", "ours", "ts-sdk", "python-sdk", "mcp-use"}),
        (Run(Results({}), who=frozenset({"mcp-use"})), False, {"mcp-use"}),
    ],
)
def test_only_a_run_of_everybody_in_all_rounds_may_be_published(run: Run, is_whole: bool, keys: set[str]) -> None:
    named = ("floor", "ours", "ts-sdk", "python-sdk", "mcp-use")
    assert (run.is_whole, {key for key in named if run.wants(key)}) == (is_whole, keys)


def test_rounds_are_those_of_the_measure_unless_they_are_fixed() -> None:
    runs = (Run(Results({})), Run(Results({}), quick=True), Run(Results({}), fixed_rounds=1))
    assert [run.rounds(9, 3) for run in runs] == [9, 3, 1]
