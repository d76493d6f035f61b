"""What every test gets."""

import signal
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from openclaw.redact import forgetting
from parts.postgres import PostgresServer

# How long an example takes says how busy the machine is, and nothing about the code: pytest-timeout is the guard.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# In the background (`nohup make test &`) both are ignored, and what a test starts would inherit that and could not be interrupted. A signal
# that has a handler here is as usual in a program that is started.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)


# The quick tier is to end within six minutes on two cores. These take long, since they start and end whole programs again and again: they
# are run with the real tier.
WHOLE_PROGRAMS = (
    "agent/test_code_mode.py",
    "docs/test_pages.py::test_a_reader_who_does_what_the_page_says_sees_what_it_shows",
    "docs/test_readme.py",
    "docs/test_tools_for_models.py",
    "e2e/",
    "surfaces/test_chat_gateway.py",
    "surfaces/test_demo.py",
    "surfaces/test_every_wire.py",
    "surfaces/test_gateway_plugins.py",
    "surfaces/test_gateway_process.py",
    "surfaces/test_gateway_reload.py",
    "surfaces/test_hanging_plugins.py",
    "surfaces/test_mcp_everywhere.py",
    "surfaces/test_mcp_server_end.py",
    "surfaces/test_strangers_text.py",
    "unit/bench/",
    "unit/process/test_guardian.py",
)


# The other tiers are run on Linux, and some of their files cannot even be imported on Windows.
if sys.platform == "win32":
    collect_ignore = ["real", "full", "conformance", *(path.rstrip("/") for path in WHOLE_PROGRAMS if "::" not in path)]

# Where a test with this mark is run; elsewhere it is skipped, with what it needs as the reason.
SYSTEMS = {"posix_only": sys.platform != "win32", "linux_only": sys.platform == "linux"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(WHOLE_PROGRAMS):
            item.add_marker(pytest.mark.real)
        for name, is_here in SYSTEMS.items():
            for mark in () if is_here else item.iter_markers(name):
                item.add_marker(pytest.mark.skip(f"needs {mark.args[0]}"))


@pytest.fixture(autouse=True)
def _own_secrets() -> Iterator[None]:
    """What one test has remembered as a secret is masked in no other."""
    with forgetting():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this worker that do it no harm; each makes a database of its own."""
    with PostgresServer() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports in text that can be sent: half characters are what some tests log, and no pipe between workers carries them."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
