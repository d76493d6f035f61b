"""What is shown while a person chooses a conversation, and what Enter takes."""

import re

import msgspec

from openclaw.cli.session_picker import Choice, Picker
from openclaw.sessions.key import new_key, session_key

CHOICES = [
    Choice("agent:main:trip", "main", "2026-11-17T20:00:00Z", 12, "plan a trip to Rome"),
    Choice("agent:main:main", "main", "2026-11-16T20:00:00Z", 1, "weather\x1b[31m"),
    *(Choice(f"agent:main:{number}", "main", "2026-11-15T20:00:00Z", 2) for number in range(30)),
]


def test_the_newest_is_on_top_and_is_what_enter_takes() -> None:
    picker = Picker(CHOICES)
    assert picker.chosen == CHOICES[0]
    shown = [line for _, line in picker.lines()]
    assert shown[1].startswith("› plan a trip to Rome  2026-11-17 ")
    assert shown[1].endswith(", 12 messages")
    assert shown[2].startswith("  weather  ")
    assert shown[2].endswith(", 1 message")


def test_arrow_keys_stay_within_the_list_which_moves_along() -> None:
    picker = Picker(CHOICES)
    picker.move(-1)
    assert picker.at == 0
    picker.move(1_000)
    assert picker.chosen == CHOICES[-1]
    assert picker.lines()[-2] == ("reverse", f"› agent:main:29  {picker.lines()[-2][1].partition('  ')[2]}")


def test_words_narrow_the_list_down_and_none_may_be_left() -> None:
    picker = Picker(CHOICES)
    picker.move(5)
    picker.narrow("rome TRIP")
    assert (picker.found, picker.at) == ([CHOICES[0]], 0)
    picker.narrow("nothing like it")
    assert ("", "  none has these words") in picker.lines()
    assert picker.chosen is None


def test_what_was_asked_once_comes_behind_the_conversations_and_says_so() -> None:
    once = Choice(session_key("main", new_key()), "main", "2026-11-18T20:00:00Z", 2, "what is 2 + 2")
    picker = Picker([once, *CHOICES[:2]])
    assert picker.found == [*CHOICES[:2], once]
    assert picker.lines()[3][1].endswith(", 2 messages, asked once")


def test_on_a_narrow_screen_titles_give_way_and_nothing_is_cut_off() -> None:
    long = Choice(
        "agent:main:long", "main", "2026-11-17T20:00:00Z", 2, "call files__list_directory with a path that is long"
    )
    shown = [line for _, line in Picker([long]).lines(50)]
    assert max(map(len, shown)) < 50
    assert re.fullmatch(r"› call files__.*…  2026-11-1\d \d\d:00, 2 messages", shown[1])
    assert " ".join(" ".join(shown[2:]).split()) == "↑ ↓ choose, Enter goes on, letters narrow the list, Esc leaves"


def test_without_utf_8_our_own_signs_are_ascii_and_fit_too() -> None:
    long = msgspec.structs.replace(CHOICES[0], title="a title that is longer than what a narrow window has")
    shown = [line for _, line in Picker([long, CHOICES[1]]).lines(60, utf8=False)]
    assert "".join(shown).isascii()
    assert shown[1].startswith("> a title that is longer...  2026-11-17 ")
    assert shown[3].startswith("  Up and Down choose, Enter goes on")
    assert max(map(len, shown)) < 60
