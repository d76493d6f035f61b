"""Tickets and tokens of the page: what they are traded for, and when they are good no more."""

import stat
from pathlib import Path

import pytest

from openclaw.gateway.page_tokens import IDLE_SECONDS, LONGEST_SECONDS, MOST_PAGES, TICKET_SECONDS, PageTokens


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pages(tmp_path: Path, clock: Clock) -> PageTokens:
    return PageTokens(tmp_path / "pages.json", clock=clock)


def test_a_ticket_is_good_once(pages: PageTokens) -> None:
    ticket = pages.ticket()
    token = pages.trade(ticket)
    assert token is not None
    assert pages.is_good(token)
    assert pages.trade(ticket) is None


def test_a_ticket_is_good_for_a_minute(pages: PageTokens, clock: Clock) -> None:
    ticket = pages.ticket()
    clock.now += TICKET_SECONDS
    assert pages.trade(ticket) is None


@pytest.mark.parametrize("wrong", ["", "x", "\ud800", "0" * 10_000])
def test_what_was_never_given_out_is_worth_nothing(pages: PageTokens, wrong: str) -> None:
    pages.ticket()
    pages.issue()
    assert (pages.trade(wrong), pages.is_good(wrong)) == (None, False)


def test_a_token_that_is_used_lives_on_and_one_that_is_not_ends(pages: PageTokens, clock: Clock) -> None:
    used, idle = pages.issue(), pages.issue()
    clock.now += IDLE_SECONDS - 1
    assert pages.is_good(used)
    clock.now += 2
    assert (pages.is_good(used), pages.is_good(idle)) == (True, False)


def test_no_token_outlives_a_week(pages: PageTokens, clock: Clock) -> None:
    token = pages.issue()
    end = clock.now + LONGEST_SECONDS
    while clock.now < end - IDLE_SECONDS:
        clock.now += IDLE_SECONDS / 2
        assert pages.is_good(token)
    clock.now = end
    assert not pages.is_good(token)


def test_tokens_outlive_a_restart_and_the_file_holds_none(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "new" / "pages.json"
    token = PageTokens(file, clock=clock).issue()
    assert PageTokens(file, clock=clock).is_good(token)
    assert token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_page_signs_itself_out_and_a_terminal_signs_out_all(pages: PageTokens) -> None:
    first, second, third = pages.issue(), pages.issue(), pages.issue()
    pages.forget(first)
    assert [pages.is_good(one) for one in (first, second, third)] == [False, True, True]
    assert pages.revoke() == 2
    assert pages.pages() == []


def test_of_too_many_the_one_unused_for_longest_goes(pages: PageTokens, clock: Clock) -> None:
    tokens = []
    for _ in range(MOST_PAGES + 1):
        clock.now += 1
        tokens.append(pages.issue())
    assert [pages.is_good(token) for token in (tokens[0], tokens[1], tokens[-1])] == [False, True, True]


def test_a_file_that_cannot_be_read_signs_everybody_out_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "pages.json"
    file.write_text("{")
    pages = PageTokens(file)
    assert pages.pages() == []
    assert pages.is_good(pages.issue())
