"""What the end of a server tells a person to do next."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConnectError, LinkLostError, OpenClawError
from openclaw.mcp.life import event_of
from openclaw.protocol.lifecycle import Event

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
