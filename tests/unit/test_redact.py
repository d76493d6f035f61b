"""What `redact` hides, in which forms, and what it leaves alone."""

import base64
import json
import sys
import threading
from collections import Counter
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw import redact as redact_module
from openclaw.redact import (
    MASK,
    forgetting,
    is_ordinary,
    known_forms,
    looks_secret,
    mask,
    mask_json,
    redact,
    remember,
    remember_guess,
    retire,
)

secrets = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=8, max_size=40).map(
    lambda text: f"q7{text}Zx"
)


def test_a_remembered_value_is_masked_wherever_it_stands() -> None:
    remember("hunter2-tiger")
    assert redact("user hunter2-tiger said hunter2-tiger.") == f"user {MASK} said {MASK}."


def test_what_is_remembered_for_a_while_is_forgotten_and_what_was_known_before_is_not() -> None:
    remember("known-before-tiger")
    before = known_forms()
    with forgetting():
        remember("known-within-tiger")
        assert redact("known-before-tiger known-within-tiger") == f"{MASK} {MASK}"
    assert redact("known-before-tiger known-within-tiger") == f"{MASK} known-within-tiger"
    assert known_forms() is before


@given(secret=secrets, before=st.binary(max_size=4), after=st.binary(max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_remembered_value_is_masked_in_every_form(secret: str, before: bytes, after: bytes) -> None:
    remember(secret)
    data = secret.encode()
    for form in (
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        json.dumps({"inner": json.dumps({"x": secret})}),
        repr(secret),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
    ):
        assert MASK in redact(f"<{form}>")
        assert secret not in redact(f"<{form}>")
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        shown = redact(encode(before + data + after).decode())
        # What surrounds the secret stays, and at most one character of it at either end, which mixes with its neighbour's bits.
        assert MASK in shown
        assert len(shown.replace(MASK, "").rstrip("=")) <= (len(before) + len(after)) * 8 // 6 + 4


def test_basic_credentials_are_masked_although_the_user_name_shifts_the_encoding() -> None:
    remember("correct-horse-battery")
    for user in ("a", "bo", "eve", "mallory"):
        encoded = base64.b64encode(f"{user}:correct-horse-battery".encode()).decode()
        assert MASK in redact(f"sent {encoded}")


def test_each_long_line_of_a_multi_line_secret_is_masked_on_its_own() -> None:
    remember("first-line-of-the-key-0001\nsecond-line-of-the-key-0002\n}")
    assert redact("log: second-line-of-the-key-0002 }") == f"log: {MASK} }}"


def test_of_two_overlapping_secrets_no_part_stays() -> None:
    remember("overlap-alpha-beta")
    remember("beta-gamma-overlap")
    assert redact("[overlap-alpha-beta-gamma-overlap]") == f"[{MASK}]"


def test_a_longer_secret_hides_the_shorter_one_inside_it() -> None:
    remember("inner-value-9")
    remember("outer-inner-value-9-outer")
    assert redact("x outer-inner-value-9-outer y") == f"x {MASK} y"


@pytest.mark.parametrize("short", ["", " ", "a", "xyz", "  q "])
def test_a_value_too_short_to_be_a_secret_is_ignored(short: str) -> None:
    remember(short)
    assert redact("a quick xyz q text") == "a quick xyz q text"


def test_a_live_value_is_never_forgotten_however_many_are_remembered_after_it() -> None:
    remember("live-token-4711-of-a-server")
    for number in range(1_500):
        remember(f"rotating-token-{number:05d}-rotating")
    assert redact("live-token-4711-of-a-server rotating-token-00000-rotating") == f"{MASK} {MASK}"


def test_of_values_that_were_replaced_the_oldest_make_room_and_no_other() -> None:
    remember("live-token-4711-of-a-server")
    for number in range(1_200):
        remember(f"rotating-token-{number:05d}-rotating")
        if number:
            retire(f"rotating-token-{number - 1:05d}-rotating")
    assert redact("rotating-token-00000-rotating") == "rotating-token-00000-rotating"
    for kept in ("rotating-token-00500-rotating", "rotating-token-01199-rotating", "live-token-4711-of-a-server"):
        assert redact(kept) == MASK


def test_a_live_value_is_masked_while_another_thread_makes_room() -> None:
    live, done = "a-live-secret-0123456789", threading.Event()
    usual = sys.getswitchinterval()

    def make_room() -> None:
        for number in range(6_000):
            remember(f"replaced-{number:06}-value")
            retire(f"replaced-{number:06}-value")
        done.set()

    with forgetting():
        remember(live)
        thread = threading.Thread(target=make_room)
        # Threads take turns often: what may happen between two steps happens.
        sys.setswitchinterval(1e-6)
        try:
            thread.start()
            seen = set()
            while not done.is_set():
                seen.add(mask(live))
        finally:
            sys.setswitchinterval(usual)
            thread.join()
    assert seen <= {MASK}


def test_a_retired_value_that_is_used_again_is_live_again() -> None:
    remember("came-back-4711-tiger")
    retire("came-back-4711-tiger")
    remember("came-back-4711-tiger")
    for number in range(1_100):
        remember(f"rotating-token-{number:05d}-rotating")
        retire(f"rotating-token-{number:05d}-rotating")
    assert redact("came-back-4711-tiger") == MASK


def test_values_that_come_one_by_one_between_searches_are_made_searchable_a_few_times_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: Counter[str] = Counter()
    searchable = redact_module._searchable

    def counted(values: frozenset[str]) -> object:
        made.update(values)
        return searchable(values)

    monkeypatch.setattr(redact_module, "_searchable", counted)
    for number in range(200):
        remember(f"token-{number:05d}-of-many-servers")
        assert redact(f"token-{number:05d}-of-many-servers token-00000-of-many-servers") == f"{MASK} {MASK}"
    assert made.total() / len(made) < 20


@pytest.mark.parametrize("count", [1, 40])
def test_a_value_is_found_wherever_it_stands_in_a_long_text(count: int) -> None:
    for number in range(count):
        remember(f"hunter{number:02d}")
        remember(f"token-{number:05d}-of-many-servers-with-long-tokens")
    piece = redact_module._PIECE
    for secret in ("hunter00", "token-00000-of-many-servers-with-long-tokens"):
        for place in (piece - 5, piece):
            text = b'"' + b"x" * place + secret.encode() + b"x" * 5 + b'"'
            assert mask_json(text) == b'"' + b"x" * place + MASK.encode() + b"x" * 5 + b'"'


@given(
    known=st.lists(st.text("abAB01-", min_size=4, max_size=70), min_size=1, max_size=30),
    texts=st.lists(st.text("abAB01-", max_size=60), max_size=6),
    which=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_searching_for_all_values_at_once_finds_what_searching_for_each_would(
    known: list[str], texts: list[str], which: st.DataObject
) -> None:
    with forgetting():
        searches = which.draw(st.sets(st.integers(0, 29)))
        for number, value in enumerate(known):
            remember(value)
            if number in searches:
                mask(value)
        secret = which.draw(st.sampled_from(known)).strip()
        place = which.draw(st.integers(0, len(texts)))
        text = "".join([*texts[:place], secret, *texts[place:]])
        masked = mask(text)
        for value in known:
            if value.lower() not in ("true", "none"):
                assert value not in masked.replace(MASK, "\n")


@given(value=st.recursive(st.text("aZ-4711", max_size=9) | st.integers() | st.none(), st.lists))
def test_json_without_a_secret_comes_back_as_the_very_same_object(value: object) -> None:
    with forgetting():
        remember("hunter2-tiger")
        data = json.dumps(value).encode()
        assert mask_json(data) is data


def test_secrets_in_json_are_masked_in_strings_names_and_numbers_and_what_is_kept_stays() -> None:
    for secret in ('hunter2-"tiger"', "4711471147", "nabcdefgh"):
        remember(secret)
    value = {
        'hunter2-"tiger"': ['so hunter2-"tiger"', 4711471147, 47, {"deep": "a\nabcdefgh nabcdefgh"}],
        "nextCursor": 'hunter2-"tiger"',
    }
    masked = mask_json(json.dumps(value).encode(), keep=frozenset({"nextCursor"}))
    assert json.loads(bytes(masked)) == {
        MASK: [f"so {MASK}", MASK, 47, {"deep": f"a\nabcdefgh {MASK}"}],
        "nextCursor": 'hunter2-"tiger"',
    }


def test_a_secret_that_reads_like_a_name_is_masked_in_texts_and_not_where_names_stand() -> None:
    remember("user_id")
    remember("user_id-4711")
    value = {
        "user_id": "the user_id",
        "user_id-4711": ["user_id"],
        "name": "get_user_id",
        "uri": "db://user_id-4711/user_id",
        "inputSchema": {"required": ["user_id"], "properties": {"name": {"description": "a user_id"}}},
    }
    assert json.loads(bytes(mask_json(json.dumps(value).encode()))) == {
        "user_id": f"the {MASK}",
        MASK: [MASK],
        "name": "get_user_id",
        "uri": f"db://{MASK}/user_id",
        "inputSchema": {"required": ["user_id"], "properties": {"name": {"description": f"a {MASK}"}}},
    }


@pytest.mark.parametrize("value", ["postgres", "name", "title"])
def test_a_guess_that_is_a_plain_word_is_not_remembered(value: str) -> None:
    remember_guess(value)
    assert redact(value) == value


@pytest.mark.parametrize("value", ["hunter2", "Sunshine", "open-sesame", "abcdefghijklmnop"])
def test_a_guess_that_is_more_than_a_plain_word_is_remembered(value: str) -> None:
    remember_guess(value)
    assert redact(value) == MASK


def test_what_is_not_json_is_masked_as_text() -> None:
    remember("hunter2-tiger")
    assert mask_json(b'{"a": hunter2-tiger') == b'{"a": [REDACTED]'


@pytest.mark.parametrize("word", ["production", "Production", "localhost", "default", "test"])
def test_a_word_that_stands_everywhere_is_never_masked(word: str) -> None:
    remember(word)
    assert redact(f"in {word} now") == f"in {word} now"
    assert not looks_secret("API_TOKEN", word)


@pytest.mark.parametrize(
    ("value", "ordinary"),
    [
        ("production", True),
        ("eu-central-1", True),
        ("Europe/Berlin", True),
        ("en_GB.UTF-8", True),
        ("/home/me/.config/x", True),
        ("https://api.example.org/v1", True),
        ("2026-11-16", False),
        ("8,080", True),
        ("short", True),
        ("cnry-4711-passed-on", False),
        ("correct horse battery staple and more", False),
        ("Zx81Qw73Ee52", False),
    ],
)
def test_ordinary_values_are_told_from_those_that_may_be_secret(value: str, ordinary: bool) -> None:
    assert is_ordinary(value) is ordinary


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-abcdefghijklmnop1234 end", "key [REDACTED] end"),
        ("sk-ant-api03-AbCdEfGhIjKlMnOp", "[REDACTED]"),
        ("ghp_0123456789abcdef0123456789abcdef0123", "[REDACTED]"),
        ("github_pat_11ABCDEFG0123456789_abcdefgh", "[REDACTED]"),
        ("xoxb-123456789012-abcdef", "[REDACTED]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [REDACTED]."),
        ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "[REDACTED]"),
        ("tvly-dev-abcdefgh", "[REDACTED]"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl!", "jwt [REDACTED]!"),
        ("Authorization: Bearer abc.def-ghi_123", "Authorization: Bearer [REDACTED]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [REDACTED]"),
        ('{"Authorization": "Token abcdef"}', '{"Authorization": "Token [REDACTED]"}'),
        ("got Bearer abcdefgh12345678, retry", "got Bearer [REDACTED], retry"),
        ("https://me:pa@ss@host.example/x", "https://[REDACTED]@host.example/x"),
        ("postgres://app@db/x", "postgres://[REDACTED]@db/x"),
        ("GET /x?token=abc&page=2", "GET /x?token=[REDACTED]&page=2"),
        ("?access_token=abc#top", "?access_token=[REDACTED]"),
        ("/callback?code=abc&state=s", "/callback?code=[REDACTED]&state=s"),
        ("DB_PASSWORD=letmein now", "DB_PASSWORD=[REDACTED] now"),
        ('client_secret = "let me in"', 'client_secret = "[REDACTED] me in"'),
        ('{"apiKey": "a b c", "n": 1}', '{"apiKey": "[REDACTED]", "n": 1}'),
        ('{\\"password\\": \\"a b\\"}', '{\\"password\\": \\"[REDACTED]\\"}'),
        ("X-Api-Key: 12345", "X-Api-Key: [REDACTED]"),
        ("Set-Cookie: sid=1; Path=/", "Set-Cookie: [REDACTED]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[REDACTED]\nb",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE never closed", "[REDACTED]"),
    ],
)
def test_usual_key_shapes_are_masked_without_being_remembered(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The token: expired. Ask for a secret: none.",
        "exit code=1, 17 tokens=5",
        "task-force sk-1 risk-assessment-of-the-project",
        "see https://example.org/a@b?x=1",
        "SGVsbG8gd29ybGQ=",
        "def bearer(x): pass",
        "日本語 🙂 ok",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaaa.",
        "://",
        "://a@",
        "sk-",
        "Bearer ",
        "password=",
        '"token":"',
        "-----BEGIN PRIVATE KEY-----",
        "x" * 9,
    ],
)
def test_hostile_repetition_does_not_hang(piece: str) -> None:
    """A quadratic pattern would need hours for this much; the hang guard would end the test."""
    redact(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    ("key", "value", "secret"),
    [
        ("GITHUB_TOKEN", "plain", True),
        ("apiKey", "abc", True),
        ("linkedinPassword", "pw", True),
        ("AWS_SECRET_ACCESS_KEY", "abc", True),
        ("X-Api-Key", "abc", True),
        ("Authorization", "abc", True),
        ("HOME", "ghp_0123456789abcdef0123456789abcdef0123", True),
        ("", "--key=sk-abcdefghijklmnop1234", True),
        ("", "https://user:pass@example.org/", True),
        ("DATA", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF", True),
        ("GITHUB_TOKEN", "secret://gcp/github-token", False),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}", False),
        ("Authorization", "Bearer ${TOKEN}", False),
        ("apiKey", "$OPENAI_API_KEY", False),
        ("TOKEN_FILE", "/run/token", False),
        ("TOKEN_URL", "https://example.org/token", False),
        ("USE_TOKEN", "true", False),
        ("MAX_TOKEN", "4096", False),
        ("GITHUB_TOKEN", "", False),
        ("KEYBOARD", "de", False),
        ("PATH", "/usr/bin:/bin", False),
        ("", "-y", False),
        ("", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", False),
    ],
)
def test_a_credential_in_plain_sight_is_recognised(key: str, value: str, secret: bool) -> None:
    assert looks_secret(key, value) is secret


def test_a_word_that_switches_something_is_never_masked() -> None:
    remember("true")
    assert redact("verbose: true") == "verbose: true"
