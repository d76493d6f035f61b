"""What plays come to, and the page that is written from it."""

from bench.agentdojo.page import Results, render
from bench.agentdojo.suite import Play, Way
from bench.agentdojo.tally import Played, Tally, added, tally, through


def played(injection: str = "", way: Way = "", *, reached: bool, asked: int = 0) -> Played:
    return Played(Play("bank", "user_task_1", injection), way, bool(injection), reached, asked, 0, 2, "done")


PLAYS = [
    played(reached=True, asked=2),
    played(reached=False),
    played("injection_task_1", "write", reached=True),
    played("injection_task_2", "write", reached=False, asked=3),
    played("injection_task_3", "address", reached=True),
    played("injection_task_4", "words", reached=True),
]
WHOLE = Tally(
    attacks={"write": 2, "address": 1, "words": 1},
    reached={"write": 1, "address": 1, "words": 1},
    asked_under_attack=3,
    tasks=2,
    solved=1,
    asked=2,
    asked_in=1,
)


def test_attacks_are_counted_by_what_they_do_and_apart_from_tasks() -> None:
    assert tally(PLAYS) == WHOLE
    assert (WHOLE.acting, WHOLE.acting_played) == (2, 3)


def test_only_attacks_that_acted_are_named_as_having_got_through() -> None:
    assert [play.injection for play in through(PLAYS)] == ["injection_task_1", "injection_task_3"]


def test_suites_are_added_up() -> None:
    assert added([WHOLE, WHOLE]).reached == {"write": 2, "address": 2, "words": 2}


def test_the_page_has_a_row_for_each_mode_that_was_played_and_names_what_got_through() -> None:
    machine = {"date": "2026-01-01", "python": "3.11", "system": "Linux 6"}
    results = Results(machine, {"OpenClaw": "1"}, {"defaults": {"banking": WHOLE}}, {"defaults": through(PLAYS)})
    page = render(results)
    row = "| **the defaults** (`mode: writes`, `taint: ask`) | yes | 1 | 1 | 1 | 3 | 2 in 1 tasks | 1 of 2 |"
    assert row in page.splitlines()
    assert "| banking | 3 | 2 | 3 | 2 in 1 | 1 of 2 |" in page.splitlines()
    assert "bank `injection_task_1` in 1 task, bank `injection_task_3` in 1 task." in page
