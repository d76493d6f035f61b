"""What a server says of its panels, and what of that is believed."""

from typing import Any

import msgspec
import pytest

from openclaw.errors import ProtocolError
from openclaw.mcp.tools.definition import Definition, audience, read_definitions
from openclaw.mcp.tools.panel import MAX_HTML, MAX_RESULT, PanelPage, answer_in, for_panel, page_of, panel_of
from openclaw.mcp.tools.results import ResourceContents, Result
from openclaw.tool import ToolResult

HTML = "text/html;profile=mcp-app"


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def tool(meta: object, name: str = "draw") -> Definition:
    return Definition(name, raw({"name": name, "inputSchema": {"type": "object"}, "_meta": meta}))


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": "ui://a/b"}}, "ui://a/b"),
        ({"ui/resourceUri": "ui://old"}, "ui://old"),
        ({"ui": {"resourceUri": "ui://new"}, "ui/resourceUri": "ui://old"}, "ui://new"),
        ({"ui": {"resourceUri": "https://example.com/page"}}, ""),
        ({"ui": {"resourceUri": 5}}, ""),
        ({"ui": "ui://a/b"}, ""),
        ({"ui": {"resourceUri": "ui://" + "x" * 3_000}}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_a_tool_names_its_panel_in_the_new_way_or_in_the_old(meta: object, uri: str) -> None:
    assert panel_of(tool(meta)) == uri


@pytest.mark.parametrize(
    ("meta", "callers"),
    [
        ({}, {"model", "app"}),
        ({"ui": {"visibility": ["app"]}}, {"app"}),
        ({"ui": {"visibility": ["model", 5]}}, {"model"}),
        ({"ui": {"visibility": "app"}}, {"model", "app"}),
    ],
)
def test_a_tool_says_who_may_call_it(meta: object, callers: set[str]) -> None:
    assert audience(raw(meta)) == callers


def test_a_hidden_tool_is_kept_for_panels_unless_its_name_means_another_one_too() -> None:
    hidden = {"ui": {"visibility": ["app"]}}
    items = [tool(hidden).raw, tool({}, "plain").raw, tool(hidden, "plain").raw]
    bad = raw({"name": "bad", "inputSchema": {"type": "array"}, "_meta": hidden})
    reading = read_definitions([*items, bad])
    assert [one.name for one in reading.hidden] == ["draw"]
    assert [one.name for one in reading.definitions] == ["plain"]
    assert [one.name for one in reading.refusals] == ["draw", "plain", "bad"]


def page(meta: Any, **more: Any) -> PanelPage:
    held = {"uri": "ui://a", "mime_type": HTML, "text": "<p>", "meta": raw(meta), **more}
    return page_of([ResourceContents(**held)], "ui://a")


def test_a_panel_reaches_hosts_that_it_names_by_https_and_no_others() -> None:
    named = [
        "https://api.example.com",
        "https://*.example.org:8443",
        "wss://live.example.com",
        "http://example.com",
        "https://localhost",
        "https://127.0.0.1",
        "https://10.0.0.1:443",
        "https://[::1]",
        "https://example.com/path",
        "https://example.com; script-src *",
        "https://*",
        "*",
        "'self'",
        "data:",
        5,
    ]
    csp = {"connectDomains": named, "resourceDomains": named, "frameDomains": "https://example.com"}
    found = page({"ui": {"csp": csp, "prefersBorder": False}})
    kept = ("https://api.example.com", "https://*.example.org:8443")
    assert found == PanelPage("<p>", connect=(*kept, "wss://live.example.com"), resources=kept, has_border=False)
    assert found.hosts == (*kept, "wss://live.example.com")


@pytest.mark.parametrize("meta", [None, [], {"ui": 5}, {"ui": {"csp": []}}])
def test_a_panel_that_names_nothing_reaches_nobody(meta: object) -> None:
    assert page(meta) == PanelPage("<p>")


def test_html_is_taken_as_text_or_in_base64_and_nothing_else_is_a_panel() -> None:
    assert page({}, text=None, blob="PHA+").html == "<p>"
    assert page({}, mime_type="text/html; profile=mcp-app").html == "<p>"
    for wrong in ({"mime_type": "text/html"}, {"mime_type": None}, {"text": "x" * (MAX_HTML + 1)}):
        with pytest.raises(ProtocolError):
            page({}, **wrong)
    with pytest.raises(ProtocolError):
        page({}, text=None, blob="not base64")
    with pytest.raises(ProtocolError):
        page_of([], "ui://a")


def test_what_the_server_answered_is_kept_beside_what_a_model_sees_unless_it_is_too_much() -> None:
    shown = ToolResult((), details={"a": 1})
    answer = raw({"content": [], "_meta": {"x": 1}})
    kept = for_panel(shown, Result(raw=answer))
    assert (answer_in(kept), kept.details["a"], answer_in(shown)) == (answer, 1, None)
    assert for_panel(shown, Result()) is shown
    assert for_panel(shown, Result(raw=raw("x" * MAX_RESULT))) is shown
