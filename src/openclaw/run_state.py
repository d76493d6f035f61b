"""How a run stands that was begun over HTTP: a value, for whoever has runs and whoever tells others of them."""

from typing import Literal

import msgspec


class RunState(msgspec.Struct, frozen=True, rename="camel"):
    """How a run stands. `reason` says how it ended; `last_event` is the number of its newest event, `began_at` seconds since 1970."""

    run: str
    agent: str
    session_key: str
    state: Literal["running", "over"]
    reason: str
    last_event: int
    began_at: float
