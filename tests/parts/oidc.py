"""oidc-provider from npm as the authorization server, and a person who signs in there through its own forms.

async with OidcProvider(resource=url) as provider:
    callback = await provider.browse(started.authorization_url)
"""

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import aiohttp
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from parts import cache
from parts.auth_server import Issued

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")


class OidcProvider:
    """`life` is of access tokens, in seconds, `renewed_life` of those that a refresh token got. `clients` are registered from the start."""

    def __init__(
        self,
        resource: str,
        *,
        life: int = 3600,
        renewed_life: int | None = None,
        clients: list[dict[str, Any]] | None = None,
    ) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        private = json.loads(ECAlgorithm.to_jwk(self._key))
        self._settings = {
            "resource": resource,
            "life": life,
            "renewedLife": renewed_life or life,
            "clients": clients or [],
            "key": {**private, "alg": "ES256"},
        }
        self._resource = resource
        self.issuer = ""
        # Every request to the token, revocation and registration endpoints.
        self.requests: list[dict[str, Any]] = []
        # Access tokens that calls came with.
        self.secrets: set[str] = set()

    async def __aenter__(self) -> "OidcProvider":
        package = str(cache.npm_folder() / "package.json")
        command = (cache.node(), "--no-warnings", str(SCRIPT), package, json.dumps(self._settings))
        self._process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=asyncio.subprocess.DEVNULL)
        assert self._process.stdout is not None
        port = 0
        while not port:
            line = await self._process.stdout.readline()
            assert line, "oidc-provider did not start"
            port = int(line) if line.strip().isdigit() else 0
        self.issuer = f"http://127.0.0.1:{port}"
        self._reader = asyncio.create_task(self._read(self._process.stdout))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._process.kill()
        await self._process.wait()
        await self._reader

    async def _read(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            if line.startswith(b"{"):
                self.requests.append(json.loads(line))

    def grants(self, kind: str) -> list[int]:
        """The status of each token request of this kind."""
        return [request["status"] for request in self.requests if request["grant"] == kind]

    def given(self) -> set[str]:
        """Every token, code, verifier and client secret that went to or from this server."""
        return {secret for request in self.requests for secret in request["secrets"]}

    def look_up(self, token: str) -> Issued | None:
        """What a resource server sees in an access token: its scopes, if it is one of ours and for this resource."""
        try:
            claims = jwt.decode(token, self._key.public_key(), ["ES256"], audience=self._resource, issuer=self.issuer)
        except jwt.InvalidTokenError:
            return None
        self.secrets.add(token)
        return Issued(claims["client_id"], tuple(claims.get("scope", "").split()), claims["aud"], "", claims["exp"])

    async def browse(self, authorization_url: str) -> str:
        """Sign in and consent, as a person would, until the browser is sent to the redirect address."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as browser:
            method, url, form = "GET", authorization_url, dict[str, str]()
            for _ in range(20):
                async with browser.request(method, url, data=form or None, allow_redirects=False) as response:
                    page = await response.text()
                    location = response.headers.get("Location")
                    assert location or response.status == 200, f"{response.status}: {page}"
                if location is not None:
                    method, url, form = "GET", urljoin(url, location), {}
                    if not url.startswith(self.issuer):
                        return url
                    continue
                method, url, form = _filled_in(page, url)
            raise AssertionError("the sign-in has no end")


def _filled_in(page: str, url: str) -> tuple[str, str, dict[str, str]]:
    """The page's first form with every field filled in."""
    action = re.search(r'<form[^>]*action="([^"]*)"', page)
    assert action is not None, page
    fields = {}
    for tag in re.findall(r"<input[^>]*>", page.partition("</form>")[0]):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name is not None:
            fields[name[1]] = unescape(value[1]) if value is not None else "somebody"
    return "POST", urljoin(url, unescape(action[1])), fields
