"""JSON5: the whole language, the place of everything, and one clear sentence for what is broken."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.config.json5 import MAX_DEPTH, Array, Node, Object, Scalar, loads, parse, plain
from openclaw.errors import ConfigError, Problem
from unit.config.written import documents, values


def attempt(text: str) -> Node | ConfigError:
    try:
        return parse(text)
    except ConfigError as error:
        return error


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[]", []),
        ("{a: 1, $b: 2, _c: 3, d1: 4}", {"a": 1, "$b": 2, "_c": 3, "d1": 4}),
        ("{été: 1, ä\\u0062c: 2}", {"été": 1, "äbc": 2}),
        ("{null: 1, true: 2, Infinity: 3}", {"null": 1, "true": 2, "Infinity": 3}),
        ('{\'a\': \'it is "so"\', "b": "it\'s"}', {"a": 'it is "so"', "b": "it's"}),
        ("[1,]", [1]),
        ("{a: 1,}", {"a": 1}),
        ("[0x1F, 0XaB, -0x10, +1, -1]", [31, 171, -16, 1, -1]),
        ("[.5, 5., 1e3, 1.5E-2, +.1]", [0.5, 5.0, 1000.0, 0.015, 0.1]),
        ("[Infinity, -Infinity, +Infinity]", [math.inf, -math.inf, math.inf]),
        ("'a\\\nb\\\r\nc\\\u2028d'", "abcd"),
        (r"'\b\f\n\r\t\v\0\x41\u0042\q\'\\'", "\b\f\n\r\t\v\0ABq'\\"),
        (r'"\uD83D\uDE00"', "😀"),
        ("'a\u2028b'", "a\u2028b"),
        ("\ufeff\u00a0\u3000\v\f{}", {}),
        ("// one\n/* two\n * three **/ {/**/} // four", {}),
        ("/*/ still one comment */ 1", 1),
        ("'// text'", "// text"),
    ],
)
def test_everything_json5_allows_is_read(text: str, value: Any) -> None:
    assert loads(text) == value


def test_not_a_number_is_read() -> None:
    assert [math.isnan(number) for number in loads("[NaN, -NaN]")] == [True, True]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "The file is empty. Write {} for an empty config."),
        ("// only a comment\n", (2, 1), "The file is empty. Write {} for an empty config."),
        ("{a: 1 b: 2}", (1, 7), 'Expected a comma or }, found "b".'),
        ("{a: 1\n b: 2}", (2, 2), 'Expected a comma or }, found "b".'),
        ("[1 2]", (1, 4), 'Expected a comma or ], found "2".'),
        ("{a 1}", (1, 4), 'Expected a colon after the key "a", found "1".'),
        ("{a: sk-live-1234}", (1, 5), 'Expected a value, found "s". Text must stand in quotes.'),
        ("{a: }", (1, 5), 'Expected a value, found "}".'),
        ("{,}", (1, 2), 'Expected a key or }, found ",".'),
        ("{1: 2}", (1, 2), "This character cannot stand in a key without quotes. Put the key in quotes."),
        ("{a: 1}}", (1, 7), 'Expected the end of the file, found "}".'),
        ("[010]", (1, 3), '"1" cannot be part of a number. Text must stand in quotes; 010 is written 10.'),
        ("[1.2.3]", (1, 5), '"." cannot be part of a number. Text must stand in quotes; 010 is written 10.'),
        ("[0x]", (1, 3), '"x" cannot be part of a number. Text must stand in quotes; 010 is written 10.'),
        ("[truer]", (1, 2), 'Expected a value, found "t". Text must stand in quotes.'),
        ("{a: 'x\n'}", (1, 5), "This text is not closed on its line. Close it with '."),
        (r"'\1'", (1, 2), r"\1 is not an escape. Write a backslash as \\."),
        (r"'\x4'", (1, 2), r"Expected 2 hexadecimal digits after \x."),
        (r"'\uD83D'", (1, 1), "This text holds half of a surrogate pair, which is not a character."),
        ("{a: 1} /* x", (1, 8), "This comment is never closed. Close it with */."),
        (f"[{'9' * 5000}]", (1, 2), "This number is longer than 4000 characters."),
    ],
)
def test_what_is_broken_is_said_in_one_sentence_with_its_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "openclaw.json")
    (problem,) = caught.value.problems
    assert ((problem.line, problem.column), f"{problem.message} {problem.hint}".strip()) == (place, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "mcp": {\n    "servers": [', "The file ends inside the array opened at line 3, column 16."),
        ('{\n  "mcp": {', "The file ends inside the object opened at line 2, column 10."),
        ('{"a":', "The file ends inside the object opened at line 1, column 1."),
        ('{"a": 1,', "The file ends inside the object opened at line 1, column 1."),
    ],
)
def test_a_half_written_file_is_told_what_it_lacks(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.problems[0].message == message
    assert caught.value.problems[0].hint.startswith("It looks half-written: expected ")


def test_every_duplicate_key_is_reported_beside_the_first_broken_spot() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("{a: 1,\n a: 2,\n b: {c: 1, 'c': 2},\n d: ?}", "f")
    assert caught.value.problems == (
        Problem(
            'The key "a" is written twice in this object; the first is on line 1.', "f", 2, 2, hint="Keep one of them."
        ),
        Problem(
            'The key "c" is written twice in this object; the first is on line 3.', "f", 3, 12, hint="Keep one of them."
        ),
        Problem('Expected a value, found "?".', "f", 4, 5),
    )


def test_nesting_is_bounded() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(ConfigError, match="nested more than 100 levels"):
        loads("[" * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "/* * */" * 150_000 + "1",
        "// line\n" * 150_000 + "1",
        "/" + "*" * 1_000_000,
        '"' + "\\u0041" * 150_000 + '"',
        '"' + "\\" * 1_000_000,
        "{" + ",".join(f"k{index}: {index}" for index in range(60_000)) + "}",
        "[" + "1," * 300_000 + "]",
    ],
    ids=["comments", "lines", "stars", "escapes", "backslashes", "keys", "items"],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text: str) -> None:
    """A quadratic reader would run into the time limit of the suite."""
    outcome = attempt(text)
    assert isinstance(outcome, Scalar | Array | Object) or outcome.problems[0].line == 1


@given(values)
def test_plain_json_means_what_the_standard_library_says(value: Any) -> None:
    text = json.dumps(value)
    assert loads(text) == json.loads(text)


@given(documents(of=values))
@settings(max_examples=200)
def test_any_hand_that_writes_a_value_is_read_as_that_value(document: tuple[str, Any]) -> None:
    text, value = document
    assert loads(text) == value


def nodes(node: Node) -> list[Node]:
    if isinstance(node, Object):
        return [node, *(inner for member in node.members.values() for inner in nodes(member.value))]
    if isinstance(node, Array):
        return [node, *(inner for item in node.items for inner in nodes(item))]
    return [node]


@given(documents())
def test_every_span_read_alone_gives_the_same_value(document: tuple[str, Any]) -> None:
    text, _ = document
    for node in nodes(parse(text)):
        assert loads(text[node.start : node.end]) == plain(node)
        if isinstance(node, Object):
            assert {key: loads(f"{{{text[m.start : m.end]}: 0}}") for key, m in node.members.items()} == {
                key: {key: 0} for key in node.members
            }


@given(documents())
def test_lines_and_columns_lead_to_the_value(document: tuple[str, Any]) -> None:
    text, _ = document
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for node in nodes(parse(text)):
        line, column = node.source.place(node.start)
        assert lines[line - 1][column - 1] == text[node.start]


@given(documents(), st.data())
def test_a_document_cut_anywhere_is_an_error_with_a_place_or_still_whole(
    document: tuple[str, Any], data: st.DataObject
) -> None:
    text, _ = document
    cut = text[: data.draw(st.integers(0, len(text)))]
    outcome = attempt(cut)
    last = len(cut.splitlines()) + 1
    found = outcome.problems if isinstance(outcome, ConfigError) else ()
    assert all(1 <= problem.line <= last and problem.column >= 1 for problem in found)


@given(st.text(st.sampled_from("{}[]:,'\"\\/*\n\r abu01xX.+-eE\u2028é$NI")))
@settings(max_examples=200)
def test_any_text_is_a_value_or_a_config_error(text: str) -> None:
    outcome = attempt(text)
    assert isinstance(outcome, Scalar | Array | Object) or outcome.problems
