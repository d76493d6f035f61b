"""What is typed on Windows, and what one is told to type there, on every system."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.typed_words import join_words, quote_word, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"C:\Python\python.exe server.py", [r"C:\Python\python.exe", "server.py"]),
        (
            r'"C:\my programs\clock.exe" --zone "Europe/Berlin"',
            [r"C:\my programs\clock.exe", "--zone", "Europe/Berlin"],
        ),
        (r"call clock__now 'format=%Y # year'", ["call", "clock__now", "format=%Y # year"]),
        (r"C:\folder\ next", ["C:\\folder\\", "next"]),
        (r'"C:\my folder\" "C:\my folder\\"', ["C:\\my folder\\"] * 2),
        ('call clock__now "{""a"": """"}" \'{"b": 1}\' "" x', ["call", "clock__now", '{"a": ""}', '{"b": 1}', "", "x"]),
        ("", []),
    ],
)
def test_on_windows_a_backslash_is_part_of_a_word(line: str, words: list[str]) -> None:
    assert split_words(line, windows=True) == words


def test_a_quote_that_is_not_closed_is_none_anywhere() -> None:
    for windows in (True, False):
        with pytest.raises(ValueError, match="No closing quotation"):
            split_words('run "clock', windows=windows)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        (r"C:\Python\python.exe", r"C:\Python\python.exe"),
        (r"C:\my programs\clock.exe", r'"C:\my programs\clock.exe"'),
        ("prompt-toolkit>=3", '"prompt-toolkit>=3"'),
        ('{"a": 1}', '"{""a"": 1}"'),
        ('x" & calc & "', '"x"" & calc & """'),
        ("$(calc) `calc`", '"`$(calc) ``calc``"'),
        ("\u201d; calc\r\ncalc", '"`\u201d; calc`r`ncalc"'),
        # Looked up before the quotes are seen, it would be a quote.
        ("%CMDCMDLINE:~0,1% & calc", '"%$()CMDCMDLINE:~0,1%$() & calc"'),
        ("@scope/server", '"@scope/server"'),
        ("one,two", '"one,two"'),
        ("C:\\my programs\\", '"C:\\my programs\\\\"'),
        ("", '""'),
    ],
)
def test_on_windows_a_word_stands_in_the_quotes_that_its_shells_know(word: str, quoted: str) -> None:
    assert quote_word(word, windows=True) == quoted


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.text("ab \"'`$&%()\\\r\nnr\u201c\u2019"),
    st.booleans(),
)
def test_a_word_that_is_quoted_is_that_word_again(word: str, windows: bool) -> None:
    assert split_words(quote_word(word, windows=windows), windows=windows) == [word]


def test_words_are_joined_into_a_line_that_has_them() -> None:
    words = ["openclaw", "mcp", "connect", "C:\\my programs\\clock.exe", "it's"]
    assert split_words(join_words(words)) == words
