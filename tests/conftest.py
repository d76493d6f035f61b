"""What every test gets."""

import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from openclaw.redact import forgetting

# How long an example takes says how busy the machine is, and nothing about the code: pytest-timeout is the guard.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# In the background (`nohup make test &`) both are ignored, and what a test starts would inherit that and could not be interrupted. A signal
# that has a handler here is as usual in a program that is started.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)


@pytest.fixture(autouse=True)
def _own_secrets() -> Iterator[None]:
    """What one test has remembered as a secret is masked in no other."""
    with forgetting():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports in text that can be sent: half characters are what some tests log, and no pipe between workers carries them."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
