"""Errors in words that may leave this machine."""

import pytest

from openclaw.errors import ConfigError, Problem, StoreError
from openclaw.mcp_server.public import clean, sentence


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Nothing to hide.", "Nothing to hide."),
        ("The lock /home/ann/.openclaw/py/locks/ab.lock cannot be taken.", "The lock …/ab.lock cannot be taken."),
        ("'/var/lib/x/y.sqlite': disk full", "'…/y.sqlite': disk full"),
        ("(/a/b/c)", "(…/c)"),
        ("at /etc/passwd:12:3: no", "at …/passwd:12:3: no"),
        (r"C:\Users\ann\secret.txt is missing", "…/secret.txt is missing"),
        ("see https://example.com/docs/a/b for more", "see https://example.com/docs/a/b for more"),
        ("run /mcp auth files, or try 3/4 of it", "run /mcp auth files, or try 3/4 of it"),
        ("and/or", "and/or"),
        ("Bearer sk-abcdefghijklmnopqrstuv is wrong", "Bearer [REDACTED] is wrong"),
    ],
)
def test_paths_are_cut_down_to_their_last_name_and_secrets_masked(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_directories_of_ours_go_even_with_blanks_in_them() -> None:
    text = "The file /home/Ann Lee/media/x.png cannot be kept in /home/Ann Lee/.openclaw/py/media."
    roots = {"/home/Ann Lee": "…", "/home/Ann Lee/.openclaw": "state-directory", "/": "…"}
    assert clean(text, roots) == "The file …/x.png cannot be kept in state-directory/py/media."


def test_an_error_keeps_its_hint() -> None:
    error = StoreError("The store /a/b/c.sqlite is broken.", hint="Look at /a/b/c.sqlite.")
    assert sentence(error) == "The store …/c.sqlite is broken. Look at …/c.sqlite."


def test_a_broken_config_is_told_by_its_first_problems() -> None:
    problems = [Problem(f"problem {n}", file="/home/ann/.openclaw/openclaw.json", line=n) for n in range(1, 9)]
    assert sentence(ConfigError(problems)) == "\n".join(
        [
            "The config file cannot be used.",
            *(f"…/openclaw.json:{n}: problem {n}" for n in range(1, 6)),
            "and 3 more.",
            "`openclaw config validate` shows it all.",
        ]
    )
