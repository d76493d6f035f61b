"""The two documents of discovery, and the checks that make them usable: RFC 9728 of the resource, RFC 8414 or OIDC of the server.

Owns what counts as the same resource and which authorization server may be used at all. Identifiers are compared byte for byte.
"""

from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from openclaw.errors import AuthError

S256: Final = "S256"
OFFLINE: Final = "offline_access"
_DEFAULT_PORTS = {"http": 80, "https": 443}

Strings = tuple[str, ...] | None


class ResourceMetadata(msgspec.Struct, frozen=True):
    """RFC 9728: what the MCP server says about itself."""

    resource: str
    authorization_servers: Strings = None
    scopes_supported: Strings = None


class ServerMetadata(msgspec.Struct, frozen=True):
    """RFC 8414 and OpenID Connect discovery: what an authorization server says about itself."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: Strings = None
    grant_types_supported: Strings = None
    code_challenge_methods_supported: Strings = None
    token_endpoint_auth_methods_supported: Strings = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None


class AuthDiscovery(msgspec.Struct, frozen=True):
    """Where to sign in, for what. `resource` is spelled as the server `published` it, if it did; `guessed` means a 2025-03-26 server
    without any metadata."""

    resource: str
    server: ServerMetadata
    scopes_supported: tuple[str, ...] | None = None
    guessed: bool = False
    published: bool = False

    @property
    def issuer(self) -> str:
        return self.server.issuer


def canonical_resource(url: str) -> str:
    """The identifier of a server that publishes none: its address without query, fragment and lone slash."""
    parts = urlsplit(url)
    path = parts.path if parts.path != "/" else ""
    return f"{origin_of(url)}{path}"


def origin_of(url: str) -> str:
    """Scheme, host and port in one spelling. Empty for what is no http(s) address."""
    parts = _split(url)
    if parts is None:
        return ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{parts.scheme}://{host}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def is_identifier(resource: str, url: str) -> bool:
    """Whether a published identifier is that of `url`: its very characters as configured, or its canonical spelling.

    A lone slash at the end may be there or not: the address of the document is the same for both (RFC 9728 section 3.1).
    """
    if _split(url) is None:
        return False
    spellings = (url.partition("#")[0].partition("?")[0], url.partition("#")[0], canonical_resource(url))
    return resource.removesuffix("/") in {spelling.removesuffix("/") for spelling in spellings}


def check_for_sign_in(server: ServerMetadata) -> None:
    """Refuse a server that a person cannot safely sign in at. Raises AuthError."""
    if not server.authorization_endpoint or not server.token_endpoint:
        raise AuthError("The authorization server names no authorization or token endpoint.")
    if S256 not in (server.code_challenge_methods_supported or ()):
        raise AuthError(
            "The authorization server does not say that it supports PKCE with S256, so signing in there is refused.",
            hint="Its metadata must list S256 in code_challenge_methods_supported.",
        )


def check_for_tokens(server: ServerMetadata) -> None:
    """Refuse a server that gives no tokens. Raises AuthError."""
    if not server.token_endpoint:
        raise AuthError("The authorization server names no token endpoint.")


def _split(url: str) -> SplitResult | None:
    """The address taken apart; None when it is not http(s) with a host and nothing else in front."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _DEFAULT_PORTS and parts.hostname and "@" not in parts.netloc
        return parts if usable and parts.port != 0 else None
    except ValueError:
        return None
