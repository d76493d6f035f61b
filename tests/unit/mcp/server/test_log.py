"""Server log messages and progress: in our log, bounded, and shown clean."""

import logging
from collections.abc import Callable

import pytest
from msgspec import Raw

from openclaw.mcp.server.log import MAX_MESSAGES, PERIOD, Progress, ServerLog

# What was logged, with its level.
Lines = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    caplog.set_level(logging.DEBUG, "openclaw.mcp")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.mark.requirement("001-FR-4-chatter")
def test_a_log_message_keeps_its_level_and_names_the_server(lines: Lines) -> None:
    log = ServerLog("web")
    log.log_message(Raw(b'{"level":"critical","logger":"db","data":"disk full"}'))
    log.log_message(Raw(b'{"level":"notice","data":{"a":1}}'))
    log.log_message(Raw(b"[]"))
    assert lines()[:2] == [("ERROR", "MCP server 'web': db: disk full"), ("INFO", "MCP server 'web': {\"a\":1}")]
    assert lines()[2][0] == "DEBUG"


def test_a_flood_is_counted_instead_of_written(lines: Lines) -> None:
    now = [0.0]
    log = ServerLog("web", clock=lambda: now[0])
    for number in range(MAX_MESSAGES + 7):
        log.note(logging.INFO, str(number))
    assert len(lines()) == MAX_MESSAGES
    now[0] = PERIOD
    log.note(logging.INFO, "later")
    assert lines()[MAX_MESSAGES:] == [
        ("WARNING", "MCP server 'web': 7 more messages were not written."),
        ("INFO", "MCP server 'web': later"),
    ]


def test_a_line_said_again_and_again_is_written_once_with_how_often(lines: Lines) -> None:
    log = ServerLog("web", clock=lambda: 1.0)
    for _ in range(50):
        log.note(logging.ERROR, "noise")
    log.note(logging.INFO, "something else")
    log.note(logging.INFO, "something else")
    log.flush()
    assert lines() == [
        ("ERROR", "MCP server 'web': noise"),
        ("ERROR", "MCP server 'web': … 49 more like it"),
        ("INFO", "MCP server 'web': something else"),
        ("INFO", "MCP server 'web': … 1 more like it"),
    ]


def test_two_lines_that_take_turns_are_a_flood_too(lines: Lines) -> None:
    log = ServerLog("web", clock=lambda: 1.0)
    for number in range(4 * MAX_MESSAGES):
        log.note(logging.INFO, "ab"[number // 2 % 2])
    assert len(lines()) == MAX_MESSAGES
    log.flush()
    assert lines()[MAX_MESSAGES:] == [("WARNING", "MCP server 'web': 150 more messages were not written.")]


def test_progress_is_logged_and_shown_in_clean_words(lines: Lines) -> None:
    shown: list[str] = []
    progress = Progress(ServerLog("web"), "get", shown.append)
    before = progress.seen
    progress(1, 4, "half\x1b[31m way\n")
    progress(2.5, None, "")
    assert (before, progress.seen) == (False, True)
    assert shown == ["half way (1 of 4)", "2.5"]
    assert lines() == [("DEBUG", "MCP server 'web': get: half way (1 of 4)"), ("DEBUG", "MCP server 'web': get: 2.5")]
