"""Which part of an entry is a credential, and what stays readable before it."""

from typing import Any

import pytest

from openclaw.importers.credentials import Credential, credentials_in, replaced, without_names

KEY = "sk-live-0123456789abcdefghij"

# An entry, and the one credential in it: where, what stays before it, what it is.
ONE: list[tuple[dict[str, Any], tuple[str, ...], str, str]] = [
    ({"env": {"API_KEY": KEY, "MODE": "fast"}}, ("env", "API_KEY"), "", KEY),
    ({"env": {"DB_PASSWORD": "user:pa=ss"}}, ("env", "DB_PASSWORD"), "", "user:pa=ss"),
    ({"headers": {"Authorization": f"Bearer {KEY}", "Accept": "text/plain"}}, ("headers", "Authorization"), "Bearer ", KEY),
    ({"headers": {"X-Shop": "Zx8Kq2Lm4Np6Rs"}}, ("headers", "X-Shop"), "", "Zx8Kq2Lm4Np6Rs"),
    ({"args": ["-y", "p", f"--api-key={KEY}"]}, ("args", "2"), "--api-key=", KEY),
    ({"args": ["-y", "p", "--token", "short-one"]}, ("args", "3"), "", "short-one"),
    ({"args": ["mcp-remote", "--header", f"Authorization: Bearer {KEY}"]}, ("args", "2"), "Authorization: Bearer ", KEY),
    ({"url": f"https://h.example.com/mcp?apiKey={KEY}"}, ("url",), "https://h.example.com/mcp?apiKey=", KEY),
    ({"url": f"https://h.example.com/mcp?apiKey={KEY}&x=1"}, ("url",), "", f"https://h.example.com/mcp?apiKey={KEY}&x=1"),
    ({"auth": {"clientId": "mine", "clientSecret": "hush"}}, ("auth", "clientSecret"), "", "hush"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "path", "before", "value"), ONE)
def test_a_credential_is_found_and_what_stands_before_it_stays(
    entry: dict[str, Any], path: tuple[str, ...], before: str, value: str
) -> None:
    assert credentials_in(entry) == (Credential(path, before, value),)


@pytest.mark.parametrize(
    "entry",
    [
        {"env": {"API_KEY": "${API_KEY}", "HOME_DIR": "/home/ada", "TOKEN": "$TOKEN"}},
        {"headers": {"Authorization": "Bearer ${TOKEN}", "Accept": "application/json"}},
        {"args": ["--token", "${TOKEN}", "--port", "8080"], "command": "npx"},
        {"env": {"KEY": "secret://vault/a#b"}},
        {"url": "https://h.example.com/mcp"},
    ],
)
def test_what_is_elsewhere_already_is_no_credential(entry: dict[str, Any]) -> None:
    assert credentials_in(entry) == ()


def test_a_value_may_be_known_to_be_one() -> None:
    assert credentials_in({"env": {"A": "plain"}}, {("env", "A")}) == (
        Credential(("env", "A"), "", "plain", was_asked=True),
    )


def test_a_credential_does_not_show_its_value() -> None:
    assert repr(Credential(("env", "A"), "", KEY)) == "Credential(('env', 'A'))"


def test_texts_are_replaced_by_their_path() -> None:
    entry = {"args": ["a", "b"], "env": {"K": "v"}}
    assert replaced(entry, {("args", "1"): "x", ("env", "K"): "y"}) == {"args": ["a", "x"], "env": {"K": "y"}}


def test_references_to_one_secret_under_two_names_are_the_same() -> None:
    one, two = ({"headers": {"A": f"Bearer secret://keychain/openclaw/a{n}"}, "args": ["x"]} for n in ("", "-2"))
    assert without_names(one) == without_names(two) != without_names({"headers": {"A": "Bearer x"}})
