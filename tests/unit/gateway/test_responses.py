"""Ids of responses: what they hold, and that no other text is taken for one."""

from hypothesis import given
from hypothesis import strategies as st

from openclaw.gateway.responses import new_response_id, session_of
from openclaw.sessions.key import session_key

KEYS = st.text(st.characters(exclude_categories=["Cs"])).map(lambda word: session_key("main", word))


@given(KEYS)
def test_an_id_leads_back_to_its_session_and_is_no_other_answers(key: str) -> None:
    first, second = new_response_id(key), new_response_id(key)
    assert (session_of(first), session_of(second)) == (key, key)
    assert first != second


@given(st.one_of(st.text(), st.text().map(lambda word: f"resp_{word}")))
def test_any_text_is_an_id_or_leads_nowhere(text: str) -> None:
    key = session_of(text)
    assert key == "" or text.startswith("resp_")
