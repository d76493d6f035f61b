"""Putting secrets away: in a keychain, and in private files where there is none."""

import stat
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from openclaw.config.sections import SecretsSection
from openclaw.errors import SecretError
from openclaw.redact import mask
from openclaw.secrets.keeping import Keeper
from openclaw.secrets.resolve import Resolver
from parts.leaks import files_under


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
    keeper = Keeper(tmp_path, keychain)
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
    before = await Keeper(tmp_path, keychain).keep("a/env/K", "in-use-elsewhere")
    keeper = Keeper(tmp_path, keychain)
    assert await keeper.keep("a/env/K", "in-use-elsewhere") == before
    assert await keeper.keep("b/env/K", "another-value") != before
    await keeper.take_back()
    names = (
        [account for _, account in keychain.values] if keychain else [Path(file).name for file in files_under(tmp_path)]
    )
    assert names == ["a/env/K" if has_keychain else "a.env.K"]


async def test_a_keychain_that_refuses_is_an_error_without_its_words(tmp_path: Path) -> None:
    keychain = Memory()
    keychain.locked = True
    with pytest.raises(SecretError) as error:
        await Keeper(tmp_path, keychain).keep("a", "some-value")
    assert str(error.value) == "The keychain refused (KeyringLocked). Unlock it and try again, or use --secrets file."
    assert files_under(tmp_path) == {}


async def test_without_a_keychain_each_secret_is_a_private_file_that_its_reference_finds(tmp_path: Path) -> None:
    folder = tmp_path / "a folder#1" / "secrets"
    keeper = Keeper(folder, None)
    values = ["first-value", "other-value\n", "first-value"]
    references = [await keeper.keep("../../github/env/KEY", value) for value in values]
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["github.env.KEY", "github.env.KEY-2"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (*files, folder)] == [0o600, 0o600, 0o700]
    assert references[0] == references[2] != references[1]
    resolver = Resolver(SecretsSection(), {})
    assert [await resolver.resolve(reference) for reference in references] == values
    await keeper.forget(references[1])
    assert [file.name for file in folder.iterdir()] == ["github.env.KEY"]


async def test_a_link_that_lies_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "a").symlink_to(target)
    reference = await Keeper(tmp_path, None).keep("a", "some-value")
    assert (reference.rpartition("/")[2], target.exists()) == ("a-2", False)


async def test_a_secret_is_masked_from_then_on(tmp_path: Path) -> None:
    await Keeper(tmp_path, None).keep("a", "quite-unlikely-value")
    assert mask("it is quite-unlikely-value") == "it is [REDACTED]"


async def test_files_are_chosen_where_they_are_asked_for(tmp_path: Path) -> None:
    keeper = await Keeper.of(tmp_path, "file")
    assert (keeper.place, keeper.why) == ("file", "")


async def test_what_cannot_be_taken_away_is_told(tmp_path: Path) -> None:
    memory = Memory()
    keeper, without = Keeper(tmp_path, memory), Keeper(tmp_path, None, "this machine has no keychain that is running")
    reference = await keeper.keep("a", "first-value-0123")
    assert await without.forget(reference) == "this machine has no keychain that is running"
    assert await keeper.forget(reference) == ""
    assert await keeper.forget(reference) == "The keychain refused (PasswordDeleteError)"
