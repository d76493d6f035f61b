"""Which entry of `secrets.providers` a reference means: `secret://exec/ALIAS/ID`, and the objects `{source, provider, id}`.

Pure. An object that names no provider, or `default`, means the one of `secrets.defaults`. Variables of the environment can be read
without any entry; files and programs cannot.
"""

import re

import msgspec

from openclaw.config.sections import SecretProviderEntry, SecretsSection
from openclaw.errors import SecretError
from openclaw.log import one_line
from openclaw.secrets.reference import OBJECT, Reference

_DEFAULT = "default"
ALIAS = re.compile(r"[a-z][a-z0-9_-]{0,63}")


class NamedReference(msgspec.Struct, frozen=True):
    """An object reference: the kind of place, the configured entry's name, and the secret's name there."""

    source: str
    alias: str
    id: str


def read_named(settings: SecretsSection, rest: str) -> NamedReference:
    """`SOURCE/PROVIDER/ID` as config writes an object down. The id is taken as it is: it may hold `#`, `%` and slashes."""
    source, alias, id = [*rest.split("/", 2), "", ""][:3]
    if alias in ("", _DEFAULT):
        alias = str(getattr(settings.defaults, source, _DEFAULT))
    return NamedReference(source, alias, id)


def configured_provider(settings: SecretsSection, reference: Reference) -> SecretProviderEntry | None:
    """The entry that a reference means; None when there is none of that name, or the reference is of another kind."""
    if reference.provider == OBJECT:
        return settings.providers.get(read_named(settings, reference.rest).alias)
    if reference.provider == "exec":
        return settings.providers.get(reference.rest.partition("/")[0])
    return None


def require(settings: SecretsSection, alias: str, source: str) -> SecretProviderEntry:
    """The entry `alias`, which must be of this source. Raises SecretError."""
    shown = one_line(alias, 80)
    if not ALIAS.fullmatch(alias):
        raise SecretError(
            f"'{shown}' is not a name for a provider",
            hint="A name starts with a small letter; letters, digits, _ and - follow.",
        )
    found = settings.providers.get(alias)
    if found is None:
        raise SecretError(f"secrets.providers has no entry '{shown}'", hint=f'Add one with source: "{source}".')
    if found.source != source:
        raise SecretError(f"secrets.providers.{shown} is of source {found.source}, not {source}")
    return found
