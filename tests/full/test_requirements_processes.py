"""What takes as long as a stubborn server may take."""

import time

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.manager import Manager
from parts.processes import has_ended, server_command

pytestmark = pytest.mark.full


@pytest.mark.requirement("001-FR-3-shutdown")
async def test_a_server_that_ignores_sigterm_has_five_seconds_until_it_is_killed() -> None:
    command, *arguments = server_command("--stubborn")
    async with Manager([ServerSpec("stubborn", command=command, args=tuple(arguments))]) as manager:
        pid = manager.status()[0].pid
        assert pid is not None
        asked = time.monotonic()
    assert has_ended(pid)
    # It may take longer on a busy machine, and never less.
    assert time.monotonic() - asked >= 5
