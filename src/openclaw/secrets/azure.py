"""`secret://azure/VAULT/NAME[#VERSION]`: Azure Key Vault.

Owns who we are there: whoever azure-identity (the extra `azure`) finds, or else whoever is signed in to the `az` command line. The secret
itself is one REST call. VAULT is a vault's name or its host in one of Azure's clouds, and nothing else: the token is good for every
vault we may read, so it must not go to an address that somebody made up.
"""

import json
import re
import time

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError
from openclaw.secrets.helper_program import ask_vendor, find_vendor, missing
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import split_first, split_fragment
from openclaw.secrets.rest import StoreApi, explain
from openclaw.secrets.token import KeptToken, Token

_CLOUDS = ("vault.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net")
_VAULT = re.compile(rf"([A-Za-z][A-Za-z0-9-]{{1,22}}[A-Za-z0-9])(?:\.({'|'.join(map(re.escape, _CLOUDS))}))?")
_NAME = re.compile(r"[A-Za-z0-9-]{1,127}")
_VERSION = re.compile(r"[A-Za-z0-9]{0,64}")
_API_VERSION = "7.4"
# For a program that does not say how long its token is good: it hands out none that end sooner.
_AT_LEAST = 300.0


class AzureSecrets:
    def __init__(self, dependencies: ProviderDependencies, address: str = "https://{vault}.{cloud}") -> None:
        self._dependencies = dependencies
        self._address = address
        self._endpoint = StoreApi(dependencies.env, dependencies.timeout)
        # One token for each cloud.
        self._tokens = {cloud: KeptToken(lambda cloud=cloud: self._sign_in(cloud)) for cloud in _CLOUDS}  # type: ignore[misc]

    async def fetch(self, rest: str) -> str:
        vault, following = split_first(rest, "secret://azure/VAULT/NAME#VERSION")
        name, version = split_fragment(following)
        found = _VAULT.fullmatch(vault)
        if found is None or not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
            raise SecretError("this is not a secret of a vault", hint="Write secret://azure/VAULT/NAME#VERSION.")
        cloud = found[2] or _CLOUDS[0]
        token = await self._tokens[cloud].get()
        address = self._address.format(vault=found[1], cloud=cloud)
        url = f"{address}/secrets/{name}" + (f"/{version}" if version else "") + f"?api-version={_API_VERSION}"
        answer = await self._endpoint.call("GET", url, {"Authorization": f"Bearer {token}"})
        if answer.status == 401:
            self._tokens[cloud].forget(token)
        if answer.status != 200:
            raise explain(answer, f"the vault {found[1]}")
        value = answer.data.get("value")
        if not isinstance(value, str):
            raise SecretError("it has no value")
        return value

    async def _sign_in(self, cloud: str) -> Token:
        resource = f"https://{cloud}"
        if self._dependencies.installed("azure.identity"):
            return await in_daemon_thread(lambda: _ask_library(resource))
        program = find_vendor("az", self._dependencies)
        if not program:
            raise missing("az", "azure-identity", "Azure")
        argv = [program, "account", "get-access-token", f"--resource={resource}", "--output=json"]
        printed = await ask_vendor(argv, self._dependencies, "AZURE_")
        try:
            answer = json.loads(printed)
        except ValueError:
            answer = None
        token = answer.get("accessToken") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise SecretError("az printed something else than a token")
        ends = answer.get("expires_on") if isinstance(answer, dict) else None
        return Token(token, ends - time.time() if isinstance(ends, int) else _AT_LEAST)


def _ask_library(resource: str) -> Token:
    from azure.core.exceptions import ClientAuthenticationError
    from azure.identity import DefaultAzureCredential

    try:
        with DefaultAzureCredential() as credential:
            found = credential.get_token(f"{resource}/.default")
    except ClientAuthenticationError as error:
        raise SecretError(
            f"there are no credentials for Azure that work ({type(error).__name__})",
            hint="Run: az login, or set AZURE_CLIENT_ID and its companions.",
        ) from None
    return Token(str(found.token), found.expires_on - time.time())
