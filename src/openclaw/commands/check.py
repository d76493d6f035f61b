"""One thing that `openclaw doctor` looked at: how it is, and the next step when it is not well."""

from typing import Literal

import msgspec


class Check(msgspec.Struct, frozen=True):
    """`not asked` is of what was left alone: nobody knows how it is."""

    what: str
    state: Literal["ok", "warning", "failed", "not asked"]
    message: str
    fix: str = ""
