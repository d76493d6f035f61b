"""Putting secrets away: in a keychain, and in an encrypted store where there is none."""

import json
import stat
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from openclaw.config.load import parse_config
from openclaw.config.paths import Paths
from openclaw.errors import SecretError
from openclaw.redact import mask
from openclaw.secrets.encrypted import secret_store
from openclaw.secrets.keeping import Keeper
from openclaw.secrets.resolve import Resolver
from openclaw.secrets.store.encrypted import EncryptedStore
from parts.leaks import files_under, found_in
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE


def store(folder: Path) -> EncryptedStore:
    async def nothing(text: str) -> str:
        raise AssertionError(f"nobody was to be asked for {text}")

    return secret_store(folder, "", nothing)


class Memory(KeyringBackend):
    """A keychain of the test's own, which keyring never chooses by itself."""

    priority = -1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # keyring has no types there
        self.values: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("hunter2hunter2")
        return self.values.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.values[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.values.pop((service, username), None) is None:
            raise PasswordDeleteError


async def test_a_secret_goes_into_the_keychain_and_never_over_another(tmp_path: Path) -> None:
    keychain = Memory()
    keeper = Keeper(store(tmp_path), keychain)
    references = [await keeper.keep("a b/env/K", value) for value in ("first-value", "first-value", "other-value")]
    assert references == ["secret://keychain/openclaw/a%20b/env/K"] * 2 + ["secret://keychain/openclaw/a%20b/env/K-2"]
    assert keychain.values == {("openclaw", "a b/env/K"): "first-value", ("openclaw", "a b/env/K-2"): "other-value"}
    await keeper.forget(references[2])
    await keeper.forget(references[2])
    assert list(keychain.values) == [("openclaw", "a b/env/K")]
    assert files_under(tmp_path) == {}


@pytest.mark.parametrize("has_keychain", [True, False])
async def test_what_is_taken_back_is_what_was_put_there_and_no_secret_from_before(
    tmp_path: Path, has_keychain: bool
) -> None:
    keychain = Memory() if has_keychain else None
    before = await Keeper(store(tmp_path), keychain).keep("a/env/K", "in-use-elsewhere")
    keeper = Keeper(store(tmp_path), keychain)
    assert await keeper.keep("a/env/K", "in-use-elsewhere") == before
    assert await keeper.keep("b/env/K", "another-value") != before
    await keeper.take_back()
    again = Keeper(store(tmp_path), keychain)
    # A name that is free is given again; one that is not gets a number.
    given = [await again.keep(name, "a-third-value") for name in ("a/env/K", "b/env/K")]
    assert [reference.rpartition("/")[2] for reference in given] == ["K-2", "K"]


async def test_a_keychain_that_refuses_is_an_error_without_its_words(tmp_path: Path) -> None:
    keychain = Memory()
    keychain.locked = True
    with pytest.raises(SecretError) as error:
        await Keeper(store(tmp_path), keychain).keep("a", "some-value")
    assert str(error.value) == "The keychain refused (KeyringLocked). Unlock it and try again, or use --secrets file."
    assert files_under(tmp_path) == {}


async def test_without_a_keychain_secrets_are_encrypted_and_found_by_their_references(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    folder = Paths.from_env(env).secrets_dir
    keeper = Keeper(store(folder), None)
    values = ["first-value", "other-value\n", "first-value"]
    references = [await keeper.keep("../a b#1/env/KEY", value) for value in values]
    assert references == [f"secret://encrypted/../a%20b%231/env/KEY{number}" for number in ("", "-2", "")]
    assert found_in(["first-value", "other-value"], files_under(tmp_path)) == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {PRIVATE_FILE}
    assert stat.S_IMODE(folder.stat().st_mode) == PRIVATE_DIRECTORY

    resolver = Resolver.of(parse_config("{}"), env)
    assert [await resolver.resolve(reference) for reference in references] == values
    await keeper.forget(references[1])
    with pytest.raises(SecretError) as gone:
        await Resolver.of(parse_config("{}"), env).resolve(references[1])
    assert str(gone.value) == (
        f"{references[1]} cannot be resolved: {folder} has nothing of that name. "
        "Store it again, as with: openclaw keys set VENDOR"
    )


async def test_a_configured_key_opens_the_store_and_leaves_no_key_file(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "KEY": "c" * 64}
    folder = Paths.from_env(env).secrets_dir
    config = parse_config("{tokenStore: {key: 'secret://env/KEY'}}")
    keeper = await Keeper.of(config, env, folder, "file")
    reference = await keeper.keep("models/house", "some-value-0123")
    assert (await keeper.warning(), (folder / "key").exists()) == ("", False)
    assert await Resolver.of(config, env).resolve(reference) == "some-value-0123"

    inside = parse_config(json.dumps({"tokenStore": {"key": reference}}))
    with pytest.raises(SecretError) as refused:
        await Resolver.of(inside, env).resolve(reference)
    assert str(refused.value) == (
        f"{reference} cannot be resolved: tokenStore.key is itself in the store that it opens. "
        "Let it refer to another provider."
    )


@pytest.mark.posix_only("paths as POSIX writes them")
async def test_of_the_key_beside_the_store_a_person_is_told_once(tmp_path: Path) -> None:
    keeper = Keeper(store(tmp_path), None)
    await keeper.keep("a", "some-value")
    told = [await keeper.warning(), await Keeper(store(tmp_path), None).warning()]
    assert told == [
        f"No keychain is used here: the key of the stored secrets is in the file {tmp_path}/key, which only you can read. "
        "Set tokenStore.key to a secret:// reference to keep it elsewhere.",
        "",
    ]


async def test_a_file_from_the_time_before_the_store_is_taken_away(tmp_path: Path) -> None:
    file = tmp_path / "models.house"
    file.write_text("some-value")
    assert (await Keeper(store(tmp_path), None).forget(f"secret://file/{file}"), file.exists()) == ("", False)


async def test_a_secret_is_masked_from_then_on(tmp_path: Path) -> None:
    await Keeper(store(tmp_path), None).keep("a", "quite-unlikely-value")
    assert mask("it is quite-unlikely-value") == "it is [REDACTED]"


async def test_files_are_chosen_where_they_are_asked_for(tmp_path: Path) -> None:
    keeper = await Keeper.of(parse_config("{}"), {"HOME": str(tmp_path)}, tmp_path, "file")
    assert (keeper.place, keeper.why) == ("file", "")


async def test_what_cannot_be_taken_away_is_told(tmp_path: Path) -> None:
    memory = Memory()
    keeper, without = (
        Keeper(store(tmp_path), memory),
        Keeper(store(tmp_path), None, "this machine has no keychain that is running"),
    )
    reference = await keeper.keep("a", "first-value-0123")
    assert await without.forget(reference) == "this machine has no keychain that is running"
    assert await keeper.forget(reference) == ""
    assert await keeper.forget(reference) == "The keychain refused (PasswordDeleteError)"
