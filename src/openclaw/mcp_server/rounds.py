"""Calls that wait for their client to come back: MCP 2026-07-28, where a question is an answer to the request that it belongs to.

The client is told what it is asked, with a `requestState`, and makes its request again with the answers and that state. Owns what the
state is worth. It is sealed (AES-256-GCM, with a key that lives and dies with this process) and holds a handle of 128 bits, the digest of
what was called, and when it expires: it can be neither read nor made elsewhere, leads to one call with the same arguments, counts once, and
for ten minutes. Nothing else in it is trusted, and what it leads to is never started a second time.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from openclaw.errors import UsageError

# Seconds for which a call waits for its client to come back.
LIFE = 600.0

_KEY_BITS = 256
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HANDLE_BYTES = 16
_DIGEST_BYTES = 32
_EXPIRY_BYTES = 8
_PLAIN_BYTES = _HANDLE_BYTES + _DIGEST_BYTES + _EXPIRY_BYTES
# Base64 of all that: 84 bytes are a multiple of three, so that there is one way to write it.
_STATE_CHARACTERS = (_NONCE_BYTES + _PLAIN_BYTES + _TAG_BYTES) * 4 // 3
# What the seal is for: a state is nothing else's secret.
_PURPOSE = b"openclaw requestState 1"

_NOT_OURS = "Invalid params: this requestState was not given by this server. Nothing was run."
_OVER = "Invalid params: this requestState was used already, or what it belongs to has ended. Nothing was run."
_OTHER = "Invalid params: this requestState belongs to a call with other arguments. Nothing was run."

C = TypeVar("C")


def digest_of(pieces: Iterable[bytes]) -> bytes:
    """Of texts in their order, wherever one ends and the next begins."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(len(piece).to_bytes(8, "big"))
        whole.update(piece)
    return whole.digest()


class _State(msgspec.Struct, frozen=True):
    handle: bytes
    digest: bytes
    expiry: int


class ParkedCalls(Generic[C]):
    """The calls whose clients have been asked something and have not come back, by their handles. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seal = AESGCM(AESGCM.generate_key(_KEY_BITS))
        self._calls: dict[bytes, C] = {}

    def park(self, call: C, digest: bytes) -> tuple[bytes, str]:
        """A handle for us, and the state for the client."""
        handle = secrets.token_bytes(_HANDLE_BYTES)
        self._calls[handle] = call
        expiry = int(self._clock() + LIFE)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        plain = handle + digest + expiry.to_bytes(_EXPIRY_BYTES, "big")
        sealed = nonce + self._seal.encrypt(nonce, plain, _PURPOSE)
        return handle, base64.urlsafe_b64encode(sealed).decode()

    def find(self, state: str, digest: bytes | None) -> tuple[bytes, C]:
        """The call that a client comes back to, and its handle, which counts until `forget`.

        Raises UsageError with what to tell the client. A digest of None is that of arguments which cannot be read.
        """
        opened = self._open(state)
        if opened is None:
            raise UsageError(_NOT_OURS)
        call = self._calls.get(opened.handle)
        if call is None or opened.expiry < self._clock():
            raise UsageError(_OVER)
        if opened.digest != digest:
            raise UsageError(_OTHER)
        return opened.handle, call

    def forget(self, handle: bytes) -> None:
        self._calls.pop(handle, None)

    def _open(self, state: str) -> _State | None:
        if len(state) != _STATE_CHARACTERS or not state.isascii():
            return None
        try:
            sealed = base64.b64decode(state, altchars=b"-_", validate=True)
            plain = self._seal.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _PURPOSE)
        except (ValueError, InvalidTag):
            return None
        handle, rest = plain[:_HANDLE_BYTES], plain[_HANDLE_BYTES:]
        return _State(handle, rest[:_DIGEST_BYTES], int.from_bytes(rest[_DIGEST_BYTES:], "big"))
