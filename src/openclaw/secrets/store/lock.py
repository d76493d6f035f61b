"""The lock around a record of the encrypted store, and what is said when it cannot be had. How a lock works is `openclaw.lock`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openclaw.errors import StoreError
from openclaw.files import reason
from openclaw.lock import acquire, release


@asynccontextmanager
async def hold(path: Path, *, patience: float) -> AsyncIterator[None]:
    """Hold the lock; wait for it no longer than `patience` seconds. Raises StoreError."""
    try:
        handle = await acquire(path, patience=patience)
    except TimeoutError:
        raise StoreError(
            f"Another process has held {path} for more than {patience:g} s.",
            hint="End the OpenClaw process that hangs.",
        ) from None
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked: {reason(error)}.", hint="Check that the disk is writable and has room."
        ) from None
    try:
        yield
    finally:
        release(handle)
