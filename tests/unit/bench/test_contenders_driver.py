"""Who echoes: a client that gives the text, in whatever frame, and one that reads JSON and gives its value. Nobody else."""

import json

import pytest
from bench.contenders.driver import is_echo
from bench.measures.calls import DOCUMENT, LETTERS


@pytest.mark.parametrize("text", ["0123", LETTERS, DOCUMENT], ids=["digits", "letters", "document"])
def test_a_text_in_a_frame_is_an_echo(text: str) -> None:
    assert is_echo(text, f"--- begin ---\n{text}\n--- end ---")


def test_the_value_of_a_document_is_an_echo() -> None:
    assert is_echo(DOCUMENT, str(json.loads(DOCUMENT)))


@pytest.mark.parametrize("result", ["", "[]", "[{'id': 0}]", "an error", "(", "0123"])
def test_anything_else_is_none(result: str) -> None:
    assert not is_echo(DOCUMENT, result)
