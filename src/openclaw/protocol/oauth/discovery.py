"""From the address of a protected server to the authorization server that may be used for it.

Owns the order in which documents are looked for, and that nothing is guessed except for servers of revision 2025-03-26, which have no
metadata of their own: `Acquaintance.may_be_old` says which may be such. A document that contradicts the address it came from ends
discovery: there is no second choice behind it. `metadata.py` has the checks.
"""

from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from openclaw.errors import AuthError, ConnectError, OpenClawError
from openclaw.protocol.oauth.challenge import Challenge
from openclaw.protocol.oauth.metadata import (
    AuthDiscovery,
    ResourceMetadata,
    ServerMetadata,
    canonical_resource,
    is_identifier,
    origin_of,
)
from openclaw.protocol.oauth.wire import Flow, S, clean_scopes, get, is_json_object, read

# Of the authorization servers a resource lists, no more than these are tried.
MAX_SERVERS: Final = 5

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_OAUTH: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"

# The last revision whose servers publish nothing about themselves.
_WITHOUT_METADATA: Final = "2025-03-26"

# Raises AuthError for an authorization server that does not suit.
Check = Callable[[ServerMetadata], None]


class NothingPublishedError(AuthError):
    """The server publishes nothing about its authorization, and is not of a revision for which that is normal."""


class Acquaintance(msgspec.Struct, frozen=True):
    """What has been seen of a server: whether it ever asked for credentials (401), whether it ever published metadata about itself, and
    the newest revision that was spoken with it, empty when none was."""

    unauthorized: bool = False
    published: bool = False
    revision: str = ""

    @property
    def may_be_old(self) -> bool:
        """Whether it may be of a revision that had no metadata. A server that was once seen to be newer is not taken for an old one."""
        return self.unauthorized and not self.published and self.revision <= _WITHOUT_METADATA


def discover(
    url: str, challenge: Challenge, check: Check, known: Acquaintance, *, override: str = "", prefer: str = ""
) -> Flow[AuthDiscovery]:
    """Where to get a token for `url`. `override` is the configured authorization server, `prefer` the one used before.

    Raises AuthError; failures of the network come through as they are.
    """
    resource = yield from _resource(url, challenge)
    if resource is None and not override:
        if challenge.resource_metadata:
            raise AuthError("The server names metadata about its authorization, but none is there.")
        if not known.may_be_old:
            raise NothingPublishedError(
                "The server publishes nothing about where to sign in.",
                hint="Set `auth.authorizationServerUrl` if you know it; if the server takes an API key, set `apiKey` or `headers`.",
            )
        return (yield from _before_metadata(url, check))
    name = resource.resource if resource is not None else canonical_resource(url)
    listed = (resource.authorization_servers if resource is not None else None) or ()
    issuers = (override,) if override else _ordered(listed, prefer)
    if not issuers:
        raise AuthError(
            "The server's metadata names no authorization server.",
            hint="Set `auth.authorizationServerUrl` if you know it.",
        )
    server = yield from _first_usable(issuers, check)
    supported = resource.scopes_supported if resource is not None else None
    scopes = None if supported is None else clean_scopes(supported)
    return AuthDiscovery(name, server, scopes, published=resource is not None)


def identity_provider(issuer: str) -> Flow[ServerMetadata]:
    """The metadata of an issuer that the operator configured."""
    server = yield from _server(issuer)
    if server is None:
        raise AuthError("The identity provider publishes no metadata where the standards look for it.")
    return server


def resource_metadata_urls(url: str, challenge: Challenge) -> tuple[str, ...]:
    """Where the resource's document may be: where the challenge says, then below the path, then at the root."""
    origin, path = origin_of(url), urlsplit(url).path.rstrip("/")
    urls = (challenge.resource_metadata, f"{origin}{_RESOURCE}{path}", f"{origin}{_RESOURCE}")
    return tuple(dict.fromkeys(candidate for candidate in urls if candidate))


def server_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Where an authorization server's document may be: with a path, inserted before it (OAuth, OIDC), then appended (OIDC)."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    if not path:
        return f"{origin}{_OAUTH}", f"{origin}{_OPENID}"
    return f"{origin}{_OAUTH}{path}", f"{origin}{_OPENID}{path}", f"{origin}{path}{_OPENID}"


def _resource(url: str, challenge: Challenge) -> Flow[ResourceMetadata | None]:
    found = yield from _document(resource_metadata_urls(url, challenge), ResourceMetadata, "the server's")
    if found is None:
        return None
    document, place = found
    # RFC 9728 section 3.3: the document at the root speaks for the origin, every other for the address itself. One that the server
    # pointed to may speak for the address wherever it is.
    at_root = place == f"{origin_of(url)}{_RESOURCE}"
    for_origin = at_root and is_identifier(document.resource, origin_of(url))
    for_address = (not at_root or place == challenge.resource_metadata) and is_identifier(document.resource, url)
    if not for_origin and not for_address:
        raise AuthError(
            "The server's authorization metadata is about another resource, so it is not used.",
            hint="Check that the configured URL is the server's own, to the letter.",
        )
    return document


def _first_usable(issuers: Sequence[str], check: Check) -> Flow[ServerMetadata]:
    failures: list[OpenClawError] = []
    for issuer in issuers:
        try:
            server = yield from _server(issuer)
            if server is None:
                raise AuthError("The authorization server publishes no metadata where the standards look for it.")
            check(server)
            return server
        except OpenClawError as error:
            failures.append(error)
    raise failures[0]


def _server(issuer: str) -> Flow[ServerMetadata | None]:
    if not origin_of(issuer) or "#" in issuer or "?" in issuer:
        raise AuthError("The authorization server is named by something that is no issuer address.")
    return (yield from _server_metadata(server_metadata_urls(issuer), (issuer,)))


def _server_metadata(urls: Sequence[str], issuers: Sequence[str]) -> Flow[ServerMetadata | None]:
    found = yield from _document(urls, ServerMetadata, "the authorization server's")
    if found is None:
        return None
    document, _ = found
    if document.issuer not in issuers:
        raise AuthError("The authorization server's metadata names another issuer, so it is not used.")
    return document


def _document(urls: Sequence[str], kind: type[S], whose: str) -> Flow[tuple[S, str] | None]:
    """The first document that is there, and where. Pages that are no JSON count as none; JSON that is no such document does not."""
    broken = False
    for url in urls:
        response = yield get(url)
        if response.status == 200:
            document = read(response.body, kind)
            if document is not None:
                return document, url
            broken = broken or is_json_object(response.body)
        elif not 400 <= response.status < 500 or response.status == 429:
            # A server in trouble must not look like an old one.
            raise ConnectError(
                f"A request for {whose} metadata was answered with {response.status}.", hint="Try again later."
            )
    if broken:
        raise AuthError(f"{whose.capitalize()} metadata cannot be read: fields are missing or of the wrong kind.")
    return None


def _before_metadata(url: str, check: Check) -> Flow[AuthDiscovery]:
    """Revision 2025-03-26: the server is its own authorization server, with metadata at its origin or endpoints at fixed paths."""
    origin = origin_of(url)
    # Both spellings lead to this very document (RFC 8414 section 3.1), and no other document named one of them.
    server = yield from _server_metadata(server_metadata_urls(origin), (origin, f"{origin}/"))
    if server is not None:
        check(server)
        return AuthDiscovery(canonical_resource(url), server)
    server = ServerMetadata(
        origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
    )
    return AuthDiscovery(canonical_resource(url), server, guessed=True)


def _ordered(issuers: Sequence[str], prefer: str) -> tuple[str, ...]:
    """The listed ones, the one already used first, so that a sign-in stays where it was."""
    ordered = (prefer, *issuers) if prefer in issuers else issuers
    return tuple(dict.fromkeys(ordered))[:MAX_SERVERS]
