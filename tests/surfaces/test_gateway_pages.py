"""The reference pages of the gateway name what there is, no more and no less."""

import re
from pathlib import Path

from openclaw.gateway.feed import TYPES_OF
from parts.gateways import home, running, stdio_server

DOCS = Path(__file__).parents[2] / "docs" / "reference"


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
            routes = {f"{method} {path}" for method, path in gateway.gateway.http.routes}

    helps = re.findall(r"# HELP (\S+) (.*)\n# TYPE \S+ (\S+)", text)
    described = {(row[0].strip("`"), row[3], row[1]) for row in rows("metrics.md", "`(openclaw|process)_.*`")}
    assert described == set(helps)
    assert {row[0].strip("`") for row in rows("http.md", "`(GET|POST|PUT|DELETE) .*`")} == routes


def test_every_kind_of_event_is_described() -> None:
    names = {row[0].strip("`") for row in rows("http.md", "`[a-z]+`") if len(row) == 2}
    assert set(TYPES_OF) <= names
