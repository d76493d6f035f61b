"""Ten minutes of calls over twenty servers that are killed, cut off, restarted and reconfigured all the time."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.full
@pytest.mark.minutes(10)
@pytest.mark.timeout(1200)
def test_ten_minutes_of_kills_cuts_and_reloads_lose_double_and_leave_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--minutes", "10"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
