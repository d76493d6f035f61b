"""The objects `{source, provider, id}` that OpenClaw's own config format knows, written down by config as `secret://ref/…`.

Owns what each source makes of an id. `store` belongs to the other OpenClaw: its database is not ours to read.
"""

import re

from openclaw.errors import SecretError
from openclaw.secrets.configured import NamedReference, read_named, require
from openclaw.secrets.environment import EnvironmentSecrets
from openclaw.secrets.exec import run_helper
from openclaw.secrets.file import find, read_private
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import without_line_end

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
# The id of a file that holds one secret and nothing else.
_WHOLE = "value"


class NamedSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._dependencies = dependencies

    async def fetch(self, rest: str) -> str:
        named = read_named(self._dependencies.settings, rest)
        match named.source:
            case "env":
                return self._variable(named)
            case "file":
                return await self._file(named)
            case "exec":
                provider = require(self._dependencies.settings, named.alias, "exec")
                return await run_helper(self._dependencies, named.alias, provider, named.id)
            case "store":
                raise SecretError(
                    "the store belongs to the other OpenClaw and cannot be read here",
                    hint="Use env, file or exec, or a secret:// reference.",
                )
        raise SecretError(f"there is no source '{named.source}'", hint="Sources: env, file, exec.")

    def _variable(self, named: NamedReference) -> str:
        settings = self._dependencies.settings
        if not _VARIABLE.fullmatch(named.id):
            raise SecretError("the id is not the name of a variable", hint="Use capital letters, digits and _.")
        # The environment is there without being configured; an entry may narrow it.
        if named.alias in settings.providers or named.alias != settings.defaults.env:
            allowed = require(settings, named.alias, "env").allowlist
            if allowed is not None and named.id not in allowed:
                raise SecretError(f"secrets.providers.{named.alias}.allowlist does not have {named.id}")
        return EnvironmentSecrets(self._dependencies).read(named.id)

    async def _file(self, named: NamedReference) -> str:
        provider = require(self._dependencies.settings, named.alias, "file")
        if not provider.path:
            raise SecretError(f"secrets.providers.{named.alias} names no path", hint="Add the path of the file.")
        text = await read_private(self._dependencies.place(provider.path), provider.max_bytes)
        if provider.mode == "json":
            return find(text, named.id)
        if named.id != _WHOLE:
            raise SecretError(f"the file holds one secret, whose id is '{_WHOLE}'")
        return without_line_end(text)
