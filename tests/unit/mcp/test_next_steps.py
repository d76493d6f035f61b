"""What the end of a server tells a person to do next."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConnectError, LinkLostError, OpenClawError
from openclaw.mcp.life import event_of
from openclaw.mcp.status import ShownState
from openclaw.mcp.wording import absence, refusal
from openclaw.protocol.lifecycle import Event, Status

LOCAL = ServerSpec("my notes", command="notes")
REMOTE = ServerSpec("notes", transport="streamable-http", url="https://notes.example/mcp")


@pytest.mark.parametrize(
    "error", [ConnectError("The server exited with code 1."), LinkLostError("The server exited with code 1.")]
)
def test_the_end_of_a_program_names_the_command_that_shows_what_it_wrote(error: OpenClawError) -> None:
    look = "`openclaw mcp logs 'my notes'` shows what it wrote."
    assert event_of(error, LOCAL) == Event("lost", f"The server exited with code 1. {look}")


def test_a_better_hint_stands_alone() -> None:
    late = ConnectError("The server did not answer.", hint="It needs more time.")
    assert event_of(late, LOCAL) == Event("lost", "The server did not answer. It needs more time.")


def test_a_remote_server_wrote_nothing_that_could_be_shown() -> None:
    assert event_of(LinkLostError("It is gone."), REMOTE) == Event("lost", "It is gone.")


@pytest.mark.parametrize(
    ("state", "reason", "next_attempt", "said"),
    [
        ("failed", "It is broken.", None, "MCP server 'x' has failed: It is broken."),
        ("needs-auth", "Run this", None, "MCP server 'x' needs a sign-in: Run this."),
        ("starting", "", None, "MCP server 'x' is starting."),
        ("unreachable", "Is it on?", 1.2, "MCP server 'x' is unreachable: Is it on? The next attempt is in 1 s."),
    ],
)
def test_missing_tools_are_explained_in_whole_sentences(
    state: ShownState, reason: str, next_attempt: float | None, said: str
) -> None:
    assert absence("x", state, reason, next_attempt) == said


def test_a_refused_call_is_explained_in_whole_sentences() -> None:
    away = Status("unreachable", "Is it on?")
    assert refusal("x", away, 1.2, tried=True) == (
        "MCP server 'x' is not available: Is it on? The next attempt is in 1 s."
    )
    assert refusal("x", Status("failed", "Is it on?"), None, tried=False) == (
        "MCP server 'x' has failed: Is it on? `mcp refresh x` starts it again."
    )
