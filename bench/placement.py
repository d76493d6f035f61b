"""On which processor cores clients and servers run, the same for everybody.

One call at a time: a client and its server take turns anyway, so both are on one core, and no figure depends on where a scheduler puts
them or on what waking another core costs, which on virtual machines is more than a call. Many calls at once: each has a core. Whole
programs and many servers: as the system likes. Of a program only its main thread is placed: Node compiles and collects on others.
"""

import os
from contextlib import suppress
from typing import Literal

Place = Literal["beside", "apart", "free"]


def cores() -> list[int]:
    """Those we may use; none where they cannot be chosen."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def client_core() -> int | None:
    return next(iter(cores()), None)


def server_cores(place: Place) -> list[int]:
    """Where a server runs whose client is on `client_core`."""
    available = cores()
    return {"beside": available[:1], "apart": available[-1:], "free": available}[place]


def place_client(pid: int) -> None:
    """Keep the main thread of a running program on the clients' core."""
    core = client_core()
    if core is not None:
        with suppress(OSError):
            os.sched_setaffinity(pid, {core})
