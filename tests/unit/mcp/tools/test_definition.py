"""What of a server's list can be offered to a model."""

import msgspec
import pytest

from openclaw.mcp.tools.definition import RefusedTool, read_definitions


@pytest.mark.parametrize(
    ("meta", "is_offered"),
    [
        ({"ui": {"visibility": ["app"]}}, False),
        ({"ui": {"visibility": []}}, False),
        ({"ui": {"visibility": ["model", "app"]}}, True),
        ({"ui": {"visibility": "app"}}, True),
        ({"ui": 5}, True),
        ([], True),
        ({}, True),
    ],
)
def test_a_tool_for_the_pages_of_its_server_alone_is_offered_to_no_model(meta: object, is_offered: bool) -> None:
    item = msgspec.Raw(msgspec.json.encode({"name": "draw", "inputSchema": {"type": "object"}, "_meta": meta}))
    reading = read_definitions([item])
    assert [one.name for one in reading.definitions] == (["draw"] if is_offered else [])
    reason = "it is for the pages of its server alone, not for a model (_meta.ui.visibility)"
    assert reading.refusals == (() if is_offered else (RefusedTool("draw", reason),))
