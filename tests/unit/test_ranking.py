"""Text to tools by words: cutting, stemming, synonyms, weights, and many tools at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.ranking import NAME_WEIGHT, build, query_words, rank, same_act, stem, words

TOOLS = [
    ("read", "Read a text file."),
    ("ls", "List the entries of a directory."),
    ("grep", "Search files for lines that match a pattern."),
    ("web_fetch", "Fetch a web page."),
    ("github__createIssue", "Open an issue in a repository."),
    ("wetter", "读取天气预报"),
]


def best(text: str) -> str:
    return rank(build(TOOLS), text, 1)[0][0]


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
    assert best(text) == name


def test_a_word_that_is_the_whole_name_gives_the_name_weight() -> None:
    ((name, weight),) = rank(build(TOOLS), "grep", 1)
    assert name == "grep"
    assert weight == pytest.approx(NAME_WEIGHT)


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    index = build([("a", "common rare"), ("b", "common other"), ("c", "common more"), ("d", "common last")])
    assert [name for name, _ in rank(index, "common rare")] == ["a", "b", "c", "d"]
    assert [name for name, _ in rank(index, "rare")] == ["a"]


def test_synonyms_in_one_description_are_not_counted_twice() -> None:
    index = build([("one", "fetch"), ("many", "download retrieve browse visit"), ("x", "y")])
    assert [name for name, _ in rank(index, "fetch")] == ["one", "many"]


def test_equal_scores_keep_the_order_of_the_tools() -> None:
    index = build([("b", "same words"), ("a", "same words"), ("c", "nothing")])
    assert [name for name, _ in rank(index, "same words")] == ["b", "a"]


def test_nothing_matches_nothing() -> None:
    assert rank(build(TOOLS), "zzz") == []
    assert rank(build([]), "read") == []
    assert rank(build(TOOLS), "the of and") == []


def test_the_limit_is_kept() -> None:
    index = build((f"tool_{number}", "weather") for number in range(50))
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
        (f"server{number % 50}__tool_{number}", f"word{number} does a thing with items") for number in range(count)
    )
    assert rank(index, "what does word17123 do with items?", 1)[0][0] == "server23__tool_17123"


@settings(max_examples=100)
@given(st.text(), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=80)), max_size=8))
def test_any_text_over_any_tools_gives_positive_scores_in_order(text: str, tools: list[tuple[str, str]]) -> None:
    found = rank(build(tools), text)
    scores = [score for _, score in found]
    assert all(score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)


@settings(max_examples=100)
@given(st.text(alphabet=st.characters(codec="ascii", categories=["Ll"]), min_size=1))
def test_a_stem_is_never_empty(word: str) -> None:
    assert stem(word)
