"""The settings that attacks and tasks are played under: one row of the table each."""

from typing import Any

import msgspec


class Mode(msgspec.Struct, frozen=True):
    """`settings` are those of `tools.approval` that are not the defaults; without `person` nobody can be asked. With `reads` the tools
    that say so have been confirmed as reading when the server was connected."""

    key: str
    title: str
    settings: dict[str, Any] = {}
    person: bool = True
    reads: bool = True


NOTHING = Mode("nothing", "nothing is gated (`mode: off`, `taint: off`)", {"mode": "off", "taint": "off"}, reads=False)
DEFAULTS = Mode("defaults", "**the defaults** (`mode: writes`, `taint: ask`)")
UNATTENDED = Mode("nobody", "**the defaults**, and nobody can be asked (`fallback: untainted`)", person=False)

_WITH_READS = (
    DEFAULTS,
    Mode("off", "`mode: off`: foreign text alone makes it ask", {"mode": "off"}),
    Mode("taint-off", "`taint: off`: writes ask, whatever was read", {"taint": "off"}),
    Mode("taint-deny", "`taint: deny`", {"taint": "deny"}),
    Mode("always", "`mode: always`", {"mode": "always"}),
    Mode("deny", "`mode: deny`", {"mode": "deny"}),
    UNATTENDED,
    Mode("nobody-deny", "nobody, `fallback: deny`", {"fallback": "deny"}, person=False),
    Mode("nobody-allow", "nobody, `fallback: allow`", {"fallback": "allow"}, person=False),
    Mode("nobody-taint-off", "nobody, `taint: off`", {"taint": "off"}, person=False),
)
# Those that are played without confirmed reads, too. With `taint: off` such reads would ask as writes do, which is not played. In the
# others it makes no difference: `always` and `deny` treat reads as writes, and in the last two both run, as nobody can be asked.
_TOLD_APART = ("defaults", "off", "taint-deny", "nobody", "nobody-deny")
_WITHOUT_READS = tuple(
    msgspec.structs.replace(mode, key=f"{mode.key}-unconfirmed", reads=False)
    for mode in _WITH_READS
    if mode.key in _TOLD_APART
)
MODES = {mode.key: mode for mode in (NOTHING, *_WITH_READS, *_WITHOUT_READS)}
