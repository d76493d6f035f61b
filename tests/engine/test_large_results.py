"""Structured results of more than a megabyte: held against their schema like others, in a program of its own."""

from pathlib import Path
from typing import Any

import pytest

from openclaw.content import Text
from openclaw.conversation import Conversation
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools import output
from openclaw.mcp.tools.results import Result
from openclaw.tool import Invocation
from parts.planned_server import tool
from parts.sites import Site

ROWS = [{"id": number, "name": "Zoë " * 4} for number in range(40_000)]
SHAPE = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
    "$defs": {"row": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}},
}


async def called(tmp_path: Path, structure: dict[str, Any], **schema: Any) -> Result:
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("rows", **schema)])
        async with Manager([site.spec()], dependencies=site.dependencies) as manager:
            return await manager.call("shop__rows", {"answer": {"content": [], "structuredContent": structure}})


async def test_a_large_structured_result_that_fits_its_schema_is_handed_on(tmp_path: Path) -> None:
    result = await called(tmp_path, {"rows": ROWS}, outputSchema=SHAPE)
    assert (result.is_error, result.has_structure, result.note) == (False, True, "")


async def test_a_large_structured_result_that_does_not_fit_its_schema_is_refused(tmp_path: Path) -> None:
    result = await called(tmp_path, {"rows": [*ROWS, {"id": "last"}]}, outputSchema=SHAPE)
    assert result == Result.refused(
        "The structured result does not fit the tool's own output schema: "
        'The results do not fit their schema: rows[40000].id is not of type "integer".'
    )


async def test_a_large_structured_result_without_a_schema_is_handed_on(tmp_path: Path) -> None:
    result = await called(tmp_path, {"rows": ROWS})
    assert (result.is_error, result.has_structure, result.note) == (False, True, "")


async def test_a_large_structured_result_that_could_not_be_checked_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.001)
    async with Site("memory", tmp_path) as site:
        site.plan(tools=[tool("rows", outputSchema=SHAPE)])
        async with Manager([site.spec()], dependencies=site.dependencies) as manager:
            (rows,) = manager.tools()
            arguments = {"answer": {"content": [], "structuredContent": {"rows": ROWS}}}
            result = await rows.run(arguments, Invocation(Conversation("main", "s", workspace=tmp_path)))
    note = (
        "[The structured result was not held against the tool's output schema: that takes longer than 0.001 seconds.]"
    )
    assert (result.is_error, result.content[0], len(result.content)) == (False, Text(note), 2)
