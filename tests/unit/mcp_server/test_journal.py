"""What `--verbose` shows of messages and answers."""

import json

import pytest

from openclaw.mcp_server.journal import LogJournal
from openclaw.mcp_server.order import Order

SECRET = "sk-" + "a1B2" * 8


@pytest.fixture
def journal(caplog: pytest.LogCaptureFixture) -> LogJournal:
    caplog.set_level("INFO", logger="openclaw.mcp_server.journal")
    return LogJournal()


@pytest.mark.parametrize("before", range(270, 301, 3))
def test_no_part_of_a_secret_is_shown_wherever_a_text_is_cut(
    before: int, journal: LogJournal, caplog: pytest.LogCaptureFixture
) -> None:
    text = "x" * (before - 1) + " " + SECRET + " and so on"
    journal.ordered(1, Order(text))
    journal.answered(1, json.dumps({"result": text}).encode())
    assert SECRET[:8] not in caplog.text


def test_a_long_message_is_cut_and_a_short_one_is_not(journal: LogJournal, caplog: pytest.LogCaptureFixture) -> None:
    journal.ordered(1, Order("y" * 301))
    journal.ordered(2, Order("z" * 300))
    assert caplog.messages == [
        f"→ order id=1 images=none files=none: {'y' * 300}…",
        f"→ order id=2 images=none files=none: {'z' * 300}",
    ]
