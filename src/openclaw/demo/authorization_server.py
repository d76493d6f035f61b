"""A small authorization server on loopback: metadata (RFC 8414), registration of clients (RFC 7591), authorization code with PKCE (S256
alone), tokens, and their renewal with rotation.

Real enough that a client which gets any of it wrong is refused, and no more: it knows one person, who says yes to everybody, and keeps
everything in memory. It holds no power over anything but calendar_server.py, and ends with the tour.
"""

import hashlib
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from openclaw.demo.site import Site

SCOPE = "calendar:read"
OFFLINE = "offline_access"
# Seconds that an access token is good for: short enough that the tour can wait for its end.
TOKEN_LIFE = 2.0
# And how much longer it is taken, for requests that were under way on a busy machine.
_LEEWAY = 5.0
_NO_STORE = {"Cache-Control": "no-store"}


class AuthorizationServer:
    """`renewals` counts how often a refresh token was used."""

    def __init__(self) -> None:
        self.renewals = 0
        self._clients: dict[str, Mapping[str, Any]] = {}
        # What was asked for with each code that waits to be exchanged.
        self._codes: dict[str, Mapping[str, str]] = {}
        # The resource each access token is for, and when it ends.
        self._access: dict[str, tuple[str, float]] = {}
        # The client and the resource of each.
        self._refresh: dict[str, tuple[str, str]] = {}
        self.site = Site(
            web.get("/.well-known/oauth-authorization-server", self._metadata),
            web.post("/register", self._register),
            web.get("/authorize", self._authorize),
            web.post("/token", self._token),
        )

    @property
    def issuer(self) -> str:
        return self.site.origin

    def admits(self, authorization: str, resource: str) -> bool:
        """Whether an Authorization header carries a token of ours that is for this resource and still good."""
        scheme, _, token = authorization.partition(" ")
        meant, ends = self._access.get(token, ("", 0.0))
        return scheme.lower() == "bearer" and meant == resource and time.monotonic() < ends + _LEEWAY

    async def _metadata(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "registration_endpoint": f"{self.issuer}/register",
                "scopes_supported": [SCOPE, OFFLINE],
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _register(self, request: web.Request) -> web.Response:
        wish = await request.json()
        if not wish.get("redirect_uris") or wish.get("token_endpoint_auth_method") != "none":
            return _refused("invalid_client_metadata")
        client = {**wish, "client_id": secrets.token_urlsafe(12)}
        self._clients[client["client_id"]] = client
        return web.json_response(client, status=201)

    async def _authorize(self, request: web.Request) -> web.Response:
        """Where a person would be asked. This one has agreed to everything beforehand."""
        asked = dict(request.query)
        client = self._clients.get(asked.get("client_id", ""))
        if client is None or asked.get("redirect_uri") not in client["redirect_uris"]:
            # Nobody is sent to an address that was not registered.
            return web.Response(status=400, text="There is no such client, or it may not be sent there.")
        answer = {"state": asked.get("state", ""), "iss": self.issuer}
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge") or not asked.get("resource"):
            answer["error"] = "invalid_request"
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self._codes[answer["code"]] = asked
        return web.Response(status=302, headers={"Location": f"{asked['redirect_uri']}?{urlencode(answer)}"})

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        client, resource = form.get("client_id", ""), form.get("resource", "")
        match form.get("grant_type"):
            case "authorization_code":
                asked = self._codes.pop(form.get("code", ""), {})
                if not asked or any(asked.get(name) != form.get(name) for name in ("client_id", "redirect_uri")):
                    return _refused("invalid_grant")
                if (
                    asked["code_challenge"] != _challenge(form.get("code_verifier", ""))
                    or asked["resource"] != resource
                ):
                    return _refused("invalid_grant")
            case "refresh_token":
                # Good for one use: whoever comes with it a second time has stolen it, or was stolen from.
                if self._refresh.pop(form.get("refresh_token", ""), None) != (client, resource):
                    return _refused("invalid_grant")
                self.renewals += 1
            case _:
                return _refused("unsupported_grant_type")
        return self._grant(client, resource)

    def _grant(self, client: str, resource: str) -> web.Response:
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._access[access] = (resource, time.monotonic() + TOKEN_LIFE)
        self._refresh[refresh] = (client, resource)
        tokens = {"access_token": access, "token_type": "Bearer", "expires_in": TOKEN_LIFE, "refresh_token": refresh}
        return web.json_response({**tokens, "scope": f"{SCOPE} {OFFLINE}"}, headers=_NO_STORE)


def _challenge(verifier: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _refused(code: str) -> web.Response:
    return web.json_response({"error": code}, status=400, headers=_NO_STORE)
