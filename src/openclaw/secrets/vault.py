"""`secret://vault/MOUNT/PATH[#FIELD]`: the key-value engines (versions 1 and 2) of HashiCorp Vault and OpenBao.

Owns where Vault is and who we are there: `secrets.vault`, else VAULT_ADDR, VAULT_NAMESPACE, VAULT_CACERT, VAULT_TOKEN and ~/.vault-token;
a token, or an AppRole that signs in. Which part of a reference is the mount, and which version it speaks, Vault says itself. Without a
field the secret has to have exactly one. Engines that make new credentials when read are refused: each look at them would leave one behind.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from openclaw.config.servers import secret_text
from openclaw.errors import SecretError
from openclaw.net.tls import TlsOptions
from openclaw.redact import SECRET_SCHEME
from openclaw.secrets.file import read_private
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import member, scalar, split_fragment
from openclaw.secrets.rest import StoreAnswer, StoreApi, explain
from openclaw.secrets.token import KeptToken, Token

_PLACE = "Vault"
_KEY_VALUE = frozenset({"kv", "generic", "cubbyhole"})
# Names of fields listed when one has to be chosen.
_FIELDS_SHOWN = 8


class VaultSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._dependencies = dependencies
        self._endpoint = StoreApi(
            dependencies.env, dependencies.timeout, tls=TlsOptions(ca_cert=dependencies.env.get("VAULT_CACERT", ""))
        )
        self._token = KeptToken(self._sign_in)

    async def fetch(self, rest: str) -> str:
        path, field = split_fragment(rest)
        segments = path.strip("/").split("/")
        if len(segments) < 2 or any(part in ("", ".", "..") for part in segments):
            raise SecretError("this is not a path in Vault", hint="Write secret://vault/MOUNT/PATH#FIELD.")
        fields = await self._read("/".join(quote(part, safe="") for part in segments))
        if field:
            return member(fields, field)
        if len(fields) != 1:
            names = ", ".join(list(fields)[:_FIELDS_SHOWN])
            raise SecretError(f"it has {len(fields)} fields ({names}), not one", hint="Name one of them behind a #.")
        [(name, value)] = fields.items()
        return scalar(value, f"its field '{name}'")

    async def _read(self, path: str) -> Mapping[str, Any]:
        mount, version = await self._mount(path)
        inner = path[len(mount) :]
        if not inner:
            raise SecretError(f"{mount} is a whole mount", hint="Write secret://vault/MOUNT/PATH#FIELD.")
        answer = await self._get(f"{mount}data/{inner}" if version == 2 else path)
        if answer.status != 200:
            raise explain(answer, _PLACE)
        found = answer.data.get("data")
        if version == 2:
            found = found.get("data") if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise SecretError("Vault's answer holds no fields")
        return found

    async def _mount(self, path: str) -> tuple[str, int]:
        """The mount that a path is in, with its closing slash, and the version of its key-value engine."""
        answer = await self._get(f"sys/internal/ui/mounts/{path}")
        if answer.status == 404:
            # Servers from before there were versions do not know the question.
            return path.partition("/")[0] + "/", 1
        if answer.status != 200:
            raise explain(answer, _PLACE)
        found = answer.data.get("data")
        found = found if isinstance(found, dict) else {}
        mount, kind, options = found.get("path"), found.get("type"), found.get("options")
        if not isinstance(mount, str) or not f"{path}/".startswith(quote(mount)):
            raise SecretError("Vault does not say which mount this is in")
        if kind not in _KEY_VALUE:
            raise SecretError(f"{mount} is not a key-value engine", hint="Only stored secrets can be referred to.")
        version = options.get("version") if isinstance(options, dict) else None
        return quote(mount), 2 if version == "2" else 1

    async def _get(self, path: str) -> StoreAnswer:
        """With the token we have. One that Vault no longer takes is replaced once, if an AppRole can."""
        for attempt in range(2):
            token = await self._token.get()
            answer = await self._call("GET", path, {"X-Vault-Token": token})
            if answer.status != 403 or not self._dependencies.settings.vault.role_id or attempt:
                break
            self._token.forget(token)
        return answer

    async def _call(
        self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> StoreAnswer:
        settings, env = self._dependencies.settings.vault, self._dependencies.env
        address = settings.address or env.get("VAULT_ADDR", "")
        if not address:
            raise SecretError("Vault's address is not known", hint="Set secrets.vault.address, or VAULT_ADDR.")
        namespace = settings.namespace or env.get("VAULT_NAMESPACE", "")
        if namespace:
            headers = {**headers, "X-Vault-Namespace": namespace}
        return await self._endpoint.call(method, f"{address.rstrip('/')}/v1/{path}", headers, body)

    async def _sign_in(self) -> Token:
        settings = self._dependencies.settings.vault
        if settings.token:
            return Token(await self._own(secret_text(settings.token), "token"))
        if settings.role_id:
            return await self._app_role()
        token = self._dependencies.env.get("VAULT_TOKEN", "").strip()
        if not token:
            path = self._dependencies.place("~/.vault-token")
            token = (await read_private(path)).strip() if path.exists() else ""
        if not token:
            raise SecretError(
                "there is no token for Vault",
                hint="Set VAULT_TOKEN or secrets.vault, or run: vault login (or bao login).",
            )
        return Token(token)

    async def _app_role(self) -> Token:
        settings = self._dependencies.settings.vault
        body = {
            "role_id": await self._own(secret_text(settings.role_id), "roleId"),
            "secret_id": await self._own(secret_text(settings.secret_id), "secretId"),
        }
        answer = await self._call("POST", "auth/approle/login", {}, {name: text for name, text in body.items() if text})
        auth = answer.data.get("auth")
        token = auth.get("client_token") if isinstance(auth, dict) else None
        if answer.status != 200 or not isinstance(auth, dict) or not isinstance(token, str):
            raise SecretError(
                f"Vault refused to sign the AppRole in ({answer.status})",
                hint="Check roleId and secretId of secrets.vault.",
            )
        seconds = auth.get("lease_duration")
        return Token(token, float(seconds) if isinstance(seconds, int) and seconds > 0 else None)

    async def _own(self, text: str, name: str) -> str:
        """A credential for Vault, which may itself be a reference, to anything but Vault."""
        if f"{SECRET_SCHEME}vault/" in text:
            raise SecretError(f"secrets.vault.{name} refers to Vault itself", hint="Keep it in another provider.")
        return await self._dependencies.resolve(text)
