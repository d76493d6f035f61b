"""The policies of the second port, and whom it answers."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from openclaw.gateway.panel_frames import PanelFrames, inner_policy, outer_policy
from openclaw.gateway.panels import Panel, Panels
from openclaw.mcp.tools.panel import PanelPage

ORIGIN = "http://127.0.0.1:28789"
HOSTILE = '"><script>1</script>'


def test_html_that_names_no_host_may_use_what_is_in_it_and_no_more() -> None:
    rules = dict(rule.split(" ", 1) for rule in inner_policy(PanelPage("<p>"), ORIGIN).split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'unsafe-inline'",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "font-src": "data:",
        "media-src": "data: blob:",
        "connect-src": "'none'",
        "frame-src": "'none'",
        "base-uri": "'none'",
        "worker-src": "blob:",
        "form-action": "'none'",
        "frame-ancestors": f"'self' {ORIGIN}",
        "sandbox": "allow-scripts allow-forms",
    }


def test_hosts_that_it_names_are_let_in_where_it_named_them() -> None:
    page = PanelPage(
        "<p>", connect=("https://a.example",), resources=("https://b.example",), frames=("https://c.example",)
    )
    rules = dict(rule.split(" ", 1) for rule in inner_policy(page, ORIGIN).split("; "))
    assert rules["connect-src"] == "https://a.example"
    assert rules["script-src"] == "'unsafe-inline' https://b.example"
    assert rules["frame-src"] == "https://c.example"


@pytest.fixture
async def served() -> AsyncIterator[tuple[PanelFrames, Panel]]:
    panels = Panels()
    frames = PanelFrames(panels)
    await frames.start(0)
    yield (
        frames,
        panels.open(agent="main", session="", server=HOSTILE, page=PanelPage("<b>\ud800"), origin=ORIGIN),
    )
    await frames.close()


async def test_both_documents_come_with_their_policies_and_nothing_else_is_there(
    served: tuple[PanelFrames, Panel],
) -> None:
    frames, panel = served
    async with aiohttp.ClientSession(frames.origin) as client:
        async with client.get(f"/frame/{panel.id}") as outer:
            text = await outer.text()
            assert (outer.status, outer.headers["Content-Security-Policy"]) == (200, outer_policy(ORIGIN))
            assert (HOSTILE in text, f'src="/app/{panel.id}"' in text, f'data-page="{ORIGIN}"' in text) == (
                False,
                True,
                True,
            )
        async with client.get(f"/app/{panel.id}") as inner:
            assert (inner.status, await inner.read()) == (200, b"<b>?")
            assert inner.headers["Content-Security-Policy"] == inner_policy(panel.page, ORIGIN)
            assert inner.headers["Cache-Control"] == "no-store"
        for path, wanted in (
            ("/frame.js", 200),
            ("/frame.css", 200),
            ("/", 404),
            ("/app/guess", 404),
            ("/v1/apps", 404),
        ):
            async with client.get(path) as response:
                assert (response.status, response.headers["X-Content-Type-Options"]) == (wanted, "nosniff")


async def test_a_name_that_was_made_to_point_here_and_a_page_of_others_are_refused(
    served: tuple[PanelFrames, Panel],
) -> None:
    frames, panel = served
    async with aiohttp.ClientSession(frames.origin) as client:
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            async with client.get(f"/app/{panel.id}", headers=headers) as response:
                assert (response.status, panel.page.html in await response.text()) == (403, False)
