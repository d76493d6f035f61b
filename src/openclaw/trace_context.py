"""The trace that a caller is part of, as it travels: the two fields of W3C Trace Context, in `_meta` or in headers.

Holds the names and what may be taken from a stranger. What they mean is the telemetry's business; without it nobody looks at them.
"""

import re
from collections.abc import Mapping
from typing import Final

# `baggage` is the third that travels like this. It is neither taken nor sent: it may hold anything.
CARRIED: Final = ("traceparent", "tracestate")
# Version, trace, span and flags; a later version may say more. Of the state 512 characters have to be passed on.
_FORMS: Final = {
    "traceparent": re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,256})?"),
    "tracestate": re.compile(r"[a-z0-9][\x20-\x7e]{0,511}"),
}


def carried(given: Mapping[str, object] | None) -> dict[str, str]:
    """What a caller says of its trace: empty when it says nothing that could be one."""
    said = {name: value for name in CARRIED if given and isinstance(value := given.get(name), str)}
    found = {name: value for name, value in said.items() if _FORMS[name].fullmatch(value)}
    return found if "traceparent" in found else {}
