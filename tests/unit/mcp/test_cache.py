"""What is remembered between runs: per server and account, in files that may be lost or damaged without harm."""

import os
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.mcp.cache import Cache, Remembered, identity
from openclaw.mcp.tools.definition import RefusedTool
from openclaw.mcp.tools.pins import Change
from parts.modes import PRIVATE_FILE

SPEC = ServerSpec("web", transport="streamable-http", url="https://example.com/mcp", api_key="k-one")
KNOWN = Remembered(
    "2025-11-25",
    "sse",
    [Raw(b'{"name":"a"}')],
    [RefusedTool("b", "it is odd")],
    [Change("c", held=True, diff="-x", digest="d1")],
    has_resources=True,
    names={"a": "web__a-2"},
)


@pytest.fixture(params=["files", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Cache:
    return Cache(tmp_path / "mcp" if request.param == "files" else None)


def test_an_unknown_server_has_no_past(cache: Cache) -> None:
    assert cache.recall(SPEC) == Remembered()


def test_what_is_remembered_is_recalled(cache: Cache) -> None:
    cache.remember(SPEC, KNOWN)
    assert cache.recall(SPEC) == KNOWN


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, api_key="k-two"),
        replace(SPEC, headers=(("X-Tenant", "2"),)),
        replace(SPEC, auth=AuthSpec(client_id="c")),
        replace(SPEC, url="https://example.com/other"),
        replace(SPEC, owner="research"),
        replace(SPEC, name="web2"),
    ],
)
def test_another_account_or_server_does_not_see_the_tools(cache: Cache, other: ServerSpec) -> None:
    cache.remember(SPEC, KNOWN)
    assert cache.recall(other) == Remembered()


def test_the_names_of_files_on_disk_stay_what_they_were() -> None:
    program = ServerSpec("files", command="npx", args=("shop",), cwd="/srv")
    assert (identity(SPEC), identity(program)) == (
        "345bfd82d013d11aa531a772c1b029c5",
        "22cbf4a98ffddebd6b66581c161fc9c6",
    )


@pytest.mark.requirement("002-5.2-memory")
def test_files_are_private_and_hold_no_credential(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.remember(SPEC, KNOWN)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.parent.name for path in files) == ["cache"]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {oct(PRIVATE_FILE)}
    assert not [path for path in files if b"k-one" in path.read_bytes()]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 99}', b"\xff" * 10])
def test_a_damaged_file_counts_as_absent(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    cache.remember(SPEC, KNOWN)
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(damage)
    assert cache.recall(SPEC) == Remembered()


def test_a_directory_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    Cache(tmp_path / "file").remember(SPEC, KNOWN)
    assert "Nothing is remembered: " in caplog.text
    assert os.listdir(tmp_path) == ["file"]
