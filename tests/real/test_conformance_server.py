"""The official conformance suite against the server side of the product, for what a server asks its client, in both eras.

The product's own server has one tool and asks by elicitation alone; `parts/asking_server.py` has what the suite calls, on the same
machinery (`mcp_server/calls.py`). A scenario in which nothing was checked counts as failed, and so does one with a warning.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from parts.asking_server import asking_server
from parts.conformance import run_suite

pytestmark = pytest.mark.real

LEGACY = ("tools-call-elicitation", "tools-call-sampling", "elicitation-sep1034-defaults", "elicitation-sep1330-enums")
MODERN = tuple(
    f"input-required-result-{name}"
    for name in (
        "basic-elicitation",
        "basic-sampling",
        "basic-list-roots",
        "request-state",
        "multiple-input-requests",
        "multi-round",
        "missing-input-response",
        "non-tool-request",
        "result-type",
        "unsupported-methods",
        "tampered-state",
        "capability-check",
        "ignore-extra-params",
        "validate-input",
    )
)


def statuses(folder: Path) -> set[str]:
    """How the checks ended that say anything."""
    [report] = folder.rglob("checks.json")
    checks: list[dict[str, Any]] = json.loads(report.read_text())
    return {check["status"] for check in checks} & {"SUCCESS", "FAILURE", "WARNING"}


async def passes(scenario: str, revision: str, folder: Path) -> None:
    async with asking_server() as url:
        options = ("--spec-version", revision, "-o", str(folder))
        done = await asyncio.to_thread(run_suite, "server", "--url", url, "--scenario", scenario, *options)
    assert (done.returncode, statuses(folder)) == (0, {"SUCCESS"}), f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("scenario", MODERN)
async def test_a_scenario_of_2026_07_28_passes(scenario: str, tmp_path: Path) -> None:
    await passes(scenario, "2026-07-28", tmp_path)


@pytest.mark.parametrize("scenario", LEGACY)
async def test_a_scenario_of_2025_11_25_passes(scenario: str, tmp_path: Path) -> None:
    await passes(scenario, "2025-11-25", tmp_path)


def test_no_scenario_in_which_a_server_asks_is_forgotten() -> None:
    listed = run_suite("list").stdout.partition("Client scenarios")[0]
    names = re.findall(r"^ +- (\S+) \[", listed, re.M)
    asks = {
        name for name in names if re.match(r"input-required-|elicitation-|tools-call-(elicitation|sampling)$", name)
    }
    assert asks == {*MODERN, *LEGACY}
