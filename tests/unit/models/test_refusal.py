"""What endpoints say instead of an answer: every shape is read, and every reason has its sentence."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import AddressError, ConnectError, DeadlineError, LinkLostError, ProtocolError
from openclaw.models.refusal import Reason, Refusal, error_of, quoted, reason_of, refusal_of, sentence
from openclaw.models.spec import ModelEndpoint
from openclaw.redact import remember

ENDPOINT = ModelEndpoint("acme", "https://api.acme.test/v1", "sk-test-0123456789", key_place="ACME_KEY")
# 2026-11-15 12:00:00 UTC.
NOW = 1_794_744_000.0


def said(reason: Reason, refusal: Refusal, endpoint: ModelEndpoint, url: str = "https://api.acme.test/v1") -> str:
    return sentence(reason, refusal, endpoint, "m", wire="chat-completions", url=url)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ({"error": {"message": "no", "type": "t", "code": "c"}}, "c t", "no"),
        ({"error": {"message": "no", "code": 400, "status": "INVALID_ARGUMENT"}}, "400 INVALID_ARGUMENT", "no"),
        ([{"error": {"message": "no"}}], "", "no"),
        ({"error": "no"}, "", "no"),
        ({"object": "error", "message": "no", "type": "invalid_model", "code": 1500}, "1500 invalid_model", "no"),
        ({"detail": "Not Found"}, "", "Not Found"),
        ({"detail": [{"loc": ["body"], "msg": "extra"}]}, "", '[{"loc":["body"],"msg":"extra"}]'),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded_error",
            "Overloaded",
        ),
    ],
)
def test_an_error_body_is_read_in_every_shape(body: Any, kind: str, message: str) -> None:
    assert error_of(msgspec.json.encode(body)) == (kind, message, True)


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b'{"hello": 1}', b"\xff", b"[" * 10_000])
def test_what_is_no_error_body_is_not_taken_for_one(body: bytes) -> None:
    assert error_of(body) == ("", "", False)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (Refusal(401), "key"),
        (Refusal(400, message="API key not valid. Please pass a valid API key."), "key"),
        (Refusal(403, message="Country not supported"), "forbidden"),
        (Refusal(402), "credit"),
        (Refusal(400, "invalid_request_error", "Your credit balance is too low"), "credit"),
        (Refusal(429, "insufficient_quota", "quota"), "credit"),
        (Refusal(429, "rate_limit_exceeded", "slow down"), "rate"),
        (Refusal(404, "model_not_found", "x"), "model"),
        (Refusal(404, "", "The model `x` does not exist."), "model"),
        (Refusal(404, "", 'model "x" not found, try pulling it first'), "model"),
        (Refusal(400, "", "x is not a valid model ID"), "model"),
        (Refusal(400, "1500 invalid_model", "Invalid model: x"), "model"),
        (Refusal(400, "", "Model Not Exist"), "model"),
        (Refusal(404, "not_found_error", "model: x"), "model"),
        (Refusal(404, "", "Not Found"), "not-an-endpoint"),
        (Refusal(405, "", "Method Not Allowed"), "not-an-endpoint"),
        (Refusal(301, what="no error we know"), "not-an-endpoint"),
        (Refusal(200, what="a web page"), "not-an-endpoint"),
        (Refusal(400, "context_length_exceeded", "too long"), "too-long"),
        (Refusal(400, "", "This model does not support image input"), "request"),
        (Refusal(422, "", "extra fields"), "request"),
        (Refusal(500), "server"),
        (Refusal(503, what="a web page"), "server"),
        (Refusal(529, "overloaded_error", "Overloaded"), "server"),
        (Refusal(501, "", "nope"), "server"),
        (Refusal(error=ConnectError("refused")), "link"),
        (Refusal(error=LinkLostError("gone")), "cut"),
        (Refusal(error=DeadlineError("late")), "deadline"),
        (Refusal(error=AddressError("no")), "refused-address"),
        (Refusal(error=ProtocolError("not HTTP")), "not-an-endpoint"),
    ],
)
def test_every_refusal_has_its_reason(refusal: Refusal, reason: str) -> None:
    assert reason_of(refusal) == reason


def test_a_web_page_is_recognised_and_a_last_word_obeyed() -> None:
    refusal = refusal_of(404, {"x-should-retry": "false"}, b"\n<!DOCTYPE html><h1>404</h1>", now=NOW)
    assert refusal == Refusal(404, what="a web page", final=True)


def test_a_refused_key_is_never_quoted() -> None:
    refusal = Refusal(401, "invalid_api_key", "Incorrect API key provided: sk-te***6789.")
    assert said("key", refusal, ENDPOINT) == "acme refused the API key (401). Check ACME_KEY."


def test_an_address_that_is_no_endpoint_is_named_without_its_query() -> None:
    url = "https://api.acme.test/wrong/chat/completions?key=abc"
    assert said("not-an-endpoint", Refusal(404, what="a web page"), ENDPOINT, url) == (
        "https://api.acme.test/wrong/chat/completions is not a chat endpoint that speaks chat-completions (404): a web page. "
        "Check models.providers.acme.baseUrl (it usually ends in /v1) and models.providers.acme.api."
    )


@pytest.mark.parametrize("url", ["https://me:password@api.acme.test/v1", "not an address"])
def test_an_address_with_a_password_is_not_shown(url: str) -> None:
    assert said("not-an-endpoint", Refusal(404, what="a web page"), ENDPOINT, url).startswith(
        "acme is not a chat endpoint"
    )


def test_an_ollama_that_is_not_running_or_lacks_a_model_is_helped_with_its_own_commands() -> None:
    endpoint = ModelEndpoint("ollama", "http://127.0.0.1:11434/v1")
    link = said("link", Refusal(error=ConnectError("Connection refused.")), endpoint)
    model = said("model", Refusal(404), endpoint)
    assert "Start it with `ollama serve`" in link
    assert "Run `ollama pull m`" in model


def test_words_of_a_vendor_are_one_clean_bounded_line_without_known_secrets() -> None:
    remember("hunter2hunter2")
    said = quoted("a\n\tb \x1b[31mred\x1b[0m hunter2hunter2 " + "y" * 500)
    assert said.startswith("a b red [REDACTED] yyy")
    assert len(said) <= 301


@settings(max_examples=150)
@given(st.integers(0, 999), st.text(max_size=40), st.text(max_size=80))
def test_any_refusal_becomes_a_sentence_that_ends_like_one(status: int, kind: str, message: str) -> None:
    refusal = Refusal(status, kind, message)
    text = said(reason_of(refusal), refusal, ENDPOINT)
    assert text.endswith((".", "/v1."))
    assert "\n" not in text
