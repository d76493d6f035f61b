"""The official conformance suite against the engine, driven by `tests/conformance/client`.

A scenario in which nothing was checked counts as failed here, whatever the suite says of it. Left out: the extensions for DPoP and workload
identity, which the product does not claim.
"""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from parts.cache import ROOT
from parts.conformance import run_suite

pytestmark = pytest.mark.real

CLIENT = ROOT / "tests" / "conformance" / "client"
# Milliseconds a client may take, on a machine that runs other tests at the same time.
CLIENT_TIMEOUT = 60_000

# Scenarios by the revisions they are run at.
LEGACY = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
)
MODERN = (
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
)
AUTH_ALWAYS = (
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
)
AUTH_MODERN = (
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
)
AUTH_OLDEST = ("auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback")
# Scenarios of extensions belong to no revision; the suite runs them at its own choice.
AUTH_EXTENSIONS = (
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
)
SKILLS = tuple(
    f"sep-2640-client-{name}" for name in ("no-prefetch", "verify-digest", "verify-size", "verify-frontmatter")
)
NOT_CLAIMED = re.compile(r"auth/dpop|auth/wif-")


def run_scenario(scenario: str, revision: str, folder: Path) -> None:
    """Run one, and fail with everything the suite and the client said unless something was checked and all of it held."""
    # The suite splits the command on single spaces and hands the pieces to a shell, which puts them together again.
    command = f"PYTHON={shlex.quote(sys.executable)} {shlex.quote(str(CLIENT))}"
    version = ("--spec-version", revision) if revision else ()
    options = ("--timeout", str(CLIENT_TIMEOUT), "-o", str(folder))
    done = run_suite("client", "--command", command, "--scenario", scenario, *version, *options)
    [report] = folder.rglob("checks.json")
    checks: list[dict[str, Any]] = json.loads(report.read_text())
    counted = [check["status"] for check in checks if check["status"] in ("SUCCESS", "FAILURE", "WARNING")]
    assert (done.returncode, set(counted)) == (0, {"SUCCESS"}), f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("scenario", LEGACY)
def test_a_scenario_of_2025_11_25_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "2025-11-25", tmp_path)


@pytest.mark.parametrize("scenario", MODERN)
def test_a_scenario_of_2026_07_28_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "2026-07-28", tmp_path)


@pytest.mark.parametrize("scenario", AUTH_ALWAYS)
def test_a_sign_in_of_2025_11_25_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "2025-11-25", tmp_path)


@pytest.mark.parametrize("scenario", AUTH_ALWAYS + AUTH_MODERN)
def test_a_sign_in_of_2026_07_28_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "2026-07-28", tmp_path)


@pytest.mark.parametrize("scenario", AUTH_OLDEST)
def test_a_sign_in_of_2025_03_26_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "2025-03-26", tmp_path)


@pytest.mark.parametrize("scenario", AUTH_EXTENSIONS)
def test_a_sign_in_of_an_extension_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "", tmp_path)


@pytest.mark.parametrize("scenario", SKILLS)
def test_a_scenario_of_skills_over_mcp_passes(scenario: str, tmp_path: Path) -> None:
    run_scenario(scenario, "", tmp_path)


def test_no_scenario_of_the_suite_is_forgotten() -> None:
    listed = run_suite("list").stdout.partition("Client scenarios")[2].partition("Authorization server scenarios")[0]
    tagged = re.findall(r"^ +- (\S+) \[(.+)\]$", listed, re.M)
    known = {
        "2025-11-25": set(LEGACY + AUTH_ALWAYS),
        "2026-07-28": set(MODERN + AUTH_ALWAYS + AUTH_MODERN),
        "2025-03-26": set(AUTH_OLDEST),
        "extension": set(AUTH_EXTENSIONS + SKILLS),
    }
    offered = {
        revision: {name for name, tags in tagged if revision in tags.split(",") and not NOT_CLAIMED.match(name)}
        for revision in known
    }
    assert offered == known
