"""Looking for secrets where none may be: in clear, in base64 at any alignment, and in hex."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path


def forms_of(secret: str) -> list[bytes]:
    """Every way a text shows through a plain encoding of something that holds it."""
    data = secret.encode()
    forms = [data, data.hex().encode(), data.hex().upper().encode()]
    for offset in range(3):
        # Characters at the edges also depend on the neighbours, which nobody knows: they are left out.
        encoded = base64.b64encode(b"\0" * offset + data)
        whole = encoded[(0, 2, 3)[offset] : len(encoded) // 4 * 4 - 4]
        forms += [whole, whole.replace(b"+", b"-").replace(b"/", b"_")]
    return forms


def found_in(secrets: Iterable[str], places: Mapping[str, bytes]) -> list[str]:
    """The names of the places that give one of the secrets away."""
    forms = [form for secret in secrets for form in forms_of(secret)]
    return [name for name, content in places.items() if any(form in content for form in forms)]


def files_under(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
