"""What a request state is worth: to the call it was given for, once, for ten minutes."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import UsageError
from openclaw.mcp_server.rounds import LIFE, ParkedCalls, digest_of
from parts.clock import Clock

DIGEST = digest_of([b"a", b"b"])


def parked() -> tuple[ParkedCalls[str], Clock, bytes, str]:
    clock = Clock()
    calls: ParkedCalls[str] = ParkedCalls(clock)
    return calls, clock, *calls.park("call", DIGEST)


def refusal(calls: ParkedCalls[str], state: str, digest: bytes | None = DIGEST) -> str:
    with pytest.raises(UsageError) as refused:
        calls.find(state, digest)
    return str(refused.value)


def test_a_state_leads_to_its_call_until_that_is_taken() -> None:
    calls, _, handle, state = parked()
    assert calls.find(state, DIGEST) == calls.find(state, DIGEST) == (handle, "call")
    calls.forget(handle)
    assert "was used already" in refusal(calls, state)


def test_a_state_expires() -> None:
    calls, clock, handle, state = parked()
    clock.now += LIFE
    assert calls.find(state, DIGEST) == (handle, "call")
    clock.now += 1
    assert "was used already, or what it belongs to has ended" in refusal(calls, state)


@pytest.mark.parametrize("digest", [digest_of([b"ab"]), digest_of([b"a", b"c"]), None])
def test_a_state_belongs_to_its_arguments(digest: bytes | None) -> None:
    calls, _, handle, state = parked()
    assert "other arguments" in refusal(calls, state, digest)
    assert calls.find(state, DIGEST) == (handle, "call")


def test_a_state_of_another_process_is_refused() -> None:
    assert "not given by this server" in refusal(parked()[0], parked()[3])


@given(st.integers(0, 83), st.integers(1, 255))
def test_a_state_with_any_byte_changed_is_refused(place: int, change: int) -> None:
    calls, _, _, state = parked()
    data = bytearray(base64.urlsafe_b64decode(state))
    data[place] ^= change
    assert "not given by this server" in refusal(calls, base64.urlsafe_b64encode(data).decode())


@pytest.mark.parametrize("change", [lambda s: s + "-TAMPERED", lambda s: s[:-1], lambda s: "", lambda s: "ü" * len(s)])
def test_a_state_that_is_longer_shorter_or_something_else_is_refused(change: object) -> None:
    calls, _, _, state = parked()
    assert callable(change)
    assert "not given by this server" in refusal(calls, change(state))


@given(st.text(max_size=130))
def test_no_text_whatever_is_taken_for_a_state(text: str) -> None:
    assert "not given by this server" in refusal(parked()[0], text)


def test_a_state_says_nothing_of_what_it_holds_and_no_two_are_the_same() -> None:
    calls, _, handle, state = parked()
    assert calls.park("call", DIGEST)[1] != state
    data = base64.urlsafe_b64decode(state)
    assert (handle in data, DIGEST in data) == (False, False)
