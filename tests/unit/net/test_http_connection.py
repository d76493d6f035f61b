"""Whether a connection that rests may carry another exchange, by each way of asking the kernel."""

import select
import socket
from collections.abc import Callable

import pytest

from openclaw.net.http_connection import asker, by_select

Way = Callable[[socket.socket], Callable[[int], object]]


@pytest.mark.parametrize("way", [asker, by_select], ids=["here", "where-there-is-no-poll"])
def test_the_end_of_a_connection_is_known_before_any_event_loop_has_seen_it(way: Way) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as ours:
        theirs, _ = listening.accept()
        waits = way(ours)
        assert not waits(0)
        theirs.close()
        # It is on its way for an instant, on loopback too.
        select.select((ours,), (), ())
        assert waits(0)
