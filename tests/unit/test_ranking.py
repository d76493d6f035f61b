"""Text to tools by words: cutting, stemming, synonyms, weights, and many tools at once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.ranking import (
    SYNONYM_WEIGHT,
    Document,
    Index,
    build,
    fused,
    joined,
    parameter_text,
    part_of,
    query_words,
    rank,
    same_act,
    stem,
    words,
)

TOOLS = [
    Document("read", "Read a text file."),
    Document("ls", "List the entries of a directory."),
    Document("grep", "Search files for lines that match a pattern."),
    Document("web_fetch", "Fetch a web page."),
    Document("github__createIssue", "Open an issue in a repository."),
    Document("wetter", "读取天气预报"),
]


def index_of(*pairs: tuple[str, str]) -> Index:
    return build(Document(name, description) for name, description in pairs)


def names(index: Index, text: str, limit: int = 10) -> list[str]:
    return [name for name, _ in rank(index, text, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readFile", ["read", "fil"]),
        ("HTTPServer", ["http", "server"]),
        ("list_directories", ["list", "directory"]),
        ("searching searched searches", ["search", "search", "search"]),
        ("running stopped", ["run", "stop"]),
        ("creating created create", ["creat", "creat", "creat"]),
        ("Straße ＦＩＬＥ", ["strass", "fil"]),
        ("天气预报x", ["天气", "气预", "预报", "x"]),
        ("", []),
        ("\ud800 \x00 🙂", []),
    ],
)
def test_words_are_cut_folded_and_stemmed(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("print it", "read"),
        ("cat it", "read"),
        ("folders please", "ls"),
        ("look for a word", "grep"),
        ("download this page", "web_fetch"),
        ("create an issue", "github__createIssue"),
        ("天气", "wetter"),
    ],
)
def test_everyday_words_find_the_tool_that_does_it(text: str, name: str) -> None:
    ((found, _),) = rank(build(TOOLS), text, 1, synonym_weight=SYNONYM_WEIGHT)
    assert found == name


def test_without_synonyms_a_word_is_found_as_itself_alone() -> None:
    assert (names(build(TOOLS), "print it"), names(build(TOOLS), "reading")) == ([], ["read"])


def test_a_word_that_stands_in_one_tool_of_average_length_gives_one() -> None:
    ((name, score),) = rank(index_of(("a", "x rare"), ("b", "x common"), ("c", "x common")), "rare")
    assert name == "a"
    assert score == pytest.approx(1.0)


def test_a_name_counts_more_than_a_description_and_a_short_text_more_than_a_long_one() -> None:
    index = index_of(
        ("other", "about a forecast"), ("forecast", "about another"), ("long", f"forecast {'more words ' * 90}")
    )
    assert names(index, "forecast") == ["forecast", "other", "long"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    index = index_of(("a", "common rare"), ("b", "common other"), ("c", "common more"), ("d", "common last"))
    assert names(index, "common rare") == ["a", "b", "c", "d"]
    assert names(index, "rare") == ["a"]


def test_everything_that_is_known_of_a_tool_finds_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "station": {"type": "string", "description": "where the train departs"},
            "class": {"enum": ["couchette", "sleeper", 1]},
            "stops": {"type": "array", "items": {"anyOf": [{"title": "Detour"}, {"properties": {"bridge": {}}}]}},
        },
    }
    tool = Document(
        "rail__book", "Books a seat.", "Reservation", parameter_text(schema), "rail: timetables of the north"
    )
    index = build([tool, *TOOLS])
    asked = "seat reservation station departs couchette detour bridge timetable book rail"
    assert [names(index, word) for word in asked.split()] == [["rail__book"]] * 10


@pytest.mark.parametrize("schema", [None, [], {"properties": []}, {"enum": {}}, {"anyOf": {}}, {"description": 1}])
def test_a_schema_that_is_none_says_nothing(schema: Any) -> None:
    assert parameter_text(schema) == ""


def test_a_schema_within_itself_is_read_to_a_depth() -> None:
    schema: dict[str, Any] = {"description": "deep"}
    schema["items"] = schema
    assert parameter_text(schema) == " ".join(["deep"] * 8)


def test_synonyms_in_one_description_are_not_counted_twice() -> None:
    index = index_of(("one", "fetch"), ("many", "download retrieve browse visit"), ("x", "y"))
    assert [name for name, _ in rank(index, "fetch", synonym_weight=SYNONYM_WEIGHT)] == ["one", "many"]


def test_equal_scores_keep_the_order_of_the_tools() -> None:
    assert names(index_of(("b", "same words"), ("a", "same words"), ("c", "nothing")), "same words") == ["b", "a"]


def test_parts_that_are_joined_rank_as_if_they_had_been_made_together() -> None:
    whole, halves = build(TOOLS), joined([part_of(TOOLS[:2]), part_of([]), part_of(TOOLS[2:])])
    for text in ("read a file", "list the files", "search the web page", "天气"):
        assert rank(halves, text) == rank(whole, text)


def test_rankings_are_joined_by_their_places() -> None:
    assert fused([["a", "b", "c"], ["c", "b"]]) == ["c", "b", "a"]
    assert fused([["a", "b"], []], limit=1) == ["a"]


def test_nothing_matches_nothing() -> None:
    assert rank(build(TOOLS), "zzz") == []
    assert rank(build([]), "read") == []
    assert rank(build(TOOLS), "the of and") == []


def test_the_limit_is_kept() -> None:
    index = build(Document(f"tool_{number}", "weather") for number in range(50))
    assert len(rank(index, "weather", 7)) == 7


def test_phrases_mean_the_act() -> None:
    assert query_words("look for it") == ["search"]
    assert query_words("what's in there") == ["insid"]


def test_acts_are_compared_in_any_form() -> None:
    assert same_act("Showing", "read")
    assert not same_act("show", "delete")


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_very_many_tools_are_searched(count: int) -> None:
    index = build(
        Document(f"server{number % 50}__tool_{number}", f"word{number} does a thing with items")
        for number in range(count)
    )
    assert rank(index, "what does word17123 do with items?", 1)[0][0] == "server23__tool_17123"


@settings(max_examples=100)
@given(st.text(), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=80)), max_size=8))
def test_any_text_over_any_tools_gives_positive_scores_in_order(text: str, tools: list[tuple[str, str]]) -> None:
    found = rank(index_of(*tools), text)
    scores = [score for _, score in found]
    assert all(score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)


@settings(max_examples=100)
@given(st.text(alphabet=st.characters(codec="ascii", categories=["Ll"]), min_size=1))
def test_a_stem_is_never_empty(word: str) -> None:
    assert stem(word)
