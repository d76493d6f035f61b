"""Bytes that arrive in pieces and are wanted whole: in linear time and memory, however small the pieces are. Pure.

An object for every piece would cost forty times what a piece of two bytes holds, so small ones are put together on the way; large ones are
kept as they are and copied once, when all is there.
"""

# Below this a piece costs more as an object than its bytes are worth.
SMALL = 1024
# Small pieces are put together up to so many bytes.
_BLOCK = 64 * 1024


class Gathered:
    """`size` is how many bytes there are so far."""

    __slots__ = ("_pieces", "_small", "size")

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []
        self._small = bytearray()

    def add(self, piece: bytes) -> None:
        size = len(piece)
        self.size += size
        if size < SMALL:
            self._small += piece
            if len(self._small) >= _BLOCK:
                self._settle()
        else:
            if self._small:
                self._settle()
            self._pieces.append(piece)

    def pieces(self) -> list[bytes]:
        """What there is, in a few pieces."""
        if self._small:
            self._settle()
        return self._pieces

    def take(self) -> bytes:
        """What there is, whole; nothing is left."""
        pieces = self.pieces()
        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.clear()
        return whole

    def clear(self) -> None:
        self.size = 0
        self._pieces = []
        self._small = bytearray()

    def _settle(self) -> None:
        self._pieces.append(bytes(self._small))
        self._small = bytearray()
