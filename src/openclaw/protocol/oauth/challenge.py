"""What a 401 or 403 asks for: the `WWW-Authenticate` header (RFC 9110 section 11.6.1), read in one pass.

Owns the grammar and the choice of the Bearer challenge. A header that cannot be read is no challenge: it never stops a flow.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from openclaw.protocol.oauth.wire import scopes_of

# Longer headers are hostile: a challenge is a URL and a few words.
MAX_HEADER: Final = 16 * 1024

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
# One piece of the header: a parameter, a scheme (with a value in the old token68 form passed over), or a lone comma. Values that
# should have been quoted, as addresses should, are taken without.
_PIECE: Final = re.compile(
    rf'[ \t]*+(?:(?P<name>{_TOKEN})[ \t]*+=[ \t]*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<plain>[^\s",]++))(?=[ \t]*+(?:,|$))'
    rf"|(?P<scheme>{_TOKEN})(?=[ \t,]|$)(?:[ \t]++[A-Za-z0-9._~+/-]++=*+(?=[ \t]*+(?:,|$)))?"
    rf"|(?P<comma>,))"
)
_ESCAPE: Final = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True):
    """What the server said. `scopes` is None when it named none."""

    resource_metadata: str = ""
    scopes: tuple[str, ...] | None = None
    error: str = ""


def bearer_challenge(header: str | None) -> Challenge:
    """The Bearer challenge of a header, the one that names metadata if there are several; empty when there is none."""
    found = [parameters for scheme, parameters in _challenges(header or "") if scheme == "bearer"]
    if not found:
        return Challenge()
    chosen = next((parameters for parameters in found if "resource_metadata" in parameters), found[0])
    return Challenge(
        chosen.get("resource_metadata", ""), scopes_of(chosen.get("scope")) or None, chosen.get("error", "")
    )


def offers_bearer(header: str | None) -> bool:
    return any(scheme == "bearer" for scheme, _ in _challenges(header or ""))


def _challenges(header: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    if len(header) > MAX_HEADER:
        return
    scheme, parameters = "", dict[str, str]()
    position, end = 0, len(header.rstrip(" \t"))
    while position < end:
        piece = _PIECE.match(header, position)
        if piece is None:
            break
        position = piece.end()
        if piece["name"] is not None:
            value = _ESCAPE.sub(r"\1", piece["quoted"]) if piece["quoted"] is not None else piece["plain"]
            parameters.setdefault(piece["name"].lower(), value)
        elif piece["scheme"] is not None:
            if scheme:
                yield scheme, parameters
            scheme, parameters = piece["scheme"].lower(), {}
    if scheme:
        yield scheme, parameters
