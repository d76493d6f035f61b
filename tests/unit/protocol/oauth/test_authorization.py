"""The browser's half of a sign-in: what is asked for, and which answers count."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import AuthError, RefusedError
from openclaw.protocol.oauth.authorization import (
    Answer,
    Question,
    Sources,
    authorization_url,
    choose_scopes,
    code_challenge,
    is_answer_to,
    read_answer,
)
from openclaw.protocol.oauth.metadata import ServerMetadata
from openclaw.protocol.oauth.registration import OAuthClient

AS = "https://login.example"
REDIRECT = "http://127.0.0.1:5000/callback"
STATE = "s" * 43


def question(**changes: object) -> Question:
    fields: dict[str, object] = {
        "issuer": AS,
        "state": STATE,
        "verifier": "v" * 86,
        "redirect_uri": REDIRECT,
        "resource": "https://mcp.example/mcp",
        "scopes": ("read", "write"),
        "iss_expected": False,
        **changes,
    }
    return Question(**fields)  # type: ignore[arg-type]


def callback(**parameters: str) -> str:
    return f"{REDIRECT}?{urlencode(parameters)}"


# Scopes


@pytest.mark.parametrize(
    ("sources", "offered", "expected"),
    [
        (Sources(), None, ()),
        (Sources(supported=("a", "b")), None, ("a", "b")),
        (Sources(challenged=("c",), supported=("a", "b")), None, ("c",)),
        (Sources(configured=("d",), challenged=("c",), supported=("a",)), None, ("d",)),
        (Sources(configured=(), challenged=("c",)), None, ()),
        (Sources(challenged=("c",), wanted=("w", "c")), None, ("c", "w")),
        (Sources(configured=("d",), wanted=("w",)), None, ("d", "w")),
        # offline_access where it is offered, and there only.
        (Sources(challenged=("c",)), ("c", "offline_access"), ("c", "offline_access")),
        (Sources(configured=("d",)), ("offline_access",), ("d", "offline_access")),
        (Sources(challenged=("c", "offline_access")), ("c",), ("c",)),
        (Sources(configured=("offline_access",)), ("c",), ("offline_access",)),
        # Asking for it alone would take away what the server gives when nothing is asked.
        (Sources(), ("offline_access",), ()),
    ],
)
def test_which_scopes_are_asked_for(
    sources: Sources, offered: tuple[str, ...] | None, expected: tuple[str, ...]
) -> None:
    """A15."""
    assert choose_scopes(sources, ServerMetadata(AS, scopes_supported=offered)) == expected


# The address to open


@pytest.mark.requirement("000-5.1-code-flow")
@pytest.mark.requirement("000-9.2-address")
def test_the_address_carries_all_that_the_standards_want() -> None:
    """A8, A11."""
    server = ServerMetadata(AS, authorization_endpoint=f"{AS}/authorize")
    url = authorization_url(server, OAuthClient("me & you", AS, "configured"), question())
    assert url.startswith(f"{AS}/authorize?")
    assert parse_qs(urlsplit(url).query) == {
        "response_type": ["code"],
        "client_id": ["me & you"],
        "redirect_uri": [REDIRECT],
        "code_challenge": [code_challenge("v" * 86)],
        "code_challenge_method": ["S256"],
        "state": [STATE],
        "resource": ["https://mcp.example/mcp"],
        "scope": ["read write"],
    }


def test_a_query_of_the_endpoint_stays() -> None:
    server = ServerMetadata(AS, authorization_endpoint=f"{AS}/authorize?tenant=1")
    url = authorization_url(server, OAuthClient("c", AS, "configured"), question(scopes=()))
    assert url.startswith(f"{AS}/authorize?tenant=1&response_type=code&")
    assert "scope=" not in url


def test_who_wants_to_stay_signed_in_asks_the_person_anew() -> None:
    server = ServerMetadata(AS, authorization_endpoint=f"{AS}/authorize")
    url = authorization_url(server, OAuthClient("c", AS, "configured"), question(scopes=("a", "offline_access")))
    assert parse_qs(urlsplit(url).query)["prompt"] == ["consent"]


@pytest.mark.parametrize("endpoint", [None, "", f"{AS}/authorize#x"])
def test_an_endpoint_that_cannot_be_extended_is_refused(endpoint: str | None) -> None:
    server = ServerMetadata(AS, authorization_endpoint=endpoint)
    with pytest.raises(AuthError, match="no usable address"):
        authorization_url(server, OAuthClient("c", AS, "configured"), question())


@pytest.mark.requirement("000-15-unit")
def test_the_challenge_is_the_example_of_rfc_7636() -> None:
    assert (
        code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


# The answer


def test_a_code_is_taken_from_the_whole_address_from_the_query_and_without_the_scheme() -> None:
    whole = callback(code="c0de", state=STATE)
    for text in (whole, f"  {whole}\n", whole.partition("?")[2], whole.removeprefix("http://"), whole + "#_=_"):
        assert read_answer(text, question()) == Answer("c0de")


@pytest.mark.parametrize(
    ("promised", "sent", "taken"),
    [
        (True, AS, True),
        (True, None, False),
        (False, AS, True),
        (False, None, True),
        (True, "https://evil.example", False),
        (False, "https://evil.example", False),
        # No normalisation of any kind.
        (True, f"{AS}/", False),
        (True, f"{AS}:443", False),
        (True, "https://LOGIN.example", False),
        (True, "https://login.%65xample", False),
        (True, "", False),
    ],
)
def test_who_answers_is_compared_byte_for_byte(promised: bool, sent: str | None, taken: bool) -> None:
    """A10."""
    parameters = {"code": "c0de", "state": STATE} | ({} if sent is None else {"iss": sent})
    asked = question(iss_expected=promised)
    if taken:
        assert read_answer(callback(**parameters), asked) == Answer("c0de", iss_sent=sent is not None)
    else:
        with pytest.raises(AuthError) as caught:
            read_answer(callback(**parameters), asked)
        assert not isinstance(caught.value, RefusedError)


def test_an_error_from_another_server_is_neither_acted_on_nor_shown() -> None:
    """A10."""
    text = callback(error="access_denied", error_description="Call 0123", state=STATE, iss="https://evil.example")
    with pytest.raises(AuthError) as caught:
        read_answer(text, question())
    assert not isinstance(caught.value, RefusedError)
    assert "access_denied" not in str(caught.value)
    assert "0123" not in str(caught.value)


@pytest.mark.parametrize("state", ["", "x", STATE + "s", STATE[:-1], STATE.upper(), "\u00e9"])
def test_another_state_is_discarded(state: str) -> None:
    """A9."""
    for parameters in ({"code": "c0de", "state": state}, {"error": "access_denied", "state": state}):
        with pytest.raises(AuthError, match="does not belong to the sign-in") as caught:
            read_answer(callback(**parameters), question())
        assert not isinstance(caught.value, RefusedError)


def test_a_missing_state_is_discarded() -> None:
    """A9, A18."""
    with pytest.raises(AuthError, match="does not belong to the sign-in"):
        read_answer(callback(code="c0de"), question())


def test_a_parameter_named_twice_is_discarded() -> None:
    with pytest.raises(AuthError, match="twice"):
        read_answer(callback(code="c0de", state=STATE) + "&code=other", question())


def test_a_refusal_is_told_by_its_code_alone() -> None:
    text = callback(error="access_denied", error_description="<script>", state=STATE)
    with pytest.raises(RefusedError) as caught:
        read_answer(text, question())
    assert caught.value.code == "access_denied"
    assert caught.value.message == "The authorization server refused the sign-in: access_denied."


def test_a_code_that_is_not_in_the_standards_is_not_shown() -> None:
    with pytest.raises(RefusedError) as caught:
        read_answer(callback(error="visit evil.example", state=STATE), question())
    assert "evil" not in str(caught.value)


def test_an_answer_without_a_code_is_none() -> None:
    with pytest.raises(AuthError, match="no authorization code"):
        read_answer(callback(state=STATE), question())


def test_a_bare_code_is_taken_only_where_the_server_never_says_who_it_is() -> None:
    """A18."""
    assert read_answer("c0de", question()) == Answer("c0de")
    with pytest.raises(AuthError, match="whole address"):
        read_answer("c0de", question(iss_expected=True))


@pytest.mark.parametrize("text", ["", "two words", "caf\u00e9"])
def test_what_is_neither_an_address_nor_a_code_is_refused(text: str) -> None:
    with pytest.raises(AuthError, match="neither"):
        read_answer(text, question())


def test_the_listener_knows_its_own_answer_by_the_state() -> None:
    assert is_answer_to(f"/callback?state={STATE}&error=x", STATE)
    assert not is_answer_to("/callback?state=x", STATE)
    assert not is_answer_to("/callback", STATE)
    assert not is_answer_to(f"/callback?state={STATE}&state={STATE}", STATE)


def test_a_question_keeps_its_secrets_when_printed() -> None:
    assert repr(question()) == "Question()"


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_no_text_becomes_an_answer_without_the_state(text: str) -> None:
    with pytest.raises(AuthError):
        read_answer(text, question(iss_expected=True))
