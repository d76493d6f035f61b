"""Where a vendor's list of models is, and what it says."""

import json

import pytest

from openclaw.models.listing import list_url, names_in


@pytest.mark.parametrize(
    ("chat", "listed"),
    [
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/models"),
        ("https://api.openai.com/v1/responses", "https://api.openai.com/v1/models"),
        ("http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1/models"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/models?limit=1000"),
    ],
)
def test_the_list_stands_beside_the_chat_address(chat: str, listed: str) -> None:
    assert list_url(chat) == listed


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"object": "list", "data": [{"id": "a"}, {"id": "b", "owned_by": "x"}, {"id": "a"}]}, ("a", "b")),
        ([{"id": "org/a"}, "b"], ("org/a", "b")),
        ({"models": [{"name": "llama3:latest"}]}, ("llama3:latest",)),
        ({"data": [{"id": "models/gemini-flash-latest"}, {"id": "models/x"}]}, ("gemini-flash-latest", "x")),
        ({"data": [{"id": "models/a"}, {"id": "b"}]}, ("models/a", "b")),
        ({"data": [{"id": 3}, {}, None, {"id": "a\x1b[31m"}]}, ("a",)),
        ({"data": []}, ()),
        ({"error": "no"}, None),
        ("text", None),
    ],
)
def test_names_are_found_in_every_shape_that_is_around(body: object, names: tuple[str, ...] | None) -> None:
    assert names_in(json.dumps(body).encode()) == names


def test_what_is_no_json_is_no_list() -> None:
    assert names_in(b"<html>") is None
    assert names_in(b"[" * 100_000) is None
