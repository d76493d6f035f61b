"""What counts as found, which half of the questions judges, and the page."""

import pytest
from bench.search.page import page
from bench.search.recall import PLACES, compared, judged
from bench.search.sets import Question, QuestionSet

from openclaw.ranking import Document

TOOLS = [
    Document("weather", "Tells the forecast."),
    Document("trains", "Tells when a train leaves."),
    Document("x", "y"),
]


def questions(count: int) -> list[Question]:
    return [Question(f"forecast number {number}", frozenset({"weather"})) for number in range(count)]


def test_recall_is_the_share_of_what_is_right_and_its_error_is_of_the_difference() -> None:
    asked = [Question("a", frozenset({"one", "two"})), Question("b", frozenset({"one"}))]
    first = compared(asked, [["one"], []], [["one", "two"], ["one"]])[1]
    assert first == {"places": 3, "before": 0.25, "after": 1.0, "error": pytest.approx(1.96 * 0.125**0.5 / 2**0.5)}


def test_about_half_of_the_questions_are_held_out_and_they_alone_judge() -> None:
    asked = questions(400)
    held_out = sum(one.is_held_out for one in asked)
    found = judged(QuestionSet("set", TOOLS, asked))
    assert 150 < held_out < 250
    assert (found["questions"], found["tools"]) == (held_out, len(TOOLS))


def test_the_page_has_a_row_for_each_ranker_and_set() -> None:
    found = judged(QuestionSet("set", TOOLS, questions(50)))
    speed = {"query": 0.001, "worst": 0.002, "build": 1.0, "bytes": 2**20, "indexed": 100_000}
    machine = {"processor": "p", "system": "s", "python": "3", "date": "d"}
    written = page({"sets": [found], "speed": speed}, machine)
    assert f"| set | 3 | {found['questions']} | before | " in written
    assert "| | | | today | 1.000 ± 0.000 |" in written
    assert written.count("mean of all sets") == 2
    assert f"@{PLACES[-1]} |" in written
