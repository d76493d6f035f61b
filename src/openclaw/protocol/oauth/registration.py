"""Who we are to an authorization server: a client registered by hand, one described by a document we host, or one registered now.

Owns that order, how the client proves itself at the token endpoint, the document to host, and Dynamic Client Registration with its end. A
client belongs to the issuer it was registered with, and is never shown to another.
"""

import re
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from openclaw.errors import AuthError, RefusedError
from openclaw.protocol.oauth.metadata import OFFLINE, ServerMetadata
from openclaw.protocol.oauth.wire import Flow, FlowRequest, FlowResponse, post_json, read, refusal, scopes_of, union

CLIENT_NAME: Final = "OpenClaw"
# Stands in the document to host until its address is known; the name belongs to nobody (RFC 2606).
PLACEHOLDER_URL: Final = "https://your-host.example/openclaw.json"
# Where browsers come back to when no fixed address is configured; authorization servers leave the port of a loopback address open.
ANY_PORT_REDIRECTS: Final = ("http://127.0.0.1/callback", "http://localhost/callback")

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
METHODS: Final[tuple[AuthMethod, ...]] = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
_REGISTERED: Final[tuple[AuthMethod, ...]] = ("none", "client_secret_post", "client_secret_basic")
_BY_HAND: Final = "Register OpenClaw there by hand and set `auth.clientId`."
_VISIBLE: Final = re.compile(r"[\x20-\x7e]{1,4096}")


class OAuthClient(msgspec.Struct, frozen=True):
    """A client at one issuer. `secret` is kept only for one registered by us; a configured one's is taken from the config each time."""

    id: str
    issuer: str
    source: Literal["configured", "document", "dynamic"]
    method: AuthMethod = "none"
    secret: str = ""
    # Seconds since the epoch; 0 is never.
    secret_expires_at: float = 0
    redirect_uri: str = ""
    # What it may ask for; None when the server set no bound.
    scopes: tuple[str, ...] | None = None
    # Where a registration can be taken back, and with what; most servers do not say.
    manage_url: str = ""
    manage_token: str = ""

    def __repr__(self) -> str:
        return f"OAuthClient({self.source})"


class Configured(msgspec.Struct, frozen=True):
    """What the operator says about the client; all of it may be empty."""

    client_id: str = ""
    has_secret: bool = False
    has_key: bool = False
    method: str = ""
    metadata_url: str = ""


class Wish(msgspec.Struct, frozen=True):
    """What a client is wanted for."""

    redirect_uri: str
    scopes: tuple[str, ...] = ()
    now: float = 0


def known_client(server: ServerMetadata, configured: Configured) -> OAuthClient | None:
    """The client that needs no registration here: the configured one, else the one behind `metadata_url` where such are taken."""
    if configured.client_id:
        return OAuthClient(configured.client_id, server.issuer, "configured", configured_method(server, configured))
    if configured.metadata_url and server.client_id_metadata_document_supported:
        check_metadata_url(configured.metadata_url)
        return OAuthClient(configured.metadata_url, server.issuer, "document", configured_method(server, configured))
    return None


def configured_method(server: ServerMetadata, configured: Configured) -> AuthMethod:
    """How a client that brings its own credentials proves itself. Raises AuthError when the setting does not fit."""
    if configured.method:
        for method in METHODS:
            if method == configured.method:
                return method
        raise AuthError(
            "`auth.tokenEndpointAuthMethod` names no method of ours.", hint=f"Use one of {', '.join(METHODS)}."
        )
    if configured.has_key:
        return "private_key_jwt"
    if not configured.has_secret:
        return "none"
    # RFC 8414: basic is what a server without a list supports.
    offered = server.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    return (
        "client_secret_post"
        if "client_secret_basic" not in offered and "client_secret_post" in offered
        else "client_secret_basic"
    )


def suits(client: OAuthClient, server: ServerMetadata, wish: Wish) -> bool:
    """Whether a client registered earlier can be used again: same issuer, same redirect address, every scope, a secret still good."""
    return (
        client.issuer == server.issuer
        and client.redirect_uri == wish.redirect_uri
        and (client.scopes is None or set(wish.scopes) <= set(client.scopes))
        and (client.secret_expires_at == 0 or client.secret_expires_at > wish.now)
    )


def check_metadata_url(url: str) -> None:
    """A Client ID Metadata Document's address is https with a path, and nothing that two readers could take differently."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    plain = parts.scheme == "https" and parts.hostname and "@" not in parts.netloc and "#" not in url
    if not plain or parts.path in ("", "/") or "." in segments or ".." in segments:
        raise AuthError(
            "`auth.clientMetadataUrl` is not an https address with a path.",
            hint="Set it to where your client metadata document is to be found, such as https://example.com/openclaw.json.",
        )


def client_metadata_document(url: str, redirect_uri: str = "", jwks: dict[str, Any] | None = None) -> dict[str, Any]:
    """The document to host at `url`, which thereby becomes the client id; a placeholder stands for one that is not known yet. With
    `jwks` the client proves itself by key."""
    url = url or PLACEHOLDER_URL
    check_metadata_url(url)
    document: dict[str, Any] = {
        "client_id": url,
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "redirect_uris": [redirect_uri] if redirect_uri else list(ANY_PORT_REDIRECTS),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "private_key_jwt" if jwks else "none",
    }
    return {**document, "jwks": jwks} if jwks else document


class _Registered(msgspec.Struct):
    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None
    scope: str | None = None
    registration_client_uri: str | None = None
    registration_access_token: str | None = None


def register(server: ServerMetadata, wish: Wish, supported: tuple[str, ...] | None) -> Flow[OAuthClient]:
    """Dynamic Client Registration (RFC 7591), for every scope we may come to ask for. Raises AuthError."""
    if not server.registration_endpoint:
        raise AuthError(
            "The authorization server registers no clients by itself.",
            hint=f"{_BY_HAND} Or host a client metadata document and set `auth.clientMetadataUrl`.",
        )
    scopes = union(wish.scopes, supported, (OFFLINE,) if offers_offline(server) else ())
    response = yield post_json(server.registration_endpoint, _registration(server, wish, scopes))
    if response.status == 400 and scopes:
        # Some servers know fewer scopes than their resources do; without a list they give what they have.
        scopes = ()
        response = yield post_json(server.registration_endpoint, _registration(server, wish, scopes))
    return _registered(server, wish, scopes, response)


def offers_offline(server: ServerMetadata) -> bool:
    return OFFLINE in (server.scopes_supported or ())


def _registration(server: ServerMetadata, wish: Wish, scopes: tuple[str, ...]) -> dict[str, Any]:
    grants = ["authorization_code"]
    if server.grant_types_supported is None or "refresh_token" in server.grant_types_supported:
        grants.append("refresh_token")
    document: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "redirect_uris": [wish.redirect_uri],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": _registered_method(server),
    }
    return {**document, "scope": " ".join(scopes)} if scopes else document


def _registered_method(server: ServerMetadata) -> AuthMethod:
    """A program on a person's machine keeps no secret from that person: it is a public client wherever it may be.

    A secret goes into the form rather than the header where both are taken: servers differ in how they decode the latter.
    """
    offered = server.token_endpoint_auth_methods_supported
    for method in _REGISTERED:
        if offered is None or method in offered:
            return method
    raise AuthError("The authorization server takes no way of proving a client that OpenClaw can be registered with.")


def _registered(server: ServerMetadata, wish: Wish, scopes: tuple[str, ...], response: FlowResponse) -> OAuthClient:
    if response.status not in (200, 201):
        error = refusal(response, "the registration of OpenClaw as a client")
        raise RefusedError(error.code, error.message, hint=_BY_HAND) if isinstance(error, RefusedError) else error
    answer = read(response.body, _Registered)
    secret = (answer.client_secret or "") if answer is not None else ""
    if answer is None or not _VISIBLE.fullmatch(answer.client_id) or (secret and not _VISIBLE.fullmatch(secret)):
        raise AuthError("The authorization server's answer to the registration cannot be read.")
    method = next((m for m in METHODS if m == answer.token_endpoint_auth_method), _registered_method(server))
    if method == "private_key_jwt" or (method != "none" and not secret):
        raise AuthError("The authorization server registered OpenClaw in a way it did not ask for.")
    granted = scopes_of(answer.scope)
    place, token = answer.registration_client_uri or "", answer.registration_access_token or ""
    manageable = _VISIBLE.fullmatch(place) and _VISIBLE.fullmatch(token)
    return OAuthClient(
        answer.client_id,
        server.issuer,
        "dynamic",
        method,
        secret,
        answer.client_secret_expires_at or 0,
        wish.redirect_uri,
        granted if granted is not None else scopes or None,
        place if manageable else "",
        token if manageable else "",
    )


def unregister(client: OAuthClient) -> Flow[bool]:
    """RFC 7592: take a registration back. Whether the server did."""
    response = yield FlowRequest("DELETE", client.manage_url, {"Authorization": f"Bearer {client.manage_token}"})
    return response.status in (200, 204)
