"""`secret://env/NAME`: a variable of the environment we were started with."""

import re

from openclaw.errors import SecretError
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import split_fragment

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvironmentSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._env = dependencies.env

    async def fetch(self, rest: str) -> str:
        name, fragment = split_fragment(rest)
        if not _NAME.fullmatch(name) or fragment:
            raise SecretError("this is not the name of a variable", hint="Write secret://env/NAME.")
        return self.read(name)

    def read(self, name: str) -> str:
        value = self._env.get(name, "")
        if not value:
            raise SecretError(f"the environment variable {name} is not set", hint="Set it where OpenClaw is started.")
        return value
