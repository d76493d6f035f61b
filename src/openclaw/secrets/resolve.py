"""From references to values: late, in parallel, once for many callers, within a deadline, and never logged.

Owns the cache of a few seconds, the sharing of one look-up among all who ask for the same reference, the deadlines, and the register of
known values in `redact.py`. Refuses to go on from one provider to another. Providers are loaded when first named: who uses none pays
for none. The grammar is in `reference.py`, what providers get and must keep in `provider.py`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from openclaw.config.entry import SecretRef
from openclaw.config.loaded import Config
from openclaw.config.sections import SecretsSection
from openclaw.config.servers import secret_text
from openclaw.errors import OpenClawError, SecretError, TransportError
from openclaw.redact import remember, retire
from openclaw.secrets.configured import configured_provider
from openclaw.secrets.provider import ProviderDependencies, SecretProvider
from openclaw.secrets.reference import (
    Reference,
    parse_reference,
    references_in,
    replace_references,
    without_line_end,
)
from openclaw.single_flight import SingleFlight

# Seconds a value is kept: servers that start together share one look-up, and a rotated secret is seen at the next restart.
CACHE_SECONDS = 5.0


class Resolver:
    """Resolves the references of one config. Belongs to one event loop."""

    def __init__(
        self,
        settings: SecretsSection,
        env: Mapping[str, str],
        *,
        place: Callable[[str], Path] = Path,
        providers: Mapping[str, SecretProvider] | None = None,
        clock: Callable[[], float] = time.monotonic,
        store_key: str = "",
    ) -> None:
        """`place` finds files that the config names. `providers` stand in for our own of the same names. `store_key` is that of
        `tokenStore`."""
        self._dependencies = ProviderDependencies(
            settings, env, place, self.resolve, settings.timeout_ms / 1000, store_key
        )
        self._providers: dict[str, SecretProvider] = dict(providers or {})
        self._clock = clock
        self._flights: SingleFlight[str] = SingleFlight("secret", goes_on=False)
        self._kept: dict[str, tuple[float, str]] = {}
        # What each reference, and each text with references in it, came to last: the one value of it that is in use.
        self._latest: dict[str, str] = {}

    @classmethod
    def of(cls, config: Config, env: Mapping[str, str]) -> "Resolver":
        key = secret_text(config.root.token_store.key)
        return cls(config.root.secrets, env, place=config.resolve, store_key=key)

    async def resolve(self, value: str | SecretRef) -> str:
        """The value with every reference in it replaced; plain text comes back as it is.

        Raises SecretError, which names the reference and the cause. Ends within the deadline of the slowest reference.
        """
        text = secret_text(value)
        values = await self._look_up(references_in(text))
        whole = replace_references(text, values.__getitem__)
        if values:
            self._now_secret(text, whole)
        return whole

    async def _look_up(self, texts: Iterable[str]) -> dict[str, str]:
        unique = list(dict.fromkeys(texts))
        # All come to an end before the first failure is raised, so that no look-up is left behind.
        outcomes = await asyncio.gather(*(self._one(text) for text in unique), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return {text: outcome for text, outcome in zip(unique, outcomes, strict=True) if isinstance(outcome, str)}

    async def _one(self, text: str) -> str:
        now = self._clock()
        self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > now}
        if text in self._kept:
            return self._kept[text][1]
        return await self._flights.join(text, lambda: self._resolve(parse_reference(text)))

    async def _resolve(self, reference: Reference) -> str:
        seconds = self._seconds(reference)
        try:
            async with asyncio.timeout(seconds):
                value = without_line_end(await self._provider(reference.provider).fetch(reference.rest))
        except TimeoutError:
            raise _failed(reference, f"there was no answer within {seconds:g} s", passing=True) from None
        except OpenClawError as error:
            passing = isinstance(error, TransportError) or (isinstance(error, SecretError) and error.passing)
            raise _failed(reference, error.message, error.hint, passing=passing) from error
        except Exception as error:
            # A library's own words might quote what it read; its kind does not.
            raise _failed(reference, f"{type(error).__name__} in the provider") from None
        if not value:
            raise _failed(reference, "it is empty")
        self._now_secret(reference.text, value)
        self._kept[reference.text] = (self._clock() + CACHE_SECONDS, value)
        return value

    def _now_secret(self, text: str, value: str) -> None:
        """A value is masked from now on. The one it takes the place of need not be for ever: stores that make a new one each time would
        otherwise fill the register."""
        former = self._latest.get(text, value)
        self._latest[text] = value
        remember(value)
        if former not in self._latest.values():
            retire(former)

    def _seconds(self, reference: Reference) -> float:
        """A configured provider has a time of its own: one may have to wait for a finger on a sensor."""
        configured = configured_provider(self._dependencies.settings, reference)
        return configured.timeout_ms / 1000 if configured else self._dependencies.timeout

    def _provider(self, name: str) -> SecretProvider:
        found = self._providers.get(name)
        if found is None:
            found = self._providers[name] = _made(name, self._dependencies)
        return found


def _made(name: str, dependencies: ProviderDependencies) -> SecretProvider:
    """The provider of that name, loaded when the first reference needs it: most configs use one or two."""
    match name:
        case "gcp":
            from openclaw.secrets.gcp import GcpSecrets

            return GcpSecrets(dependencies)
        case "aws":
            from openclaw.secrets.aws import AwsSecrets

            return AwsSecrets(dependencies)
        case "vault":
            from openclaw.secrets.vault import VaultSecrets

            return VaultSecrets(dependencies)
        case "azure":
            from openclaw.secrets.azure import AzureSecrets

            return AzureSecrets(dependencies)
        case "env":
            from openclaw.secrets.environment import EnvironmentSecrets

            return EnvironmentSecrets(dependencies)
        case "file":
            from openclaw.secrets.file import FileSecrets

            return FileSecrets(dependencies)
        case "keychain":
            from openclaw.secrets.keychain import KeychainSecrets

            return KeychainSecrets(dependencies)
        case "encrypted":
            from openclaw.secrets.encrypted import EncryptedSecrets

            return EncryptedSecrets(dependencies)
        case "exec":
            from openclaw.secrets.exec import ExecSecrets

            return ExecSecrets(dependencies)
        case _:
            from openclaw.secrets.named import NamedSecrets

            return NamedSecrets(dependencies)


def _failed(reference: Reference, cause: str, hint: str = "", *, passing: bool = False) -> SecretError:
    return SecretError(f"{reference.shown} cannot be resolved: {cause.rstrip('.')}.", hint=hint, passing=passing)
