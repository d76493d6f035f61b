"""Pictures and recordings of conversations, in files beside the session store: one file for the same bytes, whoever said them.

Owns how they are written, read and found; which of them are still needed is the database's business. Files are named by the SHA-256 of
what they hold, private to their owner, and written whole before the event that needs them is stored.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from openclaw.files import make_directory, replace


class MediaFiles:
    """The files under one directory, which is made when first needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, data: bytes) -> str:
        """Keep `data`, and what it is called. Raises StoreError."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if not path.exists():
            make_directory(path.parent)
            replace(path, data)
        return digest

    def read(self, digest: str) -> bytes | None:
        """None when somebody has taken the file away."""
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, digest: str) -> None:
        path = self._path(digest)
        with suppress(FileNotFoundError):
            path.unlink()
        with suppress(OSError):
            # Only one that is empty goes.
            path.parent.rmdir()

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Every file that is there, with its size in bytes."""
        for folder, _, names in os.walk(self._directory):
            for name in names:
                with suppress(FileNotFoundError):
                    yield name, os.stat(os.path.join(folder, name)).st_size

    def _path(self, digest: str) -> Path:
        # Not all in one directory: some file systems slow down there.
        return self._directory / digest[:2] / digest
