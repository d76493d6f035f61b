"""A soak of a few seconds with a server that leaves processes behind: it must fail, and say why."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_server_that_leaves_processes_behind_makes_a_soak_fail() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--minutes", "0.05", "--leaky"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 1
    assert "processes left over" in done.stderr
    counted = dict(
        line.split(maxsplit=1)
        for line in done.stdout.splitlines()
        if line.split()[:1] in (["lost"], ["doubled"], ["hung"])
    )
    assert counted == {"lost": "0", "doubled": "0", "hung": "0"}
