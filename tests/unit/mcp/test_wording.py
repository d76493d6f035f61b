"""What the end of a server tells a person to do next."""

from collections.abc import Callable
from inspect import iscoroutinefunction

import pytest
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConnectError, HttpStatusError, LinkLostError, OpenClawError
from openclaw.mcp.manager import Manager
from openclaw.mcp.remedies import CHAT, PYTHON, command, with_remedy
from openclaw.mcp.server.connection import event_of
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.status import ServerStatus, ShownState
from openclaw.mcp.wording import CORRECT, absence, next_step, refusal, trouble
from openclaw.protocol.lifecycle import LifecycleEvent, LifecycleStatus
from openclaw.typed_words import quote_word

AGAIN = "`openclaw mcp refresh x` tries it again."
X = ServerSpec("x", command="x")
LOCAL = ServerSpec("my notes", command="notes")
REMOTE = ServerSpec("notes", transport="streamable-http", url="https://notes.example/mcp")


@pytest.mark.parametrize(
    "error", [ConnectError("The server exited with code 1."), LinkLostError("The server exited with code 1.")]
)
def test_the_end_of_a_program_names_the_command_that_shows_what_it_wrote(error: OpenClawError) -> None:
    event = event_of(error, LOCAL)
    assert event == LifecycleEvent("lost", "The server exited with code 1.", "logs")
    assert with_remedy(event.reason, event.remedy, LOCAL.name) == (
        f"The server exited with code 1. `openclaw mcp logs {quote_word('my notes')}` shows what it wrote."
    )


def test_a_better_hint_stands_alone() -> None:
    late = ConnectError("The server did not answer.", hint="It needs more time.")
    assert event_of(late, LOCAL) == LifecycleEvent("lost", "The server did not answer. It needs more time.")


def test_a_server_of_one_agent_that_wants_a_sign_in_names_the_whole_command() -> None:
    spec = replace(REMOTE, name="my notes", owner="writer")
    event = event_of(HttpStatusError(401, "Unauthorized"), spec)
    assert event == LifecycleEvent("sign-in", "The server wants a sign-in.", "auth")
    assert with_remedy(event.reason, event.remedy, spec.name, spec.owner) == (
        f"The server wants a sign-in. Run `openclaw mcp auth {quote_word('my notes')} --agent writer`."
    )


def test_a_remote_server_wrote_nothing_that_could_be_shown() -> None:
    assert event_of(LinkLostError("It is gone."), REMOTE) == LifecycleEvent("lost", "It is gone.")


@pytest.mark.parametrize(
    ("state", "reason", "next_attempt", "said"),
    [
        ("failed", "It is broken.", None, "MCP server 'x' has failed: It is broken."),
        ("needs-auth", "Run this", None, "MCP server 'x' needs a sign-in: Run this."),
        ("needs-auth", "The server 'x' needs you to sign in.", None, "The server 'x' needs you to sign in."),
        ("starting", "", None, "MCP server 'x' is starting."),
        ("restarting", "It exited.", 2.0, "MCP server 'x' is down: It exited. The next attempt is in 2 s."),
        ("disabled", "", None, "MCP server 'x' is disabled."),
        ("unreachable", "Is it on?", 1.2, "MCP server 'x' is unreachable: Is it on? The next attempt is in 1 s."),
    ],
)
def test_missing_tools_are_explained_in_whole_sentences(
    state: ShownState, reason: str, next_attempt: float | None, said: str
) -> None:
    assert absence(ServerStatus("x", state, reason, next_attempt=next_attempt)) == said


def test_a_refused_call_is_explained_in_whole_sentences() -> None:
    away = LifecycleStatus("unreachable", "Is it on?")
    assert refusal(X, away, 1.2, tried=True) == (
        "MCP server 'x' is not available: Is it on? The next attempt is in 1 s."
    )
    assert refusal(X, LifecycleStatus("failed", "Is it on?"), None, tried=False) == (
        "MCP server 'x' has failed: Is it on? `openclaw mcp refresh x` tries it again."
    )
    closed = LifecycleStatus("needs-auth", "The server 'x' needs you to sign in.", remedy="auth")
    assert refusal(X, closed, None, tried=False) == ("The server 'x' needs you to sign in. Run `openclaw mcp auth x`.")
    assert refusal(X, LifecycleStatus("starting"), None, tried=True) == (
        "MCP server 'x' is not available: it is still starting."
    )


REFUSED = ServerStatus("x", "failed", "${A} is not set", where="openclaw.json:3 mcp.servers.x", is_refused=True)
MISPLACED = "openclaw.json:3:9: mcp.servers.x.args: expected a list"
OWN = ServerStatus("my own", "unreachable", "Is it on?", owner="b")


@pytest.mark.parametrize(
    ("status", "said", "step"),
    [
        (ServerStatus("x", "ready"), "", ""),
        (ServerStatus("x", "stopped"), "", ""),
        (ServerStatus("x", "starting"), "", ""),
        (ServerStatus("x", "disabled"), "", ""),
        (ServerStatus("x", "starting", "It exited"), "MCP server 'x' is down: It exited.", AGAIN),
        (
            ServerStatus("x", "restarting", "It exited.", remedy="logs"),
            "MCP server 'x' is down: It exited. `openclaw mcp logs x` shows what it wrote.",
            "",
        ),
        (ServerStatus("x", "ready", "Its tools are odd"), "MCP server 'x' is up, but its tools are odd.", AGAIN),
        (ServerStatus("x", "needs-auth", "Sign in.", remedy="auth"), "Sign in. Run `openclaw mcp auth x`.", ""),
        (
            OWN,
            "MCP server 'my own' is unreachable: Is it on?",
            f"`openclaw mcp refresh {quote_word('my own')} --agent b` tries it again.",
        ),
        (REFUSED, "MCP server 'x' is not started: ${A} is not set (openclaw.json:3 mcp.servers.x).", CORRECT),
        (
            replace(REFUSED, reason=MISPLACED, reason_has_place=True),
            f"MCP server 'x' is not started: {MISPLACED}.",
            CORRECT,
        ),
    ],
)
def test_what_is_wrong_comes_with_one_thing_to_do(status: ServerStatus, said: str, step: str) -> None:
    assert (trouble(status), next_step(status)) == (said, step)


def test_in_a_conversation_commands_are_named_as_they_are_typed_there() -> None:
    status = ServerStatus("x", "needs-auth", "Sign in.", remedy="auth", owner="b")
    assert trouble(status, CHAT) == "Sign in. Run `/mcp auth x --agent b`."
    assert next_step(OWN, CHAT) == f"`/mcp refresh {quote_word('my own')} --agent b` tries it again."


@pytest.mark.parametrize(
    ("word", "method"), [("refresh", LiveServer.refresh), ("trust", LiveServer.trust_changes), ("logs", Manager.stderr)]
)
def test_what_a_program_is_told_to_write_awaits_what_has_to_be_awaited(
    word: str, method: Callable[..., object]
) -> None:
    written = command(word, "shop", prefix=PYTHON)
    assert (written.startswith("await "), method.__name__ in written) == (iscoroutinefunction(method), True)
