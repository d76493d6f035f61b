"""The reference pages of the gateway name what there is, no more and no less."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from openapi_spec_validator import OpenAPIV31SpecValidator

from openclaw.gateway.feed import TYPES_OF
from openclaw.gateway.route import Route
from parts.gateways import home, running, stdio_server

DOCS = Path(__file__).parents[2] / "docs" / "reference"
# What stands behind a sentence for who reads on.
BELOW = re.compile(r" ?\(\[below\]\(#[a-z-]+\)\)")
# What is read of a request so that a sentence can say what is wrong with it.
REFUSED = {("/v1/mcp/servers", "command"), ("/v1/mcp/servers", "args"), ("/v1/tools/invoke", "args")}


def rows(page: str, first: str) -> set[tuple[str, ...]]:
    """The cells of a page's rows whose first cell looks like that."""
    found = set()
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and re.fullmatch(first, cells[0]):
            found.add(tuple(cells))
    return found


async def test_every_route_and_every_metric_is_described(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            _, text = await gateway.get("/metrics")
            routes = gateway.gateway.http.routes
            _, openapi = await gateway.get("/v1/openapi.json")

    helps = re.findall(r"# HELP (\S+) (.*)\n# TYPE \S+ (\S+)", text)
    described = {(row[0].strip("`"), row[3], row[1]) for row in rows("metrics.md", "`(openclaw|process)_.*`")}
    assert described == set(helps)
    told = {(row[0].strip("`"), BELOW.sub("", row[1])) for row in rows("http.md", "`(GET|POST|PUT|DELETE) .*`")}
    assert told == {(f"{route.method} {route.path}", route.about) for route in routes}
    assert [*untold(routes)] == []
    OpenAPIV31SpecValidator(openapi).validate()
    asked = [operation for path in openapi["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in asked}) == len(asked) == len(routes)


def untold(routes: Sequence[Route]) -> Iterator[str]:
    """The fields of bodies and queries that the page does not name."""
    page = (DOCS / "http.md").read_text(encoding="utf-8")
    for route in routes:
        for taken in (route.body, route.query):
            for field in msgspec.structs.fields(taken) if taken is not None else ():
                is_told = re.search(rf"""[`"?.=,]{field.encode_name}[`"=.:]""", page)
                if not is_told and (route.path, field.encode_name) not in REFUSED:
                    yield f"{route.method} {route.path}: {field.encode_name}"


def test_every_kind_of_event_is_described() -> None:
    names = {row[0].strip("`") for row in rows("http.md", "`[a-z]+`") if len(row) == 2}
    assert set(TYPES_OF) <= names
