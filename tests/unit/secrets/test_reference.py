"""The grammar of secret references: what counts as one, where it ends, and what each part is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.errors import SecretError
from openclaw.secrets.reference import (
    PROVIDERS,
    Reference,
    parse_reference,
    references_in,
    replace_references,
    split_fragment,
    without_line_end,
)


@pytest.mark.requirement("002-3.6-uri")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("secret://gcp/linkedin-email", Reference("secret://gcp/linkedin-email", "gcp", "linkedin-email")),
        ("secret://gcp/name#3", Reference("secret://gcp/name#3", "gcp", "name#3")),
        ("secret://file//run/x", Reference("secret://file//run/x", "file", "/run/x")),
        ("secret://ref/exec/op/op://a/b", Reference("secret://ref/exec/op/op://a/b", "ref", "exec/op/op://a/b")),
    ],
)
def test_a_reference_names_a_provider_and_a_secret(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected


@pytest.mark.requirement("002-3.6-unknown")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "secret://gpc/x",
            "secret://gpc/x cannot be resolved: there is no provider 'gpc'. Did you mean secret://gcp/…?",
        ),
        (
            "secret://1password/x",
            "secret://1password/x cannot be resolved: there is no provider '1password'. "
            "Providers: gcp, aws, vault, azure, env, file, keychain, encrypted, exec.",
        ),
        (
            "secret://env",
            "secret://env cannot be resolved: it names no secret. Write secret://env/ and the secret's name.",
        ),
        (
            "secret://env/",
            "secret://env/ cannot be resolved: it names no secret. Write secret://env/ and the secret's name.",
        ),
        ("secret://env/A\nB", "secret://env/A\\nB is not a secret reference. Write secret://PROVIDER/NAME."),
        (
            "secret:///x",
            "secret:///x cannot be resolved: there is no provider ''. "
            "Providers: gcp, aws, vault, azure, env, file, keychain, encrypted, exec.",
        ),
    ],
)
def test_a_reference_to_nothing_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(SecretError) as caught:
        parse_reference(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain text", []),
        ("https://example.com/secret/", []),
        ("secret://file/My Documents/key", ["secret://file/My Documents/key"]),
        ("Bearer secret://vault/kv/github#token", ["secret://vault/kv/github#token"]),
        ("--user=secret://env/U --key=secret://env/K", ["secret://env/U", "secret://env/K"]),
        ("a secret://env/U b secret://env/U", ["secret://env/U"]),
    ],
)
def test_references_are_found_alone_and_inside_longer_values(value: str, expected: list[str]) -> None:
    assert references_in(value) == expected


def test_what_replaces_a_reference_is_not_searched_for_references() -> None:
    assert replace_references("Bearer secret://env/A", lambda text: "secret://env/B") == "Bearer secret://env/B"


def test_a_percent_sign_writes_what_would_otherwise_divide() -> None:
    assert split_fragment("a%23b%2Fc#d%25") == ("a#b/c", "d%")


@pytest.mark.parametrize(("text", "expected"), [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("\n", "")])
def test_one_line_end_is_taken_off(text: str, expected: str) -> None:
    assert without_line_end(text) == expected


plain = st.text().filter(lambda text: "secret://" not in text)


@settings(max_examples=200)
@given(plain)
def test_a_value_without_a_reference_stays_as_it_is(value: str) -> None:
    assert replace_references(value, lambda text: "never") == value


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_either_a_reference_to_a_provider_or_refused(text: str) -> None:
    try:
        reference = parse_reference("secret://" + text)
    except SecretError:
        return
    assert reference.provider in (*PROVIDERS, "ref")
    assert f"secret://{reference.provider}/{reference.rest}" == reference.text == "secret://" + text


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(["", "=", "é\t", "secret:/"]), st.sampled_from("ABC")), max_size=4))
def test_every_reference_of_a_longer_value_is_replaced(parts: list[tuple[str, str]]) -> None:
    value = "x " + " ".join(f"{before}secret://env/{name}" for before, name in parts)
    expected = "x " + " ".join(f"{before}<{name}>" for before, name in parts)
    assert replace_references(value, lambda text: f"<{text[-1]}>") == expected
