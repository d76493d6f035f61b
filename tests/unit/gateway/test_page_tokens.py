"""Tickets and tokens of the page: what they are traded for, and when they are good no more."""

import stat
from pathlib import Path

import pytest

from openclaw.gateway.page_tokens import PageTokens
from openclaw.security.page_secrets import IDLE_SECONDS, LONGEST_SECONDS, MOST_PAGES, TICKET_SECONDS
from parts.modes import PRIVATE_FILE


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


async def test_a_ticket_is_good_once(pages: PageTokens) -> None:
    ticket = await pages.ticket()
    token = await pages.trade(ticket)
    assert token is not None
    assert await pages.admits(token)
    assert await pages.trade(ticket) is None


async def test_a_ticket_is_good_for_a_minute(pages: PageTokens, clock: Clock) -> None:
    ticket = await pages.ticket()
    clock.now += TICKET_SECONDS
    assert await pages.trade(ticket) is None


@pytest.mark.parametrize("wrong", ["", "x", "\ud800", "0" * 10_000])
async def test_what_was_never_given_out_is_worth_nothing(pages: PageTokens, wrong: str) -> None:
    await pages.ticket()
    await pages.issue()
    assert (await pages.trade(wrong), await pages.admits(wrong)) == (None, False)


async def test_a_token_that_is_used_lives_on_and_one_that_is_not_ends(pages: PageTokens, clock: Clock) -> None:
    used, idle = await pages.issue(), await pages.issue()
    clock.now += IDLE_SECONDS - 1
    assert await pages.admits(used)
    clock.now += 2
    assert (await pages.admits(used), await pages.admits(idle)) == (True, False)


async def test_no_token_outlives_a_week(pages: PageTokens, clock: Clock) -> None:
    token = await pages.issue()
    end = clock.now + LONGEST_SECONDS
    while clock.now < end - IDLE_SECONDS:
        clock.now += IDLE_SECONDS / 2
        assert await pages.admits(token)
    clock.now = end
    assert not await pages.admits(token)


async def test_tokens_outlive_a_restart_and_the_file_holds_none(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "new" / "pages.json"
    token = await PageTokens(file, clock=clock).issue()
    assert await PageTokens(file, clock=clock).admits(token)
    assert token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == PRIVATE_FILE


async def test_a_page_signs_itself_out_and_a_terminal_signs_out_all(pages: PageTokens) -> None:
    first, second, third = await pages.issue(), await pages.issue(), await pages.issue()
    await pages.forget(first)
    assert [await pages.admits(one) for one in (first, second, third)] == [False, True, True]
    assert await pages.revoke() == 2
    assert pages.pages() == []


async def test_of_too_many_the_one_unused_for_longest_goes(pages: PageTokens, clock: Clock) -> None:
    tokens = []
    for _ in range(MOST_PAGES + 1):
        clock.now += 1
        tokens.append(await pages.issue())
    assert [await pages.admits(token) for token in (tokens[0], tokens[1], tokens[-1])] == [False, True, True]


async def test_a_file_that_cannot_be_read_signs_everybody_out_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "pages.json"
    file.write_text("{")
    pages = PageTokens(file)
    assert pages.pages() == []
    assert await pages.admits(await pages.issue())
