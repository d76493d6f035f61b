"""How many parts the JSON body of a request has, counted before it is read: everybody waits while objects are made of it. Pure.

Owns the bounds, and counting exactly: a long text that is full of quotes, colons and commas is one part.
"""

from typing import Final

from openclaw.errors import UsageError

# A body may be large; one that consists of very many small parts is nothing that a person or a program sends on purpose.
MANY_KEYS: Final = 100_000
MANY_VALUES: Final = 1_000_000
# Bytes that are looked at in one go, a millisecond or so: in a thread others have their turn in between.
_PIECE: Final = 256 * 1024


def refuse_very_many(body: bytes) -> None:
    """Raises UsageError for a JSON body of very many parts."""
    # Without this many colons and commas, wherever they stand, there cannot be that many parts: so it is with nearly every body.
    if body.count(b":") <= MANY_KEYS and body.count(b",") <= MANY_VALUES:
        return
    keys = values = start = 0
    within_string = 0
    while start < len(body):
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # What is escaped stays with its backslash.
            piece = body[start : start + _PIECE + 1]
        start += len(piece)
        # Without escapes every quote begins or ends a string, and every second part stands outside of one.
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        outside = b"".join(parts[within_string::2])
        within_string ^= (len(parts) - 1) % 2
        keys += outside.count(b":")
        values += outside.count(b",")
        if keys > MANY_KEYS or values > MANY_VALUES:
            raise UsageError(f"The body has more than {MANY_KEYS:,} keys or {MANY_VALUES:,} values.")
