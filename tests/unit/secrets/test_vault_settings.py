"""What `secret://vault` needs before it asks anybody. Vault itself is in tests/real."""

from pathlib import Path

import pytest

from openclaw.config.load import parse_config
from openclaw.config.sections import SecretsSection
from openclaw.errors import SecretError
from openclaw.secrets.resolve import Resolver


async def failure(secrets: Resolver) -> str:
    with pytest.raises(SecretError) as caught:
        await secrets.resolve("secret://vault/a/b")
    return str(caught.value).removeprefix("secret://vault/a/b cannot be resolved: ")


async def test_without_an_address_the_error_says_what_to_set() -> None:
    assert await failure(Resolver(SecretsSection(), {"VAULT_TOKEN": "some-token"})) == (
        "Vault's address is not known. Set secrets.vault.address, or VAULT_ADDR."
    )


async def test_without_a_token_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    secrets = Resolver(SecretsSection(), {"VAULT_ADDR": "http://127.0.0.1:1"}, place=lambda name: tmp_path / name)
    assert await failure(secrets) == (
        "there is no token for Vault. Set VAULT_TOKEN or secrets.vault, or run: vault login (or bao login)."
    )


async def test_a_token_is_not_sent_unencrypted_to_another_machine() -> None:
    config = parse_config('{secrets: {vault: {address: "http://10.9.8.7:8200", token: "some-token-value"}}}')
    assert await failure(Resolver.of(config, {})) == (
        "http://10.9.8.7:8200 would be sent unencrypted to 10.9.8.7. Use an https:// URL; http:// is for loopback only."
    )


async def test_a_vault_that_is_not_running_is_named_by_its_address() -> None:
    cause = await failure(
        Resolver(SecretsSection(), {"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": "some-token-value"})
    )
    assert "127.0.0.1:1" in cause
    assert "some-token-value" not in cause


async def test_a_vault_that_is_not_running_may_be_there_a_little_later_and_a_missing_setting_not() -> None:
    away = {"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": "some-token-value"}
    for env, passing in ((away, True), ({"VAULT_TOKEN": "some-token"}, False)):
        with pytest.raises(SecretError) as caught:
            await Resolver(SecretsSection(), env).resolve("secret://vault/kv/shop#key")
        assert caught.value.passing == passing
