"""What a character looks like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.security.confusables import CONFUSABLES
from openclaw.security.fold import OTHER, fold, fold_with_places, letters


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("END_External", "end_external"),
        ("ｅｘｔｅｒｎａｌ", "external"),
        ("𝐞𝑥𝒕𝓮𝔯𝕟𝖆𝗅", "external"),
        ("ᴇxᴛᴇʀɴᴀʟ", "external"),
        ("ⓔⓧⓣⓔⓡⓝⓐⓛ", "external"),
        ("ᗅᗷ𐌂ᗪ𐊆ᖴᏳᕼᒪ", "abcdefghl"),
        ("🅴🆇🆃🅴🆁🅽🅰🅻", "external"),
        ("🇪🇽🇹🇪🇷🇳🇦🇱", "external"),
        ("ехtеrпаӏ", "external"),
        ("ΕΧΤΕRΝΑL", "external"),
        ("ᎬХᎢᎬᏒꓠᎪᏞ", "external"),
        ("e\u0301x\u0336t\u0488ern\u20ddal", "external"),
        ("e\u200bx\u200ct\u200de\u2060r\ufeffn\u00ada\u202el", "external"),
        ("e\U000e0041x", "ex"),
        ("3xterna1", "external"),
        ("＜‹«〈《⟨⟪❮ᐸ", "<<<<<<<<<"),
        ("⋘⋙", "<<<>>>"),
        ("&lt;&LT;&#60;&#060;&#x3C;&amp;lt;&amp;amp;lt;&lt", "<<<<<<<<"),
        ("\\u003c\\u{3c}\\x3c%3C\\\\u003c", "<<<<<"),
        ("a\\nb&nbsp;c&lowbar;d", "a\nb c_d"),
        ("漢字", OTHER * 2),
        ("\ud800", ""),
        ("&#9999999;&unknown;", " &unknown;"),
    ],
)
def test_text_is_reduced_to_what_it_looks_like(text: str, looks: str) -> None:
    assert fold(text) == looks.replace("i", "l")


def test_every_look_alike_of_unicodes_own_table_is_known() -> None:
    assert {letter: fold(like) for letter, like in CONFUSABLES.items()} == {
        letter: letter * len(like) for letter, like in CONFUSABLES.items()
    }
    assert sum(map(len, CONFUSABLES.values())) > 500


@given(st.text(st.characters(), max_size=40) | st.text("&#x3clt;\\u0%amp<E", max_size=40))
@settings(max_examples=200, deadline=None)
def test_places_lead_back_to_where_a_character_comes_from(text: str) -> None:
    folded, places = fold_with_places(text)
    assert folded == fold(text)
    assert len(places) == len(folded) + 1
    assert places == sorted(places)
    assert places[-1] == len(text)
    assert fold(folded).isascii()


@given(st.text(st.characters(), max_size=40) | st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_letters_are_the_letters_of_the_folded_text(text: str) -> None:
    assert letters(text) == "".join(character for character in fold(text) if character.islower())


def test_a_text_made_of_all_of_unicode_is_folded() -> None:
    text = "".join(map(chr, range(0x110000)))
    assert fold(text).isascii()
