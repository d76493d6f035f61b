"""Signatures for clients that prove themselves by key (`private_key_jwt`): ES256 and RS256, from a PEM key.

The only place of `auth` that touches private keys of the operator. Errors never quote the key.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Final

import msgspec

from openclaw.errors import AuthError

ALGORITHMS: Final = ("ES256", "RS256")
_COORDINATE_BYTES: Final = 32


class Signer(msgspec.Struct, frozen=True):
    algorithm: str
    sign: Callable[[bytes], bytes]
    # The public half as a JSON Web Key, for a client metadata document.
    public: dict[str, str]


def make_signer(pem: str, algorithm: str = "") -> Signer:
    """Raises AuthError when the key cannot be read, or is not of the kind that `algorithm` needs."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    if algorithm and algorithm not in ALGORITHMS:
        raise AuthError("`auth.signingAlg` names no algorithm of ours.", hint=f"Use {' or '.join(ALGORITHMS)}.")
    key = _load(pem)
    numbers = key.public_key().public_numbers()
    if hasattr(numbers, "curve") and numbers.curve.name == "secp256r1" and algorithm in ("", "ES256"):
        kind = ec.ECDSA(hashes.SHA256())
        public = {"kty": "EC", "crv": "P-256", "x": _number(numbers.x, 32), "y": _number(numbers.y, 32)}
        return Signer("ES256", lambda data: _joined(key.sign(data, kind)), {**public, "alg": "ES256", "use": "sig"})
    if hasattr(numbers, "n") and algorithm in ("", "RS256"):
        padding = PKCS1v15()
        public = {"kty": "RSA", "n": _number(numbers.n, (numbers.n.bit_length() + 7) // 8), "e": _number(numbers.e, 3)}
        return Signer(
            "RS256", lambda data: _signed(key, data, padding, hashes), {**public, "alg": "RS256", "use": "sig"}
        )
    raise AuthError(
        "`auth.privateKey` is not a key for the signature that is asked for.",
        hint="ES256 needs a key on the curve P-256, RS256 an RSA key.",
    )


def _load(pem: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem.encode(), password=None)
        if hasattr(key.public_key(), "public_numbers"):
            return key
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise AuthError(
        "`auth.privateKey` is not an unencrypted PEM key that can be used.",
        hint="It starts with -----BEGIN PRIVATE KEY-----; keep it behind a secret:// reference.",
    )


def _signed(key: Any, data: bytes, padding: Any, hashes: Any) -> bytes:
    signature: bytes = key.sign(data, padding, hashes.SHA256())
    return signature


def _joined(signature: bytes) -> bytes:
    """JWTs carry the two numbers of an ECDSA signature side by side, not in DER."""
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    r, s = decode_dss_signature(signature)
    return bytes(r.to_bytes(_COORDINATE_BYTES, "big") + s.to_bytes(_COORDINATE_BYTES, "big"))


def _number(value: int, size: int) -> str:
    return urlsafe_b64encode(value.to_bytes(size, "big")).rstrip(b"=").decode("ascii")
