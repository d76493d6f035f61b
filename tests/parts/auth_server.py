"""An authorization server and an MCP server that it protects, in one process, for tests: strict where it should be, hostile on command.

    async with AuthServer() as server:
        ... use server.url (the MCP server) and server.issuer, then look at server.seen

Strict: PKCE, exact redirect addresses, registered scopes only, resource indicators, rotation with reuse detection. `plan` may be changed at
any time; `answers` replaces whole answers by path, which is how it becomes hostile. The person at the browser says yes to everything:
`browse` follows the sign-in to its redirect.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

RESOURCE_PATH = "/.well-known/oauth-protected-resource/mcp"
METADATA_PATH = "/.well-known/oauth-authorization-server"
# The scope each tool wants; a call with less is answered by 403.
TOOLS = {"read": "tools:read", "write": "tools:write", "wait": "tools:read"}


@dataclass
class Plan:
    # What the 401 says.
    challenge_metadata: bool = True
    challenge_scope: str | None = "tools:read"
    # What the documents say, on top of the usual; None takes a field out.
    resource: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    # What `iss` in the redirect says: True the truth, None nothing.
    iss: bool | str | None = True
    # An error instead of a code.
    authorize_error: str = ""
    token_life: float | None = 3600
    rotate: bool = True
    # Whether registrations can be taken back (RFC 7592).
    manageable: bool = False
    # Scopes a client may not have, whatever it registered.
    withheld: frozenset[str] = frozenset()
    # Methods that need no token.
    open_methods: frozenset[str] = frozenset()
    # Status for the next token requests instead of an answer.
    token_failures: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """One request as it came; `form` is its query, or its body when that is a form."""

    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, str] = field(default_factory=dict)
    body: Any = None

    @property
    def bearer(self) -> str | None:
        value = self.headers.get("authorization", "")
        return value[7:] if value.startswith("Bearer ") else None


@dataclass
class Issued:
    client: str
    scopes: tuple[str, ...]
    resource: str
    # A sign-in and all tokens that descend from it.
    family: str
    expires_at: float = float("inf")
    spent: bool = False


class AuthServer:
    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan or Plan()
        self.answers: dict[str, Handler] = {}
        self.seen: list[Seen] = []
        self.clients: dict[str, dict[str, Any]] = {}
        # Where each registration is managed: whose, and with which token.
        self.managers: dict[str, tuple[str, str]] = {}
        self.codes: dict[str, dict[str, Any]] = {}
        self.access: dict[str, Issued] = {}
        self.refresh: dict[str, Issued] = {}
        # Every secret that was ever given out, for whoever wants to look for them.
        self.secrets: set[str] = set()
        self.gate = asyncio.Event()
        self.waiting = asyncio.Semaphore(0)
        self._runners: list[web.AppRunner] = []
        self.issuer = ""
        self.origin = ""
        # What an access token is good for; another authorization server may know better.
        self.look_up: Callable[[str], Issued | None] = self.access.get

    async def __aenter__(self) -> Self:
        self.issuer = await self._listen(self._authorization)
        self.origin = await self._listen(self._resource)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.gate.set()
        for runner in self._runners:
            await runner.cleanup()

    async def _listen(self, handler: Handler) -> str:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        self._runners.append(runner)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    # For tests

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]

    def at(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.path == path]

    def answer(self, path: str, value: Any, status: int = 200) -> None:
        """From now on `path` is answered with this JSON."""

        async def handler(request: web.Request) -> web.StreamResponse:
            return web.json_response(value, status=status)

        self.answers[path] = handler

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": to})

        self.answers[path] = handler

    def trust(self, issuer: str, look_up: Callable[[str], Issued | None]) -> None:
        """From now on another authorization server is this server's."""
        self.issuer, self.look_up = issuer, look_up

    def expire(self) -> None:
        """Every access token has run out."""
        for issued in self.access.values():
            issued.expires_at = 0

    async def browse(self, authorization_url: str) -> str:
        """What a browser's address bar shows at the end of a sign-in."""
        async with (
            aiohttp.ClientSession() as browser,
            browser.get(authorization_url, allow_redirects=False) as response,
        ):
            assert response.status == 302, await response.text()
            return response.headers["Location"]

    # The MCP server

    async def _resource(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        message = json.loads(body) if body and request.content_type == "application/json" else None
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen = Seen(request.method, request.path, headers, dict(request.query), message)
        self.seen.append(seen)
        if request.path in self.answers:
            return await self.answers[request.path](request)
        if request.path == RESOURCE_PATH:
            document = {
                "resource": self.url,
                "authorization_servers": [self.issuer],
                "scopes_supported": ["tools:read", "tools:write"],
            }
            return web.json_response(_changed(document, self.plan.resource))
        if request.path != "/mcp" or request.method != "POST" or not isinstance(message, dict):
            return web.Response(status=405 if request.path == "/mcp" else 404)
        refusal = self._refusal(message, seen.bearer)
        return refusal if refusal is not None else await self._rpc(message)

    def _refusal(self, message: dict[str, Any], bearer: str | None) -> web.Response | None:
        method = message.get("method", "")
        if method in self.plan.open_methods:
            return None
        issued = self.look_up(bearer or "")
        if issued is None or issued.expires_at <= time.time():
            return self._challenge(401, self.plan.challenge_scope, None if bearer is None else "invalid_token")
        wanted = TOOLS.get((message.get("params") or {}).get("name", ""), "") if method == "tools/call" else ""
        if wanted and wanted not in issued.scopes:
            return self._challenge(403, wanted, "insufficient_scope")
        return None

    def _challenge(self, status: int, scope: str | None, error: str | None) -> web.Response:
        parts = [f'error="{error}"'] if error else []
        if self.plan.challenge_metadata:
            parts.append(f'resource_metadata="{self.origin}{RESOURCE_PATH}"')
        if scope is not None:
            parts.append(f'scope="{scope}"')
        return web.Response(status=status, headers={"WWW-Authenticate": f"Bearer {', '.join(parts)}".strip()})

    async def _rpc(self, message: dict[str, Any]) -> web.Response:
        method, id = message.get("method"), message.get("id")
        if id is None:
            return web.Response(status=202)
        params = message.get("params") or {}
        result: dict[str, Any]
        if method == "initialize":
            info = {"name": "protected", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        elif method == "tools/call":
            if params.get("name") == "wait":
                self.waiting.release()
                await self.gate.wait()
            result = {"content": [{"type": "text", "text": params.get("name", "")}]}
        elif method == "ping":
            result = {}
        else:
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": id, "error": error}, status=404)
        return web.json_response({"jsonrpc": "2.0", "id": id, "result": result})

    # The authorization server

    async def _authorization(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        is_form = request.content_type == "application/x-www-form-urlencoded"
        form = {k: v[0] for k, v in parse_qs(body.decode(), keep_blank_values=True).items()} if is_form else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        parsed = json.loads(body) if body and request.content_type == "application/json" else None
        self.seen.append(Seen(request.method, request.path, headers, form or dict(request.query), parsed))
        if request.path in self.answers:
            return await self.answers[request.path](request)
        match request.method, request.path:
            case "GET", path if path == METADATA_PATH:
                return web.json_response(_changed(self._metadata(), self.plan.metadata))
            case "POST", "/register":
                assert isinstance(parsed, dict), "a registration is an object in JSON"
                return self._register(parsed)
            case "GET", "/authorize":
                return self._authorize(dict(request.query))
            case "POST", "/token":
                return self.token_answer(form, headers)
            case "POST", "/revoke":
                self._revoke(form.get("token", ""))
                return web.Response()
            case "DELETE", path:
                return self._unregister(path, headers.get("authorization", ""))
        return web.Response(status=404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "scopes_supported": ["tools:read", "tools:write", "offline_access"],
            "code_challenge_methods_supported": ["S256"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "private_key_jwt"],
            "authorization_response_iss_parameter_supported": self.plan.iss is not None,
        }

    def _register(self, wish: dict[str, Any]) -> web.Response:
        if wish.get("application_type") != "native":
            return _error("invalid_redirect_uri")
        id = f"client-{len(self.clients) + 1}-{secrets.token_hex(4)}"
        client = {**wish, "client_id": id}
        if wish.get("token_endpoint_auth_method") not in (None, "none"):
            client["client_secret"] = self._secret("client-secret")
        self.clients[id] = client
        if self.plan.manageable:
            token = self._secret("management")
            self.managers[f"/clients/{id}"] = (id, token)
            client = {**client, "registration_client_uri": f"{self.issuer}/clients/{id}"}
            client["registration_access_token"] = token
        return web.json_response(client, status=201)

    def _unregister(self, path: str, authorization: str) -> web.Response:
        id, token = self.managers.get(path, ("", ""))
        if not id or authorization != f"Bearer {token}":
            return web.Response(status=401)
        del self.clients[id]
        return web.Response(status=204)

    def _authorize(self, query: dict[str, str]) -> web.Response:
        client = self.clients.get(query.get("client_id", ""))
        if client is None or query.get("redirect_uri") not in client["redirect_uris"]:
            return web.Response(status=400, text="no such client or redirect address")
        answer = {"state": query.get("state", "")}
        if self.plan.iss is not None:
            answer["iss"] = self.issuer if self.plan.iss is True else str(self.plan.iss)
        scopes = tuple(query.get("scope", "").split())
        allowed = client.get("scope")
        if self.plan.authorize_error:
            answer |= {"error": self.plan.authorize_error, "error_description": "a-text-of-the-server"}
        elif allowed is not None and not set(scopes) <= set(allowed.split()):
            answer |= {"error": "invalid_scope"}
        elif query.get("code_challenge_method") != "S256" or query.get("resource") is None:
            answer |= {"error": "invalid_request"}
        else:
            answer["code"] = self._secret("code")
            self.codes[answer["code"]] = {**query, "scopes": scopes}
        return web.Response(status=302, headers={"Location": f"{query['redirect_uri']}?{urlencode(answer)}"})

    def token_answer(self, form: dict[str, str], headers: dict[str, str]) -> web.Response:
        if self.plan.token_failures:
            return web.Response(status=self.plan.token_failures.pop(0), text="a-text-of-the-server")
        client = self._proven(form, headers)
        if client is None:
            return _error("invalid_client", 401)
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange(client, form)
            case "refresh_token":
                return self._refresh(client, form)
            case "client_credentials":
                scopes = tuple(form.get("scope", "").split())
                return self._give(Issued(client, scopes, form.get("resource", ""), "own"), renewable=False)
        return _error("unsupported_grant_type")

    def _proven(self, form: dict[str, str], headers: dict[str, str]) -> str | None:
        id, secret = form.get("client_id", ""), form.get("client_secret")
        if headers.get("authorization", "").startswith("Basic "):
            id, _, secret = base64.b64decode(headers["authorization"][6:]).decode().partition(":")
        client = self.clients.get(id)
        return id if client is not None and client.get("client_secret") == secret else None

    def _exchange(self, client: str, form: dict[str, str]) -> web.Response:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["client_id"] != client or asked["redirect_uri"] != form.get("redirect_uri"):
            return _error("invalid_grant")
        if proof != asked["code_challenge"] or asked["resource"] != form.get("resource"):
            return _error("invalid_grant")
        scopes = tuple(scope for scope in asked["scopes"] if scope not in self.plan.withheld)
        return self._give(
            Issued(client, scopes, asked["resource"], secrets.token_hex(4)), renewable="offline_access" in scopes
        )

    def _refresh(self, client: str, form: dict[str, str]) -> web.Response:
        issued = self.refresh.get(form.get("refresh_token", ""))
        if issued is None or issued.client != client or issued.resource != form.get("resource"):
            return _error("invalid_grant")
        if issued.spent:
            # Somebody has used it twice: nobody can tell who, so all of them are out.
            self._end(issued.family)
            return _error("invalid_grant")
        issued.spent = self.plan.rotate
        return self._give(Issued(client, issued.scopes, issued.resource, issued.family), renewable=self.plan.rotate)

    def _give(self, issued: Issued, *, renewable: bool) -> web.Response:
        life = self.plan.token_life
        token = self._secret("access")
        self.access[token] = issued
        issued.expires_at = float("inf") if life is None else time.time() + life
        answer: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "scope": " ".join(issued.scopes)}
        if life is not None:
            answer["expires_in"] = life
        if renewable:
            answer["refresh_token"] = self._secret("refresh")
            self.refresh[answer["refresh_token"]] = Issued(issued.client, issued.scopes, issued.resource, issued.family)
        return web.json_response(answer, headers={"Cache-Control": "no-store"})

    def _revoke(self, token: str) -> None:
        issued = self.refresh.get(token) or self.access.get(token)
        if issued is not None:
            self._end(issued.family)

    def _end(self, family: str) -> None:
        for tokens in (self.access, self.refresh):
            for token in [token for token, issued in tokens.items() if issued.family == family]:
                del tokens[token]

    def _secret(self, kind: str) -> str:
        secret = f"{kind}-{secrets.token_urlsafe(24)}"
        self.secrets.add(secret)
        return secret


def _changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**document, **changes}.items() if value is not None}


def _error(code: str, status: int = 400) -> web.Response:
    return web.json_response({"error": code, "error_description": "a-text-of-the-server"}, status=status)


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}


async def surf(url: str) -> tuple[int, str]:
    """The page a browser ends at, all redirects followed."""
    async with aiohttp.ClientSession() as browser, browser.get(url) as response:
        return response.status, await response.text()
