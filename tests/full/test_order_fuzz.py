"""A million lines that almost are messages, to one process."""

from pathlib import Path

import pytest

from parts.mutated_lines import lines
from parts.order_fuzz import PONG, Fed, feed

# A process that answers nothing but small lines; it grows with what it keeps.
MOST_MEMORY = 256 << 20


@pytest.mark.full
async def test_a_million_mutated_lines_leave_a_server_that_answers_a_ping(tmp_path: Path) -> None:
    fed = await feed(tmp_path, lines(seed=1, count=1_000_000))
    assert fed == Fed([], fed.answers, PONG, 0, b"", fed.peak)
    assert fed.answers > 750_000
    assert fed.peak < MOST_MEMORY
