"""What several threads do for the first time in the same moment."""

import subprocess
import sys

import pytest

from parts.processes import HANG_GUARD

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]

# Threads take turns as often as they can, which makes the moment likely: without the lock about one run in eight ended by a signal.
PROGRAM = """
import sys, threading
sys.setswitchinterval(1e-6)
from openclaw.config.load import parse_config
together = threading.Barrier(4)
def read():
    together.wait()
    parse_config('{"mcp": {"servers": {"a": {"command": "x"}}}, "agents": {"defaults": {"model": "a/b"}}}')
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_configs_that_are_read_at_the_same_moment_do_not_end_the_process() -> None:
    ended = [subprocess.run([sys.executable, "-c", PROGRAM], timeout=HANG_GUARD).returncode for _ in range(60)]
    assert ended == [0] * 60
