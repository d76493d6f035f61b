"""Imitations of Google's and Microsoft's secret stores: not the real thing, but their REST answers as documented, on this machine.

`CloudImitation` answers as Secret Manager, the metadata server of a Google machine, a Google token endpoint, a Key Vault and the identity
endpoint of an App Service do, checks what is asked of them, and records it. `imitate_program` stands a small script where `gcloud`,
`aws` or `az` would be.
"""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aiohttp import web

from parts.executable import python_program

TOKEN = "imitation-access-token-0123456789"


@dataclass
class CloudImitation:
    # By project, name and version.
    google: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    # By name and version; an empty version is the newest.
    azure: dict[tuple[str, str], str] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    project: str = "machine-project"
    # Whether the metadata server has a service account to speak for.
    has_account: bool = True
    # What another service that took the metadata server's name would not send.
    flavor: str = "Google"
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/v1/projects/{project}/secrets/{name}/versions/{version}:access", self._access)
        app.router.add_get("/", self._metadata)
        app.router.add_get("/computeMetadata/v1/{path:.*}", self._metadata)
        app.router.add_post("/token", self._google_token)
        app.router.add_get("/msi/token", self._azure_token)
        app.router.add_get("/secrets/{name}", self._key_vault)
        app.router.add_get("/secrets/{name}/{version}", self._key_vault)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def _may_enter(self, request: web.Request) -> bool:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        return kind == "Bearer" and token in self.tokens

    async def _access(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if not self._may_enter(request):
            return _google_error(401, "UNAUTHENTICATED")
        project, name, version = (request.match_info[part] for part in ("project", "name", "version"))
        if project == "forbidden":
            return _google_error(403, "PERMISSION_DENIED")
        data = self.google.get((project, name, version))
        if data is None:
            return _google_error(404, "NOT_FOUND")
        return web.json_response(
            {
                "name": f"projects/123456789012/secrets/{name}/versions/1",
                "payload": {"data": base64.b64encode(data).decode(), "dataCrc32c": "0"},
            }
        )

    async def _metadata(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        headers = {"Metadata-Flavor": self.flavor} if self.flavor else {}
        if request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(status=403, headers=headers)
        path = request.match_info.get("path", "")
        if not path:
            return web.Response(text="computeMetadata/\n", headers=headers)
        if path == "instance/service-accounts/default/" and request.query.get("recursive") == "true":
            account = {"aliases": ["default"], "email": "machine@imitation.example", "scopes": []}
            return web.json_response(account, headers=headers)
        if path == "project/project-id":
            return web.Response(text=self.project, headers=headers)
        if path == "instance/service-accounts/default/token" and self.has_account:
            return web.json_response(
                {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}, headers=headers
            )
        return web.Response(status=404, text="not found", headers=headers)

    async def _google_token(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        form = await request.post()
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" or not form.get("assertion"):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"})

    async def _azure_token(self, request: web.Request) -> web.Response:
        """The identity endpoint of an App Service."""
        self.asked.append(request.path)
        if (
            request.headers.get("X-IDENTITY-HEADER") != TOKEN
            or request.query.get("resource") != "https://vault.azure.net"
        ):
            return web.json_response({"statusCode": 400}, status=400)
        return web.json_response(
            {
                "access_token": TOKEN,
                "expires_on": "4102444800",
                "resource": "https://vault.azure.net",
                "token_type": "Bearer",
            }
        )

    async def _key_vault(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if "api-version" not in request.query:
            return _azure_error(400, "BadParameter")
        if not self._may_enter(request):
            return _azure_error(401, "Unauthorized")
        name, version = request.match_info["name"], request.match_info.get("version", "")
        value = self.azure.get((name, version))
        if value is None:
            return _azure_error(404, "SecretNotFound")
        return web.json_response(
            {"value": value, "id": f"https://imitation.vault.azure.net/secrets/{name}/{version or '0' * 32}"}
        )


def _google_error(code: int, status: str) -> web.Response:
    body = {"error": {"code": code, "message": "words that are not to be repeated", "status": status}}
    return web.json_response(body, status=code)


def _azure_error(status: int, code: str) -> web.Response:
    body = {"error": {"code": code, "message": "words that are not to be repeated"}}
    return web.json_response(body, status=status)


def imitate_program(folder: Path, name: str, body: str) -> Path:
    """A program of this name in `folder`, which writes its arguments and environment to `NAME.json` beside it and then runs `body`."""
    folder.mkdir(exist_ok=True)
    record = folder / f"{name}.json"
    path = folder / name
    python_program(
        path,
        "import base64, json, os, sys\n"
        f"json.dump({{'argv': sys.argv[1:], 'env': dict(os.environ)}}, open({json.dumps(str(record))}, 'w'))\n"
        f"{body}",
        "-IS",
    )
    return record
