"""The service files, read back by somebody else's parser where there is one."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.gateway.service import LABEL, UNIT, launchd_job, systemd_unit

ARGV = ["/opt/my python/bin/python", "-m", "openclaw", "gateway", "run", "--config", '/c/100% "$HOME"/x.json']
ENV = {"PATH": "/usr/bin:/bin", "OPENCLAW_HOME": "/home/me $x"}


def test_a_unit_takes_every_word_literally() -> None:
    lines = systemd_unit(ARGV, ENV).splitlines()

    assert (
        'ExecStart="/opt/my python/bin/python" "-m" "openclaw" "gateway" "run" "--config" '
        '"/c/100%% \\"$$HOME\\"/x.json"'
    ) in lines
    assert 'Environment="PATH=/usr/bin:/bin"' in lines
    assert 'Environment="OPENCLAW_HOME=/home/me $x"' in lines
    assert "KillMode=mixed" in lines


def test_a_gateway_that_cannot_start_is_tried_without_end() -> None:
    """systemd gives up what started five times within ten seconds: five of these pauses are longer."""
    lines = systemd_unit(ARGV, ENV).splitlines()
    assert {"Restart=on-failure", "RestartSec=5"} <= set(lines)


@pytest.mark.full
def test_systemd_finds_nothing_wrong_with_a_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    assert analyze is not None, "apt-get install systemd"
    unit = tmp_path / UNIT
    env = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}

    def said_of_it(argv: list[str]) -> list[str]:
        unit.write_text(systemd_unit(argv, ENV))
        command = [analyze, "verify", "--user", "--man=no", str(unit)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        # Of other units of this machine it may think what it likes.
        return [line for line in done.stderr.splitlines() if UNIT in line]

    assert said_of_it([sys.executable, *ARGV[1:]]) == []
    assert "/no/such/program" in "\n".join(said_of_it(["/no/such/program"]))


def test_a_job_reads_back_as_it_was_meant() -> None:
    job = plistlib.loads(launchd_job(ARGV, ENV, "/log"))

    assert (job["Label"], job["ProgramArguments"], job["EnvironmentVariables"]) == (LABEL, ARGV, ENV)
    assert job["KeepAlive"] == {"SuccessfulExit": False}
