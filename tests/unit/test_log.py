"""What a log line looks like, and what never gets into one."""

import io
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw import log
from openclaw.errors import UsageError
from openclaw.redact import remember
from parts.modes import PRIVATE_FILE

logger = logging.getLogger("openclaw.test_log")


@pytest.fixture(autouse=True)
def handlers_restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("openclaw")
    levels = root.level, ours.level
    yield
    log.reset()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def message_of(line: str) -> str:
    return line.split(" ", 2)[2]


def raise_and_log(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logger.exception("It failed")


def test_an_event_is_one_line_with_time_level_and_logger() -> None:
    log.configure(level="info", stream=(stream := io.StringIO()))
    logger.info("hello %s", "world", extra={"server": "github"})
    (line,) = lines(stream)
    assert line.split(" ", 1)[1] == "INFO openclaw.test_log: hello world server=github"
    assert line[10] == "T"
    assert line.split(" ")[0].endswith("Z")


def test_json_lines_carry_the_same_event() -> None:
    log.configure(level="info", json_lines=True, stream=(stream := io.StringIO()))
    logger.warning("hello %s", "world", extra={"server": "github", "tries": 3})
    (line,) = lines(stream)
    event = json.loads(line)
    event.pop("time")
    assert event == {
        "level": "warning",
        "logger": "openclaw.test_log",
        "message": "hello world",
        "server": "github",
        "tries": 3,
    }


def test_events_below_the_level_are_left_out() -> None:
    log.configure(level="warning", stream=(stream := io.StringIO()))
    logger.info("quiet")
    logger.warning("loud")
    assert [message_of(line) for line in lines(stream)] == ["openclaw.test_log: loud"]


def test_other_packages_are_heard_from_warning_up() -> None:
    log.configure(level="debug", stream=(stream := io.StringIO()))
    logging.getLogger("somebody.else").info("chatter")
    logging.getLogger("somebody.else").warning("trouble")
    assert [message_of(line) for line in lines(stream)] == ["somebody.else: trouble"]


def test_an_unknown_level_is_a_usage_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        log.configure(level="loud")
    assert str(caught.value) == "There is no log level 'loud'. Use one of debug, info, warning, error."


@pytest.mark.requirement("001-FR-5-redacted")
@pytest.mark.requirement("001-NFR-3-secrets")
@pytest.mark.requirement("001-US-6-redacted")
@pytest.mark.parametrize("json_lines", [False, True])
def test_a_secret_is_masked_in_message_arguments_fields_and_exceptions(json_lines: bool) -> None:
    remember('s3cr"et\\value')
    log.configure(level="debug", json_lines=json_lines, stream=(stream := io.StringIO()))
    logger.info(
        'message s3cr"et\\value and %s and %r', 's3cr"et\\value', ['s3cr"et\\value'], extra={"f": 's3cr"et\\value'}
    )
    raise_and_log(ValueError('bad s3cr"et\\value'))
    text = stream.getvalue()
    assert "s3cr" not in text
    assert text.count("[REDACTED]") >= 6


def test_a_secret_split_by_escape_codes_is_still_masked() -> None:
    remember("splitsecretvalue")
    log.configure(level="info", stream=(stream := io.StringIO()))
    logger.info("stderr: split\x1b[31msecret\x1b[0mvalue")
    assert message_of(lines(stream)[0]) == "openclaw.test_log: stderr: [REDACTED]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nINFO forged", "a\\nINFO forged"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never closed", "never closed"),
        ("\x9b31mred", "red"),
        ("nul\x00bell\x07", "nul\\x00bell\\x07"),
        ("a\u2028b\u202ec\u200bd", "a\\u2028b\\u202ec\\u200bd"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone\ud800", "lone\\ud800"),
        ("naïve 日本語 🙂", "naïve 日本語 🙂"),
    ],
)
def test_control_characters_cannot_forge_a_line_or_drive_a_terminal(text: str, shown: str) -> None:
    log.configure(level="info", stream=(stream := io.StringIO()))
    logger.info("%s", text)
    assert [message_of(line) for line in stream.getvalue().split("\n")[:-1]] == [f"openclaw.test_log: {shown}"]


@given(st.text(st.characters(), max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_makes_one_printable_line(text: str) -> None:
    shown = log.one_line(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    shown.encode()


def test_a_very_long_text_is_cut_and_says_so() -> None:
    assert log.one_line("x" * 20_000) == "x" * 16_384 + "… (3616 more characters)"


@pytest.mark.parametrize("piece", ["\x1b", "\x9d", "\x1b]", "\x1bP", "\x90", "\x1b[1;", "\x9b1"])
def test_hostile_escape_codes_do_not_hang(piece: str) -> None:
    log.ESCAPE_SEQUENCE.sub("", piece * 500_000)


def test_above_debug_an_exception_is_one_sentence() -> None:
    log.configure(level="info", stream=(stream := io.StringIO()))
    raise_and_log(ValueError("no such\nthing"))
    assert [message_of(line) for line in lines(stream)] == ["openclaw.test_log: It failed: ValueError: no such\\nthing"]


def test_at_debug_the_traceback_follows_indented() -> None:
    log.configure(level="debug", stream=(stream := io.StringIO()))
    raise_and_log(ValueError("no such thing"))
    first, *rest = lines(stream)
    assert message_of(first) == "openclaw.test_log: It failed: ValueError: no such thing"
    assert rest[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest)


def test_at_debug_a_json_line_holds_the_traceback() -> None:
    log.configure(level="debug", json_lines=True, stream=(stream := io.StringIO()))
    raise_and_log(ValueError("no such thing"))
    (line,) = lines(stream)
    assert json.loads(line)["traceback"].startswith("  Traceback (most recent call last):\n")


def test_a_wrong_format_string_does_not_lose_the_event() -> None:
    record = logging.makeLogRecord({"name": "openclaw.x", "msg": "%s and %s", "args": ("one",), "levelname": "INFO"})
    assert message_of(log.Line(tracebacks=False).format(record)) == "openclaw.x: %s and %s"


def test_a_closed_stream_is_not_an_error() -> None:
    stream = io.StringIO()
    log.configure(level="info", stream=stream)
    stream.close()
    logger.info("into the void")
    assert stream.closed


def test_a_log_file_is_private_and_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "openclaw.log"
    for text in ("first", "second"):
        log.configure(level="info", stream=io.StringIO(), file=file)
        logger.info("%s", text)
    log.reset()
    assert [message_of(line) for line in file.read_text().splitlines()] == [
        "openclaw.test_log: first",
        "openclaw.test_log: second",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == PRIVATE_FILE


def test_a_log_file_turns_over_by_size(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.log"
    with file.open("w") as full:
        full.truncate(log.LARGEST_FILE)
    log.configure(level="info", stream=io.StringIO(), file=file)
    logger.info("the last of the old")
    logger.info("the first of the new")
    assert [message_of(line) for line in file.read_text().splitlines()] == ["openclaw.test_log: the first of the new"]
    assert file.with_name("openclaw.log.1").read_text().endswith("openclaw.test_log: the last of the old\n")


def test_a_full_log_file_that_somebody_reads_keeps_every_line_and_those_put_aside_before(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.log"
    file.with_name("openclaw.log.1").write_text("put aside before\n")
    with file.open("w") as full:
        full.truncate(log.LARGEST_FILE)
    log.configure(level="info", stream=io.StringIO(), file=file)
    # A program that is none of ours: Windows does not let the file be renamed meanwhile.
    with file.open("rb"):
        for number in range(3):
            logger.info("%d", number)
    logger.info("3")
    log.reset()
    kept = [line for one in tmp_path.iterdir() for line in one.read_text().replace("\0", "").splitlines()]
    told = ["put aside before", *(f"openclaw.test_log: {number}" for number in range(4))]
    assert sorted(message_of(line) if " INFO " in line else line for line in kept) == sorted(told)


@pytest.mark.posix_only("the words of POSIX for what went wrong")
def test_a_log_file_that_cannot_be_opened_costs_one_warning(tmp_path: Path) -> None:
    log.configure(level="info", stream=(stream := io.StringIO()), file=tmp_path)
    logger.info("still here")
    assert [message_of(line) for line in lines(stream)] == [
        f"openclaw.log: No log file at {tmp_path}: Is a directory.",
        "openclaw.test_log: still here",
    ]


def test_configuring_again_replaces_the_first_setting() -> None:
    log.configure(level="info", stream=(first := io.StringIO()))
    log.configure(level="info", stream=(second := io.StringIO()))
    logger.info("once")
    assert (lines(first), len(lines(second))) == ([], 1)


def test_a_session_key_is_shown_as_a_short_stable_hash() -> None:
    assert log.short_hash("agent:main:main") == log.short_hash("agent:main:main")
    assert len(log.short_hash("agent:main:main")) == 12
    assert log.short_hash("agent:main:main") != log.short_hash("agent:main:other")
    assert log.short_hash("\ud800")
