"""Why a tool is missing: the first absence that its name fits."""

import pytest

from openclaw.tool import Absence, find_absence

HELD, DOWN = Absence("files__read", "it changed"), Absence("files__*", "the server is down")


@pytest.mark.parametrize(
    ("name", "found"),
    [("files__read", HELD), ("files__write", DOWN), ("Files__read", None), ("web__read", None)],
)
def test_the_first_absence_that_covers_a_name_is_found(name: str, found: Absence | None) -> None:
    assert find_absence([HELD, DOWN], name) == found


def test_what_a_person_typed_in_another_case_is_found_when_that_is_asked_for() -> None:
    assert find_absence([HELD, DOWN], "FILES__Read", any_case=True) == HELD


@pytest.mark.parametrize("name", ["files__a", "files__b", "files__[ab]"])
def test_only_a_star_has_a_meaning_in_the_name_of_an_absence(name: str) -> None:
    absences = [Absence("files__[ab]", "it changed"), Absence("files__?", "it changed too")]
    assert find_absence(absences, name) == (absences[0] if name == "files__[ab]" else None)
