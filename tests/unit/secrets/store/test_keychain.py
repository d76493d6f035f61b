"""Which keychain is meant on which system. That they keep what they are given is shown where there is one: tests/full."""

import sys
from importlib import import_module

import pytest
from keyring.backend import KeyringBackend

from openclaw.secrets.keychain import KNOWN
from openclaw.secrets.store.keychain import BACKENDS, KeychainError, SystemKeychain


@pytest.mark.parametrize(
    ("platform", "name"), [("darwin", "Keyring"), ("win32", "WinVaultKeyring"), ("linux", "Keyring")]
)
def test_the_keychain_of_each_system_is_one_that_the_library_has(platform: str, name: str) -> None:
    module, backend = BACKENDS[platform]
    # Where people keep keys of theirs, too.
    assert f"{module}.{backend}" in KNOWN
    found = getattr(import_module(module), backend)
    assert (backend, issubclass(found, KeyringBackend)) == (name, True)
    # Those of its own, not those of the class that only says what there has to be.
    assert not {found.get_password, found.set_password} & {KeyringBackend.get_password, KeyringBackend.set_password}


@pytest.mark.parametrize("platform", sorted(BACKENDS.keys() - {"linux", sys.platform}))
async def test_the_keychain_of_another_system_is_not_here_and_nothing_else_takes_its_place(platform: str) -> None:
    with pytest.raises(KeychainError, match=r"^there is none here \(RuntimeError\)$"):
        await SystemKeychain(platform=platform).write("account", "value")


async def test_a_system_whose_keychain_nobody_knows_has_none() -> None:
    with pytest.raises(KeychainError, match=r"^this system has none that OpenClaw knows$"):
        await SystemKeychain(platform="freebsd14").read("account")
