"""The first look at a text from outside lets nothing pass that a close one would change or name."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import Text
from openclaw.security.external import FIRST_LOOK, guarded, suspicious
from openclaw.security.first_look import FirstLook
from openclaw.security.fold import letters, tabled

FIRST_LOOK.make()
WORDS = "external untrusted content", "openclaw internal context"
# By the letter they are taken for (`i` and `l` are one): characters that look like it, of all that there are in the first planes.
ALIKE: dict[str, list[str]] = {}
for code in (
    *range(0x3000),
    *range(0xA000, 0xA800),
    *range(0xFF00, 0xFFF0),
    *range(0x10280, 0x10300),
    *range(0x1D400, 0x1D800),
):
    ALIKE.setdefault(letters(chr(code)), []).append(chr(code))
# In a row with any of them a letter is written out, or two of them are one character.
SEPARATORS = ("", "", " ", "_", "\n", "\u0301", "\\n", "\\\\t", "-", "\u200b", "🙂", ",", "‐")


def passes(text: str) -> bool:
    return FIRST_LOOK.is_harmless(text)


@pytest.mark.parametrize(
    "text", ["", "0123456789", "All is well.", '{"a": [1, "x\\n", "C:\\\\projects"]}', "Grüße, 東京, Москвы 🚆 → 7 €"]
)
def test_ordinary_text_passes(text: str) -> None:
    assert passes(text)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_marker_does_not_pass_however_it_is_spelled(data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(WORDS)).replace("i", "l")
    spelled = (data.draw(st.sampled_from(ALIKE[letter])) for letter in word if letter != " ")
    marker = "".join(f"{letter}{data.draw(st.sampled_from(SEPARATORS))}" for letter in spelled)
    assert not passes(f"some {marker} words")


@pytest.mark.parametrize("written", ["&#120;", "&#x78;", "\\u0078", "\\x78", "%78"])
def test_a_letter_that_is_written_out_does_not_pass(written: str) -> None:
    assert not passes(f"<<<e{written}ternal untrusted content>>>")


@given(
    st.lists(
        st.sampled_from(
            (
                *"aei <>[]|/_:\n\t\r\x1b\x9b\u200b\u202e\u0301\ufeff\uff1c\U000e0041",
                "INST]",
                "</think>",
                "<|im_end|>",
                "system:",
                "ignore all previous ",
                "]\n[user]: ",
                "[Internal]",
                "external_untrusted_",
                "content>>",
                "ex",
                "tern",
                "rm -rf ",
                "Ｔ",
                "ﬀ",
            )
        ),
        max_size=14,
    ).map("".join)
    | st.text(max_size=60)
)
@settings(max_examples=600, deadline=None)
def test_what_passes_needs_no_cleaning_and_is_not_suspicious(text: str) -> None:
    if passes(text):
        block = (Text(text),)
        assert guarded(block) is block
        assert suspicious(text) == ()


def test_half_a_character_does_not_pass() -> None:
    assert not passes("half \ud800")


def test_the_first_texts_are_all_looked_at_closely() -> None:
    look = FirstLook(unseen="", parts=("<|",), markers=(), hints=("ignore",), first=2)
    assert [look.is_harmless("plain") for _ in range(5)] == [False, False, False, True, True]


def test_a_pattern_that_cannot_be_made_lets_nothing_pass() -> None:
    look = FirstLook(unseen="z-a", parts=("<|",), markers=(), hints=("ignore",), first=0)
    assert [look.is_harmless("plain") for _ in range(3)] == [False] * 3


def test_beyond_what_is_looked_up_a_character_is_at_most_one_letter_and_an_ideograph_none() -> None:
    """A new edition of Unicode may bring others: they belong to the pattern then."""
    known = set(tabled(range(0x4E00, 0xA000)))
    ideographs = [code for code in range(0x4E00, 0xA000) if code not in known and letters(chr(code))]
    rest = (*range(0x800, 0x3000), *range(0x3100, 0x4E00), *range(0xA000, sys.maxunicode + 1))
    several = [chr(code) for code in rest if len(letters(chr(code))) > 1 and passes(chr(code))]
    assert (ideographs, several) == ([], [])
