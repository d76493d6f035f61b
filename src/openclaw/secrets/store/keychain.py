"""The operating system's keychain, through `keyring`: macOS Keychain, Secret Service, Windows Credential Vault, and nothing else.

Other backends of `keyring` are refused: some keep plain text. A call may wait for a person who unlocks the keychain, so each runs in a
thread of its own within a deadline. Any failure is a KeychainError; `key.py` decides what it means.
"""

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from openclaw.daemon_thread import in_daemon_thread

T = TypeVar("T")

SERVICE: Final = "openclaw-mcp-tokens"
# A person has to find the prompt and type a password.
DEADLINE: Final = 30.0

# The one backend of each platform.
BACKENDS: Final = {
    "darwin": ("keyring.backends.macOS", "Keyring"),
    "win32": ("keyring.backends.Windows", "WinVaultKeyring"),
    "linux": ("keyring.backends.SecretService", "Keyring"),
}


class KeychainError(Exception):
    """The keychain cannot be used; the text says why, in our words."""


class Keychain(Protocol):
    async def read(self, account: str) -> str | None:
        """The value kept for `account`, or None. Raises KeychainError."""
        ...

    async def write(self, account: str, value: str) -> None:
        """Raises KeychainError."""
        ...


class SystemKeychain:
    def __init__(self, *, deadline: float = DEADLINE, platform: str = sys.platform) -> None:
        self._deadline = deadline
        self._platform = platform

    async def read(self, account: str) -> str | None:
        value = await self._call(lambda backend: backend.get_password(SERVICE, account))
        return value if isinstance(value, str) else None

    async def write(self, account: str, value: str) -> None:
        await self._call(lambda backend: backend.set_password(SERVICE, account, value))

    async def _call(self, use: Callable[[Any], T]) -> T:
        try:
            async with asyncio.timeout(self._deadline):
                return await in_daemon_thread(lambda: use(_backend(self._platform)))
        except TimeoutError:
            raise KeychainError(
                f"it did not answer within {self._deadline:g} s; is it waiting to be unlocked?"
            ) from None
        except KeychainError:
            raise
        except Exception as error:
            # What a backend says may quote what it keeps; its kind does not.
            kind = type(error).__name__
            raise KeychainError("it is locked" if kind == "KeyringLocked" else f"it refused ({kind})") from None


def _backend(platform: str) -> Any:
    module, name = BACKENDS.get("linux" if platform.startswith("linux") else platform, ("", ""))
    if not module:
        raise KeychainError("this system has none that OpenClaw knows")
    try:
        backend = getattr(import_module(module), name)
        # Asking for the priority is how a backend says whether it can work here; it raises when it cannot.
        usable = backend.priority > 0
    except Exception as error:
        raise KeychainError(f"there is none here ({type(error).__name__})") from None
    if not usable:
        raise KeychainError("there is none here")
    return backend()
