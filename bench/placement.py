"""On which processor cores clients and servers run, the same for everybody.

One call at a time: a client and its server take turns anyway, so both are on one core, and no figure depends on where a scheduler puts
them or on what waking another core costs, which on virtual machines is more than a call. What it costs otherwise is measured too
(measures/placed.py): on two cores, and as the system likes. Many calls at once: each has a core. Whole programs and many servers: as the
system likes. Of a client only its main thread is placed: Node compiles and collects on others.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, get_args

Place = Literal["one core", "two cores", "free"]
PLACES: tuple[Place, ...] = get_args(Place)


def cores() -> list[int]:
    """Those we may use; none where they cannot be chosen."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def client_cores(place: Place) -> list[int]:
    available = cores()
    return available if place == "free" else available[:1]


def server_cores(place: Place) -> list[int]:
    """Where a server runs whose client is on the `client_cores`."""
    available = cores()
    return {"one core": available[:1], "two cores": available[-1:], "free": available}[place]


def place_client(pid: int, place: Place = "one core") -> None:
    """Keep the main thread of a running program on the clients' core."""
    _settle(pid, client_cores(place))


def arrange(place: Place, client: int, servers: Iterable[int]) -> None:
    """Put a client that runs and its servers, with all their threads, where they are to be from now on."""
    place_client(client, place)
    for server in servers:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{server}/task"):
                _settle(int(thread), server_cores(place))


def _settle(thread: int, chosen: list[int]) -> None:
    if chosen:
        with suppress(OSError):
            os.sched_setaffinity(thread, chosen)
