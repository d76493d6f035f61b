"""Paged lists: collected whole when the server is honest, and ended when it is not."""

import json

import pytest
from msgspec import Raw

from openclaw.errors import ProtocolError
from openclaw.mcp import paging
from openclaw.mcp.paging import Pages


def page(*names: str, **more: object) -> Raw:
    return Raw(json.dumps({"tools": [{"name": name} for name in names], **more}).encode())


def names(pages: Pages) -> list[str]:
    return [json.loads(bytes(item))["name"] for item in pages.items]


def test_pages_are_collected_in_order_until_no_cursor_comes() -> None:
    pages = Pages("tools")
    cursors = [pages.add(page("a", nextCursor="2")), pages.add(page("b", nextCursor="3")), pages.add(page("c"))]
    assert (cursors, names(pages), pages.note) == (["2", "3", None], ["a", "b", "c"], "")


def test_a_null_cursor_ends_the_list_and_an_empty_one_does_not() -> None:
    assert Pages("tools").add(page(nextCursor=None)) is None
    assert Pages("tools").add(page(nextCursor="")) == ""


def test_a_cursor_that_leads_back_ends_the_list() -> None:
    pages = Pages("tools")
    cursors = [
        pages.add(page("a", nextCursor="x")),
        pages.add(page("b", nextCursor="y")),
        pages.add(page("c", nextCursor="x")),
    ]
    assert cursors == ["x", "y", None]
    assert (names(pages), pages.note) == (
        ["a", "b", "c"],
        "the server's list leads back to a page that was already read",
    )


def test_a_server_that_ignores_the_cursor_lists_every_tool_once() -> None:
    pages = Pages("tools")
    cursors = [pages.add(page("a", "b", nextCursor="2")), pages.add(page("a", "b", nextCursor="3"))]
    assert (cursors, names(pages)) == (["2", None], ["a", "b"])


def test_a_list_without_end_stops_at_the_bound_on_pages() -> None:
    pages, asked = Pages("tools"), 1
    while pages.add(page(f"t{asked}", nextCursor=str(asked))) is not None:
        asked += 1
    assert (asked, len(pages.items), pages.note) == (
        paging.MAX_PAGES,
        paging.MAX_PAGES,
        "the list has more than 1,000 pages",
    )


def test_a_list_of_too_many_entries_is_cut() -> None:
    pages = Pages("tools")
    many = Raw(b'{"nextCursor":"2","tools":[' + b",".join([b"1"] * (paging.MAX_ITEMS + 5)) + b"]}")
    assert pages.add(many) is None
    assert (len(pages.items), pages.note) == (paging.MAX_ITEMS, "the list has more than 200,000 entries")


def test_a_list_of_too_many_bytes_is_cut() -> None:
    pages = Pages("tools")
    assert pages.add(page("x" * paging.MAX_BYTES, nextCursor="2")) is None
    assert pages.note == "the list is larger than 64 MiB"


def test_the_shortest_life_of_a_page_is_the_life_of_the_list() -> None:
    pages = Pages("tools")
    pages.add(page(nextCursor="2", ttlMs=60_000))
    pages.add(page(ttlMs=1500))
    assert pages.ttl == 1.5


@pytest.mark.parametrize("answer", [b"[]", b"null", b"{}", b'{"tools": 3}', b'{"tools": [], "nextCursor": 7}'])
def test_an_answer_that_is_no_page_is_an_error(answer: bytes) -> None:
    with pytest.raises(ProtocolError):
        Pages("tools").add(Raw(answer))
