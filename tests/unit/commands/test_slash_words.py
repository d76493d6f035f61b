"""The words that are built into a conversation: one list, which skills, /help and what runs them all go by."""

from openclaw.commands.slash import BUILT_IN
from openclaw.workplace import SLASH_WORDS


def test_every_built_in_word_is_done_and_none_is_done_that_a_skill_could_take() -> None:
    assert list(BUILT_IN) == list(SLASH_WORDS)
