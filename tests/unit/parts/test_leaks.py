"""The search that tests for leaked secrets rely on finds what it looks for."""

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from parts.leaks import found_in

SECRET = "an access token with 32 bytes ?>~"


@settings(max_examples=100)
@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_a_secret_is_found_in_clear_hex_and_base64_wherever_it_stands(before: bytes, after: bytes) -> None:
    data = before + SECRET.encode() + after
    places = {
        "clear": data,
        "hex": data.hex().encode(),
        "HEX": data.hex().upper().encode(),
        "base64": base64.b64encode(data),
        "base64url": base64.urlsafe_b64encode(data).rstrip(b"="),
    }
    assert found_in([SECRET], places) == list(places)
    assert found_in(["another text of the same length !"], places) == []
