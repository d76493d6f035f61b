"""What a WWW-Authenticate header asks for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.protocol.oauth.challenge import MAX_HEADER, Challenge, bearer_challenge, offers_bearer


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, Challenge()),
        ("", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer realm="x"', Challenge()),
        (
            'Bearer resource_metadata="https://a.example/.well-known/x", scope="files:read files:write"',
            Challenge("https://a.example/.well-known/x", ("files:read", "files:write")),
        ),
        ('bearer SCOPE = "a" , Error=insufficient_scope', Challenge("", ("a",), "insufficient_scope")),
        ('Bearer error="a \\"quoted\\" word, with a comma"', Challenge("", None, 'a "quoted" word, with a comma')),
        # Addresses ought to be quoted, and often are not.
        ("Bearer resource_metadata=https://a.example/x", Challenge("https://a.example/x")),
        ('Basic realm="files", Bearer scope="a"', Challenge("", ("a",))),
        ("Negotiate YWJjZA==, Bearer scope=a", Challenge("", ("a",))),
        ('DPoP algs="ES256", Bearer scope="a"', Challenge("", ("a",))),
        # Of several, the one that leads further.
        ('Bearer scope="a", Bearer resource_metadata="https://m.example"', Challenge("https://m.example")),
        # The first of a repeated parameter counts.
        ('Bearer scope="a", scope="b"', Challenge("", ("a",))),
        ('Bearer scope=""', Challenge()),
        ('Bearer scope="a a  b"', Challenge("", ("a", "b"))),
        # What stands behind something unreadable is lost, what stands before is not.
        ('Bearer scope="a", "', Challenge("", ("a",))),
        ('Basic realm="x"', Challenge()),
        ('Bearer scope="' + "a" * MAX_HEADER + '"', Challenge()),
    ],
)
@pytest.mark.requirement("000-5.1-challenge")
def test_a_challenge_is_read(header: str | None, expected: Challenge) -> None:
    assert bearer_challenge(header) == expected


def test_characters_that_are_no_scope_are_left_out() -> None:
    assert bearer_challenge('Bearer scope="ok b\x7fd caf\u00e9 fine"').scopes == ("ok", "fine")


def test_whether_bearer_is_offered_at_all() -> None:
    assert [offers_bearer(header) for header in (None, "Basic x=y", "Basic a=b, bearer", "Bearer")] == [
        *(False, False),
        *(True, True),
    ]


@given(st.text(alphabet='Bearer scope=",\\ \tabc:/\x00é', max_size=200))
@settings(max_examples=200)
def test_no_header_can_break_the_reader(header: str) -> None:
    challenge = bearer_challenge(header)
    assert challenge == Challenge() or offers_bearer(header)


@given(
    st.dictionaries(
        st.sampled_from(["realm", "error", "resource_metadata"]),
        st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40),
    )
)
@settings(max_examples=100)
def test_quoted_values_come_back_as_they_were_written(parameters: dict[str, str]) -> None:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    header = "Bearer " + ", ".join(f"{name}={quoted(value)}" for name, value in parameters.items())
    expected = Challenge(parameters.get("resource_metadata", ""), None, parameters.get("error", ""))
    assert bearer_challenge(header) == expected
