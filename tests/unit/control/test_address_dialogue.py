"""Pages that a server wants opened: the whole address, its host, warnings, and nothing without consent."""

import base64

import pytest

from openclaw.control.dialogue_steps import ENTER, ESCAPE, Finished, Screen
from openclaw.conversation import NO_ANSWER, Answer, Question
from parts.dialogues import END, answered, held, no, yes


def page(url: str) -> Question:
    return Question("url", "Connect your bank to continue.", asker="payments", url=url)


def test_the_whole_address_and_its_host_are_shown_with_the_keys() -> None:
    url = "https://connect.bank-link.example/s/7f3a?session=1"
    finished, shown = held(page(url), "o")
    assert finished == Finished(yes(opened=True), address=url)
    assert shown == (
        'Server "payments" wants you to open a web page:\n'
        "  | Connect your bank to continue.\n"
        f"  {url}\n"
        "  host: connect.bank-link.example\n"
        "[o] open in browser   [c] copy address   [d] decline   [Esc] not now: "
    )


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("https://shop.test/pay?id=1&x=%20#/step/2", "https://shop.test/pay?id=1&x=%20#/step/2"),
        ("https://shop.test/a'b$(c)#d e\"\x1b", "https://shop.test/a%27b%24%28c%29#d%20e%22%1B"),
        (f"https://shop.test/{'x' * 500}", f"https://shop.test/{'x' * 500}"),
    ],
)
def test_an_address_is_shown_in_one_piece_as_it_would_be_opened(url: str, opened: str) -> None:
    finished, shown = held(page(url), "o")
    assert finished.address == opened
    assert f"\n  {opened}\n" in shown


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["d"], no()),
        ([ESCAPE], NO_ANSWER),
        ([END], NO_ANSWER),
        (["c", "d"], no()),
        (["c", ESCAPE], NO_ANSWER),
        (["y", "oc", ENTER, "d"], no()),
    ],
)
def test_without_consent_nothing_is_opened(typed: list[str | None], answer: Answer) -> None:
    finished, _ = held(page("https://shop.test/"), *typed)
    assert (finished.answer, finished.address) == (answer, "")


def test_whoever_copies_the_address_says_whether_they_visit_it() -> None:
    finished, shown = held(page("https://shop.test/pay"), "c", "y")
    assert finished == Finished(yes(opened=True))
    assert "not now: https://shop.test/pay\n[y] I open it myself" in shown


def test_a_terminal_is_asked_to_copy_and_the_address_stands_there_all_the_same() -> None:
    shown = held(page("https://shop.test/pay"), "c", "d", screen=Screen(clipboard=True))[1]
    copied = shown.partition("\x1b]52;c;")[2].partition("\x07")[0]
    assert base64.b64decode(copied) == b"https://shop.test/pay"
    assert "\nhttps://shop.test/pay\n" in shown


def test_the_host_is_what_stands_out() -> None:
    shown = held(page("https://tps.example/tps.example"), "d", screen=Screen(colour=True))[1]
    assert "  https://\x1b[1mtps.example\x1b[0m/tps.example\n" in shown


NEAR = ["http://localhost:8080/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://192.168.1.1/"]


@pytest.mark.parametrize("url", NEAR)
def test_a_server_cannot_have_a_page_of_this_machine_or_this_network_opened(url: str) -> None:
    finished, shown = held(page(url))
    assert finished == Finished(NO_ANSWER, shown)
    assert shown.startswith('Server "payments" wants a web page opened. It is not: ')


@pytest.mark.parametrize("url", NEAR)
def test_we_may_have_such_a_page_opened_ourselves(url: str) -> None:
    assert held(Question("url", url=url), "o")[0] == Finished(yes(opened=True), address=url)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://me:pw@shop.test/", "The URL carries a user name or password."),
        ("http://shop.test/", "It is not at an https address, so it is not opened."),
        ("javascript:alert(1)", "The URL does not start with http:// or https:// and a host."),
        ("https://0x7f000001/", "It is at an address written as a number; it is not opened."),
    ],
)
def test_an_address_that_is_refused_says_why(url: str, why: str) -> None:
    finished, shown = held(page(url), width=200)
    assert finished.answer == NO_ANSWER
    assert shown == f'Server "payments" wants a web page opened. It is not: {why}\n'


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "https://shop.test\\@evil.test/", "https://169.254.169.254/", "https://a b.test/"),
        *("https://shop.test/\x1b[2J", "https://shop.test/\u202e", "--help", "https://"),
    ],
)
def test_an_address_that_may_be_read_in_two_ways_is_neither_shown_nor_opened(url: str) -> None:
    finished, shown = held(page(url), *([] if "\u202e" not in url else [END]))
    assert (finished.answer, finished.address) == (NO_ANSWER, "")
    assert "\u202e" not in shown
    assert "\x1b" not in shown


def test_unusual_letters_and_mixed_scripts_are_named() -> None:
    shown = held(page("https://xn--pple-43d.test/"), "d", width=120)[1]
    assert '  warning: this address contains unusual letters (xn--pple-43d, read as "аpple")\n' in shown
    assert "  warning: its name mixes letters of several scripts: Cyrillic, Latin\n" in shown


def test_a_name_in_one_script_is_not_called_mixed() -> None:
    shown = held(page("https://пример.test/"), "d")[1]
    assert "unusual letters (xn--e1afmkfd" in shown
    assert "mixes" not in shown


@pytest.mark.parametrize("url", ["https://xn--a.test/", "https://xn--999999999.test/"])
def test_a_name_that_cannot_be_read_is_warned_of_too(url: str) -> None:
    assert "warning: this address contains unusual letters" in held(page(url), "d")[1].replace("\n  ", " ")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ([ENTER], yes()),
        ([ESCAPE], NO_ANSWER),
        ([END], NO_ANSWER),
        (["y", "x", ENTER], yes()),
        (["done"] * 20, NO_ANSWER),
    ],
)
def test_without_an_address_it_waits_until_the_person_has_finished_there(
    typed: list[str | None], answer: Answer
) -> None:
    assert answered(Question("url", asker="payments"), *typed) == answer


def test_waiting_says_what_to_press() -> None:
    assert held(Question("url", asker="payments"), ENTER)[1] == (
        "Press Enter when you are done there, Esc to stop waiting. "
    )


@pytest.mark.parametrize("typed", [[END], ["c", "d"]])
def test_on_a_narrow_screen_only_the_address_is_wider(typed: list[str | None]) -> None:
    url = f"https://shop.test/{'x' * 50}"
    for question in (page(url), page("http://shop.test/"), Question("url", "Are you there?", asker="payments")):
        given = typed if question.url == url else [END] if not question.url else []
        shown = held(question, *given, width=40)[1]
        assert [line for line in shown.splitlines() if len(line) >= 40 and url not in line] == []
