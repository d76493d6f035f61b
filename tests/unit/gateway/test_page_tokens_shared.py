"""Tickets and tokens of the page, wherever they are kept: the same promises in a file and in PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openclaw.gateway.page_tokens import Pages, PageTokens
from openclaw.security.page_secrets import MOST_PAGES
from parts.postgres import PostgresServer, fleet_at


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.real)])
async def pages(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pages]:
    if request.param == "file":
        yield PageTokens(tmp_path / "pages.json")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    fleet = fleet_at(await server.new_database())
    await fleet.begin()
    yield fleet.pages
    await fleet.close()


async def test_a_ticket_is_good_once(pages: Pages) -> None:
    ticket = await pages.ticket()
    token = await pages.trade(ticket)
    assert token is not None
    assert (await pages.admits(token), pages.is_good(token)) == (True, True)
    assert await pages.trade(ticket) is None


@pytest.mark.parametrize("wrong", ["", "x", "\ud800", "0" * 10_000])
async def test_what_was_never_given_out_is_worth_nothing(pages: Pages, wrong: str) -> None:
    await pages.ticket()
    await pages.issue()
    assert (await pages.trade(wrong), await pages.admits(wrong), pages.is_good(wrong)) == (None, False, False)


async def test_a_page_signs_itself_out_and_a_terminal_signs_out_all(pages: Pages) -> None:
    tokens = [await pages.issue() for _ in range(3)]
    await pages.forget(tokens[0])
    assert [await pages.admits(one) for one in tokens] == [False, True, True]
    assert (await pages.count(), await pages.revoke(), await pages.count()) == (2, 2, 0)
    assert [pages.is_good(one) for one in tokens] == [False, False, False]


async def test_of_too_many_the_one_unused_for_longest_goes(pages: Pages) -> None:
    tokens = [await pages.issue() for _ in range(MOST_PAGES + 1)]
    assert [await pages.admits(token) for token in (tokens[0], tokens[1], tokens[-1])] == [False, True, True]
