"""The list of requirements and the tests agree: every built row is shown by a test, every mark names a row.

parts/requirement_marks.py says how the marks are found; docs/reference/requirements.md prints both.
"""

import ast
from collections import Counter
from collections.abc import Mapping

from parts.pages import DOCS
from parts.requirement_marks import marks, read
from requirements import REQUIREMENTS

KNOWN = {requirement.id for requirement in REQUIREMENTS}


def shown() -> Mapping[str, list[str]]:
    """The tests that carry each id."""
    return read()[0]


def with_status(status: str) -> set[str]:
    return {requirement.id for requirement in REQUIREMENTS if requirement.status == status}


def test_every_built_requirement_is_shown_by_a_test() -> None:
    assert sorted(with_status("built") - set(shown())) == []


def test_every_mark_names_a_requirement() -> None:
    assert {name: places for name, places in shown().items() if name not in KNOWN} == {}


def test_every_mark_stands_on_a_test_with_one_id() -> None:
    assert read()[1] == []


def test_no_test_carries_an_id_twice() -> None:
    assert {name: tests for name, tests in shown().items() if len(set(tests)) < len(tests)} == {}


def test_what_is_planned_is_not_shown_by_a_test_yet() -> None:
    """Else it is built, and the list is behind."""
    assert {name: shown()[name] for name in with_status("planned") & set(shown())} == {}


def test_ids_and_sentences_are_unique_within_a_document() -> None:
    ids = Counter(requirement.id for requirement in REQUIREMENTS)
    texts = Counter((requirement.source, requirement.text) for requirement in REQUIREMENTS)
    assert [key for counts in (ids, texts) for key, count in counts.items() if count > 1] == []


def test_an_id_begins_with_its_document_and_section() -> None:
    def begins(source: str) -> str:
        document, _, rest = source.partition(" ")
        word = rest.split()[0].removeprefix("§")
        # The sections of the last two documents have names instead of numbers.
        return f"{document}-{word}" if any(character.isdigit() for character in word) else f"{document}-"

    assert [r.id for r in REQUIREMENTS if not r.id.startswith(begins(r.source))] == []


def test_what_is_not_built_as_asked_says_what_is_instead() -> None:
    silent = [r.id for r in REQUIREMENTS if (r.status == "built") == bool(r.note)]
    assert silent == []


def test_what_is_answered_otherwise_has_its_reason_in_a_decision() -> None:
    reasons = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "decisions").glob("*.md"))
    assert sorted(name for name in with_status("decided") if f"`{name}`" not in reasons) == []


def test_a_mark_is_read_only_where_it_counts() -> None:
    text = """
@pytest.mark.requirement("a")
@pytest.mark.requirement("b")
async def test_one(): ...

@pytest.mark.requirement("c")
def helper(): ...

@pytest.mark.requirement(name)
def test_two(): ...

@pytest.mark.requirement
def test_three(): ...

@pytest.mark.requirement("d", "e")
def test_four(): ...

pytestmark = pytest.mark.requirement("f")
"""
    read = sorted((name, test) for _, name, test in marks(ast.parse(text)))
    assert read == [("", "")] * 3 + [("a", "test_one"), ("b", "test_one"), ("c", ""), ("f", "")]
