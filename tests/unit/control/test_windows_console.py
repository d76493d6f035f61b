"""Lines put together from the single keys that a console of Windows gives."""

import pytest

from openclaw.control.windows_console import TypedLine, key_bytes, show, unseen


def typed(keys: str) -> tuple[TypedLine, str]:
    line = TypedLine()
    return line, "".join(line.take(key) for key in keys)


def test_a_line_ends_with_enter_and_is_shown_as_it_is_typed() -> None:
    line, shown = typed("hé llo\r")
    assert (line.text, line.is_done, line.is_end, shown) == ("hé llo", True, False, "hé llo\n")


def test_the_last_character_is_taken_back() -> None:
    line, shown = typed("\bab\b\x7f\bc\r")
    assert (line.text, shown) == ("c", "ab\b \b\b \bc\n")


@pytest.mark.parametrize("key", ["\x04", "\x1a"])
def test_the_end_of_input_counts_on_an_empty_line_alone(key: str) -> None:
    assert (typed(key)[0].is_end, typed(key)[0].is_done) == (True, True)
    assert (typed(f"a{key}")[0].is_end, typed(f"a{key}")[0].is_done) == (False, False)


def test_keys_that_are_no_characters_leave_a_line_alone() -> None:
    line, shown = typed("a\x1b\x07b")
    assert (line.text, shown) == ("ab", "ab")


def test_a_key_is_told_as_a_terminal_elsewhere_tells_it() -> None:
    assert [key_bytes(key) for key in ("y", "\r", "\x1a", "é")] == [b"y", b"\r", b"\x04", "é".encode()]


def test_nothing_of_a_secret_is_shown_and_not_the_end_of_its_line_either(capsys: pytest.CaptureFixture[str]) -> None:
    show("a")
    with unseen():
        show("secret")
        show("\n")
    show("b")
    assert capsys.readouterr().err == "ab"
