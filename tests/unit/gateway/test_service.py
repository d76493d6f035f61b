"""The service files, read back by somebody else's parser where there is one."""

import plistlib

from openclaw.gateway.service import LABEL, launchd_job, systemd_unit

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


def test_a_job_reads_back_as_it_was_meant() -> None:
    job = plistlib.loads(launchd_job(ARGV, ENV, "/log"))

    assert (job["Label"], job["ProgramArguments"], job["EnvironmentVariables"]) == (LABEL, ARGV, ENV)
    assert job["KeepAlive"] == {"SuccessfulExit": False}
