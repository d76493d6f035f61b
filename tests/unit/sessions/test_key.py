"""Session keys: what they look like, and that no caller can name another's session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import UsageError
from openclaw.sessions.key import is_unnamed, new_key, session_key

ids = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def test_a_key_names_its_agent_first() -> None:
    assert session_key("main", "work") == "agent:main:work"


def test_a_namespace_stands_between_agent_and_key() -> None:
    assert session_key("main", "work", "mcp") == "agent:main:mcp:work"


def test_a_whole_key_of_the_same_agent_is_taken_as_it_is() -> None:
    assert session_key("main", "agent:main:work") == "agent:main:work"


def test_a_whole_key_of_another_agent_stays_with_the_agent_asked() -> None:
    assert session_key("main", "agent:other:work") == "agent:main:agent:other:work"


def test_a_whole_key_does_not_leave_its_namespace() -> None:
    assert session_key("main", "agent:main:work", "mcp") == "agent:main:mcp:agent:main:work"


@given(ids, ids, texts, texts)
def test_keys_in_one_namespace_are_the_same_only_for_the_same_words(agent: str, other: str, a: str, b: str) -> None:
    first, second = session_key(agent, a, "mcp"), session_key(other, b, "mcp")
    assert (first == second) == ((agent, a) == (other, b))


@given(ids, ids, texts, texts)
def test_no_key_reaches_another_agent(agent: str, other: str, a: str, b: str) -> None:
    assert agent == other or session_key(agent, a) != session_key(other, b)


def test_half_a_character_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"lone surrogate \(character 14 of the key is one\)"):
        session_key("main", "ab\udc80c", "")


@pytest.mark.parametrize(("agent", "namespace"), [("a:b", ""), ("a", "b:c")])
def test_a_colon_in_an_agent_id_or_namespace_is_refused(agent: str, namespace: str) -> None:
    with pytest.raises(UsageError, match="holds a colon"):
        session_key(agent, "k", namespace)


@pytest.mark.parametrize(
    ("key", "nobody_chose_it"),
    [
        ("agent:main:1795038590-ya2gchfulca232uu", True),
        ("agent:main:http:1795038590-ocoip4gfvvdtcmah", True),
        ("agent:main:1795036481-f63b200ae702c1c8c0be53cdc8995a88", True),
        ("agent:main:mcp-1795102474113-5bf9a605d7c0bc0ca8883e7082bd8eb2", True),
        ("agent:main:mcp:mcp-trip", False),
        ("agent:main:chat-2026-11-18-211412", False),
        ("agent:main:2026-conversationtrip", False),
        ("agent:main:1795036481", False),
    ],
)
def test_a_key_that_nobody_chose_is_known_by_its_form(key: str, nobody_chose_it: bool) -> None:
    assert is_unnamed(key) == nobody_chose_it


def test_a_new_key_is_one_that_nobody_chose() -> None:
    assert [is_unnamed(session_key("main", new_key(), namespace)) for namespace in ("", "http")] == [True, True]


def test_keys_that_nobody_chose_never_meet_and_fit_a_line() -> None:
    keys = {new_key() for _ in range(1_000)}
    assert len(keys) == 1_000
    assert {len(key) for key in keys} == {27}
