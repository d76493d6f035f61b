"""Listening, and the name of whoever is in the way."""

import os
import socket
from pathlib import Path

import pytest

from openclaw.control.port import PortTakenError, listen, owner_of
from openclaw.errors import OpenClawError, UsageError


def close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


def test_loopback_listens_on_both_families_at_one_port() -> None:
    sockets = listen("loopback", 0)
    try:
        names = [one.getsockname()[:2] for one in sockets]
        assert names[0][0] == "127.0.0.1"
        assert {name[1] for name in names} == {names[0][1]}
        assert {name[0] for name in names} <= {"127.0.0.1", "::1"}
    finally:
        close(sockets)


@pytest.mark.linux_only("/proc")
def test_a_taken_port_is_named_with_its_owner() -> None:
    sockets = listen("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    try:
        with pytest.raises(PortTakenError) as caught:
            listen("loopback", port)
        assert f"Port {port} is taken by " in caught.value.message
        assert f"(pid {os.getpid()})" in caught.value.message
        assert "gateway.port" in caught.value.hint
    finally:
        close(sockets)


def test_nobody_owns_a_free_port() -> None:
    sockets = listen("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    close(sockets)
    assert owner_of(port) == ""


def test_where_nothing_can_be_told_the_owner_is_left_out(tmp_path: Path) -> None:
    assert owner_of(80, proc=tmp_path) == ""


@pytest.mark.parametrize("bind", ["tailnet", "localhost", "", "127.1", "\x1b[31m"])
def test_a_word_that_is_no_address_is_refused(bind: str) -> None:
    with pytest.raises(UsageError, match=r"gateway\.bind"):
        listen(bind, 0)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OpenClawError, match=r"Cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0)
