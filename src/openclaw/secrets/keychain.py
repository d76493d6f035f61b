"""`secret://keychain/SERVICE/ACCOUNT`: the keychain of the system, through `keyring`.

Owns which keychains count: those of the operating systems and desktops, which encrypt what they keep. `keyring` also takes plug-ins that
write plain files, and tries several one after the other; neither happens here. Whoever keeps keys of its own there asks for the same
keychain with `system_keychain`. Calls may wait for a person to unlock it: they run in a thread, within the caller's deadline.
"""

from urllib.parse import unquote

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import split_first

KNOWN = frozenset(
    {
        "keyring.backends.macOS.Keyring",
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.kwallet.DBusKeyringKWallet4",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
_CHAIN = "keyring.backends.chainer.ChainerBackend"
_NONE = frozenset({"keyring.backends.fail.Keyring", "keyring.backends.null.Keyring"})


class KeychainSecrets:
    def __init__(self, dependencies: ProviderDependencies, known: frozenset[str] = KNOWN) -> None:
        self._known = known

    async def fetch(self, rest: str) -> str:
        service, account = (unquote(part) for part in split_first(rest, "secret://keychain/SERVICE/ACCOUNT"))
        return await in_daemon_thread(lambda: self._read(service, account))

    def _read(self, service: str, account: str) -> str:
        try:
            value = system_keychain(self._known).get_password(service, account)
        except KeyringError as error:
            # Its own words come from the desktop and are about the keychain's state, but nothing vouches for that.
            raise SecretError(
                f"the keychain refused ({type(error).__name__})",
                hint="Unlock it, and look whether it asks for something.",
            ) from None
        if value is None:
            raise SecretError("the keychain has no such entry", hint="Store it with: keyring set SERVICE ACCOUNT")
        return value


def system_keychain(known: frozenset[str] = KNOWN) -> KeyringBackend:
    """The system's keychain. Blocking, so to be called in a thread. Raises SecretError when there is none that we know."""
    chosen = keyring.get_keyring()
    candidates = list(getattr(chosen, "backends", ())) if _name(chosen) == _CHAIN else [chosen]
    for candidate in candidates:
        if _name(candidate) in known:
            return candidate
    if all(_name(candidate) in _NONE for candidate in candidates):
        raise SecretError(
            "this machine has no keychain that is running",
            hint="On a server use another provider, such as secret://file.",
        )
    raise SecretError(
        f"{_name(chosen)} is not a keychain of the system",
        hint="Remove it from keyring's settings to use the system's own.",
    )


def _name(backend: KeyringBackend) -> str:
    kind = type(backend)
    return f"{kind.__module__}.{kind.__qualname__}"
