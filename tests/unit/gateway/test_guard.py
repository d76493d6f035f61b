"""Who may use the HTTP port: Host, Origin and token, in every way they can be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.gateway.guard import GuardRules, RequestHead, cors_headers, host_name, presented, refusal

TOKEN = "correct-horse-battery"
RULES = GuardRules((TOKEN, "a-password"), hosts=frozenset({"claw.example"}), origins=frozenset({"https://app.example"}))


def head(
    host: str = "127.0.0.1:28789",
    *,
    origin: str | None = None,
    authorization: str | None = f"Bearer {TOKEN}",
    method: str = "POST",
    path: str = "/v1/tools",
    arrived_at: str = "127.0.0.1",
) -> RequestHead:
    return RequestHead(
        method=method,
        path=path,
        hosts=[host],
        origins=[] if origin is None else [origin],
        authorizations=[] if authorization is None else [authorization],
        arrived_at=arrived_at,
    )


def code(asked: RequestHead) -> str:
    refused = refusal(RULES, asked)
    return refused.code if refused else "let in"


@pytest.mark.parametrize(
    ("host", "outcome"),
    [
        ("localhost", "let in"),
        ("LOCALHOST:1", "let in"),
        ("127.0.0.1", "let in"),
        ("[::1]:28789", "let in"),
        ("claw.example:443", "let in"),
        ("evil.example", "host_not_allowed"),
        ("evil.example:28789", "host_not_allowed"),
        ("localhost.evil.example", "host_not_allowed"),
        ("localhost@evil.example", "host_not_allowed"),
        ("127.0.0.1.evil.example", "host_not_allowed"),
        ("127.0.0.1:80:80", "host_not_allowed"),
        ("[::1]evil", "host_not_allowed"),
        ("[::1", "host_not_allowed"),
        ("192.168.1.7", "host_not_allowed"),
        ("0.0.0.0", "host_not_allowed"),
        ("", "host_not_allowed"),
        (" ", "host_not_allowed"),
    ],
)
def test_only_our_own_names_are_answered(host: str, outcome: str) -> None:
    assert code(head(host)) == outcome


@pytest.mark.parametrize("address", ["192.168.1.7", "fd00::7"])
def test_the_address_a_request_arrived_at_is_a_name_of_ours(address: str) -> None:
    host = f"[{address}]:28789" if ":" in address else f"{address}:28789"
    assert code(head(host, arrived_at=address)) == "let in"


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_a_request_has_exactly_one_host(hosts: list[str]) -> None:
    asked = RequestHead("GET", "/v1/tools", hosts, [], [f"Bearer {TOKEN}"])
    assert code(asked) == "host_not_allowed"


@pytest.mark.parametrize(
    ("origin", "outcome"),
    [
        (None, "let in"),
        ("https://app.example", "let in"),
        ("http://127.0.0.1:28789", "let in"),
        ("null", "origin_not_allowed"),
        ("", "origin_not_allowed"),
        ("https://evil.example", "origin_not_allowed"),
        ("http://127.0.0.1:8080", "origin_not_allowed"),
        ("http://app.example", "origin_not_allowed"),
        ("https://app.example.evil.example", "origin_not_allowed"),
        ("https://APP.example", "origin_not_allowed"),
        ("file://", "origin_not_allowed"),
    ],
)
def test_only_welcome_pages_may_call(origin: str | None, outcome: str) -> None:
    assert code(head(origin=origin)) == outcome


@pytest.mark.parametrize(
    ("authorization", "outcome"),
    [
        (f"Bearer {TOKEN}", "let in"),
        (f"bearer  {TOKEN} ", "let in"),
        ("Bearer a-password", "let in"),
        (None, "unauthorized"),
        ("", "unauthorized"),
        ("Bearer", "unauthorized"),
        ("Bearer ", "unauthorized"),
        (TOKEN, "unauthorized"),
        (f"Basic {TOKEN}", "unauthorized"),
        ("Bearer wrong", "unauthorized"),
        (f"Bearer {TOKEN[:-1]}", "unauthorized"),
        (f"Bearer {TOKEN}x", "unauthorized"),
        (f"Bearer {TOKEN.upper()}", "unauthorized"),
        (f"Bearer {TOKEN} {TOKEN}", "unauthorized"),
        ("Bearer \udcff\udcfe", "unauthorized"),
    ],
)
def test_the_whole_token_is_asked_for(authorization: str | None, outcome: str) -> None:
    assert code(head(authorization=authorization)) == outcome


def test_two_credentials_are_none() -> None:
    both = [f"Bearer {TOKEN}", "Bearer wrong"]
    assert code(RequestHead("GET", "/v1/tools", ["localhost"], [], both)) == "unauthorized"


def test_an_empty_token_in_the_rules_admits_nobody() -> None:
    assert presented(GuardRules(("",)), ["Bearer "]) == ""
    assert presented(GuardRules(("",)), ["Bearer  "]) == ""


@given(st.text(max_size=40))
def test_no_other_text_passes_for_the_token(text: str) -> None:
    expected = text.strip() if text.strip() in RULES.tokens else ""
    assert presented(RULES, [f"Bearer {text}"]) == expected


@given(st.text(max_size=60))
def test_a_host_header_of_any_text_has_a_name_or_none(text: str) -> None:
    name = host_name(text)
    assert name == "" or text.strip().lower().startswith(name)


@pytest.mark.parametrize(
    ("host", "origin", "outcome"),
    [
        ("localhost", None, "let in"),
        ("evil.example", None, "host_not_allowed"),
        ("localhost", "https://evil.example", "origin_not_allowed"),
    ],
)
def test_health_needs_no_token_and_is_guarded_otherwise(host: str, origin: str | None, outcome: str) -> None:
    assert code(head(host, origin=origin, authorization=None, method="GET", path="/health")) == outcome


@pytest.mark.parametrize(
    ("path", "method"), [("/health", "POST"), ("/health/", "GET"), ("/Health", "GET"), ("/v1/models", "GET")]
)
def test_nothing_but_reading_health_goes_without_a_token(path: str, method: str) -> None:
    assert code(head(authorization=None, method=method, path=path)) == "unauthorized"


@pytest.mark.parametrize(
    ("origin", "outcome"),
    [("https://app.example", "let in"), ("https://evil.example", "origin_not_allowed"), (None, "unauthorized")],
)
def test_only_welcome_pages_get_a_preflight_answered(origin: str | None, outcome: str) -> None:
    assert code(head(origin=origin, authorization=None, method="OPTIONS")) == outcome


def test_a_welcome_page_may_read_the_answer_and_no_other() -> None:
    assert cors_headers(RULES, ["https://evil.example"]) == {}
    assert cors_headers(RULES, []) == {}
    assert cors_headers(RULES, ["https://app.example"])["Access-Control-Allow-Origin"] == "https://app.example"


def test_no_token_is_shown_with_what_holds_it() -> None:
    assert "horse" not in repr((RULES, head()))
