"""What went wrong, for a person and for a program."""

import pytest

from openclaw.commands.failure import error_code, error_json, wants_json
from openclaw.commands.options import SHARED
from openclaw.control.instance import AlreadyRunningError
from openclaw.errors import ConfigError, OpenClawError, Problem, SignInNeededError, UsageError
from openclaw.program import ROOT
from openclaw.redact import remember


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OpenClawError("x"), "failed"),
        (UsageError("x"), "usage"),
        (SignInNeededError("x"), "sign-in-needed"),
        (AlreadyRunningError(None), "already-running"),
    ],
)
def test_a_code_is_the_kind_of_error_in_small_letters(error: OpenClawError, code: str) -> None:
    assert error_code(error) == code


def test_an_object_has_the_sentences_without_what_drives_a_terminal_and_without_secrets() -> None:
    remember("hush-0123456789")
    error = UsageError("It said \x1b[31mhush-0123456789.", hint="Try again.")
    assert error_json(error) == {
        "error": {"code": "usage", "message": "It said [REDACTED].", "hint": "Try again.", "exitCode": 2}
    }


def test_every_problem_of_a_config_is_in_the_object_with_its_place() -> None:
    error = ConfigError([Problem("unknown key", "/c.json", 3, 5, "gateway.prot", 'Did you mean "port"?')])
    assert error_json(error)["error"]["problems"] == [
        {
            "message": "unknown key",
            "file": "/c.json",
            "line": 3,
            "column": 5,
            "path": "gateway.prot",
            "hint": 'Did you mean "port"?',
        }
    ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("mcp status nope --json", True),
        ("mcp status --json", True),
        ("mcp status nope", False),
        ("mcp --json frobnicate", True),
        ("agent -m --json", False),
        ("agent x y -- --json --nosuch", False),
        ("mcp connect npx thing --json-lines", False),
    ],
)
def test_a_line_asks_for_json_also_when_it_cannot_be_read(line: str, wanted: bool) -> None:
    assert wants_json(line.split(), ROOT, SHARED) is wanted
