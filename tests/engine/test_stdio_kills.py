"""Servers killed in the middle of traffic: every call ends exactly once, and what is said not to have been processed was not."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from openclaw.errors import LinkLostError
from openclaw.transport.connection import Connection
from openclaw.transport.stdio import StdioTransport
from parts.processes import server_command

CALLS = 60


async def traffic_and_a_kill(journal: Path, seed: int) -> tuple[dict[str, str], set[str]]:
    """How each call ended, by its text; and the texts that the server carried out."""
    chance = random.Random(seed)
    transport = StdioTransport(server_command("--journal", str(journal)), env={"PATH": os.environ["PATH"]})
    ends: dict[str, str] = {}
    kill_after = chance.randrange(CALLS)

    async with Connection(transport) as connection:
        pid = connection.link.pid
        assert pid is not None

        async def one(number: int, size: int) -> None:
            text = f"{number}-{'x' * size}"
            try:
                await connection.request("tools/call", {"name": "echo", "arguments": {"text": text}}, timeout=60.0)
                end = "answered"
            except LinkLostError as error:
                end = "may have been processed" if error.maybe_sent else "not processed"
            assert text not in ends
            ends[text] = end
            if len(ends) == kill_after:
                os.kill(pid, signal.SIGKILL)

        # Sizes from a few bytes to more than a pipe holds, so that the kill meets whole, half and unwritten requests.
        calls = [one(number, chance.choice([1, 100, 5_000, 100_000])) for number in range(CALLS)]
        if kill_after == 0:
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.06), os.kill, pid, signal.SIGKILL)
        await asyncio.gather(*calls)
    done = set(journal.read_text().splitlines()) if journal.exists() else set()  # noqa: ASYNC240 - nothing else runs
    return ends, done


@pytest.mark.parametrize("seed", range(12))
async def test_a_call_said_not_to_be_processed_was_not(tmp_path: Path, seed: int) -> None:
    ends, done = await traffic_and_a_kill(tmp_path / "journal", seed)
    assert len(ends) == CALLS
    assert {text for text, end in ends.items() if end == "answered"} <= done
    assert done.isdisjoint(text for text, end in ends.items() if end == "not processed")
