"""`secret://vault` against OpenBao."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.config.sections import SecretsSection, Vault
from openclaw.errors import SecretError
from openclaw.redact import redact
from openclaw.secrets.resolve import Resolver
from parts.secret_stores import ROOT_TOKEN, Bao, bao_server

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    with bao_server(tmp_path_factory.mktemp("bao")) as bao:
        bao.call("POST", "sys/mounts/old", {"type": "kv", "options": {"version": "1"}})
        bao.call("POST", "sys/mounts/team/deep/kv", {"type": "kv", "options": {"version": "2"}})
        bao.call("POST", "sys/mounts/transit", {"type": "transit"})
        bao.call("POST", "secret/data/github", {"data": {"token": "v2-token-value", "user": "me", "port": 8080}})
        bao.call("POST", "secret/data/single", {"data": {"password": "only-field-value"}})
        bao.call("POST", "secret/data/nested", {"data": {"inner": {"a": "b"}}})
        bao.call("POST", "old/github", {"token": "v1-token-value"})
        bao.call("POST", "team/deep/kv/data/app/db", {"data": {"password": "deep-value"}})
        bao.call("POST", "secret/data/deleted", {"data": {"password": "deleted-value"}})
        bao.call("DELETE", "secret/data/deleted")
        bao.call("POST", "sys/auth/approle", {"type": "approle"})
        bao.call("POST", "sys/policies/acl/reader", {"policy": 'path "secret/data/github" { capabilities = ["read"] }'})
        bao.call("POST", "auth/approle/role/claw", {"token_policies": ["reader"], "token_ttl": "20m"})
        yield bao


def by_token(bao: Bao, **env: str) -> Resolver:
    return Resolver(SecretsSection(), {"VAULT_ADDR": bao.address, "VAULT_TOKEN": bao.token, **env}, place=Path)


def by_app_role(bao: Bao, role_id: str, secret_id: str, env: dict[str, str] | None = None) -> Resolver:
    settings = SecretsSection(vault=Vault(address=bao.address, role_id=role_id, secret_id=secret_id))
    return Resolver(settings, env or {}, place=Path)


def app_role(bao: Bao) -> tuple[str, str]:
    role_id = bao.call("GET", "auth/approle/role/claw/role-id")["data"]["role_id"]
    return role_id, bao.call("POST", "auth/approle/role/claw/secret-id", {})["data"]["secret_id"]


async def failure(secrets: Resolver, reference: str) -> str:
    with pytest.raises(SecretError) as caught:
        await secrets.resolve(reference)
    assert caught.value.message.startswith(f"{reference} cannot be resolved: ")
    return str(caught.value).removeprefix(f"{reference} cannot be resolved: ")


@pytest.mark.requirement("001-FR-5-vault")
@pytest.mark.requirement("001-US-6-schemes")
async def test_both_versions_of_the_key_value_engine_are_read_at_any_mount(bao: Bao) -> None:
    secrets = by_token(bao)
    references = [
        "secret/github#token",
        "secret/github#port",
        "secret/single",
        "old/github",
        "team/deep/kv/app/db#password",
    ]
    assert [await secrets.resolve(f"secret://vault/{reference}") for reference in references] == [
        "v2-token-value",
        "8080",
        "only-field-value",
        "v1-token-value",
        "deep-value",
    ]
    assert redact(f"token {ROOT_TOKEN} value v2-token-value") == "token [REDACTED] value [REDACTED]"


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("secret/github", "it has 3 fields (port, token, user), not one. Name one of them behind a #."),
        ("secret/github#none", "it has no field 'none'. It has: port, token, user."),
        ("secret/nested#inner", "its field 'inner' is not a text. Name a field that holds a text."),
        ("secret/missing#x", "Vault has no such secret (404). Check the name."),
        ("secret/deleted#password", "Vault has no such secret (404). Check the name."),
        ("transit/keys/x", "transit/ is not a key-value engine. Only stored secrets can be referred to."),
        ("nowhere/x", "Vault does not let us read it (403). Grant access to this secret, and check its name."),
        ("secret", "this is not a path in Vault. Write secret://vault/MOUNT/PATH#FIELD."),
        ("secret/../sys/seal", "this is not a path in Vault. Write secret://vault/MOUNT/PATH#FIELD."),
    ],
)
async def test_what_vault_cannot_give_is_told_with_the_reason(bao: Bao, path: str, cause: str) -> None:
    assert await failure(by_token(bao), f"secret://vault/{path}") == cause


async def test_a_wrong_token_is_refused_and_not_shown(bao: Bao) -> None:
    cause = await failure(by_token(bao, VAULT_TOKEN="wrong-token-value"), "secret://vault/secret/single")
    assert cause == "Vault does not let us read it (403). Grant access to this secret, and check its name."


async def test_an_app_role_signs_in_and_reads_what_its_policy_allows(bao: Bao) -> None:
    role_id, secret_id = app_role(bao)
    secrets = by_app_role(bao, role_id, "secret://env/SECRET_ID", {"SECRET_ID": secret_id})
    assert await secrets.resolve("secret://vault/secret/github#token") == "v2-token-value"
    assert await failure(secrets, "secret://vault/secret/single") == (
        "Vault does not let us read it (403). Grant access to this secret, and check its name."
    )
    assert redact(secret_id) == "[REDACTED]"


async def test_an_app_role_signs_in_again_when_its_token_was_revoked(bao: Bao) -> None:
    secrets = by_app_role(bao, *app_role(bao))
    assert await secrets.resolve("secret://vault/secret/github#token") == "v2-token-value"
    for accessor in bao.call("LIST", "auth/token/accessors")["data"]["keys"]:
        if "reader" in bao.call("POST", "auth/token/lookup-accessor", {"accessor": accessor})["data"]["policies"]:
            bao.call("POST", "auth/token/revoke-accessor", {"accessor": accessor})
    assert await secrets.resolve("secret://vault/secret/github#user") == "me"


async def test_an_app_role_that_does_not_exist_is_refused(bao: Bao) -> None:
    secrets = by_app_role(bao, "no-such-role", "no-such-secret")
    assert await failure(secrets, "secret://vault/secret/single") == (
        "Vault refused to sign the AppRole in (400). Check roleId and secretId of secrets.vault."
    )


async def test_the_token_of_vault_login_is_used_when_nothing_else_is_said(bao: Bao, tmp_path: Path) -> None:
    token = tmp_path / ".vault-token"
    token.write_text(bao.token + "\n")
    token.chmod(0o600)
    secrets = Resolver(
        SecretsSection(vault=Vault(address=bao.address)), {}, place=lambda name: tmp_path / name.removeprefix("~/")
    )
    assert await secrets.resolve("secret://vault/old/github") == "v1-token-value"
    token.chmod(0o644)
    elsewhere = Resolver(
        SecretsSection(vault=Vault(address=bao.address)), {}, place=lambda name: tmp_path / name.removeprefix("~/")
    )
    assert (await failure(elsewhere, "secret://vault/old/github")).startswith(f"{token} can be used by others")


async def test_a_token_kept_in_vault_cannot_open_vault(bao: Bao) -> None:
    secrets = Resolver(SecretsSection(vault=Vault(address=bao.address, token="secret://vault/secret/single")), {})
    assert await failure(secrets, "secret://vault/old/github") == (
        "secrets.vault.token refers to Vault itself. Keep it in another provider."
    )


async def test_a_namespace_is_part_of_where_a_secret_is(bao: Bao) -> None:
    bao.call("POST", "sys/namespaces/team-a", {})
    bao.call("POST", "team-a/sys/mounts/kv", {"type": "kv", "options": {"version": "1"}})
    bao.call("POST", "team-a/kv/mail", {"password": "namespaced-value"})
    assert await by_token(bao, VAULT_NAMESPACE="team-a").resolve("secret://vault/kv/mail") == "namespaced-value"
    assert (await failure(by_token(bao), "secret://vault/kv/mail")).startswith("Vault does not let us read it (403)")
