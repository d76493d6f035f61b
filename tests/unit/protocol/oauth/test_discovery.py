"""From a protected address to the authorization server: the order of looking, the exact checks, and nothing guessed."""

from typing import Any

import pytest

from openclaw.errors import AuthError, ConnectError
from openclaw.protocol.oauth.challenge import Challenge
from openclaw.protocol.oauth.discovery import Acquaintance, NothingPublishedError, discover, identity_provider
from openclaw.protocol.oauth.metadata import (
    AuthDiscovery,
    ServerMetadata,
    canonical_resource,
    check_for_sign_in,
    check_for_tokens,
    is_identifier,
    origin_of,
)
from openclaw.protocol.oauth.wire import FlowResponse
from parts.oauth_script import Script, ok

SERVER = "https://mcp.example/tenant/mcp"
AT_PATH = "https://mcp.example/.well-known/oauth-protected-resource/tenant/mcp"
AT_ROOT = "https://mcp.example/.well-known/oauth-protected-resource"
AS = "https://login.example"
AS_DOCUMENT = "https://login.example/.well-known/oauth-authorization-server"


def resource(**changes: Any) -> dict[str, Any]:
    return {"resource": SERVER, "authorization_servers": [AS], "scopes_supported": ["a", "b"], **changes}


def server(issuer: str = AS, **changes: Any) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{AS}/authorize",
        "token_endpoint": f"{AS}/token",
        "code_challenge_methods_supported": ["S256"],
        **changes,
    }


def found(issuer: str = AS, **changes: Any) -> ServerMetadata:
    return ServerMetadata(
        issuer,
        authorization_endpoint=f"{AS}/authorize",
        token_endpoint=f"{AS}/token",
        code_challenge_methods_supported=("S256",),
        **changes,
    )


# A server that answered 401 and showed nothing else.
OLD = Acquaintance(unauthorized=True)


def look(
    script: Script, challenge: Challenge | None = None, known: Acquaintance = OLD, url: str = SERVER, **options: str
) -> AuthDiscovery:
    return script.play(discover(url, challenge or Challenge(), check_for_sign_in, known, **options))


# The resource's document


@pytest.mark.requirement("000-5.1-resource-metadata")
def test_the_address_in_the_challenge_is_asked_first_and_alone() -> None:
    script = Script({"https://mcp.example/custom.json": ok(resource()), AS_DOCUMENT: ok(server())})
    assert look(script, Challenge("https://mcp.example/custom.json")) == AuthDiscovery(
        SERVER, found(), ("a", "b"), published=True
    )
    assert script.urls == ["https://mcp.example/custom.json", AS_DOCUMENT]


def test_without_a_challenge_the_path_is_asked_before_the_root() -> None:
    script = Script({AT_ROOT: ok(resource(resource="https://mcp.example")), AS_DOCUMENT: ok(server())})
    assert look(script).resource == "https://mcp.example"
    assert script.urls == [AT_PATH, AT_ROOT, AS_DOCUMENT]


def test_the_root_is_not_asked_when_the_path_answers() -> None:
    script = Script({AT_PATH: ok(resource()), AS_DOCUMENT: ok(server())})
    look(script)
    assert script.urls == [AT_PATH, AS_DOCUMENT]


ORIGIN = "https://mcp.example"
POINTED = "https://mcp.example/custom.json"


@pytest.mark.parametrize(
    ("url", "place", "challenged", "published", "verdict"),
    [
        # Below the path: the address itself. A lone slash at its end makes no other document.
        (SERVER, AT_PATH, "", SERVER, True),
        (SERVER, AT_PATH, "", f"{SERVER}/", True),
        (f"{SERVER}/", AT_PATH, "", SERVER, True),
        ("https://MCP.example:443/tenant/mcp", AT_PATH, "", SERVER, True),
        (f"{SERVER}?key=1", AT_PATH, "", SERVER, True),
        (f"{SERVER}?key=1", AT_PATH, "", f"{SERVER}?key=1", True),
        (SERVER, AT_PATH, "", ORIGIN, False),
        (SERVER, AT_PATH, "", "https://mcp.example/tenant", False),
        (SERVER, AT_PATH, "", "https://mcp.example/tenant/", False),
        (SERVER, AT_PATH, "", "HTTPS://MCP.example:443/tenant/mcp", False),
        (SERVER, AT_PATH, "", "https://mcp.example/tenant/mc", False),
        (SERVER, AT_PATH, "", "https://mcp.example/tenant/mcp/deeper", False),
        (SERVER, AT_PATH, "", "https://mcp.example:8443/tenant/mcp", False),
        (SERVER, AT_PATH, "", "http://mcp.example/tenant/mcp", False),
        (SERVER, AT_PATH, "", "https://evil.example/tenant/mcp", False),
        (SERVER, AT_PATH, "", "https://user@mcp.example/tenant/mcp", False),
        (SERVER, AT_PATH, "", f"{SERVER}#x", False),
        (SERVER, AT_PATH, "", f"{SERVER}?a=b", False),
        (SERVER, AT_PATH, "", "", False),
        # At the root: the origin.
        (SERVER, AT_ROOT, "", ORIGIN, True),
        (SERVER, AT_ROOT, "", f"{ORIGIN}/", True),
        (SERVER, AT_ROOT, "", SERVER, False),
        (SERVER, AT_ROOT, "", "https://mcp.example/tenant", False),
        (ORIGIN, AT_ROOT, "", ORIGIN, True),
        # Where the server points to: the address itself, or what the place stands for.
        (SERVER, POINTED, POINTED, SERVER, True),
        (SERVER, POINTED, POINTED, ORIGIN, False),
        (SERVER, AT_ROOT, AT_ROOT, SERVER, True),
        (SERVER, AT_ROOT, AT_ROOT, ORIGIN, True),
        (SERVER, AT_PATH, AT_PATH, ORIGIN, False),
    ],
)
def test_the_published_resource_is_the_one_its_document_stands_for(
    url: str, place: str, challenged: str, published: str, verdict: bool
) -> None:
    """A5 and RFC 9728 section 3.3."""
    script = Script({place: ok(resource(resource=published)), AS_DOCUMENT: ok(server())})
    if verdict:
        # Sent on as it was published: authorization servers compare it byte for byte.
        assert look(script, Challenge(challenged), url=url).resource == published
    else:
        with pytest.raises(AuthError, match="another resource"):
            look(script, Challenge(challenged), url=url)
        assert script.urls[-1] == place


def test_what_is_no_address_identifies_nothing() -> None:
    assert [is_identifier(text, text) for text in ("urn:x", "https://mcp.example:port/", "")] == [False] * 3


def test_a_resource_that_names_no_authorization_server_ends_discovery() -> None:
    script = Script({AT_PATH: ok(resource(authorization_servers=[]))})
    with pytest.raises(AuthError, match="names no authorization server"):
        look(script)
    assert script.urls == [AT_PATH]


def test_promised_metadata_that_is_not_there_is_an_error_and_not_an_old_server() -> None:
    with pytest.raises(AuthError, match="none is there"):
        look(Script({}), Challenge("https://mcp.example/gone"))


@pytest.mark.parametrize("status", [429, 500, 503, 301])
def test_a_server_in_trouble_is_not_taken_for_an_old_one(status: int) -> None:
    script = Script({AT_PATH: FlowResponse(status)})
    with pytest.raises(ConnectError, match=str(status)):
        look(script)
    assert script.urls == [AT_PATH]


def test_a_page_that_is_no_json_counts_as_no_document() -> None:
    page = FlowResponse(200, b"<!doctype html>")
    script = Script({AT_PATH: page, AT_ROOT: ok(resource(resource="https://mcp.example")), AS_DOCUMENT: ok(server())})
    assert look(script).resource == "https://mcp.example"


@pytest.mark.parametrize("body", [b'{"resource": 5}', b"{}", b'{"resource": "x", "authorization_servers": "y"}'])
def test_a_broken_document_is_an_error_and_not_an_old_server(body: bytes) -> None:
    with pytest.raises(AuthError, match="cannot be read"):
        look(Script({AT_PATH: FlowResponse(200, body)}))


def test_a_document_nested_without_end_is_no_document() -> None:
    """A6."""
    deep = FlowResponse(200, b'{"x":' * 50_000)
    script = Script({AT_PATH: deep, AT_ROOT: ok(resource(resource="https://mcp.example")), AS_DOCUMENT: ok(server())})
    assert look(script).resource == "https://mcp.example"


# The authorization server's document


@pytest.mark.parametrize(
    ("issuer", "urls"),
    [
        (AS, [AS_DOCUMENT, f"{AS}/.well-known/openid-configuration"]),
        (
            f"{AS}/tenant1",
            [
                f"{AS}/.well-known/oauth-authorization-server/tenant1",
                f"{AS}/.well-known/openid-configuration/tenant1",
                f"{AS}/tenant1/.well-known/openid-configuration",
            ],
        ),
    ],
)
@pytest.mark.requirement("000-5.1-server-metadata")
def test_the_places_of_server_metadata_are_asked_in_order(issuer: str, urls: list[str]) -> None:
    """A4."""
    script = Script({AT_PATH: ok(resource(authorization_servers=[issuer])), urls[-1]: ok(server(issuer))})
    assert look(script).issuer == issuer
    assert script.urls == [AT_PATH, *urls]


@pytest.mark.parametrize(
    "named", [f"{AS}/", "https://LOGIN.example", f"{AS}:443", "https://evil.example", f"{AS}/%74enant", ""]
)
def test_an_issuer_that_differs_in_one_byte_is_refused_and_nothing_is_guessed(named: str) -> None:
    """A5."""
    script = Script({AT_PATH: ok(resource()), AS_DOCUMENT: ok(server(named))})
    with pytest.raises(AuthError, match="another issuer"):
        look(script)
    assert script.urls == [AT_PATH, AS_DOCUMENT]


def test_an_authorization_server_without_metadata_is_not_guessed() -> None:
    script = Script({AT_PATH: ok(resource())})
    with pytest.raises(AuthError, match="publishes no metadata"):
        look(script)


@pytest.mark.parametrize("methods", [None, [], ["plain"], ["s256"]])
@pytest.mark.requirement("000-5.4-s256")
def test_a_server_that_does_not_promise_s256_is_refused(methods: list[str] | None) -> None:
    """A8."""
    script = Script({AT_PATH: ok(resource()), AS_DOCUMENT: ok(server(code_challenge_methods_supported=methods))})
    with pytest.raises(AuthError, match="S256"):
        look(script)


def test_openid_metadata_without_s256_is_refused_too() -> None:
    """A8."""
    document = server()
    del document["code_challenge_methods_supported"]
    openid = f"{AS}/.well-known/openid-configuration"
    with pytest.raises(AuthError, match="S256"):
        look(Script({AT_PATH: ok(resource()), openid: ok(document)}))


def test_a_client_that_signs_in_by_itself_needs_no_pkce() -> None:
    document = server(code_challenge_methods_supported=None, authorization_endpoint=None)
    script = Script({AT_PATH: ok(resource()), AS_DOCUMENT: ok(document)})
    assert script.play(discover(SERVER, Challenge(), check_for_tokens, OLD)).issuer == AS


def test_the_second_authorization_server_serves_when_the_first_cannot() -> None:
    down, weak = "https://down.example", "https://weak.example"
    script = Script(
        {
            AT_PATH: ok(resource(authorization_servers=[down, weak, AS])),
            f"{down}/.well-known/oauth-authorization-server": ConnectError("Nothing listens."),
            f"{weak}/.well-known/oauth-authorization-server": ok(server(weak, code_challenge_methods_supported=[])),
            AS_DOCUMENT: ok(server()),
        }
    )
    assert look(script).issuer == AS


def test_when_no_authorization_server_can_be_used_the_first_reason_is_told() -> None:
    script = Script(
        {
            AT_PATH: ok(resource(authorization_servers=[AS, "https://b.example"])),
            AS_DOCUMENT: ConnectError("Nothing listens."),
        }
    )
    with pytest.raises(ConnectError, match="Nothing listens"):
        look(script)


def test_a_sign_in_stays_at_the_authorization_server_it_was_at() -> None:
    other = "https://other.example"
    script = Script({AT_PATH: ok(resource(authorization_servers=[other, AS])), AS_DOCUMENT: ok(server())})
    assert look(script, prefer=AS).issuer == AS
    assert script.urls == [AT_PATH, AS_DOCUMENT]


def test_a_former_authorization_server_that_is_no_longer_listed_is_not_asked() -> None:
    script = Script({AT_PATH: ok(resource()), AS_DOCUMENT: ok(server())})
    assert look(script, prefer="https://former.example").issuer == AS


def test_a_configured_authorization_server_goes_before_the_listed_ones() -> None:
    mine = "https://mine.example"
    document = f"{mine}/.well-known/oauth-authorization-server"
    script = Script({AT_PATH: ok(resource()), document: ok(server(mine))})
    assert look(script, override=mine) == AuthDiscovery(SERVER, found(mine), ("a", "b"), published=True)


def test_a_configured_authorization_server_needs_no_document_of_the_resource() -> None:
    script = Script({AS_DOCUMENT: ok(server())})
    assert look(script, override=AS) == AuthDiscovery(SERVER, found())


@pytest.mark.parametrize("issuer", ["ftp://x", "https://login.example?x", "https://login.example#x", "", "/relative"])
def test_an_issuer_that_is_no_address_is_refused(issuer: str) -> None:
    with pytest.raises(AuthError, match="no issuer"):
        look(Script({AT_PATH: ok(resource(authorization_servers=[issuer]))}))


# Servers of revision 2025-03-26


def test_an_old_server_has_metadata_at_its_origin() -> None:
    document = server("https://mcp.example")
    script = Script({"https://mcp.example/.well-known/oauth-authorization-server": ok(document)})
    assert look(script) == AuthDiscovery(SERVER, found("https://mcp.example"))


def test_an_old_server_may_end_its_issuer_with_a_slash() -> None:
    """Both spellings make the same address of the document."""
    document = server("https://mcp.example/")
    script = Script({"https://mcp.example/.well-known/oauth-authorization-server": ok(document)})
    assert look(script).issuer == "https://mcp.example/"


def test_an_old_servers_metadata_is_checked_like_any_other() -> None:
    where = "https://mcp.example/.well-known/oauth-authorization-server"
    with pytest.raises(AuthError, match="another issuer"):
        look(Script({where: ok(server("https://evil.example"))}))
    with pytest.raises(AuthError, match="S256"):
        look(Script({where: ok(server("https://mcp.example", code_challenge_methods_supported=None))}))


def test_an_old_server_without_metadata_has_endpoints_at_fixed_paths() -> None:
    guessed = ServerMetadata(
        "https://mcp.example",
        authorization_endpoint="https://mcp.example/authorize",
        token_endpoint="https://mcp.example/token",
        registration_endpoint="https://mcp.example/register",
    )
    assert look(Script({})) == AuthDiscovery(SERVER, guessed, guessed=True)


@pytest.mark.parametrize(
    "known",
    [
        Acquaintance(),
        Acquaintance(unauthorized=True, published=True),
        Acquaintance(unauthorized=True, revision="2025-06-18"),
        Acquaintance(unauthorized=True, revision="2025-11-25"),
        Acquaintance(unauthorized=True, revision="2026-07-28"),
    ],
)
def test_a_server_that_asked_for_nothing_or_is_known_to_be_newer_is_not_taken_for_an_old_one(
    known: Acquaintance,
) -> None:
    script = Script({"https://mcp.example/.well-known/oauth-authorization-server": ok(server("https://mcp.example"))})
    with pytest.raises(NothingPublishedError, match="publishes nothing"):
        look(script, known=known)
    assert script.urls == [AT_PATH, AT_ROOT]


@pytest.mark.parametrize("revision", ["", "2024-11-05", "2025-03-26"])
def test_a_server_of_no_or_an_old_revision_may_be_old(revision: str) -> None:
    assert look(Script({}), known=Acquaintance(unauthorized=True, revision=revision)).guessed


# Small things


def test_the_metadata_of_an_identity_provider_is_checked_too() -> None:
    assert Script({AS_DOCUMENT: ok(server())}).play(identity_provider(AS)) == found()
    with pytest.raises(AuthError, match="another issuer"):
        Script({AS_DOCUMENT: ok(server("https://evil.example"))}).play(identity_provider(AS))
    with pytest.raises(AuthError, match="no metadata"):
        Script({}).play(identity_provider(AS))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Mcp.Example:443/Path?key=x#y", "https://mcp.example/Path"),
        ("https://mcp.example/", "https://mcp.example"),
        ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
    ],
)
def test_an_address_has_one_spelling_as_a_resource(url: str, expected: str) -> None:
    """A11."""
    assert canonical_resource(url) == expected


def test_what_is_no_address_has_no_origin() -> None:
    assert [origin_of(url) for url in ("", "x", "https://", "https://a@b/", "https://h:0/", "https://[x/")] == [""] * 6
