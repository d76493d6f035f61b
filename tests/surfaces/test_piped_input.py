"""`… | openclaw agent WORDS`: what is piped in goes along, in this process and through a gateway."""

import array
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.agent import MOST_PIPED, as_text
from openclaw.errors import UsageError
from parts.gateways import PROGRAM, Home, gateway_process, home
from parts.processes import HANG_GUARD

if sys.platform != "win32":
    import fcntl
    import termios


def said(place: Home, key: str) -> Any:
    """What the person said in a conversation."""
    lines = place.run("sessions", "export", f"agent:main:{key}").stdout.splitlines()
    messages = [json.loads(line).get("message", {}) for line in lines]
    return next(one["content"][0]["text"] for one in messages if one.get("role") == "user")


def agent(place: Home, *words: str, data: bytes) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*PROGRAM, *words], env=place.env, cwd=place.state, input=data, capture_output=True, timeout=HANG_GUARD
    )


def test_piped_text_is_appended_to_the_message_with_and_without_a_gateway(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save(place.script(*[{"text": "ok"}] * 9))
        words = ("agent", "--session-key")
        agent(place, *words, "here", "what is", "this?", data="grüße ∀\nmore\n".encode())
        agent(place, *words, "only", data=b"hello\n")
        picture = agent(place, *words, "none", "see", data=b"\x89PNG\r\n\x1a\n\0\0")
        with gateway_process(place):
            agent(place, *words, "there", "-m", "what is this?", data="grüße ∀\nmore\n".encode())
            long = b"x" * (MOST_PIPED + 5)
            too_long = agent(place, *words, "none", "see", data=long)
            told = [said(place, key) for key in ("here", "only", "there")]

    assert told == ["what is this?\n\ngrüße ∀\nmore", "hello", "what is this?\n\ngrüße ∀\nmore"]
    assert (picture.returncode, picture.stderr) == (
        2,
        b"error: What is piped in is not text. Send it along as a file: --attach FILE\n",
    )
    assert (too_long.returncode, too_long.stderr) == (
        2,
        b"error: What is piped in has more than 4,194,304 bytes. Send it along as a file: --attach FILE\n",
    )


@pytest.mark.parametrize("through_gateway", [False, True])
def test_a_pipe_that_nobody_writes_to_is_not_waited_for_without_end(tmp_path: Path, through_gateway: bool) -> None:
    reading, writing = os.pipe()
    with home(tmp_path) as place:
        place.save(place.script({"text": "ok"}))
        with gateway_process(place) as gateway:
            gateway.wait_until("The gateway is up")
            words = ["agent", "-m", "hi"] if through_gateway else ["--local", "agent", "-m", "hi"]
            run = place.run(*words, stdin=reading)
    os.close(reading)
    os.close(writing)
    assert (run.returncode, run.stdout) == (0, "ok\n")
    assert run.stderr.startswith("note: nothing came through standard input within 3 s")


@pytest.mark.parametrize(("piped", "text"), [(b"", ""), (b" \n", ""), (b"\xef\xbb\xbfx\n", "x"), (b"\n  x\n", "  x")])
def test_what_is_piped_in_loses_its_line_ends_and_nothing_else(piped: bytes, text: str) -> None:
    assert as_text(piped) == text


@pytest.mark.parametrize("piped", [b"\xff\xfe", b"a\0b"])
def test_what_is_no_text_is_refused(piped: bytes) -> None:
    with pytest.raises(UsageError, match="is not text"):
        as_text(piped)


@pytest.mark.posix_only("ends a program by SIGINT")
@pytest.mark.parametrize("words", [("agent", "-m", "-"), ("order",), ("chat",)])
def test_who_interrupts_it_is_not_made_to_end_what_is_read_first(tmp_path: Path, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    with home(tmp_path) as place:
        started = subprocess.Popen(
            [*PROGRAM, *words],
            env=place.env,
            cwd=place.state,
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            os.write(writing, b"half a thou")
            deadline = time.monotonic() + HANG_GUARD
            while unread(reading):
                # Nothing tells that somebody else has read.
                assert time.monotonic() < deadline, "it reads nothing"
                os.sched_yield()
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=HANG_GUARD)
        finally:
            started.kill()
    os.close(reading)
    os.close(writing)
    assert (started.returncode, out, b"Fatal" in err) == (130, b"", False)


def unread(pipe: int) -> int:
    """How many bytes wait in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]
